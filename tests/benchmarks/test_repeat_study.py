"""Stored campaigns that are run again: which are drawn, what counts as the same, going on where it stopped."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.__main__ import main
from benchmarks.results import RESULTS
from benchmarks.runner import run_all
from benchmarks.studies import beliefs, paper, repeat


def test_slow_rivals_are_drawn_but_do_not_dominate() -> None:
    drawn = repeat.draw(repeat.stored_runs(repeat.groups_of_studies("DIR"), RESULTS), 60, seed=0)
    assert len(drawn) == 60
    assert not drawn.duplicated(["study", "run"]).any()
    assert 1 <= drawn["slow"].sum() <= 12
    assert drawn["group"].value_counts().between(19, 21).all()
    assert set(drawn["study"]) == {"functions", "fibre", "beliefs", "beliefs_continuous", "beliefs_pairs"}
    assert drawn["method"].nunique() >= 12
    other = repeat.draw(repeat.stored_runs(repeat.groups_of_studies(None), RESULTS), 60, seed=1)
    assert "beliefs_pairs" not in set(other["study"])
    assert len(set(other.index) - set(drawn.index)) > 20


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    jobs = [paper.FunctionJob("Himmelblau", "flipped", method, 0, 4, 32) for method in ("ARD-EI", "EI")]
    run_all(paper.ON_FUNCTIONS, jobs, tmp_path)
    run_all(beliefs.IN_BOXES, [beliefs.BoxJob("Branin", "flipped", "standard-EI", 100, 1)], tmp_path)
    return tmp_path


def test_what_agrees_and_what_does_not(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = pd.read_csv(stored / "functions.csv")
    changed = values["value"] + 0.25 * ((values["run"] == 1) & (values["step"] >= 3))
    values.assign(value=changed).to_csv(stored / "functions.csv", index=False)
    main(["repeat", "--count", "3", "--out", str(stored)])
    said = capsys.readouterr().out
    assert "2 of 3 campaigns agree with the stored ones to 1e-06." in said
    assert "differs by 0.25 from step 3: functions, 1, Himmelblau, flipped, EI, 0\n" in said
    table = pd.read_csv(stored / "repeat.csv")
    assert table[["study", "run", "method"]].to_numpy().tolist() == [
        ["beliefs_continuous", 0, "standard-EI"], ["functions", 0, "ARD-EI"], ["functions", 1, "EI"],
    ]  # fmt: skip
    assert table["difference"].tolist() == [0.0, 0.0, 0.25]
    assert table["same_software"].all()


def test_it_goes_on_where_it_stopped_unless_the_code_has_changed(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def repeated() -> list[repeat.Drawn]:
        ran = []

        def spied(campaign, jobs, name):
            ran.extend(jobs)
            return original(campaign, jobs, name)

        monkeypatch.setattr(repeat, "completed", spied)
        main(["repeat", "--count", "2", "--out", str(stored)])
        return ran

    original = repeat.completed
    assert len(repeated()) == 2
    assert repeated() == []
    monkeypatch.setattr(repeat, "fingerprint", lambda: "changed")
    assert len(repeated()) == 2
    assert set(pd.read_csv(stored / "repeat.csv")["code"]) == {"changed"}
