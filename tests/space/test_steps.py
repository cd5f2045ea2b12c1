"""Ranges with a step or on a logarithmic scale, written as plain tuples."""

from pathlib import Path

import numpy as np
import pytest
import torch
from optuna.distributions import FloatDistribution, IntDistribution

from support.errors import raises
from tunedprior import Optimizer
from tunedprior.errors import InputError, SpaceWarning
from tunedprior.space.parameters import Numeric, parse_parameter
from tunedprior.space.search_space import Space


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ((0.0, 1.0, 0.25), [0.0, 0.25, 0.5, 0.75, 1.0]),
        ((0.1, 0.75, 0.2), [0.1, 0.3, 0.5, 0.7]),
        ((1, 10, 3), [1, 4, 7, 10]),
        ((np.int64(-2), 3, np.int32(2)), [-2, 0, 2]),
        ((0, 1, 0.5), [0.0, 0.5, 1.0]),
        ((0.0, 0.3, 0.3), [0.0, 0.3]),
        ((0.1, 0.4, 0.3), [0.1, 0.4]),  # 0.4 - 0.1 is above 0.3 in binary, and 0.7 - 0.4 below it
        ((0.4, 0.7, 0.3), [0.4, 0.7]),
        ((-0.5, 0.4, 0.3), [-0.5, -0.2, 0.1, 0.4]),
    ],
)
def test_a_grid_begins_at_low_and_ends_at_its_last_value(given, values) -> None:
    grid = parse_parameter("x", given)
    assert grid.list_values() == values
    assert grid.high == values[-1]
    assert {type(value) for value in grid.list_values()} == {type(values[0])}


def test_the_short_forms_are_those_of_optuna() -> None:
    assert parse_parameter("x", (1, 9, 2)) == parse_parameter("x", IntDistribution(1, 9, step=2))
    assert parse_parameter("x", (0.0, 1.0, 0.1)) == parse_parameter("x", FloatDistribution(0.0, 1.0, step=0.1))
    assert parse_parameter("x", (1e-5, 1.0, "log")) == parse_parameter("x", FloatDistribution(1e-5, 1.0, log=True))


def test_a_logarithmic_range_is_a_continuum() -> None:
    assert parse_parameter("x", (1, 100, "log")) == Numeric("x", 1.0, 100.0, log=True)
    assert parse_parameter("x", (1, 100, "log")).compute_quantile(0.5) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        ((0.0, 1.0, 0), ("'x'", "above 0", "'log'")),
        ((0.0, 1.0, -0.5), ("'x'", "above 0")),
        ((0.0, 1.0, 2.0), ("'x'", "step", "high - low", "(0.0, 1.0, 2.0)")),
        ((1.0, 1.0, 1.0), ("'x'", "step", "(1.0, 1.0, 1.0)")),
        ((0.0, 1.0, 1e-10), ("'x'", "step", "1,000,000,000")),
        ((0.0, 1.0, "log"), ("'x'", "logarithmic", "above 0")),
        ((1.0, 2.0, "logarithmic"), ("'x'", "'log'", "(1.0, 2.0, 'logarithmic')")),
        ((2.0, 1.0, "log"), ("'x'", "low", "high", "(2.0, 1.0, 'log')")),
        ((1.0, 2.0, 0.1, "log"), ("'x'", "(low, high)")),
        ((1.0, 2.0, "log", 0), ("'x'", "significant digits", "1 to 15")),
        ((1.0, 2.0, "log", 2.5), ("'x'", "significant digits", "2.5")),
        ((0.0123, 0.0124, "log", 2), ("'x'", "2 significant digits", "same")),
        ((1.0, 2.0, "log", 3, 3), ("'x'", "(low, high)")),
    ],
)
def test_wrong_steps_and_words_are_refused(given, facts) -> None:
    with raises(InputError, *facts):
        Space.parse({"x": given})


def test_a_campaign_with_steps_is_saved_and_goes_on(tmp_path: Path) -> None:
    opt = Optimizer(
        {"dose": (0.0, 1.05, 0.1), "count": (1, 9, 2), "rate": (1e-3, 1.0, "log", 3)}, direction="maximize", seed=3
    )
    for value in (1.0, 2.0, 0.5):
        opt.tell(opt.ask(), value)
    opt.save(tmp_path / "campaign.json")
    again = Optimizer.load(tmp_path / "campaign.json")
    assert again.space == opt.space
    assert again.ask() == opt.ask()


