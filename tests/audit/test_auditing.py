import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tunedprior
from tunedprior import Target
from tunedprior.audit import Audit, auditing, measures, run_audit
from tunedprior.audit.auditing import STEPS
from tunedprior.audit.measures import Rehearsal, SelfPrediction
from tunedprior.errors import InputError

SPACE = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": ["x", "z"]}


def table(count: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(0, 1, count), rng.uniform(0, 1, count), rng.choice(["x", "z"], count)
    return pd.DataFrame({"a": a, "b": b, "c": c, "y": np.sin(4 * a) * np.where(c == "x", 1.0, 2.0)})


def quick(data: Any, space: Any = SPACE, **options: Any) -> Audit:
    return run_audit(data, space, rehearse=False, **options)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "TRIALS", 3)
    monkeypatch.setattr(measures, "REPEATS", 1)


def test_good_old_data_is_to_be_used() -> None:
    found = quick(table())
    assert found.faults == ()
    assert found.verdict.startswith("Use it: ")
    assert found.next_step.startswith("Begin: tunedprior new")
    assert (found.rows, found.used) == (60, 60)


def test_what_it_says_is_true() -> None:
    found = quick(table())
    assert found.prediction is not None
    assert found.influences is not None
    assert found.coverage is not None
    assert found.prediction.explained > 0.95
    assert list(found.influences.inputs)[:2] in (["a", "c"], ["c", "a"])
    assert found.influences.inputs["b"] < 0.02
    assert next(iter(found.influences.pairs)) == ("a", "c")
    assert found.coverage.share > 0.9
    assert found.coverage.gaps == {}


def test_noise_says_nothing() -> None:
    found = quick(table().assign(y=np.random.default_rng(1).normal(size=60)))
    assert found.prediction is not None
    assert found.prediction.explained < 0.1
    assert found.verdict.startswith("It can hardly help")
    assert "Which inputs matter" not in found.sections


def test_faults_come_first() -> None:
    found = quick(table().assign(a=lambda old: 1000 * old["a"]))
    assert found.verdict.startswith("It cannot help as it is: other units in a")
    assert found.next_step.startswith("Convert the column 'a'")
    some = quick(pd.concat([table(), table().iloc[:3]], ignore_index=True))
    assert some.verdict.startswith("Use it, but mend it first: copied rows")


def test_a_gap_is_named() -> None:
    old = table()
    found = quick(old[(old["a"] < 0.5) & (old["c"] == "x")])
    assert found.coverage is not None
    assert found.coverage.gaps["c"] == "no 'z'"
    assert found.coverage.gaps["a"].startswith("nothing between 0.4")
    assert found.coverage.share < 0.5


def test_labels() -> None:
    found = quick(table().assign(y=lambda old: np.where(old["a"] > 0.4, "pass", "fail")))
    assert found.prediction is not None
    assert found.prediction.correct is not None
    assert found.prediction.correct[0] > 0.9
    assert "predicted right in" in str(found)


def test_a_response_over_decades_is_taken_by_its_logarithm() -> None:
    found = quick(table().assign(y=lambda old: np.exp(6 * old["a"] + old["b"])))
    assert found.prediction is not None
    assert found.prediction.logarithm
    assert "logarithm" in str(found)


def test_repeats_tell_the_noise() -> None:
    old, rng = table(20), np.random.default_rng(0)
    found = quick(pd.concat([old.assign(y=old["y"] + 0.1 * rng.normal(size=20)) for _ in range(4)], ignore_index=True))
    assert found.prediction is not None
    assert found.prediction.noise == pytest.approx(0.1, rel=0.3)


@pytest.mark.usefixtures("short")
def test_a_campaign_on_the_old_data_itself() -> None:
    steps: list[str] = []
    found = run_audit(table(), SPACE, "y", "minimize", seed=1, advance=steps.append)
    assert found.rehearsal is not None
    assert (found.rehearsal.trials, found.rehearsal.repeats) == (3, 1)
    for curve in (found.rehearsal.with_old, found.rehearsal.without, found.rehearsal.at_random):
        assert len(curve) == 3
        assert all(0 <= missed <= 1 for missed in curve)
        assert list(curve) == sorted(curve, reverse=True)
    assert len(steps) <= STEPS
    assert "Expect no more than that" in str(found)
    assert run_audit(table(), SPACE, "y", "minimize", seed=1).rehearsal == found.rehearsal


