"""Results can be corrected and withdrawn, suggestions cancelled; all of it stays on record."""

import pandas as pd
import pytest

from support.builders import SPACE, smooth
from support.cases import table
from support.optimizers import make_optimizer
from tunedprior import Optimizer
from tunedprior.errors import InputError


def told(values: list[float], **options) -> Optimizer:
    """An optimiser that was told these values at the same settings every time."""
    opt = make_optimizer(SPACE, seed=3, **options)
    opt.tell(opt.space.sobol(len(values), seed=1), values)
    return opt


def old() -> pd.DataFrame:
    points = table(12, 2).numpy()
    rows = pd.DataFrame({"a": points[:, 0], "b": 2.5 + 2.5 * points[:, 1]})
    return rows.assign(y=[smooth(row) for row in rows.to_dict("records")])


def test_a_wrong_value_can_be_put_right() -> None:
    opt = told([0.1, 10.0, 0.3])
    assert opt.best.value == 10.0
    opt.amend(2, 1.0, note="a slip of the pen")
    assert (opt.best.value, opt.best.id, opt.best.note) == (1.0, 2, "a slip of the pen")
    assert opt.history["y"].tolist() == [0.1, 1.0, 0.3]
    opt.amend(opt.best, failed=True)
    assert opt.history["state"].tolist() == ["complete", "failed", "complete"]
    opt.amend(1, setting={"a": 0.25})
    assert opt.trials.told[0].setting["a"] == 0.25
    assert opt.trials.told[0].value == 0.1


def test_a_suggestion_names_its_result() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    first = opt.ask()
    opt.tell(first, 5.0)
    opt.amend(first, 0.5)
    assert (opt.best.value, opt.best.is_suggestion) == (0.5, True)
    with pytest.raises(InputError, match="is not what this suggestion was made for"):
        opt.amend(Optimizer(SPACE, direction="maximize", seed=9).ask(), 1.0)


def test_what_is_withdrawn_stays_on_record_and_counts_for_nothing() -> None:
    opt = told([0.1, 10.0, 0.3])
    opt.withdraw(2, note="wrong bottle")
    assert opt.best.value == 0.3
    assert opt.history["state"].tolist() == ["complete", "complete", "withdrawn"]
    assert opt.history["y"].tolist() == [0.1, 0.3, 10.0]
    assert opt.history["note"].tolist()[-1] == "wrong bottle"
    assert opt.ask().trial == 4


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("with_old", [False, True])
def test_a_corrected_campaign_is_one_that_was_told_the_right_thing(with_old: bool) -> None:
    options = {"old_data": old()} if with_old else {}
    opt = told([0.1, 10.0, 0.3, 7.0, 0.2], **options)
    opt.ask()  # the models of the wrong results are made, and kept
    grid = opt.space.sobol(4, seed=8)
    before = opt.predict(grid), opt.trust if with_old else None
    opt.cancel(opt.pending)
    opt.amend(2, 1.0)
    opt.withdraw(4)
    right = make_optimizer(SPACE, seed=3, **options)
    points = right.space.sobol(5, seed=1)
    right.tell([points[0], points[1], points[2], points[4]], [0.1, 1.0, 0.3, 0.2])
    pd.testing.assert_frame_equal(opt.predict(grid), right.predict(grid), check_exact=True)
    assert not opt.predict(grid).equals(before[0])
    if with_old:
        pd.testing.assert_frame_equal(opt.trust.history, right.trust.history, check_exact=True)
        assert not opt.trust.beliefs.equals(before[1].beliefs)
    resumed = make_optimizer(SPACE, seed=3, **options).resume(opt.history)
    assert resumed.trials == opt.trials
    assert resumed.ask() == opt.ask()


def test_what_is_cancelled_is_remembered() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    first, second = opt.ask(n=2)
    opt.cancel(first)
    assert opt.pending == [second]
    (aside,) = opt.trials.set_aside
    assert (aside.state, aside.setting, aside.id, aside.failed) == ("cancelled", dict(first), 1, False)
    assert opt.history["state"].tolist() == ["pending", "cancelled"]
    assert opt.ask().trial == 3
    with pytest.raises(InputError, match="is not among them"):
        opt.cancel(first)
    with pytest.raises(InputError, match="Trial 1 was cancelled and has no result"):
        opt.amend(1, 2.0)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((7, 1.0), {}, "no result with the number 7. There are 1, 2"),
        ((1,), {}, "amend needs the right value"),
        ((1, 2.0), {"failed": True}, "got both"),
        ((1, [1.0, 2.0]), {}, "one value for each of the 1 settings; got 2"),
        ((1,), {"setting": {"a": 7.0}}, "'a' must lie between"),
        ((1,), {"setting": {"c": 7.0}}, "Parameters are a, b; got c"),
        ((3, 1.0), {}, "Nothing was told of trial 3 yet"),
    ],
)
def test_corrections_that_make_no_sense_change_nothing(arguments: tuple, options: dict, message: str) -> None:
    opt = told([0.1, 0.2])
    opt.ask()
    before = opt.trials
    with pytest.raises(InputError, match=message):
        opt.amend(*arguments, **options)
    assert opt.trials is before


def test_a_run_of_another_kind_leaves_its_suggestion_pending_unless_it_says_which_it_was() -> None:
    opt = Optimizer({"x": (0.0, 1.0), "gas": ["air", "argon"]}, direction="maximize", seed=0)
    suggested = opt.ask()
    run = {"x": suggested["x"], "gas": "air" if suggested["gas"] == "argon" else "argon"}
    opt.tell(run, 1.0)
    assert opt.pending == [suggested]
    opt.tell(run, 2.0, trial=suggested)
    assert opt.pending == []
