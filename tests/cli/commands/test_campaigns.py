import getpass
import shutil
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.cli.output import ExitCode

OLD = "heat;flow;gas;yield\n" + "".join(f"{20 + 5 * i};0,{i}5;{'air' if i % 2 else 'argon'};{i},5\n" for i in range(10))


def test_a_day_in_files(shell) -> None:
    """From old data to a recorded result, as a chemist would."""
    (shell.folder / "old.csv").write_text(OLD)
    begun = shell.json("new", "a.db", "--space", "space.yaml", "--old", "old.csv")
    assert begun["old_data"] == [{"name": "old", "rows": 10, "used": 10, "faults": []}]
    said = shell("suggest", "a.db", "-n", "3", "-o", "next.xlsx")
    assert "tunedprior record a.db next.xlsx" in said
    sheet = pd.read_excel("next.xlsx", engine="calamine")
    assert list(sheet.columns) == ["trial", "heat", "flow", "gas", "yield", "note", "campaign"]
    sheet["yield"] = [1.5, "failed", None]
    sheet.to_excel("next.xlsx", index=False)
    said = shell("record", "a.db", "next.xlsx")
    assert "Recorded trial 1: yield=1.5" in said
    assert "Still open: 3." in said
    status = shell.json("status", "a.db")
    assert (status["results"], status["failed"], [one["trial"] for one in status["open"]]) == (2, 1, [3])
    assert shell.json("best", "a.db")["best"]["value"] == 1.5
    assert "explains" in shell("trust", "a.db")
    explained = shell.json("explain", "a.db")
    assert [one["trial"] for one in explained["suggestions"]] == [3]
    assert shell.json("explain", "a.db", "--old-data")["old_data"]["sentences"]
    assert "Trial 1: heat=" in shell("explain", "a.db", "--trial", "1")
    assert "heat=25" in shell("explain", "a.db", "heat=25", "flow=0.5", "gas=air")
    again = shell.json("suggest", "a.db", "--open")
    assert [one["trial"] for one in again["suggestions"]] == [3]
    shell("cancel", "a.db", "3")
    assert shell.json("status", "a.db")["open"] == []


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_the_sheet_of_a_sister_campaign(shell, ending) -> None:
    for name in ("a", "b"):
        shell("new", f"{name}.db", "--space", "space.yaml", "--seed", "0")
        shell("suggest", f"{name}.db", "-n", "2", "-o", f"{name}.{ending}")
    write = {"csv": pd.DataFrame.to_csv, "xlsx": pd.DataFrame.to_excel}[ending]
    read = {"csv": pd.read_csv, "xlsx": partial(pd.read_excel, engine="calamine")}[ending]
    for name in ("a", "b"):
        sheet = read(f"{name}.{ending}").assign(**{"yield": [1.5, 2.5]})
        write(sheet, f"{name}.{ending}", index=False)
    assert read(f"a.{ending}")[["heat", "flow"]].equals(read(f"b.{ending}")[["heat", "flow"]])  # but whose are they?
    said = " ".join(shell("record", "a.db", f"b.{ending}", code=ExitCode.REFUSED).split())
    assert "is the sheet of another campaign" in said
    assert "amend" not in said
    assert shell.json("status", "a.db")["results"] == 0
    shell("record", "a.db", f"a.{ending}")
    assert "is the sheet of another campaign" in " ".join(
        shell("record", "a.db", f"b.{ending}", code=ExitCode.REFUSED).split()
    )
    shutil.copy("b.db", "copy.db")
    assert len(shell.json("record", "copy.db", f"b.{ending}")["recorded"]) == 2
    by_hand = read(f"b.{ending}").drop(columns="campaign")
    write(by_hand, f"c.{ending}", index=False)
    assert len(shell.json("record", "b.db", f"c.{ending}")["recorded"]) == 2


