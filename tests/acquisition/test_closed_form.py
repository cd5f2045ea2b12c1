"""Acquisition functions of a mixture with gradients by hand: BoTorch's own on the same model, only faster."""

from functools import partial

import pandas as pd
import pytest
import torch
from botorch.acquisition import (
    AcquisitionFunction,
    AnalyticAcquisitionFunction,
    LogExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qLogExpectedImprovement,
)
from botorch.models import SingleTaskGP

from support.builders import SPACE, box_of, observed
from support.cases import number, table
from support.mixtures import make_closed_form, mixture_of_many
from tunedprior.acquisition.closed_form import ClosedFormAcquisition, compute_log_improvement
from tunedprior.acquisition.functions import AcquisitionContext, make_acquisition
from tunedprior.acquisition.optimisation import EncodedSpace, maximize
from tunedprior.kernels.sections import KernelStack
from tunedprior.model_averaging.hypotheses import Processes
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.models.posterior import condition_on_pending
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space


def by_autograd(acquisition: AcquisitionFunction, X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    X = X.clone().requires_grad_()
    values = acquisition(X[:, None])
    return values.detach(), torch.autograd.grad(values.sum(), X)[0]


def assert_same(acquisition: AcquisitionFunction, X: torch.Tensor, tolerance: float = 1e-8) -> None:
    fast = make_closed_form(acquisition)
    values, gradients = fast.evaluate_with_gradients(X)
    expected, slopes = by_autograd(acquisition, X)
    torch.testing.assert_close(values, expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(fast(X[:, None]), values, rtol=0, atol=0)
    sizes = slopes.norm(dim=-1, keepdim=True)
    assert ((gradients - slopes).abs() <= tolerance * sizes).all()


@pytest.mark.parametrize("num_inputs", [1, 2, 3, 5])
@pytest.mark.parametrize("best", [0.0, 0.9, 3.0])
def test_log_expected_improvement_is_that_of_botorch(num_inputs: int, best: float) -> None:
    acquisition = LogExpectedImprovement(mixture_of_many(num_inputs), best_f=best)
    assert_same(acquisition, table(9, num_inputs, seed=3, low=-1.0, high=1.0))


@pytest.mark.parametrize("num_inputs", [1, 2, 5])
def test_confidence_bounds_are_those_of_botorch(num_inputs: int) -> None:
    acquisition = UpperConfidenceBound(mixture_of_many(num_inputs), beta=3.0)
    assert_same(acquisition, table(9, num_inputs, seed=3, low=-1.0, high=1.0))


@pytest.mark.parametrize("best", [20.0, 50.0, 90.0])
def test_improvements_that_are_all_but_impossible_have_values_and_gradients(best: float) -> None:
    X = table(9, 2, seed=3, low=-1.0, high=1.0)
    acquisition = LogExpectedImprovement(mixture_of_many(2), best_f=best)
    assert (acquisition(X[:, None]) < -100).all()
    assert_same(acquisition, X)


@pytest.mark.filterwarnings("ignore:Negative variance values:linear_operator.utils.warnings.NumericalWarning")
def test_what_is_certain_has_values_and_gradients() -> None:
    """At observations without noise: GPyTorch's floor of the variance, and no slope of it."""
    kernels = KernelStack(torch.tensor([[2.0], [3.0]]).double())
    exact = Processes(kernels, torch.eye(2).double(), torch.tensor([1e-12, 1e-12]).double(), 0.3)
    X, box = torch.tensor([[-0.5], [0.1], [0.8]]).double(), Box.enclose(Space.parse({"a": (-1.0, 1.0)}))
    amplitude = torch.tensor([1e-4, 1.0]).double()
    model = MixtureOfProcesses(exact, amplitude, torch.tensor([0, 1, 1]), box, X, X**2)
    for acquisition in (LogExpectedImprovement(model, best_f=0.64), UpperConfidenceBound(model, beta=2.0)):
        assert_same(acquisition, X, 1e-5)  # 64,000 standard deviations down, BoTorch loses as many digits


@pytest.mark.filterwarnings("ignore:Negative variance values:linear_operator.utils.warnings.NumericalWarning")
@pytest.mark.parametrize("amplitude", [1e-4, 1.0, 1e4])
def test_what_is_all_but_certain_has_no_slope_below_a_floor(amplitude: float) -> None:
    """Near an observation: the kernel's variance has a floor, and so has that of the response; either will do."""
    kernels = KernelStack(torch.tensor([[2.0]]).double())
    exact = Processes(kernels, torch.ones(1, 1).double(), torch.tensor([1e-12]).double(), 0.3)
    X, box = torch.tensor([[-0.5], [0.1], [0.8]]).double(), Box.enclose(Space.parse({"a": (-1.0, 1.0)}))
    size = torch.tensor([amplitude]).double()
    model = MixtureOfProcesses(exact, size, torch.tensor([0]), box, X, X**2)
    near = X + torch.tensor([[3e-6, 1e-4, 1e-3, 1e-2, 0.1]]).double()
    assert_same(UpperConfidenceBound(model, beta=2.0), near.reshape(-1, 1), 1e-5)


@pytest.mark.parametrize("kind", ["ei", "ucb"])
def test_pending_settings_are_part_of_the_model(kind: str) -> None:
    model, pending = mixture_of_many(2), table(3, 2, seed=12)
    model = model.condition_on_observations(pending, model.posterior(pending).mean)
    acquisition = LogExpectedImprovement(model, best_f=0.9) if kind == "ei" else UpperConfidenceBound(model, beta=2.0)
    assert_same(acquisition, table(9, 2, seed=3, low=-1.0, high=1.0))


def test_codes_of_fixed_parameters_have_no_gradient() -> None:
    space = Space.parse({"a": (-1.0, 1.0), "gas": ["air"], "b": (0.0, 2.0), "kind": ["x"]})
    old = pd.DataFrame({"a": [0.0, 0.5], "gas": ["air", "argon"], "b": [0.1, 1.5], "kind": ["x", "x"]})
    box = Box.enclose(space, old)
    plain = Processes(
        KernelStack(torch.full((1, 4), 0.8).double()), torch.ones(1, 1).double(), torch.ones(1) * 0.01, 0.3
    )
    X = box.encode([{"a": 0.3, "gas": "air", "b": 0.4, "kind": "x"}, {"a": -0.6, "gas": "air", "b": 1.4, "kind": "x"}])
    y = torch.tensor([[1.0], [-1.0]]).double()
    model = MixtureOfProcesses(plain, torch.ones(1).double(), torch.zeros(3).long(), box, X, y)
    where = X + torch.tensor([0.1, 0.0, 0.2, 0.0]).double()
    acquisition = LogExpectedImprovement(model, best_f=1.0)
    assert_same(acquisition, where)
    _, gradients = make_closed_form(acquisition).evaluate_with_gradients(where)
    assert (gradients[:, [1, 3]] == 0).all()
    assert (gradients[:, [0, 2]] != 0).all()
    found = maximize(make_closed_form(acquisition), EncodedSpace.from_space(space, box), X, seed=0)
    assert (found[[1, 3]] == 0).all()


def test_improvement_has_all_its_digits_everywhere() -> None:
    """h'/h and φ/h by differences of log h, which are exact enough where the steps fit the scale."""
    u = torch.cat([-torch.logspace(7, -2, 400), torch.logspace(-2, 3, 200)]).double()
    log_h, slope, rest = compute_log_improvement(u)
    assert torch.isfinite(log_h).all()
    step = 1e-6 * u.abs().clamp(min=1)
    difference = (compute_log_improvement(u + step)[0] - compute_log_improvement(u - step)[0]) / (2 * step)
    assert ((difference - slope).abs() <= 1e-5 * slope).all()
    near = u.abs() < 30
    torch.testing.assert_close(rest[near], 1 - (u * slope)[near], rtol=1e-9, atol=1e-11)
    # The first terms of 1 + uM = u⁻² - 3u⁻⁴ + … on the one side, h = u on the other.
    far = u < -300
    torch.testing.assert_close(slope[far], -u[far] * (1 + 2 / u[far] ** 2), rtol=1e-9, atol=0)
    torch.testing.assert_close(rest[far], u[far] ** 2 * (1 + 3 / u[far] ** 2), rtol=1e-8, atol=0)
    torch.testing.assert_close(log_h[u > 40], u[u > 40].log())


def test_classes_of_botorch_that_have_a_closed_form_are_given_it() -> None:
    model, X = mixture_of_many(2), table(9, 2, seed=3, low=-1.0, high=1.0)
    context = AcquisitionContext(
        torch.tensor(0.9).double(), X, step=10, num_inputs=2, num_choices=None, seed=0, bounds=X[:2]
    )
    plain = SingleTaskGP(table(5, 2, low=0.0), table(5, 1))
    for choice in ("ei", "ucb", LogExpectedImprovement, UpperConfidenceBound):
        assert isinstance(make_acquisition(choice, model, context, "fixed"), ClosedFormAcquisition)
        assert isinstance(make_acquisition(choice, plain, context, "fixed"), AnalyticAcquisitionFunction)
    for choice in (PosteriorMean, qLogExpectedImprovement, partial(LogExpectedImprovement, maximize=False)):
        assert not isinstance(make_acquisition(choice, model, context, "fixed"), ClosedFormAcquisition)


def test_what_each_component_expects_of_pending_settings_is_its_own_best() -> None:
    model, X, pending = mixture_of_many(2), table(9, 2, seed=3, low=-1.0, high=1.0), table(3, 2, seed=12)
    conditioned, expected = condition_on_pending(model, StandardSurrogate(box_of(SPACE)), observed(6), pending)
    best = expected.amax(-1).clamp_min(0.1)
    context = AcquisitionContext(best, X, step=10, num_inputs=2, num_choices=None, seed=0, bounds=X[:2])
    found = make_acquisition("ei", conditioned, context, "fixed")(X[:, None])
    theirs = LogExpectedImprovement(conditioned, best_f=best[model.members][:, None])(X[:, None])
    torch.testing.assert_close(found, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("edge", [-100.0, 30.0])
def test_improvement_is_continuous_where_its_series_begin(edge: float) -> None:
    inside, outside = (compute_log_improvement(number(edge * factor)[None]) for factor in (1 - 1e-12, 1 + 1e-12))
    for left, right in zip(inside, outside, strict=True):
        torch.testing.assert_close(left, right, rtol=1e-9, atol=1e-12)
