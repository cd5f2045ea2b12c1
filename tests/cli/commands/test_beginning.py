"""`tunedprior new`, and what it says of old data."""

import shlex

import numpy as np
import pandas as pd
import pytest

from tunedprior.audit import auditing
from tunedprior.cli.output import ExitCode
from tunedprior.weight_prior.pretraining import pretrain
from tunedprior.workspace.places import open_campaign


def old_rows(count: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"heat": rng.integers(4, 19, count) * 5, "flow": rng.uniform(0, 1, count).round(3)})
    table["gas"] = rng.choice(["air", "argon"], count)
    return table.assign(**{"yield": (np.sin(table["heat"] / 20) * table["flow"]).round(4)})


def test_faults_in_old_data_are_pointed_out_and_the_campaign_is_begun(shell) -> None:
    old = old_rows()
    pd.concat([old, old.head(12)]).to_csv("twice.csv", index=False)
    said = " ".join(shell("new", "a.db", "--space", "space.yaml", "--old", "twice.csv", code=ExitCode.NOTICED).split())
    assert "twice seems to have faults, and is learnt from as it is: copied rows." in said
    assert "tunedprior audit twice.csv --space space.yaml, then begin again in another file" in said
    assert shell.json("status", "a.db")["results"] == 0
    old.rename(columns={"heat": "flow", "flow": "heat"}).head(20).to_csv("swapped.csv", index=False)
    begun = shell.json(
        "new",
        "b.db",
        "--space",
        "space.yaml",
        "--old",
        "swapped.csv",
        "--old",
        "twice.csv",
        "--anyway",
        code=ExitCode.NOTICED,
    )
    assert [one["faults"] for one in begun["old_data"]] == [["swapped columns in heat, flow"], ["copied rows"]]


def test_rows_that_are_left_out_are_pointed_out_and_no_fault(shell) -> None:
    old = old_rows()
    old.assign(**{"yield": old["yield"].where(old.index > 3)}).to_csv("old.csv", index=False)
    said = " ".join(shell("new", "a.db", "--space", "space.yaml", "--old", "old.csv").split())
    assert "old: 4 of 40 rows were left out. Why: tunedprior audit old.csv --space space.yaml" in said
    old.rename(columns={"yield": "profit"}).to_csv("sound.csv", index=False)
    words, read = ("--old", "sound.csv", "--maximize", "profit"), (shell.folder / "space.yaml").read_text()
    (shell.folder / "space.yaml").write_text(read.replace("goals:\n  yield: maximize\n", ""))
    assert "audit" not in shell("new", "b.db", "--space", "space.yaml", *words)


def test_the_audit_that_is_pointed_to_has_the_same_goal(shell) -> None:
    old = old_rows()
    old.assign(cost=old["yield"].where(old.index > 3)).drop(columns="yield").to_csv("old.csv", index=False)
    read = (shell.folder / "space.yaml").read_text()
    (shell.folder / "space.yaml").write_text(read.replace("goals:\n  yield: maximize\n", ""))
    said = " ".join(shell("new", "a.db", "--space", "space.yaml", "--old", "old.csv", "--minimize", "cost").split())
    audit = "audit old.csv --space space.yaml --target cost --minimize"
    assert f"Why: tunedprior {audit}" in said
    assert "--minimize cost" in shell(*audit.split(), "--quick")


def test_limits_of_a_response_are_kept(shell) -> None:
    old_rows().to_csv("old.csv", index=False)
    words = ("--space", "space.yaml", "--old", "old.csv", "--anyway")
    assert "Limits are written" in shell("new", "a.db", *words, "--limits", "0..100", code=2)
    assert "are written 0 to 100" in shell("new", "a.db", *words, "--limits", "yield=high", code=2)
    shell.json("new", "a.db", *words, "--limits", "yield=0..100")
    assert open_campaign("a.db", None).suggester.objective.limits == (0.0, 100.0)


def test_commands_that_people_are_told_to_type_can_be_typed(shell) -> None:
    """Files with spaces, and a campaign with a name."""
    (shell.folder / "space.yaml").rename(shell.folder / "my space.yaml")
    old_rows().to_csv("old data.csv", index=False)
    drafted = shell("space", "old data.csv", "-o", "a draft.yaml")
    assert "tunedprior audit 'old data.csv' --space 'a draft.yaml'" in drafted
    found = shell.json("audit", "old data.csv", "--space", "my space.yaml", "--quick")
    begin = "tunedprior new campaign.db --space 'my space.yaml' --old 'old data.csv'"  # the goal is in the file
    assert found["next_step"] == f"Begin: {begin}"
    for place, name in (("campaign.db", ()), ("my campaign.db", ("--name", "second"))):
        told = shell("new", place, *shlex.split(begin)[3:], *name)
        assert f"Next: tunedprior suggest {shlex.join([place, *name])}\n" in told
        assert f"tunedprior suggest {shlex.join([place, *name])}\n" in shell("explain", place, *name)
        assert f"tunedprior status {shlex.join([place, *name])}\n" in shell("best", place, *name, code=ExitCode.REFUSED)
    shell("new", "campaign.db", "--space", "my space.yaml", "--name", "second")
    assert "--name; there are 'campaign', 'second'" in shell("status", "campaign.db", code=ExitCode.REFUSED)


def test_a_saved_prior_is_old_data_without_faults(shell) -> None:
    space = {"heat": (20.0, 90.0), "flow": (0.0, 1.0), "gas": ["air", "argon"]}
    pretrain(old_rows(), space, target="yield").save(shell.folder / "old.prior")
    begun = shell.json("new", "a.db", "--space", "space.yaml", "--old", "old.prior")
    assert [(one["name"], one["faults"]) for one in begun["old_data"]] == [("old", [])]


def test_a_look_at_old_data_that_is_stopped_begins_nothing(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_arguments: object) -> None:
        raise KeyboardInterrupt

    old_rows().to_csv("old.csv", index=False)
    monkeypatch.setattr(auditing, "inspect_old_data", stopped)
    shell("new", "a.db", "--space", "space.yaml", "--old", "old.csv", code=ExitCode.STOPPED)
    assert not (shell.folder / "a.db").exists()


def test_old_data_of_which_nothing_can_be_used_is_refused_before_anything_is_made(shell) -> None:
    rows = "".join(f"{20_000_000 + i},0.5,air,{i}\n" for i in range(12))
    (shell.folder / "old.csv").write_text("heat,flow,gas,yield\n" + rows)
    said = shell("new", "a.db", "--space", "space.yaml", "--old", "old.csv", code=ExitCode.REFUSED)
    assert "Nothing can be learnt from 'old.csv'" in " ".join(said.split())
    assert not (shell.folder / "a.db").exists()
    shell("new", "a.db", "--space", "space.yaml", "--old", "old.csv", "--anyway", code=ExitCode.NOTICED)


def test_old_data_with_other_names_is_asked_about(shell) -> None:
    old_rows().rename(columns={"heat": "Temperature", "flow": "Stream"}).to_csv("renamed.csv", index=False)
    words = ("new", "a.db", "--space", "space.yaml", "--old", "renamed.csv")
    said = " ".join(shell(*words, code=ExitCode.REFUSED).split())
    assert all(fact in said for fact in ("'renamed.csv'", "heat, flow", "Temperature, Stream", "--anyway"))
    assert not (shell.folder / "a.db").exists()
    shell(*words, "--anyway")
    old_rows().rename(columns={"flow": "Stream"}).to_csv("one.csv", index=False)
    shell("new", "b.db", "--space", "space.yaml", "--old", "one.csv")
