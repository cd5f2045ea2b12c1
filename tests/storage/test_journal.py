"""Corrections are a log: who changed what, when, and from what; two who write at once never lose an entry."""

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import optuna
import pandas as pd
import pytest
from sqlalchemy import text

from support.errors import raises
from support.postgres import needs_postgres
from tunedprior import Optimizer, SearchConfig
from tunedprior.errors import FileFormatError, InputError, OddResultWarning
from tunedprior.storage import saved_campaign
from tunedprior.storage.databases import get_engine, get_storage, get_study_attributes
from tunedprior.storage.entry_log import END, PREFIX, AttributeLog, DatabaseLog

pytestmark = pytest.mark.usefixtures("short_search")
SAVED = Path(__file__).parents[1] / "support" / "saved"
PLACES = ["memory", "sqlite", "optuna memory", "optuna journal"]


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture(params=PLACES)
def opt(request: pytest.FixtureRequest, tmp_path: Path) -> Optimizer:
    space = {"x": (0.0, 1.0)}
    if request.param == "memory":
        return Optimizer(space, direction="maximize", seed=0)
    if request.param == "sqlite":
        return Optimizer(space, direction="maximize", storage=f"sqlite:///{tmp_path}/a.db", seed=0)
    if request.param == "optuna memory":
        return Optimizer(space, direction="maximize", storage=optuna.storages.InMemoryStorage(), seed=0)
    backend = optuna.storages.journal.JournalFileBackend(str(tmp_path / "a.log"))
    return Optimizer(space, direction="maximize", storage=optuna.storages.JournalStorage(backend), seed=0)


def test_who_changed_this_when_and_what_was_it_before(opt: Optimizer) -> None:
    setting = opt.ask()
    opt.tell(setting, 1.0, who="Ada")
    opt.amend(1, 2.0, note="misread", who="Ben")
    opt.amend(1, note="misread twice")
    opt.undo(1, who="Ada")
    opt.tell(setting | {"x": 0.5}, 3.0, trial=setting)
    opt.withdraw(1, "spilt", who="Ben")
    opt.cancel(opt.ask())
    found = opt.journal
    assert found["sequence"].tolist() == list(range(1, 10))
    assert " ".join(found["action"]) == "suggest record amend amend undo record withdraw suggest cancel"
    assert found["who"].tolist() == ["", "Ada", "Ben", "", "Ada", "", "Ben", "", ""]
    assert found["before"][2] == {"y": 1.0}
    assert found["after"][2] == {"y": 2.0, "note": "misread"}
    assert (found["before"][3], found["after"][3]) == ({"note": "misread"}, {"note": "misread twice"})
    assert found["before"][4] == {"y": 2.0, "note": "misread twice", "state": "complete"}
    assert found["after"][5] == {"x": 0.5, "y": 3.0, "state": "complete"}
    assert found["after"][6] == {"note": "spilt", "state": "withdrawn"}
    assert all(abs(time - datetime.now(UTC)) < timedelta(hours=1) for time in found["time"])


def test_the_history_follows_from_the_journal(opt: Optimizer, tmp_path: Path) -> None:
    """Whatever was done, a campaign that is loaded has the same history and the same journal."""
    first, second, third = opt.ask(3)
    opt.tell(second, 2.0)
    opt.tell(first, failed=True)
    opt.tell({"x": 0.9}, 0.5, note="own", cost=3.0)
    opt.undo(2)
    opt.cancel(third)
    opt.amend(1, 0.1)
    opt.withdraw(4)
    opt.tell(second, 4.0)
    assert [one.id for one in opt.trials.told] == [1, 2]  # in the order in which their results were told last
    opt.save(tmp_path / "campaign.json")
    again = Optimizer.load(tmp_path / "campaign.json")
    assert again.trials == opt.trials
    times = opt.journal["time"].map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))
    pd.testing.assert_frame_equal(again.journal, opt.journal.assign(time=times), check_dtype=False)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["memory", "sqlite"])
def test_threads_share_an_optimizer(place: str, tmp_path: Path) -> None:
    opt = Optimizer(
        {"x": (0.0, 1.0)},
        direction="maximize",
        storage=None if place == "memory" else f"sqlite:///{tmp_path}/a.db",
        seed=0,
    )

    def work(_: int) -> None:
        setting = opt.ask()
        opt.tell(setting, setting["x"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(16)))
    assert len(opt.trials) == 16
    assert len({one.setting["x"] for one in opt.trials.told}) == 16
    together = opt.ask(8)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda setting: opt.tell(setting, 1.0), together))
    assert (len(opt.trials), opt.pending) == (24, [])