def test_one_run_typed(campaign) -> None:
    campaign("suggest", "a.db")
    assert "yield=0.5" in campaign("record", "a.db", "--trial", "1", "yield=0,5", "--note", "warm [day]")
    campaign("record", "a.db", "heat=25", "flow=0.5", "gas=air", "yield=2")
    campaign("record", "a.db", "heat=30", "flow=0.5", "gas=air", "--failed")
    history = Optimizer.load("sqlite:///a.db").trials
    assert [(one.value, one.note, one.is_suggestion) for one in history.told[:2]] == [
        (0.5, "warm [day]", True),
        (2, "", False),
    ]
    assert history.told[2].failed
    campaign("amend", "a.db", "2", "yield=2.5", "heat=30")
    campaign("amend", "a.db", "1", "--failed")
    said = " ".join(campaign("undo", "a.db").split())
    assert "Taken back: the correction of trial 1, failed at" in said
    assert "It is again yield=0.5 at" in said
    assert "(warm [day])" in said
    campaign("amend", "a.db", "1", "--failed")
    assert "Taken back: trial 3, failed at" in campaign("undo", "a.db", "--trial", "3")
    undone = campaign.json("undo", "a.db", "--trial", "1")
    assert [(one["trial"], one["open_again"]) for one in undone["taken_back"]] == [(1, 1)]
    history = Optimizer.load("sqlite:///a.db").trials
    assert [(one.id, one.value, one.setting["heat"]) for one in history.told] == [(2, 2.5, 30)]
    campaign("record", "a.db", "--trial", "1", "yield=7", "--who", "Ada")
    journal = campaign.json("journal", "a.db", "--trial", "1")["journal"]
    assert [one["action"] for one in journal] == ["suggest", "record", "amend", "undo", "amend", "undo", "record"]
    assert (journal[1]["after"]["note"], journal[2]["before"]["yield"], journal[-1]["who"]) == (
        "warm [day]",
        0.5,
        "Ada",
    )
    assert journal[2]["who"] == getpass.getuser()
    assert "yield=0.5, state=complete" in " ".join(campaign("journal", "a.db").split())


