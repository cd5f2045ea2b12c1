"""Acquisition functions of a mixture with gradients by hand: BoTorch's own on the same model, only faster."""

import math

import pandas as pd
import pytest
import torch
from botorch.acquisition import (
    AcquisitionFunction,
    LogExpectedImprovement,
    PosteriorMean,
    UpperConfidenceBound,
    qLogExpectedImprovement,
)
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf

from cases import table
from tunedprior import Optimizer
from tunedprior.box import Box
from tunedprior.kernels import Aligned, Matched, Polynomial, Reweighted, SquaredExponential
from tunedprior.kernels.pullback import StackSection
from tunedprior.kernels.stack import KernelStack
from tunedprior.maximise import Lattice, maximise
from tunedprior.mixture import MixtureOfProcesses, Processes
from tunedprior.mixture_acquisition import MixtureAcquisition, _improvement
from tunedprior.space import Space


def stack(num_inputs: int, others: bool = True) -> KernelStack:
    """Two plain kernels, `Aligned` ones on two sets of anchors and by features, and two that have no rule by hand."""
    lengthscales = table(4, num_inputs, low=0.4, high=1.5, seed=1)
    first, second = table(9, num_inputs, seed=5), table(6, num_inputs, seed=8)
    learnt = [
        Aligned(SquaredExponential(lengthscales[2]), first, table(9, seed=6), 0.01, by_features=False),
        Aligned(SquaredExponential(torch.tensor(0.7).double()), first, table(9, seed=7), 0.3, by_features=False),
        Aligned(SquaredExponential(lengthscales[3]), second, table(6, seed=7), 0.1, by_features=False),
        Aligned(
            SquaredExponential(2 * lengthscales[3]), second, table(6, seed=7), 0.1, by_features=True, tolerance=0.1
        ),
    ]
    if others:
        learnt.append(Aligned(Polynomial(2), second, table(6, seed=7), 0.1))
        learnt.append(Matched(SquaredExponential(lengthscales[2]), second, table(6, seed=7), tolerance=1e-3))
    return KernelStack(lengthscales[:2], tuple(learnt), tuple(0.5 + 0.1 * k for k in range(len(learnt))))


def model_of(num_inputs: int, rows: int = 12, others: bool = True) -> MixtureOfProcesses:
    kernels = stack(num_inputs, others)
    shares = torch.eye(len(kernels)).double()
    shares = torch.cat([shares, (shares + 2 * shares.roll(2, 1)) / 3])
    noise = torch.logspace(-4, -1, len(shares)).double()
    amplitude = torch.linspace(0.3, 2.0, len(shares)).double()
    members = torch.arange(64) ** 2 % len(shares)
    space = Space.parse({f"x{column}": (-1.0, 1.0) for column in range(num_inputs)})
    codes = table(rows, num_inputs, seed=2, low=-1.0, high=1.0)
    y = torch.sin(3 * codes.sum(-1, keepdim=True))
    return MixtureOfProcesses(Processes(kernels, shares, noise, 0.3), amplitude, members, Box.around(space), codes, y)