CHANGES: dict[str, Callable[[Optimizer], object]] = {
    "amend the value": lambda opt: opt.amend(1, 7.0),
    "amend the note": lambda opt: opt.amend(1, note="read again"),
    "withdraw another": lambda opt: opt.withdraw(2),
    "undo another": lambda opt: opt.undo(3),
    "tell": lambda opt: opt.tell({"x": 0.4}, 5.0),
    "ask": lambda opt: opt.ask(),
}


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with three results and an open suggestion, to be copied."""
    path = tmp_path_factory.mktemp("begun") / "a.db"
    opt = Optimizer(
        {"x": (0.0, 1.0)}, direction="maximize", storage=f"sqlite:///{path}", search=SearchConfig(initial=50), seed=0
    )
    for setting in opt.ask(4)[:3]:
        opt.tell(setting, 1.0)
    return path


@pytest.mark.parametrize("ours", CHANGES)
@pytest.mark.parametrize("theirs", CHANGES)
def test_two_who_change_something_at_the_same_moment(
    ours: str, theirs: str, begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Theirs is written after ours was decided on, and before it is written: both are there afterwards."""
    url = f"sqlite:///{shutil.copy(begun, tmp_path)}"
    one, other = (Optimizer.load(url) for _ in range(2))
    append, left = DatabaseLog.append, [CHANGES[theirs]]

    def late(log: DatabaseLog, last: int, texts: list[str]) -> None:
        if log is one._recorder.store._log and left:
            left.pop()(other)
        append(log, last, texts)

    with monkeypatch.context() as patch:
        patch.setattr("tunedprior.storage.entry_log.DatabaseLog.append", late)
        if (ours, theirs) in [(same, same) for same in ("withdraw another", "undo another")]:
            with pytest.raises(InputError):
                CHANGES[ours](one)
        else:
            CHANGES[ours](one)
    now = Optimizer.load(url)
    assert now.trials == one.trials == other.trials
    told = {trial.id: trial for trial in now.trials.told}
    done = {ours, theirs}
    assert (told[1].value == 7.0) == ("amend the value" in done)
    assert (told[1].note == "read again") == ("amend the note" in done)
    assert (2 not in told) == ("withdraw another" in done)
    assert (3 not in told) == ("undo another" in done)
    assert [ours, theirs].count("tell") == sum(trial.value == 5.0 for trial in told.values())
    assert len(now.trials.pending) - ("undo another" in done) == 1 + [ours, theirs].count("ask")