def words_of(with_old: tuple[float, ...], without: tuple[float, ...]) -> tuple[str, str]:
    """What is said of campaigns that missed so much after each trial, and the verdict on that."""
    rehearsal = Rehearsal(len(with_old), 5, with_old, without, without, 4)
    prediction = SelfPrediction(90, 0.9, 0.1, None, False, None)
    return auditing.describe_rehearsal(rehearsal)[0], auditing.describe_verdict((), 90, None, prediction, rehearsal)


def test_the_verdict_rests_on_figures_that_are_shown_though_the_last_trial_says_otherwise() -> None:
    said, verdict = words_of((0.06, 0.04, 0.04), (0.5, 0.2, 0.02))
    for part in ("4.7 % of the range with", "24 % without"):
        assert part in said
        assert part in verdict
    assert "After the last trial it was 4.0 %, 2.0 %, 2.0 %. In the end it was nearer without old data." in said
    assert verdict.endswith("The gain is in the first trials, not in the last.")


def test_nothing_is_held_against_old_data_that_is_ahead_in_the_end_too() -> None:
    said, verdict = words_of((0.06, 0.04, 0.01), (0.5, 0.2, 0.05))
    assert said.endswith(
        "After the last trial it was 1.0 %, 5.0 %, 5.0 %. It got as far after 2 trials as without it after 3."
    )
    assert "not in the last" not in verdict


def test_a_verdict_on_old_data_that_was_behind_says_so() -> None:
    _, verdict = words_of((0.5, 0.2, 0.1), (0.3, 0.1, 0.1))
    assert verdict == (
        "Use it: its settings explain its response, though campaigns on the old data itself went no faster with it."
    )


@pytest.mark.usefixtures("short")
def test_a_target() -> None:
    found = run_audit(table(), SPACE, "y", Target(0.5, 0.6))
    assert found.rehearsal is not None
    assert found.next_step.endswith("--target y=0.5..0.6")


@pytest.mark.parametrize(
    ("old", "space"),
    [
        ({"a": np.linspace(0, 1, 12), "y": np.linspace(0, 1, 12) ** 2}, {"a": (0.0, 1.0)}),
        ({"c": ["x", "z"] * 6, "y": np.arange(12.0)}, {"c": ["x", "z"]}),
        ({"a": [0.1], "y": [1.0]}, {"a": (0.0, 1.0)}),
        ({"a": [0.1, 0.2, 0.9], "y": [1.0, 1.0, 1.0]}, {"a": (0.0, 1.0)}),
        ({"a": [0.5] * 9, "y": np.arange(9.0)}, {"a": (0.0, 1.0)}),
        ({"a": np.linspace(0, 1, 12), "y": ["failed"] * 12}, {"a": (0.0, 1.0)}),
        ({"a": np.linspace(0, 1, 9), "y": np.arange(9.0)}, {"a": (0.0, 1.0), "b": (0.0, 1.0)}),
        ({"a": 10.0 ** np.arange(-6, 6), "y": np.arange(12.0)}, {"a": (1e-6, 1e5, "log")}),
        ({"a": np.arange(12) % 3, "y": np.arange(12.0)}, {"a": [0, 1, 2]}),
    ],
)
def test_small_and_odd_tables(old: dict[str, Any], space: dict[str, Any]) -> None:
    found = quick(old, space)
    assert found.verdict
    assert found.next_step
    json.dumps(found.to_dict(), default=str)


def test_nothing_to_learn_from() -> None:
    found = quick({"a": [], "y": []}, {"a": (0.0, 1.0)})
    assert [one.kind for one in found.faults] == ["no rows"]
    assert found.verdict.startswith("It cannot help as it is: ")
    assert "no rows" in found.verdict
    assert found.next_step.startswith("Add rows")


def test_a_wrong_column_is_refused() -> None:
    with pytest.raises(InputError, match="yield is missing"):
        quick(table(), target="yield")


def test_html_is_escaped() -> None:
    found = quick(table().rename(columns={"y": "<b>y</b>"}), target="<b>y</b>")
    assert "<b>y</b>" not in found._repr_html_()
    assert "&lt;b&gt;y" in found._repr_html_()
    assert "<b>y</b>" in str(found)


def test_all_that_is_said_is_in_its_sentences() -> None:
    found = quick(table())
    assert set(found.sentences) == {line for part in found.sections.values() for line in part}
    assert all(sentence in str(found) for sentence in found.sentences)
    assert repr(found) == str(found)


def test_the_package_is_there_without_importing_it() -> None:
    assert tunedprior.audit.run_audit is run_audit