def test_a_logarithmic_range_suggests_the_digits_it_is_given() -> None:
    opt = Optimizer({"dose": (0.0047, 9.5, "log", 2), "heat": (20.0, 90.0)}, direction="maximize", seed=1)
    asked = []
    for _ in range(6):
        asked.append(opt.ask())
        opt.tell(asked[-1], -((asked[-1]["dose"] - 0.31337) ** 2))
    doses = [one["dose"] for one in asked]
    assert doses == [float(f"{dose:.2g}") for dose in doses]
    assert len(set(doses)) > 3
    opt.tell({"dose": 0.31337, "heat": 30.0}, 0.0)  # whatever was run may be told


def test_rounded_suggestions_satisfy_constraints() -> None:
    space = Space.parse({"a": (0.001, 1.0, "log", 2), "b": (0.0, 1.0)}).add_constraints("a + b == 1")
    assert space.round_for_people({"a": 0.25, "b": 0.75}) == {"a": 0.25, "b": 0.75}
    exact = {"a": 0.12345, "b": 1 - 0.12345}
    assert space.round_for_people(exact) == exact
    opt = Optimizer(
        {"a": (0.001, 1.0, "log", 2), "b": (0.0, 1.0)}, direction="maximize", constraints="a + b == 1", seed=0
    )
    for _ in range(3):
        asked = opt.ask()
        assert opt.space.allows(asked)
        opt.tell(asked, asked["a"])


@pytest.mark.parametrize(
    ("given", "value", "written"),
    [
        ((100.0, 120.0), 109.99999999999999, 110.0),
        ((0.0, 1.0), 0.1 + 0.2, 0.3),
        ((1.0, 1000.0, "log"), 110.00000000000001, 110.0),
        ((1e9, 1e9 + 1e-3), 1e9 + 5e-4, 1e9 + 5e-4),  # a narrow range far from 0 keeps its digits
        ((-1e300, 1e300), 1.2345e299, 1.2345e299),
        ((0.0, 5e-324), 0.0, 0.0),
        ((1 / 3, 2 / 3), 2 / 3, 2 / 3),  # ends as they are
    ],
)
def test_errors_of_arithmetic_are_not_suggested(given: tuple[float, ...], value: float, written: float) -> None:
    assert parse_parameter("x", given).round_for_people(value) == written


def test_suggestions_have_no_more_digits_than_their_range_tells_apart() -> None:
    opt = Optimizer({"heat": (100.0, 120.0)}, direction="maximize", seed=0)
    for _ in range(5):
        asked = opt.ask()
        assert asked["heat"] == round(asked["heat"], 10)
        opt.tell(asked, -abs(asked["heat"] - 110.0))


@pytest.mark.parametrize("name", ["layers", "n_trees", "Number of plates", "hidden layers", "Anzahl"])
def test_whole_ends_of_what_is_counted_are_asked_about(name: str) -> None:
    with pytest.warns(SpaceWarning, match=r"such as 5\.23\. Write \(1, 10, 1\) .* or \(1\.0, 10\.0\)"):
        found = parse_parameter(name, (1, 10))
    assert found == Numeric(name, 1.0, 10.0)  # as it was


@pytest.mark.parametrize(
    ("name", "given"),
    [("layers", (1.0, 10.0)), ("layers", (1, 10, 1)), ("heat", (20, 90)), ("layers", (3, 3)), ("noise", (1, 10))],
)
def test_other_ranges_are_not_asked_about(name: str, given: tuple[float, ...]) -> None:
    parse_parameter(name, given)  # a warning is an error here


def test_what_parameters_may_be_is_said() -> None:
    ranges = {"layers": (1.0, 10.0), "heat": (20, 90, 5), "rate": (1e-3, 1.0, "log")}
    space = {**ranges, "dose": [1, 2], "gas": ["air", "N2"]}
    said = Optimizer(space, direction="maximize", seed=0).summary["space"]
    assert said == (
        "layers (1 to 10, any number), heat (20 to 90 step 5), rate (0.001 to 1, any number, log), dose (1, 2), "
        "gas (air, N2)"
    )
    assert (
        Optimizer({"heat": (20, 90, 5), "gas": ["air", "N2"]}, direction="maximize", seed=0)
        .summary["space"]
        .endswith("; 30 settings")
    )


def test_scalars_of_other_packages_are_numbers() -> None:
    assert parse_parameter("x", (torch.tensor(0.5), np.float32(2.0))) == Numeric("x", 0.5, 2.0)
    assert parse_parameter("x", (torch.tensor(1), torch.tensor(9), np.int64(2))) == parse_parameter("x", (1, 9, 2))
    assert parse_parameter("x", [torch.tensor(1.0), torch.tensor(4.0), torch.tensor(2.0)]).list_values() == [
        1.0,
        2.0,
        4.0,
    ]
    with pytest.raises(InputError, match="two finite numbers"):
        parse_parameter("x", (torch.tensor([0.0]), torch.tensor([1.0])))