@pytest.mark.parametrize("hours", [-1.0, 1.0, -14.0])
@pytest.mark.parametrize("place", ["memory", "sqlite"])
def test_undo_takes_the_last_result_whatever_clocks_say(
    hours: float, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is set back, or somebody in another time zone goes on, or summer time begins."""
    url = f"sqlite:///{tmp_path}/a.db"
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=None if place == "memory" else url, seed=0)
    ticks = count()

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:
            return datetime(2026, 10, 25, 2, 30, tzinfo=tz) + timedelta(hours=hours) * next(ticks)

    monkeypatch.setattr("tunedprior.storage.journal.datetime", Clock)
    monkeypatch.setattr("optuna.storages._rdb.storage.datetime", Clock)
    for value in (1.0, 2.0, 3.0):
        opt.tell(opt.ask(), value)
        if place == "sqlite":
            opt = Optimizer.load(url)
    assert [opt.undo().trial.value for _ in range(3)] == [3.0, 2.0, 1.0]


def test_undo_takes_back_what_was_done_last(opt: Optimizer) -> None:
    """A correction of an earlier result, its withdrawal and a cancellation, and not the result that was told last."""
    first, second, third = opt.ask(3)
    opt.tell(first, 1.0, note="first")
    opt.tell(second, 2.0)
    began = opt.trials
    opt.amend(1, 7.0)
    opt.amend(1, note="misread")
    opt.cancel(third)
    opt.withdraw(1)
    assert opt.undo_count == 6
    undone = opt.undo()
    assert (undone.action, undone.trial.state, undone.now.value, undone.reopened_suggestion) == (
        "withdraw",
        "withdrawn",
        7.0,
        None,
    )
    assert [one.id for one in opt.trials.told] == [2, 1]
    undone = opt.undo()
    assert (undone.action, undone.reopened_suggestion, opt.pending) == ("cancel", third, [third])
    assert (opt.undo().now.note, opt.undo().now.value) == ("first", 1.0)
    assert sorted(map(repr, opt.trials.trials)) == sorted(map(repr, began.trials))
    opt.amend(2, 8.0)
    opt.amend(2, 2.0)
    opt.undo(2)  # the result, with all its corrections
    assert (opt.undo().action, opt.undo_count, len(opt.trials)) == ("record", 0, 0)
    with raises(InputError, "take back"):
        opt.undo()
    if opt.study is not None:
        again = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=get_storage(opt.study), seed=0)
        assert (again.trials, again.undo_count) == (opt.trials, 0)


def test_a_correction_is_taken_back_in_its_place(opt: Optimizer, tmp_path: Path) -> None:
    for value in (1.0, 2.0):
        opt.tell({"x": value / 4}, value)
    opt.amend(1, 9.0)
    opt.undo()
    assert [one.value for one in opt.trials.told] == [1.0, 2.0]
    opt.undo()
    opt.undo()
    assert (len(opt.trials), [one.state for one in opt.trials.set_aside]) == (0, ["withdrawn"] * 2)
    opt.save(tmp_path / "a.json")
    assert Optimizer.load(tmp_path / "a.json").trials == opt.trials


@pytest.mark.parametrize("source", ["version 1", "optuna"])
def test_what_has_no_entry_yet_can_be_saved_and_taken_back(source: str, tmp_path: Path) -> None:
    """Results of before there was a journal, or that came with Optuna's own means, before anything else is written."""
    path = tmp_path / "a.db"
    if source == "version 1":
        shutil.copy(SAVED / "campaign_v1.db", path)
        opt = Optimizer.load(f"sqlite:///{path}")
    else:
        opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=f"sqlite:///{path}", seed=0)
        opt.ask(2)
        opt.study.tell(0, 5.0)
        opt.study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
    opt.save(tmp_path / "a.json")
    assert Optimizer.load(tmp_path / "a.json").trials == opt.trials
    last = opt.trials.told[-1]
    assert opt.undo().trial == last


