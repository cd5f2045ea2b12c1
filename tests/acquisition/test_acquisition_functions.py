"""Which acquisition function: BoTorch's by class, what it is given, and confidence widths."""

import functools
import math

import pytest
import torch
from botorch.acquisition import (
    ExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qLogNoisyExpectedImprovement,
    qUpperConfidenceBound,
)
from botorch.acquisition.fixed_feature import FixedFeatureAcquisitionFunction
from botorch.models import SingleTaskGP

from support.builders import SPACE, assert_allowed, mixed, told_what_it_asked
from support.cases import table
from support.mixtures import BOUNDS
from tunedprior import Optimizer, SearchConfig
from tunedprior.acquisition.functions import AcquisitionContext, _draw_sobol, compute_beta, make_acquisition
from tunedprior.errors import InputError


@pytest.mark.parametrize(
    "acquisition",
    [ExpectedImprovement, PosteriorMean, qLogNoisyExpectedImprovement, qUpperConfidenceBound],
    ids=lambda acquisition: acquisition.__name__,
)
@pytest.mark.filterwarnings("ignore:.*has known numerical issues")  # BoTorch's word on plain EI
@pytest.mark.usefixtures("short_search")
def test_any_botorch_acquisition_can_be_passed(acquisition) -> None:
    suggestions = []
    for _ in range(2):
        opt = Optimizer(SPACE, direction="maximize", seed=5, search=SearchConfig(acquisition=acquisition))
        told_what_it_asked(opt, 3, mixed)
        suggestions.append(opt.ask())
    assert_allowed(SPACE, suggestions[0])
    assert suggestions[0] == suggestions[1]


def test_an_acquisition_that_needs_more_says_how_to_give_it() -> None:
    with pytest.raises(InputError, match=r"needs acq_function, d, columns, values.*functools.partial"):
        Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=FixedFeatureAcquisitionFunction), seed=0)


def test_what_a_partial_fixes_stays_fixed() -> None:
    received = []

    class Spy(UpperConfidenceBound):
        def __init__(self, model, beta) -> None:
            received.append(beta)
            super().__init__(model, beta)

    opt = Optimizer(
        SPACE, direction="maximize", search=SearchConfig(acquisition=functools.partial(Spy, beta=0.01)), seed=0
    )
    opt.tell({"a": 0.0, "b": 0.0}, 1.0)
    opt.ask()
    assert received == [0.01, 0.01]  # when it was tried out, and when it was asked


def test_confidence_widths_by_hand() -> None:
    context = AcquisitionContext(
        best=torch.tensor(0.0), X=torch.zeros(2, 2), step=3, num_inputs=2, num_choices=155, seed=0, bounds=BOUNDS
    )
    assert compute_beta("brochu", context) == pytest.approx(2 * math.log(3**3 * math.pi**2 / 0.3))
    assert compute_beta("srinivas", context) == pytest.approx(2 * math.log(155 * 9 * math.pi**2 / 0.6))
    assert compute_beta("fixed", context) == 4.0
    assert compute_beta(9.0, context) == 9.0


def test_srinivas_needs_a_finite_choice() -> None:
    opt = Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition="ucb", beta="srinivas"), seed=0)
    opt.tell({"a": 0.0, "b": 0.0}, 1.0)
    with pytest.raises(InputError, match="this space is continuous"):
        opt.ask()
    assert opt.ask(candidates=opt.space.sobol(20, seed=0))


@pytest.mark.filterwarnings("ignore:.*has known numerical issues")  # BoTorch's word on plain EI
def test_classes_are_given_what_they_name() -> None:
    model = SingleTaskGP(table(5, 2, low=0.0), table(5, 1))
    context = AcquisitionContext(
        torch.tensor(0.7), table(3, 2), step=4, num_inputs=2, num_choices=None, seed=5, bounds=BOUNDS
    )
    for choice in (ExpectedImprovement, "ei"):
        assert make_acquisition(choice, model, context, "fixed").best_f.item() == pytest.approx(0.7, rel=1e-6)
    assert make_acquisition(UpperConfidenceBound, model, context, 9.0).beta.item() == 9.0
    assert make_acquisition("ucb", model, context, 9.0).beta.item() == 9.0


def test_samples_of_the_space_are_settings_of_it() -> None:
    bounds = BOUNDS * torch.tensor([0.5, 1.0]).double()
    context = AcquisitionContext(
        torch.tensor(0.7), table(3, 2), step=4, num_inputs=2, num_choices=None, seed=5, bounds=bounds
    )
    sample = _draw_sobol(context, 64)
    assert sample.shape == (64, 2)
    assert sample[:, 0].abs().max() <= 0.5 < sample[:, 1].abs().max() <= 1
    assert torch.equal(sample, _draw_sobol(context, 64))
