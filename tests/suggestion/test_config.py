"""The configuration of a campaign: checked when it is made, compared as a value."""

from dataclasses import FrozenInstanceError, fields, replace
from inspect import signature

import pytest

from support.builders import SPACE, average_over, old_data
from support.errors import raises
from tunedprior import CampaignConfig, Goals, Optimizer, SearchConfig, TransferConfig
from tunedprior.errors import InputError
from tunedprior.kernels import Polynomial
from tunedprior.space.search_space import Space

PLAIN = CampaignConfig(Space.parse(SPACE), Goals.parse("maximize"), seed=3)


def test_everyday_arguments_and_two_parts() -> None:
    assert len(signature(Optimizer).parameters) == 14
    assert Optimizer.__bases__ == (object,)


def test_it_is_a_value() -> None:
    assert CampaignConfig(Space.parse(SPACE), Goals.parse("maximize"), seed=3) == PLAIN
    assert replace(PLAIN, search=SearchConfig(beta=2.0)) != PLAIN
    with pytest.raises(FrozenInstanceError):
        PLAIN.seed = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        ({"transfer": "average"}, ("transfer", "TransferConfig", "'average'")),
        ({"search": "ei"}, ("search", "SearchConfig", "'ei'")),
        ({"seed": -1}, ("seed", "whole number")),
        ({"goals": Goals.parse(objectives={"a": "maximize", "y": "minimize"})}, ("a", "parameter")),
    ],
)
def test_parts_are_checked(change: dict, facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        replace(PLAIN, **change)


@pytest.mark.parametrize("part", ["transfer", "search"])
def test_an_optimizer_takes_the_parts_themselves(part: str) -> None:
    with raises(InputError, part, "TransferConfig" if part == "transfer" else "SearchConfig"):
        Optimizer(SPACE, direction="maximize", **{part: {"prior": "average"}})


def test_a_model_of_ones_own_leaves_no_transfer() -> None:
    own = SearchConfig(model=average_over())
    with raises(InputError, "either a model, or old data"):
        replace(PLAIN, search=own, transfer=TransferConfig(kernel=Polynomial(degree=2)))
    with raises(InputError, "either a model, or old data"):
        Optimizer(SPACE, old_data(rows=8), "maximize", search=own)


def test_a_relation_is_for_the_average() -> None:
    with raises(InputError, "relation", "average", "aligned"):
        Optimizer(SPACE, old_data(rows=8), "maximize", relation="same", transfer=TransferConfig("aligned"))


def test_goals_are_said_once() -> None:
    goals = Goals.parse("minimize", target="loss", log=True)
    assert Optimizer(SPACE, objectives=goals).config.goals is goals
    for more in ({"direction": "minimize"}, {"target": "loss"}, {"noise_std": 0.1}, {"requirements": {"pure": "pass"}}):
        with raises(InputError, "Goals", "leave out"):
            Optimizer(SPACE, objectives=goals, **more)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"space": Space.parse({"a": (0.0, 2.0)})}, "search space"),
        ({"space": Space.parse(SPACE).add_constraints("a <= 0.5")}, "search space"),
        ({"goals": Goals.parse("minimize")}, "responses or goals"),
        ({"goals": Goals.parse("maximize", requirements={"pure": "pass"})}, "responses or goals"),
        ({"space": Space.parse(SPACE).add_constraints(lambda setting: setting["a"] < 0.9)}, ""),
        ({"seed": 9}, ""),
        ({"search": SearchConfig("ucb")}, ""),
    ],
)
def test_what_keeps_results_apart(change: dict, what: str) -> None:
    assert PLAIN.find_difference(replace(PLAIN, **change)) == what


def test_every_part_says_what_it_holds() -> None:
    for kind in (TransferConfig, SearchConfig, CampaignConfig):
        documented = kind.__doc__.split("Attributes:")[1]
        assert all(f"{one.name}:" in documented for one in fields(kind))