def by_autograd(acquisition: AcquisitionFunction, codes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    codes = codes.clone().requires_grad_()
    values = acquisition(codes[:, None])
    return values.detach(), torch.autograd.grad(values.sum(), codes)[0]


def assert_same(acquisition: AcquisitionFunction, codes: torch.Tensor, tolerance: float = 1e-8) -> None:
    fast = MixtureAcquisition.of(acquisition)
    values, gradients = fast.values_and_gradients(codes)
    expected, slopes = by_autograd(acquisition, codes)
    torch.testing.assert_close(values, expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(fast(codes[:, None]), values, rtol=0, atol=0)
    sizes = slopes.norm(dim=-1, keepdim=True)
    assert ((gradients - slopes).abs() <= tolerance * sizes).all()


@pytest.mark.parametrize("num_inputs", [1, 2, 3, 5])
@pytest.mark.parametrize("best", [0.0, 0.9, 3.0])
def test_log_expected_improvement_is_that_of_botorch(num_inputs: int, best: float) -> None:
    acquisition = LogExpectedImprovement(model_of(num_inputs), best_f=best)
    assert_same(acquisition, table(9, num_inputs, seed=3, low=-1.0, high=1.0))


@pytest.mark.parametrize("num_inputs", [1, 2, 5])
def test_confidence_bounds_are_those_of_botorch(num_inputs: int) -> None:
    acquisition = UpperConfidenceBound(model_of(num_inputs), beta=3.0)
    assert_same(acquisition, table(9, num_inputs, seed=3, low=-1.0, high=1.0))


@pytest.mark.parametrize("best", [20.0, 50.0, 90.0])
def test_improvements_that_are_all_but_impossible_have_values_and_gradients(best: float) -> None:
    codes = table(9, 2, seed=3, low=-1.0, high=1.0)
    acquisition = LogExpectedImprovement(model_of(2), best_f=best)
    assert (acquisition(codes[:, None]) < -100).all()
    assert_same(acquisition, codes)


@pytest.mark.filterwarnings("ignore:Negative variance values:linear_operator.utils.warnings.NumericalWarning")
def test_what_is_certain_has_values_and_gradients() -> None:
    """At observations without noise: GPyTorch's floor of the variance, and no slope of it."""
    kernels = KernelStack(torch.tensor([[2.0], [3.0]]).double())
    exact = Processes(kernels, torch.eye(2).double(), torch.tensor([1e-12, 1e-12]).double(), 0.3)
    codes, box = torch.tensor([[-0.5], [0.1], [0.8]]).double(), Box.around(Space.parse({"a": (-1.0, 1.0)}))
    amplitude = torch.tensor([1e-4, 1.0]).double()
    model = MixtureOfProcesses(exact, amplitude, torch.tensor([0, 1, 1]), box, codes, codes**2)
    for acquisition in (LogExpectedImprovement(model, best_f=0.64), UpperConfidenceBound(model, beta=2.0)):
        assert_same(acquisition, codes, 1e-5)  # 64,000 standard deviations down, BoTorch loses as many digits


@pytest.mark.parametrize("kind", ["ei", "ucb"])
def test_pending_settings_are_part_of_the_model(kind: str) -> None:
    model, pending = model_of(2), table(3, 2, seed=12)
    model = model.condition_on_observations(pending, model.posterior(pending).mean)
    acquisition = LogExpectedImprovement(model, best_f=0.9) if kind == "ei" else UpperConfidenceBound(model, beta=2.0)
    assert_same(acquisition, table(9, 2, seed=3, low=-1.0, high=1.0))


def test_codes_of_fixed_parameters_have_no_gradient() -> None:
    space = Space.parse({"a": (-1.0, 1.0), "gas": ["air"], "b": (0.0, 2.0), "kind": ["x"]})
    old = pd.DataFrame({"a": [0.0, 0.5], "gas": ["air", "argon"], "b": [0.1, 1.5], "kind": ["x", "x"]})
    box = Box.around(space, old)
    plain = Processes(
        KernelStack(torch.full((1, 4), 0.8).double()), torch.ones(1, 1).double(), torch.ones(1) * 0.01, 0.3
    )
    codes = box.codes(
        [{"a": 0.3, "gas": "air", "b": 0.4, "kind": "x"}, {"a": -0.6, "gas": "air", "b": 1.4, "kind": "x"}]
    )
    y = torch.tensor([[1.0], [-1.0]]).double()
    model = MixtureOfProcesses(plain, torch.ones(1).double(), torch.zeros(3).long(), box, codes, y)
    where = codes + torch.tensor([0.1, 0.0, 0.2, 0.0]).double()
    acquisition = LogExpectedImprovement(model, best_f=1.0)
    assert_same(acquisition, where)
    _, gradients = MixtureAcquisition.of(acquisition).values_and_gradients(where)
    assert (gradients[:, [1, 3]] == 0).all()
    assert (gradients[:, [0, 2]] != 0).all()
    found = maximise(acquisition, Lattice.of(space, box), codes)
    assert (found[[1, 3]] == 0).all()


def test_sections_of_kernels_are_their_matrices() -> None:
    kernels, x, points = stack(2), table(5, 2, seed=3), table(7, 2, seed=4)
    whole = StackSection.of(kernels, points)
    pieces = StackSection.of(kernels, points[:0]).with_more(points[:4]).with_more(points[4:])
    for section, count in ((whole, 7), (pieces, 7), (whole.up_to(3), 3)):
        found = section.at(x)
        torch.testing.assert_close(found.cross, kernels.matrices(x, points[:count]), rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(found.variance, kernels.variances(x), rtol=1e-10, atol=1e-12)


def test_any_kernel_can_be_pulled_back() -> None:
    base, anchors = SquaredExponential(0.8), table(4, 2, seed=5)
    kernels = KernelStack(torch.ones(1, 2).double(), (Reweighted(base, anchors, table(4, seed=6)),), (0.3,))
    x, points = table(5, 2, seed=3), table(7, 2, seed=4)
    d_cross, d_variance = table(2, 5, 7, seed=7), table(2, 5, seed=8)
    found = StackSection.of(kernels, points).at(x).pulled_back(d_cross, d_variance)
    x.requires_grad_()
    target = (kernels.matrices(x, points) * d_cross).sum() + (kernels.variances(x) * d_variance).sum()
    torch.testing.assert_close(found, torch.autograd.grad(target, x)[0], rtol=1e-8, atol=1e-10)


def test_improvement_has_all_its_digits_everywhere() -> None:
    """h'/h and φ/h by differences of log h, which are exact enough where the steps fit the scale."""
    u = torch.cat([-torch.logspace(7, -2, 400), torch.logspace(-2, 3, 200)]).double()
    log_h, slope, rest = _improvement(u)
    assert torch.isfinite(log_h).all()
    step = 1e-6 * u.abs().clamp(min=1)
    difference = (_improvement(u + step)[0] - _improvement(u - step)[0]) / (2 * step)
    assert ((difference - slope).abs() <= 1e-5 * slope).all()
    near = u.abs() < 30
    torch.testing.assert_close(rest[near], 1 - (u * slope)[near], rtol=1e-9, atol=1e-11)
    # The first terms of 1 + uM = u⁻² - 3u⁻⁴ + … on the one side, h = u on the other.
    far = u < -300
    torch.testing.assert_close(slope[far], -u[far] * (1 + 2 / u[far] ** 2), rtol=1e-9, atol=0)
    torch.testing.assert_close(rest[far], u[far] ** 2 * (1 + 3 / u[far] ** 2), rtol=1e-8, atol=0)
    torch.testing.assert_close(log_h[u > 40], u[u > 40].log())


def test_there_is_none_for_other_acquisitions_and_models() -> None:
    model = model_of(2)
    turned = ScalarizedPosteriorTransform(torch.tensor([-1.0]).double())
    plain = SingleTaskGP(table(5, 2, low=0.0), table(5, 1))
    for acquisition in (
        LogExpectedImprovement(plain, best_f=0.0),
        LogExpectedImprovement(model, best_f=0.0, maximize=False),
        LogExpectedImprovement(model, best_f=0.0, posterior_transform=turned),
        PosteriorMean(model),
        qLogExpectedImprovement(model, best_f=0.0),
        LogExpectedImprovement(model.condition_on_observations(table(2, 1, 2), table(2, 1, 1)), best_f=0.0),
    ):
        assert MixtureAcquisition.of(acquisition) is None


@pytest.mark.parametrize("num_inputs", [1, 2, 4])
@pytest.mark.parametrize("kind", ["ei", "ucb"])
def test_the_maximum_is_as_good_as_that_of_botorch(kind: str, num_inputs: int) -> None:
    model = model_of(num_inputs, others=False)
    acquisition = LogExpectedImprovement(model, best_f=0.9) if kind == "ei" else UpperConfidenceBound(model, beta=2.0)
    bounds = torch.tensor([[-1.0] * num_inputs, [1.0] * num_inputs]).double()
    for seed in range(3):
        torch.manual_seed(seed)
        found = maximise(acquisition, Lattice(bounds, {}, {}, {}), model.train_inputs[0])
        torch.manual_seed(seed)
        _, expected = optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256)
        assert (found.abs() <= 1).all()
        assert acquisition(found[None, None]).item() >= expected.item() - 1e-6


def test_a_campaign_goes_the_way_it_would_go_with_botorch(monkeypatch: pytest.MonkeyPatch) -> None:
    space = {"a": (-1.0, 1.0), "b": (0.0, 5.0)}
    old = pd.DataFrame(Space.parse(space).sobol(20, seed=9))
    old["y"] = [-math.sin(3 * row["a"]) * math.cos(row["b"]) for row in old.to_dict("records")]
    suggestions = []
    for by_hand in (True, False):
        if not by_hand:
            monkeypatch.setattr(MixtureAcquisition, "of", lambda _: None)
        opt = Optimizer(space, old, seed=1)
        for setting in opt.space.sobol(6, seed=1):
            opt.tell(setting, math.sin(3 * setting["a"]) * math.cos(setting["b"]))
        suggestions.append([list(setting.values()) for setting in opt.ask(3)])
    torch.testing.assert_close(torch.tensor(suggestions[0]), torch.tensor(suggestions[1]), rtol=0, atol=1e-4)