@pytest.fixture(scope="module")
def one_open(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with one open suggestion, to be copied."""
    path = tmp_path_factory.mktemp("campaign") / "a.db"
    space = {"heat": (20, 90, 5), "flow": (0, 1), "gas": ["air", "argon"]}
    Optimizer(space, direction="maximize", target="yield", storage=f"sqlite:///{path}", seed=0).ask()
    return path


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ("record", "a.db", "heat=25", "yield=2"),
            "Say what flow, gas are too, as name=value; or which suggestion was run, with --trial (open: 1)",
        ),
        (
            ("record", "a.db", "heat=26", "flow=0.5", "gas=air", "yield=2"),
            "which the space does not offer; 25 is nearest",
        ),
        (("record", "a.db", "speed=1", "yield=2"), "with the names heat, flow, gas, yield; got 'speed=1'"),
        (("record", "a.db", "yield=1", "yield=2"), "'yield' is there twice"),
        (("record", "a.db", "heat=25", "flow=0.5", "gas=air", "yield=1,234"), "may be 1234 or 1.234"),
        (("record", "a.db", "--trial", "7", "yield=2"), "No open suggestion has the number 7; there are 1"),
        (("record", "a.db", "nothing.csv"), "there is no file 'nothing.csv'"),
        (("record", "a.db", "space.yaml"), "The table of results"),
        (("record", "a.db", "space.yaml", "--note", "x"), "--note are for one run"),
        (("record", "b.db", "yield=2"), "There is no campaign 'b.db'. Begin one with: tunedprior new b.db"),
        (("status", "space.yaml"), "is no campaign"),
        (("amend", "a.db", "1", "yield=2"), "Trial 1 has no result yet"),
        (("undo", "a.db"), "nothing to take back"),
        (("explain", "a.db", "heat=25"), "Say what flow, gas are too, as name=value"),
        (("explain", "a.db", "heat=hot", "flow=1", "gas=air"), "heat is 'hot', which is no number"),
        (("explain", "a.db", "heat=25", "--trial", "1"), "Give one of the two"),
        (("record", "a.db"), "Say what came of it: yield=…, or --failed; or give the file"),
        (("record", "a.db", "--trial", "1", "heat=25"), "Say what came of it: yield=…, or --failed"),
        (("amend", "a.db", "1"), "Say what is right, as name=value: yield, heat, flow, gas; or --note"),
        (("amend", "a.db", "1", "heat=hot"), "heat is 'hot', which is no number"),
        (("cancel", "a.db", "5"), "Only a pending setting can be cancelled"),
        (("best", "a.db"), "There is no result yet"),
        (("trust", "a.db"), "takes old data"),
        (("new", "a.db", "--space", "space.yaml"), "holds the campaign 'campaign' already"),
        (("new", "b.db", "--space", "none.yaml"), "There is no space file"),
        (("new", "b.db", "--space", "space.yaml", "--minimize", "yield"), "two goals, maximize and minimize"),
        (("new", "b.db", "--space", "space.yaml", "--target", "length"), "A target is written length=500"),
        (("new", "b.db", "--space", "space.yaml", "--requirement", "pure"), "A requirement is written"),
        (("new", "b.db", "--space", "space.yaml", "--old", "no.csv"), "there is no file 'no.csv'"),
        (("new", "b.db", "--space", "space.yaml", "--log", "cost"), "--log must name a response"),
        (("suggest", "a.db", "-o", "next.pdf"), "written as .csv or .xlsx"),
        (("suggest", "a.db", "-o", "none/next.csv"), "There is no folder"),
        (("import", "a.db", "space.csv"), "holds trials already"),
    ],
)
def test_mistakes_are_refused_in_words_and_change_nothing(shell, one_open, words, expected: str) -> None:
    shutil.copy(one_open, "a.db")
    before = Path("a.db").read_bytes()
    assert expected in shell.json(*words, code=ExitCode.REFUSED)["error"]["message"]
    assert Path("a.db").read_bytes() == before
    assert not Path("b.db").exists()


def test_people_are_told_of_mistakes_on_stderr(campaign) -> None:
    said = campaign("record", "a.db", "[heat]=3", "yield=1,234", code=ExitCode.REFUSED)
    assert said.startswith("Error: ")
    assert "got '[heat]=3'" in " ".join(said.split())


def test_the_sheet_of_another_campaign_is_refused_without_an_id_too(campaign) -> None:
    campaign("suggest", "a.db", "-n", "4")
    campaign("new", "b.db", "--space", "space.yaml", "--seed", "5")
    campaign("suggest", "b.db", "-n", "4", "-o", "theirs.csv")
    sheet = pd.read_csv("theirs.csv").drop(columns="campaign")
    sheet["yield"] = [1.0, 2.0, 3.0, 4.0]
    sheet.to_csv("theirs.csv", index=False)
    said = campaign.json("record", "a.db", "theirs.csv", code=ExitCode.REFUSED)["error"]["message"]
    assert "line 2: has heat=" in said
    assert "trial 1 was suggested with heat=" in said
    assert campaign.json("status", "a.db")["results"] == 0
    assert len(campaign.json("record", "a.db", "theirs.csv", "--as-run")["recorded"]) == 4


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        (
            "heat,flow,gas,yield\n30,0.1,air,\n40,0.2,argon,\n",
            "'yield' is blank in every row. Fill it in, or give the goal",
        ),
        (
            "heat,flow,gas,Ausbeute\n30,0.1,air,1\n40,0.2,argon,2\n",
            "give the goal in the space file the name of the resp",
        ),
    ],
)
@pytest.mark.parametrize("anyway", [(), ("--anyway",)])
def test_the_response_is_named_in_the_space_file(shell, old: str, expected: str, anyway: tuple[str, ...]) -> None:
    (shell.folder / "old.csv").write_text(old)
    said = shell.json("new", "a.db", "--space", "space.yaml", "--old", "old.csv", *anyway, code=ExitCode.REFUSED)
    assert expected in said["error"]["message"]
    assert "target=" not in said["error"]["message"]


def test_a_sheet_that_is_there_is_not_replaced_and_nothing_is_suggested(campaign) -> None:
    (campaign.folder / "next.csv").write_text("results of a month")
    assert "may hold results" in campaign("suggest", "a.db", "-o", "next.csv", code=ExitCode.REFUSED)
    assert campaign.json("status", "a.db")["open"] == []
    campaign("suggest", "a.db", "-o", "next.csv", "--force")
    assert "trial" in (campaign.folder / "next.csv").read_text(encoding="utf-8-sig")


def test_several_objectives(shell) -> None:
    shell(
        "new", "a.db", "--space", "space.yaml", "--minimize", "cost", "--requirement", "purity >= 0.9", "--log", "cost"
    )
    shell("suggest", "a.db", "-n", "2", "-o", "next.csv")
    sheet = pd.read_csv("next.csv")
    sheet[["yield", "cost", "purity"]] = [[1.0, 3.0, 0.95], [2.0, 4.0, 0.8]]
    sheet.to_csv("next.csv", index=False)
    shell("record", "a.db", "next.csv")
    assert [row["trial"] for row in shell.json("front", "a.db")["front"]] == [1]
    assert "no single best" in shell("best", "a.db", code=ExitCode.REFUSED)
    shell("amend", "a.db", "2", "purity=0.99")
    assert [row["trial"] for row in shell.json("front", "a.db")["front"]] == [1, 2]


def test_a_campaign_goes_over_into_another(campaign) -> None:
    campaign("record", "a.db", "heat=25", "flow=0.5", "gas=air", "yield=2", "--note", "by hand")
    campaign("suggest", "a.db")
    campaign("export", "a.db", "-o", "all.csv")
    campaign("new", "b.db", "--space", "space.yaml", "--seed", "0")
    assert campaign.json("import", "b.db", "all.csv") == {"results": 1, "open": 1}
    assert Optimizer.load("sqlite:///b.db").trials == Optimizer.load("sqlite:///a.db").trials


def test_several_campaigns_in_one_file(campaign) -> None:
    campaign("new", "a.db", "--space", "space.yaml", "--name", "second")
    assert "Say which campaign is meant with --name" in campaign("status", "a.db", code=ExitCode.REFUSED)
    campaign("record", "a.db", "--name", "second", "heat=25", "flow=0.5", "gas=air", "yield=2")
    assert campaign.json("status", "a.db", "--name", "second")["results"] == 1
    assert campaign.json("status", "a.db", "--name", "campaign")["results"] == 0


def test_candidates_and_nothing_left(campaign) -> None:
    (campaign.folder / "grid.csv").write_text("heat,flow,gas\n25,0.5,air\n30,0.5,air\n")
    first = campaign.json("suggest", "a.db", "--candidates", "grid.csv", "-n", "2")
    assert {one["setting"]["heat"] for one in first["suggestions"]} == {25, 30}
    campaign("suggest", "a.db", "--candidates", "grid.csv", code=ExitCode.NOTICED)


def test_the_campaign_may_come_from_the_environment(campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUNEDPRIOR_CAMPAIGN", "a.db")
    assert "maximize yield" in campaign("status")


def test_notes_are_for_people_and_on_stderr(shell) -> None:
    (shell.folder / "old.csv").write_text(OLD)
    said = shell("new", "a.db", "--space", "space.yaml", "--old", "old.csv")
    assert "Note: old (old.csv, 10 of 10 rows used): The separator is ';'." in said
    assert ".py" not in said
    assert shell.json("new", "b.db", "--space", "space.yaml", "--old", "old.csv")["name"] == "campaign"


def test_a_trial_that_has_a_result_is_said_to_have_one(campaign) -> None:
    campaign("suggest", "a.db")
    campaign("record", "a.db", "--trial", "1", "YIELD=0.5")  # whatever capitals
    told = campaign("record", "a.db", "--trial", "1", "yield=0.6", code=ExitCode.REFUSED)
    assert "Trial 1 is recorded already. To correct it, amend it" in told
    told = campaign("amend", "a.db", "1", "yeld=0.6", code=ExitCode.REFUSED)
    assert "with the names heat, flow, gas, yield; got 'yeld=0.6'" in told


def test_a_file_of_results_needs_numbers_unless_they_are_own_runs(campaign) -> None:
    (campaign.folder / "old.csv").write_text(OLD)
    said = campaign("record", "a.db", "old.csv", code=ExitCode.REFUSED)
    assert "10 rows that cannot be taken" in " ".join(said.split())
    assert "runs of your own (--own)" in " ".join(said.split())
    campaign("record", "a.db", "old.csv", "--own", "--as-run")
    assert len(campaign.json("undo", "a.db", "-n", "10")["taken_back"]) == 10
    assert campaign.json("status", "a.db")["results"] == 0
    assert "there are 0" in campaign("undo", "a.db", "-n", "2", code=ExitCode.REFUSED)


def test_a_result_far_from_all_others_is_taken_and_noticed(campaign) -> None:
    for heat in range(20, 50, 5):
        campaign("record", "a.db", f"heat={heat}", "flow=0.5", "gas=air", f"yield={heat}")
    said = campaign("record", "a.db", "heat=60", "flow=0.5", "gas=air", "yield=20500", code=ExitCode.NOTICED)
    assert "far from all others" in said
    assert "If that was a slip: tunedprior amend a.db 7 yield=…" in said
    again = campaign("amend", "a.db", "7", "yield=-9999", code=ExitCode.NOTICED)
    assert "far from all others: -9999 (trial 7)" in again
    assert "If that was a slip: tunedprior amend a.db 7 yield=…" in again
    assert "far from" not in campaign("amend", "a.db", "7", "--note", "still to be looked at")
    assert "far from" not in campaign("amend", "a.db", "7", "yield=42")


def test_a_sheet_that_cannot_be_written_is_shown_all_the_same(campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tunedprior.workspace.sheets.write_atomically", full)
    said = campaign("suggest", "a.db", "-o", "next.csv", code=ExitCode.NOTICED)
    assert "argon" in said or "air" in said
    assert "suggest a.db --open -o" in " ".join(said.split())


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied", "a.db"), KeyboardInterrupt()])
def test_trouble_of_the_computer_is_told_in_words(campaign, monkeypatch: pytest.MonkeyPatch, error) -> None:
    def raises(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tunedprior.workspace.places.open_campaign", raises)
    code = ExitCode.STOPPED if isinstance(error, KeyboardInterrupt) else ExitCode.REFUSED
    assert campaign.json("status", "a.db", code=code)["error"]["message"]


def test_more_than_there_is(shell) -> None:
    (shell.folder / "space.yaml").write_text("parameters:\n  gas: [air, argon]\ngoals: {y: maximize}\n")
    shell("new", "a.db", "--space", "space.yaml")
    assert "the space has 2 in all" in shell("suggest", "a.db", "-n", "500", code=ExitCode.REFUSED)


def test_a_sheet_that_cannot_be_written_costs_no_suggestion(campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    assert "tunedprior[lab]" in campaign("suggest", "a.db", "-o", "next.xlsx", code=2)
    assert campaign.json("suggest", "a.db", "--open")["suggestions"] == []


def test_what_is_wrong_is_said_of_what_was_given(campaign) -> None:
    campaign("suggest", "a.db")
    Path("notes.txt").write_text("my notes on the run", encoding="utf-8")
    said = " ".join(campaign("record", "a.db", "notes.txt", code=ExitCode.REFUSED).split())
    assert "has none of the columns trial, heat, flow, gas, yield; it has 'my', 'notes'" in said
    assert "Did you mean yield?" in campaign("record", "a.db", "--trial", "1", "yeild=3", code=ExitCode.REFUSED)
    said = " ".join(campaign("record", "a.db", "--trial", "1", "heat=26", "yield=3", code=ExitCode.REFUSED).split())
    assert "The run cannot be taken, and nothing was recorded: heat is 26.0" in said
    assert "row 0" not in said
    assert "<bool>" not in campaign("record", "--help")
    assert "list[" not in campaign("record", "--help") + campaign("new", "--help")
    said = campaign("explain", "a.db")
    assert said.count("heat=") == 1
    assert "• It is one of the space-filling initial design" in said


def test_reasons_are_short_unless_all_is_asked_for(campaign) -> None:
    Path("own.csv").write_text("heat,flow,gas,yield\n25,0.5,air,1\n50,0.2,argon,2\n85,0.9,air,1.5\n", "utf-8")
    campaign("record", "a.db", "own.csv", "--own")  # no design after results of one's own
    campaign("suggest", "a.db", "-n", "2")
    said, everything = campaign("explain", "a.db"), campaign("explain", "a.db", "--all")
    assert said.count("• It was chosen by the model") == 2  # each says so
    assert said.count("•") < everything.count("•")
    assert "All details: tunedprior explain a.db --all" in said
    assert "The nearest result is trial" in everything
    assert "The nearest result is trial" not in said
    setting = ("heat=25", "flow=0.5", "gas=air")
    assert "tunedprior explain a.db heat=25 flow=0.5 gas=air --all" in campaign("explain", "a.db", *setting)


def test_what_holds_for_several_suggestions_is_said_once_and_not_of_one_alone(campaign) -> None:
    campaign("suggest", "a.db", "-n", "2")
    said = campaign("explain", "a.db", "--all")
    assert said.count("There is no result yet") == 1
    assert said.index("Trial 2: ") < said.index("Each of them") < said.index("There is no result yet")


def test_the_ways_back_from_what_was_set_aside(campaign) -> None:
    shell = campaign
    shell("suggest", "a.db", "-n", "2")
    said = shell("amend", "a.db", "1", "yield=3", code=ExitCode.REFUSED)
    assert "Record it: tunedprior record CAMPAIGN --trial 1 name=value" in said
    shell("cancel", "a.db", "1")
    said = " ".join(shell("amend", "a.db", "1", "yield=3", code=ExitCode.REFUSED).split())
    assert (
        "cancelled and has no result. If it was run after all, record it: tunedprior record CAMPAIGN --trial 1" in said
    )
    assert "Recorded trial 1: yield=3" in shell("record", "a.db", "--trial", "1", "yield=3")


def test_what_is_wrong_with_one_run_is_said_in_the_words_of_the_shell(campaign) -> None:
    shell = campaign
    shell("suggest", "a.db")
    wrong = {
        (
            "record",
            "a.db",
            "yield=1",
            "flow=1",
        ): "Say what heat, gas are too, as name=value; or which suggestion was run, with --trial (open: 1).",
        ("record", "a.db", "--trial", "7", "yield=1"): "there are 1. For a run of your own give heat, flow, gas too",
        ("amend", "a.db", "7", "yield=1"): "no result with the number 7. There is none yet.",
    }
    for words, expected in wrong.items():
        assert expected in " ".join(shell(*words, code=ExitCode.REFUSED).split())
    shell("record", "a.db", "--trial", "1", "yield=1")
    assert "yield is 'n.d.', which is no number: write a number, or failed." in shell(
        "amend", "a.db", "1", "yield=n.d.", code=ExitCode.REFUSED
    )
    assert "Trial 1 is now: failed at" in shell("amend", "a.db", "1", "yield=failed")
    said = shell("record", "a.db", "--trial", "1", "yield=1", code=ExitCode.REFUSED)
    assert "to record another run of it, give heat, flow, gas too, and no number." in said


def test_a_result_beyond_its_limits_is_to_be_confirmed(shell) -> None:
    shell("new", "a.db", "--space", "space.yaml", "--limits", "yield=0..100")
    run = ("record", "a.db", "heat=25", "flow=0.5", "gas=air")
    said = " ".join(shell(*run, "yield=130", code=ExitCode.REFUSED).split())
    assert all(fact in said for fact in ("yield = 130", "0 to 100", "--beyond-limits"))
    assert shell.json("status", "a.db")["results"] == 0
    shell(*run, "yield=90")
    assert "--beyond-limits" in shell("amend", "a.db", "1", "yield=101", code=ExitCode.REFUSED)
    shell("amend", "a.db", "1", "yield=101", "--beyond-limits", code=ExitCode.NOTICED)
    shell("record", "a.db", "heat=30", "flow=0.5", "gas=air", "yield=130", "--beyond-limits", code=ExitCode.NOTICED)
    assert [one.value for one in Optimizer.load("sqlite:///a.db").trials.told] == [101.0, 130.0]


def test_undo_says_how_many_rows_came_with_the_one_it_takes_back(campaign) -> None:
    (campaign.folder / "old.csv").write_text(OLD)
    campaign("record", "a.db", "heat=30", "flow=0.5", "gas=air", "yield=0.3")
    campaign("record", "a.db", "old.csv", "--own", "--as-run")
    said = " ".join(campaign("undo", "a.db").split())
    assert "9 more were entered together with it" in said
    assert "tunedprior undo a.db -n 9" in said
    assert "together" not in campaign("undo", "a.db", "-n", "9")
    assert campaign.json("undo", "a.db")["entered_together"] == 0


def test_a_second_sheet_of_old_data_is_mentioned(shell) -> None:
    rows = pd.DataFrame({"heat": range(20, 80, 5), "flow": 0.5, "gas": "air"})
    with pd.ExcelWriter(shell.folder / "old.xlsx") as book:
        for name in ("May", "June"):
            rows.assign(**{"yield": rows["heat"] / 100}).to_excel(book, sheet_name=name, index=False)
    said = " ".join(shell("new", "a.db", "--space", "space.yaml", "--old", "old.xlsx").split())
    assert "Sheet 'May' is read, and not 'June'" in said
