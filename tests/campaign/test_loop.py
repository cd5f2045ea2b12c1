"""A whole campaign in one call."""

import math

import pandas as pd
import pytest

from support.builders import SPACE, bowl, mixed
from support.cases import table
from tunedprior import Optimizer, SearchConfig, optimize
from tunedprior.campaign.loop import simulate
from tunedprior.errors import InputError
from tunedprior.space.search_space import Space
from tunedprior.suggestion.suggester import Suggester


@pytest.mark.slow
@pytest.mark.parametrize("with_old", [False, True])
def test_it_finds_the_best_of_a_smooth_function(with_old: bool) -> None:
    old = None
    if with_old:  # the same bowl, upside down
        points = table(40, 2).numpy()
        old = pd.DataFrame({"a": points[:, 0], "b": 2.5 + 2.5 * points[:, 1]})
        old["y"] = [-bowl(row) for row in old.to_dict("records")]
    opt = optimize(bowl, SPACE, 15, old_data=old, direction="minimize", progress=False, seed=0)
    assert opt.best.value < 2e-3
    assert opt.best.value == pytest.approx(bowl(opt.best.setting))


@pytest.mark.usefixtures("short_search")
def test_optimize_counts_caught_exceptions_as_failures(capsys: pytest.CaptureFixture[str]) -> None:
    def sometimes(setting: dict) -> float:
        if setting["a"] > 0:
            raise RuntimeError("the pump stopped")
        return mixed(setting)

    opt = optimize(sometimes, SPACE, 5, direction="maximize", catch=(RuntimeError,), seed=0)
    assert len(opt.history) == 5
    assert "failed" in set(opt.history["state"])
    assert "5/5" in capsys.readouterr().err
    with pytest.raises(RuntimeError, match="the pump stopped") as caught:
        optimize(sometimes, SPACE, 5, direction="maximize", progress=False, seed=0)
    assert isinstance(caught.value.optimizer, Optimizer)
    with pytest.raises(InputError, match="n_trials must be a whole number"):
        optimize(sometimes, SPACE, 0, direction="maximize", seed=0)


class FrozenError(Exception):
    """Takes no attributes."""

    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError(f"{name} cannot be set to {value}")


@pytest.mark.parametrize("error", [KeyboardInterrupt, FrozenError, SystemExit])
def test_whatever_ends_a_campaign_brings_it_along(error: type[BaseException]) -> None:
    calls = []

    def response(setting: dict) -> float:
        calls.append(setting)
        if len(calls) == 3:
            raise error
        return mixed(setting)

    with pytest.raises(error) as caught:
        optimize(response, SPACE, 5, direction="maximize", progress=False, seed=0)
    assert len(caught.value.optimizer.trials) == 2
    assert len(caught.value.optimizer.pending) == 1


def test_errors_while_asking_bring_it_along_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Suggester.suggest

    def fails(self, history, *args) -> dict:
        if len(history) == 2:
            raise ArithmeticError("no factor")
        return asked(self, history, *args)

    monkeypatch.setattr(Suggester, "suggest", fails)
    with pytest.raises(ArithmeticError, match="no factor") as caught:
        optimize(mixed, SPACE, 5, direction="maximize", progress=False, seed=0)
    assert len(caught.value.optimizer.trials) == 2


def test_a_function_may_change_the_dict_it_is_given() -> None:
    def careless(setting: dict) -> float:
        value = mixed(setting)
        setting.clear()
        return value

    assert (
        optimize(careless, SPACE, 2, direction="maximize", progress=False, seed=0).trials
        == optimize(mixed, SPACE, 2, direction="maximize", progress=False, seed=0).trials
    )


def test_what_is_no_number_ends_the_campaign_even_where_errors_are_caught() -> None:
    answers = iter([1.0, 2.0, None])
    with pytest.raises(InputError, match="must return one number") as caught:
        optimize(
            lambda _: next(answers),
            SPACE,
            3,
            direction="maximize",
            catch=(ValueError, TypeError),
            progress=False,
            seed=0,
        )
    assert caught.value.optimizer.best.value == 2.0
    assert len(caught.value.optimizer.pending) == 1


@pytest.mark.usefixtures("short_search")
def test_a_simulation_is_asking_running_and_telling() -> None:
    first = [{"a": 0.0, "b": 1.0}, {"a": 0.5, "b": 2.0}]
    opt, seen = Optimizer(SPACE, direction="maximize", seed=1, search=SearchConfig(initial=2)), []
    curve = simulate(opt, lambda s: math.nan if s["a"] == 0 else -bowl(s), 4, first=first, after=seen.append)
    assert math.isnan(curve[0])
    assert curve[1] == -bowl(first[1])
    assert curve[1:] == sorted(curve[1:])
    assert curve[-1] == opt.best.value
    assert [dict(trial.setting) for trial in opt.trials.told[:2]] == first
    assert seen == [opt] * 4


def test_a_simulation_may_choose_from_a_list() -> None:
    pool = Space.parse(SPACE).sobol(6, seed=4)
    opt = Optimizer(SPACE, direction="maximize", seed=1, search=SearchConfig(initial=2))
    curve = simulate(opt, bowl, 6, candidates=pool)
    assert curve[-1] == max(map(bowl, pool))
    assert opt.pending == []
