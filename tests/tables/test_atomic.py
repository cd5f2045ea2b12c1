"""Files are written whole or not at all, whoever else writes, and whatever goes wrong."""

import os
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tunedprior.errors import InputError
from tunedprior.tables import lock_for_writing, write_atomically


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_content_is_replaced_and_nothing_is_left_beside(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_atomically(path, b"one")
    write_atomically(str(path), b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_keeps_its_mode_and_a_new_one_has_the_usual(tmp_path: Path) -> None:
    usual, kept, new = tmp_path / "usual", tmp_path / "kept", tmp_path / "new"
    usual.write_bytes(b"")
    kept.write_bytes(b"")
    kept.chmod(0o600)
    write_atomically(kept, b"x")
    write_atomically(new, b"x")
    assert mode(kept) == 0o600
    assert mode(new) == mode(usual)


def test_the_files_of_others_are_not_touched(tmp_path: Path) -> None:
    beside, elsewhere = tmp_path / "x.part", tmp_path / "elsewhere"
    elsewhere.write_text("theirs")
    beside.symlink_to(elsewhere)
    write_atomically(tmp_path / "x", b"ours")
    assert beside.is_symlink()
    assert elsewhere.read_text() == "theirs"


def test_a_link_goes_on_leading_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_atomically(tmp_path / "link", b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"x"


@pytest.mark.parametrize("failing", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_after_an_error_the_old_content_stands_alone(failing, error, tmp_path, monkeypatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(*((os, "fsync", fail) if failing == "fsync" else (Path, "replace", fail)))
    with pytest.raises(type(error)):
        write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("name", "message"), [(".", "is a folder"), ("nowhere/x", "There is no folder"), ("", "must be the name")]
)
def test_what_is_no_place_for_a_file_is_refused(name, message, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        write_atomically(tmp_path / name if name else "", b"x")


def test_writers_at_once_leave_one_whole_content(tmp_path: Path) -> None:
    path, contents = tmp_path / "x", [bytes([k]) * 100_000 for k in range(8)]
    path.write_bytes(contents[0])
    with ThreadPoolExecutor(8) as threads:
        writing = [threads.submit(write_atomically, path, content) for content in contents * 3]
        seen = {path.read_bytes() for _ in range(200)}
        [one.result() for one in writing]
    assert seen <= set(contents)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("system", ["with locks of folders", "without"])
def test_one_at_a_time_has_the_turn(system, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if system == "without":
        monkeypatch.setattr("tunedprior.tables.atomic.fcntl", None)
    inside, most = [], []

    def write(number: int) -> None:
        with lock_for_writing(tmp_path / "x"):
            inside.append(number)
            most.append(len(inside))
            time.sleep(0.01)
            inside.remove(number)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert most == [1] * 8
    assert system == "without" or list(tmp_path.iterdir()) == []


def test_whoever_writes_for_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.tables.atomic._PATIENCE", 0.05)
    with lock_for_writing(tmp_path / "x"), lock_for_writing(tmp_path / "x"):
        pass
