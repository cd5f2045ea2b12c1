import re

import numpy as np
import pandas as pd
import pytest

from tunedprior.audit import measures
from tunedprior.cli.output import ExitCode


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "TRIALS", 2)
    monkeypatch.setattr(measures, "REPEATS", 1)


@pytest.fixture
def old(shell) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"heat": rng.integers(4, 19, 40) * 5, "flow": rng.uniform(0, 1, 40).round(3)})
    table["gas"] = rng.choice(["air", "argon"], 40)
    table["yield"] = (np.sin(table["heat"] / 20) * table["flow"] + (table["gas"] == "air")).round(4)
    table.to_csv(shell.folder / "old.csv", index=False)
    return table


@pytest.mark.usefixtures("old")
def test_a_sound_file(shell) -> None:
    said = shell("audit", "old.csv", "--space", "space.yaml")
    for part in (
        "What was read",
        "old.csv: 40 rows",
        "How predictable it is",
        "simple regret",
        "Verdict",
    ):
        assert part in said
    assert " ".join(said.split()).endswith("tunedprior new campaign.db --space space.yaml --old old.csv")
    assert "Faults" not in said


def test_a_faulty_file_has_an_exit_code_of_its_own(shell, old) -> None:
    old.assign(heat=old["heat"] + 273.15).to_csv("old.csv", index=False)
    said = shell("audit", "old.csv", "--space", "space.yaml", "--quick", code=ExitCode.NOTICED)
    assert "other units" in said
    assert "°C" in said
    found = shell.json("audit", "old.csv", "--space", "space.yaml", "--quick", code=ExitCode.NOTICED)
    assert [(one["kind"], one["columns"]) for one in found["faults"]] == [("other units", ["heat"])]
    assert found["used"] == 0
    assert found["next_step"].startswith("Convert the column 'heat'")


@pytest.mark.usefixtures("old")
def test_json(shell) -> None:
    found = shell.json("audit", "old.csv", "--space", "space.yaml", "--minimize")
    assert found["direction"] == "minimize"
    assert found["next_step"].endswith("--space space.yaml --old old.csv --minimize yield")
    assert found["rehearsal"]["trials"] == 2
    assert [one["name"] for one in found["ranges"]] == ["heat", "flow", "gas"]
    assert 0 <= found["coverage"]["share"] <= 1


def test_another_response(shell, old) -> None:
    assert "purity is missing" in shell(
        "audit", "old.csv", "--space", "space.yaml", "--target", "purity", code=ExitCode.REFUSED
    )
    renamed = old.rename(columns={"yield": "purity [bold]"})
    renamed.to_csv("old.csv", index=False)
    said = shell("audit", "old.csv", "--space", "space.yaml", "--target", "purity [bold]", "--quick")
    assert "purity [bold]" in said


@pytest.mark.usefixtures("old")
def test_several_goals(shell) -> None:
    text = (shell.folder / "space.yaml").read_text() + "  cost: minimize\n"
    (shell.folder / "space.yaml").write_text(text)
    assert "--target" in shell("audit", "old.csv", "--space", "space.yaml", code=ExitCode.REFUSED)
    assert shell.json("audit", "old.csv", "--space", "space.yaml", "--target", "yield", "--quick")["notes"] == []


def test_a_file_that_is_not_there(shell) -> None:
    assert "nothing.csv" in shell("audit", "nothing.csv", "--space", "space.yaml", code=ExitCode.REFUSED)
    assert "tunedprior space" in shell("audit", "old.csv", "--space", "nothing.yaml", code=ExitCode.REFUSED)


@pytest.mark.usefixtures("old")
def test_a_draft_and_its_audit(shell) -> None:
    assert "heat: 20 to 90 step 5" in shell("space", "old.csv")
    said = shell("space", "old.csv", "-o", "drafted.yaml", "--target", "yield")
    assert "tunedprior audit old.csv --space drafted.yaml" in said
    assert "has 3 parameters, and the goal is to maximize 'yield'." in said
    assert "is taken as the response" not in said
    said = shell("space", "old.csv", "-o", "drafted.yaml", "--force")
    assert "'yield' is taken as the response because of its name; name another with --target." in " ".join(said.split())
    assert shell.json("audit", "old.csv", "--space", "drafted.yaml", "--quick")["faults"] == []


def test_a_slipped_decimal_is_named_and_blamed(shell, old) -> None:
    old.loc[7, "flow"] *= 100
    slipped = float(old.loc[7, "flow"])
    old.to_csv("old.csv", index=False)
    said = " ".join(shell("space", "old.csv", "-o", "drafted.yaml", code=ExitCode.NOTICED).split())
    assert f"Look this up: 'flow' is {slipped:g} in line 9, far from all others" in said
    assert shell.json("space", "old.csv", code=ExitCode.NOTICED)["doubtful"][0]["rows"] == ["line 9"]
    text = (shell.folder / "drafted.yaml").read_text()
    wide = re.sub("flow: .*", f"flow: 0 to {slipped:g}", text.replace("flow' is", ""))  # as it was drafted once
    for content in (text, wide):
        (shell.folder / "drafted.yaml").write_text(content)
        (fault,) = shell.json("audit", "old.csv", "--space", "drafted.yaml", "--quick", code=ExitCode.NOTICED)["faults"]
        assert (fault["kind"], fault["columns"], fault["rows"]) == ("far off", ["flow"], ["line 9"])
        assert "perhaps 100 times too large" in fault["text"]


@pytest.mark.usefixtures("old")
def test_a_draft_replaces_nothing(shell) -> None:
    before = (shell.folder / "space.yaml").read_text()
    assert "--force" in shell("space", "old.csv", "-o", "space.yaml", code=ExitCode.REFUSED)
    assert (shell.folder / "space.yaml").read_text() == before
    found = shell.json("space", "old.csv", "-o", "space.yaml", "--force")
    assert found["parameters"] == ["heat", "flow", "gas"]
    assert (shell.folder / "space.yaml").read_text() != before


def test_long_lines_of_a_draft_are_not_broken(shell) -> None:
    choices = [f"catalyst {k} of the second kind" for k in range(12)] * 2
    pd.DataFrame({"kind": choices, "y": np.arange(24.0)}).to_csv("many.csv", index=False)
    assert max(map(len, shell("space", "many.csv").splitlines())) > 300


@pytest.mark.usefixtures("old")
def test_a_file_with_a_header_alone(shell) -> None:
    header = (shell.folder / "old.csv").read_text().splitlines()[0]
    (shell.folder / "empty.csv").write_text(header + "\n")
    said = shell("audit", "empty.csv", "--space", "space.yaml", code=ExitCode.NOTICED)
    assert "no rows" in said
    assert "no such column" not in said
    assert "pass and fail" not in said
    found = shell.json("audit", "empty.csv", "--space", "space.yaml", code=ExitCode.NOTICED)
    assert [one["kind"] for one in found["faults"]] == ["no rows"]
