"""The largest value of an acquisition function among settings that satisfy constraints."""

import pytest
import torch
from botorch.acquisition import LogExpectedImprovement, PosteriorMean, qKnowledgeGradient
from botorch.models.deterministic import GenericDeterministicModel

from support.builders import vector
from support.mixtures import make_closed_form, mixture_of_many
from tunedprior import Mixture, OnlyWhen, Optimizer, SearchConfig
from tunedprior.acquisition.optimisation import EncodedSpace, maximize
from tunedprior.errors import InputError
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space

UNITS = dict.fromkeys("abcd", (0.0, 1.0))


def found_for(space: Space, target: dict[str, float], seed: int = 0) -> Setting:
    """What is found where values are the better the nearer they are to the target, in the space's units."""
    box = Box.enclose(space)
    names = [name for name in space.names if name in target]
    columns, wanted = [space.names.index(name) for name in names], vector([target[name] for name in names])
    low, width = zip(*((box.axes[k].low, box.axes[k].high - box.axes[k].low) for k in columns), strict=True)

    def value(X: torch.Tensor) -> torch.Tensor:
        scaled = vector(low) + (X[..., columns] + 1) / 2 * vector(width)
        values = torch.where(torch.tensor([box.axes[k].log for k in columns]), scaled.exp(), scaled)
        return -(values - wanted).square().sum(-1, keepdim=True)

    acquisition = PosteriorMean(GenericDeterministicModel(value))
    X = maximize(acquisition, EncodedSpace.from_space(space, box), vector([]).reshape(0, len(space.names)), seed)
    setting = box.decode(X[None], space)[0]
    assert space.feasible is not None
    repaired = space.feasible.repair_setting(setting)
    assert repaired is not None
    return repaired


@pytest.mark.parametrize(
    ("constraints", "target", "best"),
    [
        ("a + b <= 1", {"a": 0.9, "b": 0.7}, {"a": 0.6, "b": 0.4}),
        ("a + b <= 1", {"a": 0.2, "b": 0.3}, {"a": 0.2, "b": 0.3}),
        ("a + b <= 1", {"a": 2.0, "b": 0.5}, {"a": 1.0, "b": 0.0}),
        (Mixture(list("abcd")), {"a": 0.7, "b": 0.5, "c": 0.0, "d": 0.0}, {"a": 0.6, "b": 0.4, "c": 0.0, "d": 0.0}),
        (["a + b + c + d == 1", "a == b"], {"a": 0.5, "b": 0.3, "c": 0.2}, {"a": 0.4, "b": 0.4, "c": 0.2, "d": 0.0}),
        (
            ["a - b >= 0.25", "2*c + d <= 1"],
            {"a": 0.3, "b": 0.3, "c": 1.0, "d": 0.5},
            {"a": 0.425, "b": 0.175, "c": 0.4, "d": 0.2},
        ),
    ],
)
def test_the_constrained_optimum_is_found(constraints, target: dict[str, float], best: dict[str, float]) -> None:
    space = Space.parse(UNITS).add_constraints(constraints)
    for seed in range(2):
        found = found_for(space, target, seed)
        assert space.allows(found)
        assert {name: found[name] for name in best} == pytest.approx(best, abs=1e-3)


def test_the_edge_that_a_function_draws_is_found() -> None:
    space = Space.parse({"a": (-1.0, 1.0), "b": (-1.0, 1.0)}).add_constraints(
        lambda s: s["a"] ** 2 + s["b"] ** 2 <= 0.5
    )
    found = found_for(space, {"a": 2.0, "b": 2.0})
    assert space.allows(found)
    assert found == pytest.approx({"a": 0.5, "b": 0.5}, abs=0.02)


def test_the_best_mixture_on_a_fine_grid_is_found() -> None:
    """Some 96 million of them: too many to list."""
    space = Space.parse(dict.fromkeys("abcdef", (0.0, 1.0, 0.01))).add_constraints(Mixture(list("abcdef")))
    target = {"a": 0.37, "b": 0.21, "c": 0.17, "d": 0.13, "e": 0.12, "f": 0.0}
    found = found_for(space, target)
    assert space.allows(found)
    assert found == pytest.approx(target, abs=0.021)


def test_logarithmic_parameters_may_take_part() -> None:
    space = Space.parse({"r": (1e-3, 1.0, "log"), "b": (0.0, 1.0)}).add_constraints("r + b == 1")
    assert found_for(space, {"r": 0.01, "b": 0.9}) == pytest.approx({"r": 0.055, "b": 0.945}, abs=1e-3)


def test_lists_and_conditions_take_part() -> None:
    space = Space.parse(
        {"a": (0.0, 1.0, 0.25), "b": (0.0, 1.0), "gas": ["air", "argon"], "dose": (0.0, 2.0)}
    ).add_constraints(["a + b == 1", OnlyWhen("dose", {"gas": "argon"}, otherwise=0.0)])
    found = found_for(space, {"a": 0.6, "b": 0.6, "dose": 1.5})
    assert found == pytest.approx({"a": 0.5, "b": 0.5, "gas": "argon", "dose": 1.5}, abs=1e-3)


def test_the_own_gradient_leads_where_autograd_leads() -> None:
    model = mixture_of_many(2, others=False)
    space = Space.parse({"a": (-1.0, 1.0), "b": (-1.0, 1.0)}).add_constraints("a + b <= -0.5")
    encoded_space, acquisition = (
        EncodedSpace.from_space(space, Box.enclose(space)),
        LogExpectedImprovement(model, best_f=0.9),
    )
    found = maximize(make_closed_form(acquisition), encoded_space, model.train_inputs[0], 0)
    torch.testing.assert_close(found, maximize(acquisition, encoded_space, model.train_inputs[0], 0), atol=1e-3, rtol=0)
    grid = torch.cartesian_prod(*[torch.linspace(-1, 1, 60).double()] * 2)
    grid = grid[grid.sum(-1) <= -0.5]
    assert found.sum() <= -0.5 + 1e-9
    assert acquisition(found[None, None]).item() >= acquisition(grid[:, None]).max().item() - 1e-6


def test_classes_that_look_for_several_settings_at_once_are_refused() -> None:
    space = Space.parse(UNITS)
    with pytest.raises(InputError, match="qKnowledgeGradient looks for several settings at once"):
        Optimizer(
            space,
            direction="maximize",
            constraints="a <= b",
            search=SearchConfig(acquisition=qKnowledgeGradient, model=StandardSurrogate(Box.enclose(space))),
            seed=0,
        )
