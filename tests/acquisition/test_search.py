"""The largest value of an acquisition function: as large as BoTorch finds, by the same starts."""

from functools import partial

import pytest
import torch
from botorch.acquisition import LogExpectedImprovement, PosteriorMean, UpperConfidenceBound
from botorch.models.deterministic import GenericDeterministicModel
from botorch.optim import optimize_acqf

from support.builders import SPACE, average_over, flipped, told, vector
from support.mixtures import make_closed_form, mixture_of_many
from tunedprior import Optimizer, SearchConfig
from tunedprior.acquisition.optimisation import EncodedSpace, _draw_starts, is_among, maximize


@pytest.mark.parametrize("num_inputs", [1, 2, 4])
@pytest.mark.parametrize("kind", ["ei", "ucb"])
def test_the_maximum_is_as_good_as_that_of_botorch(kind: str, num_inputs: int) -> None:
    model = mixture_of_many(num_inputs, others=False)
    acquisition = LogExpectedImprovement(model, best_f=0.9) if kind == "ei" else UpperConfidenceBound(model, beta=2.0)
    bounds = torch.tensor([[-1.0] * num_inputs, [1.0] * num_inputs]).double()
    for seed in range(2):
        found = maximize(make_closed_form(acquisition), EncodedSpace(bounds, {}, {}, {}), model.train_inputs[0], seed)
        torch.manual_seed(seed)
        _, expected = optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256)
        assert (found.abs() <= 1).all()
        assert acquisition(found[None, None]).item() >= expected.item() - 1e-6


@pytest.mark.slow
def test_a_campaign_goes_the_way_it_would_go_with_botorch() -> None:
    average, suggestions = average_over(flipped), []
    for acquisition in ("ei", partial(LogExpectedImprovement, maximize=True)):
        opt = told(
            Optimizer(SPACE, direction="maximize", seed=1, search=SearchConfig(acquisition=acquisition, model=average)),
            6,
            seed=1,
        )
        suggestions.append(list(opt.ask().values()))
    torch.testing.assert_close(torch.tensor(suggestions[0]), torch.tensor(suggestions[1]), rtol=0, atol=1e-4)


def test_a_setting_is_among_others_if_it_equals_one_of_them_in_every_code() -> None:
    X = vector([[0.1, 0.2], [0.1, 0.5], [0.3, 0.2], [0.1 + 1e-10, 0.2], [0.9, 0.9]])
    others = vector([[0.1, 0.2], [0.3, 0.5]])
    assert is_among(X, others).tolist() == [True, False, False, True, False]
    assert is_among(X, others[:0]).tolist() == [False] * 5


def test_where_nothing_is_better_starts_are_still_in_the_space() -> None:
    encoded_space = EncodedSpace(torch.tensor([[-0.5, 0.0], [0.5, 0.0]]).double(), {}, {}, {1: 0.0})
    starts = _draw_starts(PosteriorMean(GenericDeterministicModel(lambda x: 0 * x[..., :1])), encoded_space, seed=3)
    assert starts.shape == (8, 1, 2)
    assert starts[..., 0].abs().max() <= 0.5
    assert starts[..., 0].unique().numel() == 8
    assert (starts[..., 1] == 0).all()


def test_starts_are_better_than_any_settings() -> None:
    """BoTorch's choice among 256: the best of them, and others the more probably the better they are."""
    peak = PosteriorMean(GenericDeterministicModel(lambda x: -x.square().sum(-1, keepdim=True)))
    starts = _draw_starts(peak, EncodedSpace(vector([[-1.0] * 2, [1.0] * 2]), {}, {}, {}), seed=3)
    values = peak(starts)
    assert values.max() > -0.01
    assert values.mean() > -0.5  # two thirds on average over the box
