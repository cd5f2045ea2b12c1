"""Bytes come back from a study as they were, or are said to be damaged."""

import random
from pathlib import Path

import optuna
import pytest

from tunedprior.errors import FileFormatError
from tunedprior.storage import blobs
from tunedprior.storage.databases import get_study_attributes, set_study_attribute

LONG = random.Random(0).randbytes(200_000)  # more than one attribute holds


@pytest.fixture(params=["in memory", "in a database"])
def study(request: pytest.FixtureRequest, tmp_path: Path) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(storage=None if request.param == "in memory" else f"sqlite:///{tmp_path / 'study.db'}")


@pytest.mark.parametrize("data", [b"", b"short", LONG], ids=["nothing", "short", "long"])
def test_bytes_come_back(study: optuna.Study, data: bytes) -> None:
    blobs.save_blob(study, "learnt", data, {"prior": "average"})
    assert blobs.load_blob(study, "learnt") == data
    assert blobs.get_blob_description(study, "learnt") == {"prior": "average"}


def test_what_was_never_kept_is_none(study: optuna.Study) -> None:
    assert blobs.load_blob(study, "learnt") is None
    assert blobs.get_blob_description(study, "learnt") is None


def test_no_attribute_is_longer_than_databases_hold(study: optuna.Study) -> None:
    blobs.save_blob(study, "learnt", LONG, {})
    pieces = [one for name, one in get_study_attributes(study).items() if ":piece:" in name]
    assert len(pieces) > 1
    assert max(len(str(one).encode()) for one in pieces) < 65_535


def test_the_last_that_was_kept_is_found(study: optuna.Study) -> None:
    for data in (b"first", LONG, b"last"):
        blobs.save_blob(study, "learnt", data, {"size": len(data)})
    assert blobs.load_blob(study, "learnt") == b"last"
    assert blobs.get_blob_description(study, "learnt") == {"size": 4}


def test_a_worker_that_was_killed_leaves_what_was_there(study: optuna.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    blobs.save_blob(study, "learnt", b"before", {})
    written = []

    def killed(_: optuna.Study, name: str, value: object) -> None:
        if written:
            raise KeyboardInterrupt
        written.append(name)
        set_study_attribute(study, name, value)

    monkeypatch.setattr(blobs, "set_study_attribute", killed)
    with pytest.raises(KeyboardInterrupt):
        blobs.save_blob(study, "learnt", LONG, {})
    assert blobs.load_blob(study, "learnt") == b"before"


@pytest.mark.parametrize("instead", ["not ascii 85 \\", "0", ""])
def test_damage_is_noticed(study: optuna.Study, instead: str) -> None:
    blobs.save_blob(study, "learnt", LONG, {})
    piece = next(name for name in get_study_attributes(study) if ":piece:" in name)
    set_study_attribute(study, piece, instead)
    with pytest.raises(FileFormatError, match="damaged"):
        blobs.load_blob(study, "learnt")


def test_an_artifact_store_must_be_given_again(study: optuna.Study, tmp_path: Path) -> None:
    (tmp_path / "artifacts").mkdir()
    store = optuna.artifacts.FileSystemArtifactStore(tmp_path / "artifacts")
    blobs.save_blob(study, "learnt", LONG, {}, store)
    assert blobs.load_blob(study, "learnt", store) == LONG
    with pytest.raises(FileFormatError, match="artifact_store="):
        blobs.load_blob(study, "learnt")
