"""Campaigns that several workers run have as many results as were asked for, whoever is faster."""

from pathlib import Path
from typing import Any

import pytest

from tunedprior import Optimizer, SearchConfig
from tunedprior.workspace.runs import _run_trials


def test_the_faster_of_two_workers_has_the_last_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One worker takes the lower number for its suggestion, and the other one is in the journal before it."""
    one, other = (
        Optimizer(
            {"x": (0.0, 1.0)},
            direction="maximize",
            storage=f"sqlite:///{tmp_path}/a.db",
            search=SearchConfig(initial=50),
            seed=0,
        )
        for _ in range(2)
    )
    one.tell({"x": 0.5}, 0.5)
    append, ran = one._recorder.store._append, []

    def late(*arguments: Any) -> None:
        monkeypatch.undo()
        ran.extend(_run_trials(other, _same, 2, [], False))
        append(*arguments)

    monkeypatch.setattr(one._recorder.store, "_append", late)
    assert (list(_run_trials(one, _same, 2, [], False)), ran) == ([], [3])
    assert [trial.id for trial in one.trials.told] == [1, 3]
    assert not one.trials.pending


def _same(setting: dict[str, Any]) -> float:
    return float(setting["x"])
