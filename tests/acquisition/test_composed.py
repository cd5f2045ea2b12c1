"""Acquisition functions of several responses, against BoTorch's and against samples."""

import pytest
import torch
from botorch.acquisition.multi_objective.analytic import ExpectedHypervolumeImprovement
from botorch.utils.multi_objective.box_decompositions.non_dominated import NondominatedPartitioning
from botorch.utils.testing import MockModel, MockPosterior

from support.optimizers import make_optimizer
from tunedprior.acquisition.closed_form import (
    ScaledGoal,
    make_hypervolume_term,
    make_improvement_term,
    make_probability_term,
    make_weighted_improvement_term,
)
from tunedprior.suggestion.composing import AcquisitionBuilder

FRONT = torch.tensor([[0.2, 1.0], [0.7, 0.6], [1.1, 0.1], [0.1, 0.1]], dtype=torch.float64)
REFERENCE = torch.tensor([-0.5, -0.4], dtype=torch.float64)
WEIGHTS = torch.tensor([0.3, 0.7], dtype=torch.float64)
AT = {
    "a": (torch.tensor([[0.3, 1.0], [0.5, -1.0]]).double(), torch.tensor([[0.5, 0.2], [1.0, 0.4]]).double()),
    "b": (torch.tensor([[0.8, 0.2], [0.1, 0.3]]).double(), torch.tensor([[0.3, 0.1], [0.6, 0.9]]).double()),
}


def drawn(name: str, count: int = 200_000) -> torch.Tensor:
    """Samples of a response at both settings (one column each)."""
    generator = torch.Generator().manual_seed(5 + len(name) + ord(name))
    mean, sigma = AT[name]
    which = torch.multinomial(WEIGHTS, count, replacement=True, generator=generator)
    return mean[which] + sigma[which] * torch.randn(count, 2, generator=generator, dtype=torch.float64)


def test_hypervolume_improvement_of_single_processes_is_botorchs() -> None:
    one = torch.ones(1, dtype=torch.float64)
    at = {name: (mean[:1], sigma[:1]) for name, (mean, sigma) in AT.items()}
    term = make_hypervolume_term([ScaledGoal("a", one), ScaledGoal("b", one)], FRONT, REFERENCE)
    means = torch.stack([at[name][0][0] for name in "ab"], dim=-1)[:, None]
    variances = torch.stack([at[name][1][0] for name in "ab"], dim=-1)[:, None].square()
    theirs = ExpectedHypervolumeImprovement(
        MockModel(MockPosterior(mean=means, variance=variances)),
        REFERENCE.tolist(),
        NondominatedPartitioning(REFERENCE, FRONT),
    )(torch.zeros(2, 1, 1, dtype=torch.float64))
    torch.testing.assert_close(term(at).exp(), theirs)


def test_hypervolume_improvement_of_mixtures_is_that_of_samples() -> None:
    term = make_hypervolume_term([ScaledGoal("a", WEIGHTS), ScaledGoal("b", WEIGHTS)], FRONT, REFERENCE)
    cells = NondominatedPartitioning(REFERENCE, FRONT).get_hypercell_bounds()
    samples = torch.stack([drawn("a"), drawn("b")], dim=-1)  # n 2 m
    gains = torch.zeros(samples.shape[:2], dtype=torch.float64)
    for low, high in zip(*cells, strict=True):
        gains += (samples.minimum(high) - low).clamp_min(0.0).prod(-1)
    torch.testing.assert_close(term(AT).exp(), gains.mean(0), rtol=0.02, atol=1e-3)


def test_a_target_counts_its_distance() -> None:
    wanted = ScaledGoal("a", WEIGHTS, 0.3, 0.4)
    distances = torch.maximum(0.3 - drawn("a"), drawn("a") - 0.4).clamp_min(0.0)
    expected = (0.25 - distances).clamp_min(0.0).mean(0)
    found = make_improvement_term(wanted, torch.tensor(-0.25, dtype=torch.float64))(AT).exp()
    torch.testing.assert_close(found, expected, rtol=0.02, atol=1e-4)
    mean, variance = wanted.compute_moments(AT["a"])
    torch.testing.assert_close(mean, -distances.mean(0), rtol=0.02, atol=1e-3)
    torch.testing.assert_close(variance, distances.var(0), rtol=0.03, atol=1e-3)


def test_probabilities_are_shares_of_samples() -> None:
    found = make_probability_term("b", WEIGHTS, 0.0, 0.5)(AT).exp()
    torch.testing.assert_close(found, ((drawn("b") >= 0) & (drawn("b") <= 0.5)).double().mean(0), rtol=0.02, atol=1e-3)


def test_weights_add_up() -> None:
    term = make_weighted_improvement_term([ScaledGoal("a", WEIGHTS), ScaledGoal("b", WEIGHTS)], [2.0, 0.5], 1.0)
    total = 2.0 * drawn("a") + 0.5 * drawn("b")
    gauss = torch.distributions.Normal(total.mean(0), total.std(0))
    exact = (gauss.sample((200_000,)) - 1.0).clamp_min(0.0).mean(0)
    torch.testing.assert_close(term(AT).exp(), exact, rtol=0.03, atol=2e-3)


@pytest.mark.parametrize("goals", ["front", "required", "target"])
def test_gradients_by_hand_are_those_of_differences(goals: str) -> None:
    from tunedprior import Target

    options: dict = {"objectives": {"a": "maximize", "b": "minimize"}}
    if goals == "required":
        options = {"target": "a", "requirements": {"b": "<= 0.4", "c": "pass"}}
    elif goals == "target":
        options = {"objectives": {"a": Target(0.3), "b": "maximize"}, "requirements": {"c": "pass"}}
    opt = make_optimizer({"x": (0.0, 1.0), "z": (0.0, 1.0)}, **options)
    for x, z in torch.rand(7, 2, generator=torch.Generator().manual_seed(1)).tolist():
        told = {"a": x - z**2, "b": (x - 0.5) ** 2 + z, "c": x < 0.7}
        opt.tell({"x": x, "z": z}, {name: told[name] for name in told if name != "c" or goals != "front"})
    fitted = opt.suggester.fit(opt.trials)
    acquisition = AcquisitionBuilder(opt.suggester.goals, fitted, torch.zeros(1, 2).double()).build_acquisition()
    X = torch.rand(5, 2, generator=torch.Generator().manual_seed(2)).double() * 2 - 1
    _, gradients = acquisition.evaluate_with_gradients(X)
    for column in range(2):
        step = torch.zeros(2).double()
        step[column] = 1e-5
        up, down = (acquisition.evaluate_with_gradients(X + sign * step)[0] for sign in (1, -1))
        torch.testing.assert_close(gradients[:, column], (up - down) / 2e-5, rtol=2e-3, atol=1e-4)