def test_a_file_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else records while a campaign of a database is saved to a file."""
    url = f"sqlite:///{tmp_path}/a.db"
    opt, other = (
        Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=url, search=SearchConfig(initial=50), seed=0)
        for _ in range(2)
    )
    opt.tell({"x": 0.1}, 1.0)
    read, values = DatabaseLog.read, [2.0, 3.0, 4.0]

    def late(log: DatabaseLog, after: int) -> list[tuple[int, str]]:
        if log is opt._recorder.store._log and values:
            other.tell({"x": 0.5}, values.pop())
        return read(log, after)

    monkeypatch.setattr("tunedprior.storage.entry_log.DatabaseLog.read", late)
    opt.save(tmp_path / "a.json")
    assert len(Optimizer.load(tmp_path / "a.json").trials) >= 2


HALF = "caf\ud800"


@pytest.mark.parametrize(
    "tell",
    [
        lambda opt: opt.tell({"x": 0.1}, 2.0, note=HALF),
        lambda opt: opt.tell({"x": 0.1}, 2.0, who=HALF),
        lambda opt: opt.tell({"x": 0.1, "lot": HALF}, 2.0),
        lambda opt: opt.amend(1, note=HALF),
        lambda opt: opt.withdraw(1, HALF),
        lambda opt: opt.undo(who=HALF),
    ],
    ids=["note", "who", "cell", "amend", "withdraw", "undo"],
)
def test_text_that_cannot_be_kept_is_refused_when_it_is_told(
    tell: Callable[[Optimizer], object], opt: Optimizer, tmp_path: Path
) -> None:
    """And not when the campaign is saved, with all that was told by then."""
    opt.tell({"x": 0.2}, 1.0)
    before = opt.trials
    with raises(InputError, "Unicode text"):
        tell(opt)
    assert opt.trials == before
    opt.tell({"x": 0.3}, 3.0)
    opt.save(tmp_path / "a.json")
    assert Optimizer.load(tmp_path / "a.json").trials == opt.trials


def test_a_suggestion_that_is_told_twice(opt: Optimizer) -> None:
    setting = opt.ask()
    opt.tell(setting, 1.0)
    if opt.study is None:
        with pytest.warns(OddResultWarning, match="Trial 1 was told already, so this is kept as another run"):
            opt.tell(setting, 2.0)
    else:
        with raises(InputError, "trial 1", "already", "dict(setting)"):
            opt.tell(setting, 2.0)
        opt.tell(dict(setting), 2.0)
    assert [one.value for one in opt.trials.told] == [1.0, 2.0]


def entries(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(
            "SELECT key, value_json FROM study_system_attributes WHERE key LIKE ? ORDER BY key", [f"{PREFIX}%"]
        ).fetchall()


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(sql, values).rowcount == 1
        database.commit()


def test_a_changed_entry_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=f"sqlite:///{path}", seed=0)
    for value in (1.25, 2.0):
        opt.tell(opt.ask(), value)
    key, text = entries(path)[1]
    change(path, "UPDATE study_system_attributes SET value_json = ? WHERE key = ?", text.replace("1.25", "1.26"), key)
    with raises(FileFormatError, "'campaign'", "damaged", "entry 2", "checksum"):
        _ = Optimizer.load(f"sqlite:///{path}").trials
    change(path, "DELETE FROM study_system_attributes WHERE key = ?", key)
    with raises(FileFormatError, "damaged", "entry 2", "missing"):
        _ = Optimizer.load(f"sqlite:///{path}").trials
    for left in [END, *(key for key, _ in entries(path))]:
        change(path, "DELETE FROM study_system_attributes WHERE key = ?", left)
    with raises(FileFormatError, "no entry", "trial 1"):
        _ = Optimizer.load(f"sqlite:///{path}").trials


ENDS = ["xyz", "null", "{}", "[]", '{"entries": "x", "digest": "a"}', '{"entries": 1e400, "digest": "a"}']


@pytest.mark.parametrize(
    ("key", "content"), [*((END, one) for one in ENDS), (END, '{"entries": 2}'), (f"{PREFIX}abc", '"x"')]
)
def test_a_damaged_end_is_noticed(key: str, content: str, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=f"sqlite:///{path}", seed=0)
    opt.tell(opt.ask(), 1.0)
    if key == END:
        change(path, "UPDATE study_system_attributes SET value_json = ? WHERE key = ?", content, key)
    else:
        change(path, "INSERT INTO study_system_attributes (study_id, key, value_json) VALUES (1, ?, ?)", key, content)
    with raises(FileFormatError, "'campaign'", "damaged", "copy"):
        opt.tell({"x": 0.5}, 2.0)
    with raises(FileFormatError, "damaged"):
        _ = Optimizer.load(f"sqlite:///{path}").trials


def take_off(opt: Optimizer, count: int) -> None:
    """Take entries off the end of the journal, as with the storage's own means."""
    kept = [key for key in get_study_attributes(opt.study) if key.startswith(PREFIX)]
    if (engine := get_engine(opt.study)) is not None:
        with engine.begin() as connection:
            for key in sorted(kept)[-count:]:
                connection.execute(text("DELETE FROM study_system_attributes WHERE key = :key"), {"key": key})
        return
    storage = get_storage(opt.study)
    attributes = storage._studies[opt.study._study_id].system_attrs
    for key in kept[-count:]:
        del attributes[key]


@pytest.mark.parametrize(
    "place", ["sqlite", "optuna memory", pytest.param("postgresql", marks=[needs_postgres, pytest.mark.slow])]
)
@pytest.mark.parametrize(("count", "which"), [(1, "entry 6 is"), (3, "entries 4 to 6 are"), (6, "entries 1 to 6 are")])
def test_entries_that_were_taken_off_the_end_are_missed(
    place: str, count: int, which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    storages = {
        "sqlite": lambda: f"sqlite:///{tmp_path}/a.db",
        "optuna memory": optuna.storages.InMemoryStorage,
        "postgresql": lambda: request.getfixturevalue("postgres").new_database(),
    }
    storage = storages[place]()

    def opened() -> Optimizer:
        return Optimizer(
            {"x": (0.0, 1.0)}, direction="maximize", storage=storage, search=SearchConfig(initial=50), seed=0
        )

    opt = opened()
    first, second = opt.ask(2)
    opt.tell(first, 1.0)
    opt.amend(1, 2.0)
    opt.amend(1, note="checked")
    opt.tell(second, 3.0)
    seen = opened()
    _ = seen.trials
    take_off(opt, count)
    with raises(FileFormatError, "'campaign'", "damaged", f"{which} missing", "copy"):
        _ = opened().trials
    if place != "optuna memory":  # which is read anew each time
        assert seen.trials.told[-1].value == 3.0
    with raises(FileFormatError, f"{which} missing"):  # and not that others change it all the time
        seen.amend(2, 5.0)


@pytest.mark.parametrize("changed", [2, 4])
def test_an_entry_that_is_replaced_by_another_is_noticed(changed: int, tmp_path: Path) -> None:
    """By that of a copy that went on otherwise, whose own checksum is right: entry 4 is the last."""
    path, copy = tmp_path / "a.db", tmp_path / "b.db"
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=f"sqlite:///{path}", seed=0)
    if changed == 4:
        opt.tell(opt.ask(), 1.0)
    else:
        opt.ask()
    settings = opt.ask() if changed == 4 else None
    shutil.copy(path, copy)
    for where, value in ((path, 2.0), (copy, 3.0)):
        one = Optimizer.load(f"sqlite:///{where}")
        one.tell(settings or one.pending[0], value)
        if changed == 2:
            one.ask(2)
    key, text = entries(copy)[changed - 1]
    change(path, "UPDATE study_system_attributes SET value_json = ? WHERE key = ?", text, key)
    with raises(FileFormatError, "damaged", f"entry {changed}"):
        _ = Optimizer.load(f"sqlite:///{path}").trials


