import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tunedprior import Optimizer
from tunedprior.errors import FileFormatError, InputError
from tunedprior.workspace.places import check_campaign_file, open_campaign


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    path = tmp_path / "Kampagne größe.db"
    Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=f"sqlite:///{path}", seed=0).tell({"x": 0.5}, 1.0)
    return path


def test_a_campaign_is_found_whatever_its_file_is_called(campaign: Path) -> None:
    assert open_campaign(str(campaign)).best.value == 1.0


def test_an_empty_file_stays_empty(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.touch()
    with pytest.raises(InputError, match="is empty, so it is no campaign"):
        open_campaign(str(path))
    assert path.stat().st_size == 0
    check_campaign_file(str(path), is_new=True)


def test_the_database_of_another_program_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE songs (name TEXT)")
    before = path.read_bytes()
    for is_new in (False, True):
        with pytest.raises(InputError, match="of another program"):
            check_campaign_file(str(path), is_new=is_new)
    assert path.read_bytes() == before


def test_a_damaged_campaign(campaign: Path) -> None:
    campaign.write_bytes(campaign.read_bytes()[:5000])
    with pytest.raises(FileFormatError, match=r"is damaged .*tunedprior import"):
        open_campaign(str(campaign))


def test_a_campaign_that_cannot_be_written(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)  # root may write everywhere
    with pytest.raises(InputError, match=r"may be looked at, and not written: the file is read-only.*copy it"):
        open_campaign(str(campaign))
    assert open_campaign(str(campaign), read_only=True).best.value == 1.0


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_campaign_file(str(tmp_path / "a.db"), is_new=True)
    with pytest.raises(InputError, match=r"no folder '.*none' for the campaign 'a\.db'"):
        check_campaign_file(str(tmp_path / "none" / "a.db"), is_new=True)
    monkeypatch.setattr("tunedprior.workspace.places.os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(InputError, match=f"Nothing can be written into the folder {str(tmp_path)!r}"):
        check_campaign_file(str(tmp_path / "a.db"), is_new=True)


def test_somebody_else_at_work_is_waited_for(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr("tunedprior.workspace.places.sqlite3.connect", lambda *_, **__: connect(campaign, timeout=0.01))
    with closing(connect(campaign)) as other:
        other.execute("BEGIN EXCLUSIVE")
        check_campaign_file(str(campaign))
