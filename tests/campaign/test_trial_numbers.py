"""Results find their trials by number: of a suggestion, of an argument, of a table's column."""

import pandas as pd
import pytest

from tunedprior import Optimizer
from tunedprior.errors import InputError, OddResultWarning

SPACE = {"x": (0.0, 1.0), "gas": ["air", "argon"]}


def setting(x: float, gas: str = "air") -> dict:
    return {"x": x, "gas": gas}


def test_a_suggestion_run_at_anothers_setting_is_still_itself() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=1)
    first, second = opt.ask(n=2)
    second.update(first)
    opt.tell(second, 1.0)
    assert [trial.id for trial in opt.trials.pending] == [first.trial]
    assert opt.trials.told[0].id == second.trial


def test_telling_by_the_number_of_a_trial() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=1)
    first, second = opt.ask(n=2)
    opt.tell(setting(0.5), 1.0, trial=second.trial)
    assert [trial.id for trial in opt.trials.pending] == [first.trial]


def test_telling_a_table_with_the_numbers_of_trials() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=1)
    opt.ask(n=3)
    opt.tell(opt.history.iloc[::-1].assign(x=0.5), [1.0, 2.0, 3.0])
    assert [trial.id for trial in opt.trials.told] == [3, 2, 1]
    assert opt.pending == []


def test_a_suggestion_of_another_optimiser_is_not_taken_for_ones_own() -> None:
    mine, other = Optimizer(SPACE, direction="maximize", seed=1), Optimizer(SPACE, direction="maximize", seed=2)
    mine.ask()
    mine.tell(other.ask(), 1.0)
    assert len(mine.pending) == 1
    assert not mine.trials.told[0].is_suggestion


def test_telling_a_suggestion_twice_is_a_repeat_and_no_other_suggestion() -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=1)
    near = opt.ask()
    opt.tell(near, 1.0)
    pending = opt.ask()
    near["x"] = pending["x"] + 0.01
    with pytest.warns(OddResultWarning, match="Trial 1 was told already"):
        opt.tell(near, 2.0)
    assert opt.pending == [pending]
    assert [trial.id for trial in opt.trials.told] == [1, 3]


def test_the_number_of_a_trial_that_is_not_pending_is_refused() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=1)
    opt.ask()
    with pytest.raises(InputError, match=r"number of a pending one \(1\); got 7"):
        opt.tell(setting(0.5), 1.0, trial=7)
    assert len(opt.trials) == 0


def test_a_history_of_the_first_release_can_be_resumed() -> None:
    table = pd.DataFrame(
        {
            "x": [0.1, 0.2, 0.3],
            "gas": ["air", "argon", "air"],
            "y": [1.0, float("nan"), float("nan")],
            "state": ["complete", "failed", "pending"],
            "asked": [True, False, True],
        }
    )
    opt = Optimizer(SPACE, direction="maximize", seed=0).resume(table)
    assert [trial.id for trial in (*opt.trials.told, *opt.trials.pending)] == [1, 2, 3]
    assert [trial.is_suggestion for trial in opt.trials.told] == [True, False]
    assert opt.pending == [setting(0.3)]