def test_a_saved_journal_has_an_end_too(tmp_path: Path) -> None:
    """Without the last entries the trials are the same: what they changed was changed back."""
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0)
    opt.tell(opt.ask(), 1.0)
    for note in ("misread", "checked", "misread", "checked"):
        opt.amend(1, note=note, who="Ada")
    opt.save(tmp_path / "a.json")
    content = json.loads((tmp_path / "a.json").read_text())
    del content["journal"][4:]
    (tmp_path / "a.json").write_text(json.dumps(content))
    with raises(FileFormatError, "a.json", "damaged", "entries 5 to 6", "missing"):
        Optimizer.load(tmp_path / "a.json")
    content["entries"] = 4
    (tmp_path / "a.json").write_text(json.dumps(content))
    with raises(FileFormatError, "changed since", "saved"):
        Optimizer.load(tmp_path / "a.json")


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator["TwoPrograms"]:
    with monkeypatch.context() as patch:
        yield TwoPrograms(tmp_path / "a.log", patch)


class TwoPrograms:
    """Two programs with a campaign in one of Optuna's journal files, where no storage refuses what comes too late."""

    def __init__(self, path: Path, patch: pytest.MonkeyPatch) -> None:
        self._path, self._patch, self._looked = path, patch, AttributeLog._read_entries
        self.one = self.opened()
        self.settings = self.one.ask(3)
        self.one.tell(self.settings[0], 1.0)
        self.other = self.opened()

    def opened(self) -> Optimizer:
        backend = optuna.storages.journal.JournalFileBackend(str(self._path))
        return Optimizer(
            {"x": (0.0, 1.0)},
            direction="maximize",
            storage=optuna.storages.JournalStorage(backend),
            search=SearchConfig(initial=50),
            seed=0,
        )

    def acts_between(self, act: Callable[[Optimizer], object], times: int = 1) -> None:
        """Have the other program write between the moment when the first one looked and that when it writes."""
        left = [act] * times

        def late(log: AttributeLog) -> object:
            found = self._looked(log)
            if log is self.one._recorder.store._log and log._lock.locked() and left:
                log._lock.release()  # the other program has a lock of its own
                left.pop()(self.other)
                log._lock.acquire()
            return found

        self._patch.setattr(AttributeLog, "_read_entries", late)


def test_two_programs_that_append_at_once_where_no_storage_refuses_it(two: TwoPrograms) -> None:
    """Both changes are there, in the order in which they were written, for everybody."""
    one, settings = two.one, two.settings
    two.acts_between(lambda opt: opt.amend(1, note="theirs"))
    one.amend(1, 5.0)
    two.acts_between(lambda opt: opt.tell(settings[1], 6.0, who="Ben"))
    with raises(InputError, "trial 2", "already"):
        one.tell(settings[1], 7.0)
    one.tell(settings[2], 8.0)
    again = two.opened()
    assert again.trials == one.trials == two.other.trials
    assert [(told.value, told.note) for told in again.trials.told] == [(5.0, "theirs"), (6.0, ""), (8.0, "")]
    assert again.journal["sequence"].tolist() == list(range(1, len(again.journal) + 1))


