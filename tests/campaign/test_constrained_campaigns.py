"""Whole campaigns with constraints: every suggestion satisfies them, however it is asked for."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tunedprior import LinearConstraint, Mixture, OnlyWhen, Optimizer, SearchConfig
from tunedprior.errors import FileFormatError, InputError
from tunedprior.space.search_space import Setting

SAVED = Path(__file__).parents[1] / "support" / "saved"
PARTS = dict.fromkeys("abcd", (0.0, 1.0))
WHOLE = Mixture(list(PARTS))
REACTION = {"catalyst": ["A", "B"], "additive": ["none", "salt", "acid"], "dose": (0.0, 5.0), "heat": (20, 90, 10)}
RULES = [
    OnlyWhen("additive", {"catalyst": "B"}, otherwise="none"),
    OnlyWhen("dose", {"additive": ["salt", "acid"]}, otherwise=0.0),
    "10*dose + heat <= 100",
]


def yield_of(setting: Setting) -> float:
    return -sum((setting[name] - best) ** 2 for name, best in zip("abcd", (0.4, 0.3, 0.25, 0.05), strict=True))


def old_mixtures() -> pd.DataFrame:
    table = pd.DataFrame(np.random.default_rng(1).dirichlet([1.0] * 4, 30), columns=list(PARTS))
    return table.assign(y=[yield_of(row) for row in table.to_dict("records")])


def inside_disc(setting: Setting) -> bool:
    return bool(setting["x"] ** 2 + setting["y"] ** 2 <= 0.25)


def run(opt: Optimizer, value: Callable[[Setting], float], steps: int, batch: int | None = None) -> list[Setting]:
    """All suggestions of a campaign."""
    suggested: list[Setting] = []
    for _ in range(steps):
        asked = opt.ask(batch)
        for setting in asked if batch else [asked]:
            assert opt.space.allows(setting), setting
            suggested.append(dict(setting))
            opt.tell(setting, value(setting))
    return suggested


@pytest.mark.slow
@pytest.mark.parametrize(("steps", "batch"), [(12, None), (4, 3)])
def test_mixtures_add_up_in_a_whole_campaign_with_old_data(steps: int, batch: int | None) -> None:
    opt = Optimizer(PARTS, old_mixtures(), direction="maximize", constraints=WHOLE, seed=2)
    suggested = run(opt, yield_of, steps, batch)
    assert max(abs(sum(setting.values()) - 1) for setting in suggested) < 1e-9
    assert len({tuple(setting.values()) for setting in suggested}) == 12
    assert opt.best.value > -0.01


@pytest.mark.usefixtures("short_search")
def test_old_data_may_reach_beyond_the_constraints_and_the_space() -> None:
    old = pd.DataFrame(np.random.default_rng(2).uniform(0, 2, (30, 4)), columns=list(PARTS))
    opt = Optimizer(PARTS, old.assign(y=old["a"]), direction="maximize", constraints=WHOLE, seed=1)
    suggested = run(opt, lambda setting: setting["a"], 7)
    assert max(abs(sum(setting.values()) - 1) for setting in suggested) < 1e-9
    assert opt.best.value > 0.9


def test_a_mixture_on_a_grid_stays_on_it_and_is_exhausted_in_the_end() -> None:
    opt = Optimizer(
        dict.fromkeys("abc", (0.0, 1.0, 0.25)),
        direction="maximize",
        constraints="a + b + c == 1",
        noise_std=0.0,
        seed=0,
    )
    suggested = run(opt, lambda setting: setting["a"] - setting["b"], 15)
    assert opt.space.size == 15
    assert len({tuple(setting.values()) for setting in suggested}) == 15
    with pytest.warns(UserWarning, match="All 15 settings of the search space were tried"):
        assert opt.space.allows(opt.ask())


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
def test_conditions_hold_in_a_mixed_space(acquisition: str) -> None:
    opt = Optimizer(
        REACTION, direction="maximize", constraints=RULES, seed=3, search=SearchConfig(acquisition=acquisition)
    )
    suggested = run(opt, lambda s: s["dose"] * (2 if s["additive"] == "acid" else 1) + s["heat"] / 50, 10)
    for setting in suggested:
        assert setting["catalyst"] == "B" or setting["additive"] == "none"
        assert setting["additive"] != "none" or setting["dose"] == 0.0
        assert 10 * setting["dose"] + setting["heat"] <= 100 + 1e-7
        assert setting["heat"] in range(20, 91, 10)
    assert opt.best.setting["additive"] == "acid"
    assert opt.best.value > 6


@pytest.mark.slow
def test_the_optimum_on_the_edge_is_reached() -> None:
    opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, direction="maximize", constraints="x + y <= 1", seed=1)
    run(opt, lambda s: -((s["x"] - 0.9) ** 2) - (s["y"] - 0.5) ** 2, 12)
    assert opt.best.value == pytest.approx(-0.08, abs=2e-3)
    assert opt.best.setting == pytest.approx({"x": 0.7, "y": 0.3}, abs=0.05)


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
def test_a_function_may_be_a_constraint() -> None:
    opt = Optimizer({"x": (-1.0, 1.0), "y": (-1.0, 1.0)}, direction="maximize", constraints=inside_disc, seed=1)
    run(opt, lambda s: s["x"] + s["y"], 9)
    assert opt.best.value == pytest.approx(0.5 * 2**0.5, abs=0.02)


def test_candidates_must_satisfy_the_constraints() -> None:
    opt = Optimizer(PARTS, direction="maximize", constraints=[WHOLE, "a <= 0.5"], seed=0)
    good = [{"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4}, {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.25}]
    assert opt.ask(candidates=good) in good
    with pytest.raises(InputError, match=r"constraint 'a \+ b \+ c \+ d == 1'; 1 of 3 do not \(rows 2, such"):
        opt.ask(candidates=[*good, {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.5}])
    with pytest.raises(InputError, match=r"'a <= 0.5'; 1 of 3 do not"):
        opt.ask(candidates=[{"a": 0.7, "b": 0.1, "c": 0.1, "d": 0.1}, *good])


def test_what_was_really_run_is_told_even_if_it_violates_a_constraint() -> None:
    opt = Optimizer(PARTS, direction="maximize", constraints=WHOLE, seed=0)
    opt.tell({"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5}, 1.0)
    setting = opt.ask()
    opt.tell(setting, 2.0)
    assert len(opt.history) == 2
    assert opt.space.allows(opt.ask())


@pytest.mark.usefixtures("short_search")
def test_the_shadow_satisfies_them_too() -> None:
    opt = Optimizer(PARTS, old_mixtures(), direction="maximize", constraints=WHOLE, seed=1)
    run(opt, yield_of, 5)
    shadow = opt.shadow(opt.ask())
    assert opt.space.allows(shadow.setting)
    assert 0 <= shadow.distance <= 1


@pytest.mark.usefixtures("short_search")
def test_suggestions_repeat_and_go_on_after_a_break(tmp_path: Path) -> None:
    opt = Optimizer(REACTION, direction="maximize", constraints=[*RULES, LinearConstraint({"heat": 1}, low=30)], seed=4)
    run(opt, lambda s: s["heat"] - s["dose"], 6)
    opt.save(tmp_path / "campaign.json")
    again = Optimizer.load(tmp_path / "campaign.json")
    assert again.space == opt.space
    resumed = Optimizer(opt.space, direction="maximize", seed=4).resume(opt.history)
    shared = pickle.loads(pickle.dumps(opt.suggester))
    assert (
        again.ask(2)
        == resumed.ask(2)
        == Optimizer.from_suggester(shared, seed=4).resume(opt.history).ask(2)
        == opt.ask(2)
    )


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
def test_functions_are_given_again_when_a_campaign_is_loaded(tmp_path: Path) -> None:
    space: dict[str, Any] = {"x": (-1.0, 1.0), "y": (-1.0, 1.0)}
    opt = Optimizer(space, direction="maximize", target="z", constraints=["x <= y", inside_disc], seed=4)
    run(opt, lambda s: s["x"], 4)
    opt.save(file := tmp_path / "campaign.json")
    with pytest.raises(InputError, match="constraints=…"):
        Optimizer.load(file)
    with pytest.raises(InputError, match=r"functions: inside_disc. Give them again"):
        Optimizer.load(file, constraints=lambda setting: setting["x"] > 0)
    for given in (inside_disc, ["x <= y", inside_disc]):
        again = Optimizer.load(file, constraints=given)
        assert again.space == opt.space
    assert again.ask() == opt.ask()
    Optimizer.from_suggester(opt.suggester).save(file, overwrite=True)
    assert Optimizer.load(file, suggester=opt.suggester).space == opt.space
    with pytest.raises(InputError, match="The suggester has another space"):
        Optimizer.load(file, suggester=Optimizer(space, direction="maximize", target="z", seed=0).suggester)


def test_constraints_can_be_added_when_a_campaign_is_loaded(tmp_path: Path) -> None:
    opt = Optimizer(PARTS, direction="maximize", constraints=WHOLE, seed=0)
    opt.save(file := tmp_path / "campaign.json")
    again = Optimizer.load(file, constraints="a <= b")
    assert list(map(str, again.space.constraints)) == ["a + b + c + d == 1", "a - b <= 0"]


def test_files_from_before_there_were_constraints_are_read(tmp_path: Path) -> None:
    content = json.loads((SAVED / "campaign_v2.json").read_text())
    assert content["arguments"].pop("constraints") == []
    (tmp_path / "campaign.json").write_text(json.dumps(content))
    assert Optimizer.load(tmp_path / "campaign.json").space.constraints == ()


def test_damaged_constraints_are_refused(tmp_path: Path) -> None:
    Optimizer(PARTS, direction="maximize", constraints="a <= b", seed=0).save(file := tmp_path / "campaign.json")
    file.write_text(file.read_text().replace('"a": 1', '"z": 1'))
    with pytest.raises(FileFormatError, match=r"is damaged: The constraint .* names 'z'"):
        Optimizer.load(file)


def test_a_campaign_says_its_constraints() -> None:
    assert "constraints: a + b + c + d == 1; a <= 0.5\n" in repr(
        Optimizer(PARTS, direction="maximize", constraints=[WHOLE, "a <= 0.5"], seed=0)
    )
    assert "constraints" not in repr(Optimizer(PARTS, direction="maximize", seed=0))
