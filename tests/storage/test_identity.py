"""Which campaign a sheet was written for."""

import json
import shutil
from pathlib import Path

import optuna
import pytest

from tunedprior import Optimizer
from tunedprior.errors import InputError
from tunedprior.storage import blobs, stored_campaign
from tunedprior.storage.identifiers import draw_id, parse_id
from tunedprior.workspace.sheets import make_suggestion_sheet

SAVED = Path(__file__).parents[1] / "support" / "saved"
SPACE = {"heat": (20, 90, 5), "gas": ["air", "argon"]}


def filled(opt: Optimizer):
    """The sheet of two suggestions, filled in."""
    return make_suggestion_sheet(opt.ask(n=2), opt).assign(y=[1.0, 2.0])


def test_an_id_is_no_number_and_no_date() -> None:
    for _ in range(50):
        found = draw_id()
        assert found.isalpha()
        assert found.islower()
        assert parse_id(f" {found.upper()} ") == found
    assert len({draw_id() for _ in range(200)}) == 200
    assert parse_id("Tuesday's") == parse_id(7) == parse_id("campaign") == ""


def test_a_sheet_is_taken_by_its_own_campaign_alone() -> None:
    one, other = Optimizer(SPACE, direction="maximize", seed=0), Optimizer(SPACE, direction="maximize", seed=0)
    sheet, theirs = filled(one), filled(other)
    assert sheet.drop(columns="campaign").equals(theirs.drop(columns="campaign"))
    with pytest.raises(InputError, match=f"sheet of another campaign: .*{other.id}, and this campaign is {one.id}"):
        one.record(theirs)
    assert len(one.trials) == 0
    mixed = sheet.assign(campaign=[one.id, other.id])
    with pytest.raises(InputError, match="sheet of another campaign in row 1:"):
        one.record(mixed)
    sheet["campaign"] = [one.id.upper(), None]  # capitals, and a row that somebody wrote by hand
    assert [trial.id for trial in one.record(sheet).trials] == [1, 2]
    assert all("campaign" not in trial.extra for trial in one.trials.told)
    with pytest.raises(InputError, match="sheet of another campaign"):  # and not that it is recorded already
        one.record(theirs)


def test_a_column_of_that_name_may_be_the_users_own() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    sheet = filled(opt).assign(campaign=["spring 2026", "spring 2026"])
    opt.record(sheet)
    assert [trial.extra["campaign"] for trial in opt.trials.told] == ["spring 2026"] * 2


def test_a_parameter_of_that_name_is_one() -> None:
    opt = Optimizer({"campaign": ["spring", "autumn"], "x": (0.0, 1.0)}, direction="maximize", seed=0)
    sheet = filled(opt)
    assert list(sheet["campaign_"]) == [opt.id] * 2
    opt.record(sheet)
    with pytest.raises(InputError, match="sheet of another campaign: the column 'campaign_'"):
        Optimizer({"campaign": ["spring", "autumn"], "x": (0.0, 1.0)}, direction="maximize", seed=0).record(sheet)


def test_a_saved_campaign_keeps_its_id(tmp_path: Path) -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    sheet = filled(opt)
    opt.save(tmp_path / "a.json")
    again = Optimizer.load(tmp_path / "a.json")
    assert again.id == opt.id
    again.record(sheet)
    made = Optimizer.from_suggester(opt.suggester)
    made.save(tmp_path / "b.json")
    assert Optimizer.load(tmp_path / "b.json", suggester=opt.suggester).id == made.id != opt.id


def test_the_id_of_a_file_of_before_stays_the_same_with_newer_versions() -> None:
    """Sheets that were printed with it are about."""
    assert Optimizer.load(SAVED / "campaign_v1.json").id == "bffcvgpqcg"


def test_a_file_of_before_there_were_ids_gets_one_that_stays(tmp_path: Path) -> None:
    shutil.copy(SAVED / "campaign_v1.json", tmp_path / "a.json")
    again = Optimizer.load(tmp_path / "a.json")
    assert parse_id(again.id)
    assert again.id == Optimizer.load(tmp_path / "a.json").id != Optimizer.load(SAVED / "campaign_v2.json").id
    sheet = filled(again)
    again.save(tmp_path / "a.json")
    Optimizer.load(tmp_path / "a.json").record(sheet)


def test_a_database_of_before_there_were_ids_gets_one_that_stays(tmp_path: Path, monkeypatch) -> None:
    places = [f"sqlite:///{tmp_path / name}.db" for name in "ab"]
    with monkeypatch.context() as before:
        before.setattr("tunedprior.campaign.opening.draw_id", lambda: "")
        for place in places:
            assert Optimizer(SPACE, direction="maximize", storage=place, seed=0).study is not None
    sheets = []
    for place in places:
        study = optuna.load_study(study_name="campaign", storage=place)
        assert json.loads(blobs.load_blob(study, stored_campaign._ARGUMENTS) or b"")["config"]["id"] == ""
        sheets.append(filled(Optimizer.load(place)))
    with pytest.raises(InputError, match="sheet of another campaign"):
        Optimizer.load(places[0]).record(sheets[1])
    assert len(Optimizer.load(places[0]).record(sheets[0]).trials) == 2
    assert len(Optimizer(SPACE, direction="maximize", storage=places[1], seed=0).record(sheets[1]).trials) == 2


def test_a_campaign_in_a_database_keeps_its_id(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'a.db'}"
    opt = Optimizer(SPACE, direction="maximize", storage=place, seed=0)
    old = {"heat": [20, 40, 60, 80], "gas": ["air", "argon"] * 2, "y": [1.0, 2.0, 3.0, 2.5]}
    again = Optimizer(SPACE, old, direction="maximize", storage=place, seed=0)  # which keeps what was learnt anew
    assert (
        opt.id
        == again.id
        == Optimizer.load(place).id
        == Optimizer(SPACE, direction="maximize", storage=place, seed=0).id
    )
    assert Optimizer(SPACE, direction="maximize", storage=place, name="another", seed=0).id != opt.id