def test_what_comes_too_late_is_refused_as_a_whole_where_no_storage_does_it(two: TwoPrograms, tmp_path: Path) -> None:
    one, (_, second, third) = two.one, two.settings
    two.acts_between(lambda opt: opt.tell(second, 6.0))
    sheet = pd.DataFrame([{**second, "trial": 2, "y": 7.0}, {"x": 0.123, "trial": None, "y": 8.0}], dtype=object)
    with pytest.raises(InputError, match="nothing was:"):
        one.record(sheet)
    two.acts_between(lambda opt: opt.undo(1))
    with raises(InputError, "trial 1", "nothing was told"):
        one.amend(1, 5.0)
    two.acts_between(lambda opt: opt.tell(third, 9.0))
    with raises(InputError, "pending", "cancelled"):
        one.cancel(third)
    again = two.opened()
    assert again.trials == one.trials == two.other.trials
    assert [one.value for one in again.trials.told] == [6.0, 9.0]
    again.save(tmp_path / "a.json")
    assert Optimizer.load(tmp_path / "a.json").trials == again.trials


def test_a_batch_that_is_chosen_anew_has_no_setting_twice(two: TwoPrograms) -> None:
    """Another program is faster each time, and is given the first of them."""
    two.acts_between(lambda opt: opt.ask(), times=8)
    asked = two.one.ask(3)
    assert len({one["x"] for one in (*asked, *two.one.pending)}) == len(two.one.pending) == 13


def test_what_optuna_was_told_is_taken_over(tmp_path: Path) -> None:
    """Results that came with Optuna's own means have a place in the journal as soon as something else is written."""
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=f"sqlite:///{tmp_path}/a.db", seed=0)
    setting = opt.ask()
    opt.study.tell(0, 5.0)
    trial = opt.study.ask({"x": optuna.distributions.FloatDistribution(0.0, 1.0)})
    opt.study.tell(trial, 6.0)
    assert [one.value for one in opt.trials.told] == [5.0, 6.0]
    assert opt.trials.told[0].setting == setting
    opt.tell({"x": 0.3}, 7.0)
    assert opt.journal["action"].tolist() == ["suggest", "adopt", "adopt", "record"]
    assert [one.value for one in Optimizer.load(f"sqlite:///{tmp_path}/a.db").trials.told] == [5.0, 6.0, 7.0]
    assert opt.undo().trial.value == 7.0
    assert opt.undo().trial.value == 6.0


@pytest.mark.parametrize("kind", ["file", "database"])
@pytest.mark.parametrize("version", [1, 2])
def test_campaigns_of_before_load_and_go_on(version: int, kind: str, tmp_path: Path) -> None:
    """Version 1 had no journal; the entries of version 2 were not chained, and the journal had no end."""
    name = f"campaign_v{version}.json" if kind == "file" else f"campaign_v{version}.db"
    path = shutil.copy(SAVED / name, tmp_path / name)
    where = str(path) if kind == "file" else f"sqlite:///{path}"
    opt = Optimizer.load(where)
    known = pd.read_csv(SAVED / f"history_v{version}.csv").sort_values("trial", ignore_index=True)
    columns = [name for name in known.columns if name != "direction"]
    now = opt.history.sort_values("trial", ignore_index=True)
    now["note"] = now["note"].replace("", None)
    pd.testing.assert_frame_equal(now[columns], known[columns], check_dtype=False, check_exact=False)
    order = [one.id for one in opt.trials.told]
    opt.tell(opt.pending[0], 0.8, who="Ada")
    opt.amend(order[0], note="checked")
    opt.undo(order[-1])
    if kind == "file":
        opt.save(path)
    again = Optimizer.load(where)
    assert again.trials == opt.trials
    assert [one.id for one in again.trials.told] == [*order[:-1], again.trials.told[-1].id]
    assert again.journal["action"].tolist()[-3:] == ["record", "amend", "undo"]
    if kind == "database":
        change(path, "DELETE FROM study_system_attributes WHERE key = ?", entries(path)[-1][0])
        with pytest.raises(FileFormatError, match=r"entry \d+ is missing at its end"):
            _ = Optimizer.load(where).trials


@pytest.mark.parametrize("kind", ["file", "database"])
def test_an_older_program_refuses_a_newer_campaign(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(shutil.copy(SAVED / f"campaign_v1.{'json' if kind == 'file' else 'db'}", tmp_path))
    where = str(path) if kind == "file" else f"sqlite:///{path}"
    opt = Optimizer.load(where)
    opt.tell(opt.pending[0], 0.8)
    if kind == "file":
        opt.save(path)
        assert json.loads(path.read_bytes())["version"] == saved_campaign.VERSION
    monkeypatch.setattr("tunedprior.storage.saved_campaign.VERSION", saved_campaign.VERSION - 1)
    with raises(FileFormatError, "version 4", "up to 3"):
        Optimizer.load(where)
