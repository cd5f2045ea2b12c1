"""A fault at every step of whatever writes: it raises before or after taking effect, or the program dies there.

A step is a statement or a commit of the database, or a call of the file system. What was acknowledged must be there
once, what was not may be sent again, and the message must be true.
"""

import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import optuna
import pandas as pd

from tunedprior import SearchConfig
from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import TunedPriorError
from tunedprior.history.trials import History
from tunedprior.storage.databases import get_engine
from tunedprior.web.entries import Entry
from tunedprior.web.shared import SharedCampaign, compute_version

BEFORE, AFTER, KILL = "raises before", "raises after", "dies"
MODES = (BEFORE, AFTER, KILL)
#: What is kept of each job: how many steps had a fault, and what came of it.
OF_FAULTS = ("steps", "acknowledged", "refused", "lost", "doubled", "false messages")
_FORM = "0" * 24
_KILLED, _DONE, _REFUSED, _FOREIGN = "killed", "done", "refused", "foreign"


@dataclass(frozen=True)
class FaultJob:
    """Every step of one operation.

    Attributes:
        operation: Its name in `OPERATIONS`.
        mode: What happens at a step.
        stride: Only every so many steps, beginning with the first.
    """

    operation: str
    mode: str
    stride: int = 1


class Fault:
    """Counts steps, and goes wrong at one of them.

    Args:
        at: The step; 0 for none.
        mode: What happens there.
    """

    def __init__(self, at: int = 0, mode: str = BEFORE) -> None:
        self.at, self.mode, self.count, self.is_armed = at, mode, 0, False

    def step(self, error: Callable[[], Exception], act: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Do one step, or not."""
        if not self.is_armed:
            return act(*arguments, **options)
        self.count += 1
        if self.count != self.at:
            return act(*arguments, **options)
        if self.mode == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.mode == AFTER:
            act(*arguments, **options)
        raise error()

    @contextmanager
    def armed(self) -> Iterator[None]:
        """The time in which steps count."""
        self.is_armed = True
        try:
            yield
        finally:
            self.is_armed = False


def _disk_error() -> sqlite3.OperationalError:
    """What SQLite raises when the disk fails."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


def _in_database(fault: Fault, opt: Optimizer) -> None:
    """Have every statement and every commit of the campaign's database be a step."""
    dialect = get_engine(opt.study).dialect
    for name in ("do_execute", "do_executemany", "do_execute_no_params", "do_commit"):
        act = getattr(dialect, name)

        def stepped(*arguments: Any, act: Callable[..., Any] = act, **options: Any) -> Any:
            return fault.step(_disk_error, act, *arguments, **options)

        setattr(dialect, name, stepped)


@contextmanager
def _in_files(fault: Fault) -> Iterator[None]:
    """Have every call that changes a file be a step."""
    names = ("open", "fsync", "replace", "chmod", "close")
    real = {name: getattr(os, name) for name in names}
    for name, act in real.items():

        def stepped(*arguments: Any, act: Callable[..., Any] = act, **options: Any) -> Any:
            return fault.step(lambda: OSError(28, "No space left on device"), act, *arguments, **options)

        setattr(os, name, stepped)
    try:
        yield
    finally:
        for name, act in real.items():
            setattr(os, name, act)


@dataclass(frozen=True)
class Operation:
    """Something that writes.

    Attributes:
        act: Does it, with the campaign as programs have it, or as the page has it.
        is_done: Whether it was done, exactly once, from the history before and after.
        on_page: Whether it is one of the page.
    """

    act: Callable[[Any], object]
    is_done: Callable[[History, History], bool]
    on_page: bool = False


def _told(before: History, after: History, *values: float) -> bool:
    """Whether these values, and no others, came to the results."""
    return sorted(one.value for one in after.told) == sorted([*(one.value for one in before.told), *values])


def _amended(_before: History, after: History) -> bool:
    return (after.told[0].value, after.told[0].note, len(after.told)) == (9.0, "right", 3)


def _sheet(opt: Optimizer) -> pd.DataFrame:
    """Results of an open suggestion and of a run that nobody asked for."""
    number, setting = next((one.id, one.setting) for one in _campaign_history().pending)
    own = {"x": 0.123, "trial": None, opt.target: 8.0}
    return pd.DataFrame([{**setting, "trial": number, opt.target: 7.0}, own], dtype=object)


def _entry(values: dict[str, float], setting: dict[str, float] | None = None) -> Entry:
    return Entry(setting or dict(_campaign_history().pending[0].setting), values, note="right", who="Ada")


OPERATIONS: dict[str, Operation] = {
    "ask": Operation(lambda opt: opt.ask(), lambda was, now: len(now.pending) == len(was.pending) + 1),
    "ask(3)": Operation(lambda opt: opt.ask(3), lambda was, now: len(now.pending) == len(was.pending) + 3),
    "tell": Operation(lambda opt: opt.tell(opt.pending[0], 7.0, trial=4), lambda was, now: _told(was, now, 7.0)),
    "tell of one's own": Operation(lambda opt: opt.tell({"x": 0.123}, 7.0), lambda was, now: _told(was, now, 7.0)),
    "record": Operation(lambda opt: opt.record(_sheet(opt)), lambda was, now: _told(was, now, 7.0, 8.0)),
    "amend": Operation(lambda opt: opt.amend(1, 9.0, note="right"), _amended),
    "withdraw": Operation(lambda opt: opt.withdraw(2), lambda _, now: [one.id for one in now.set_aside] == [2]),
    "undo": Operation(lambda opt: opt.undo(3), lambda _, now: [one.id for one in now.pending] == [3, 4, 5]),
    "cancel": Operation(lambda opt: opt.cancel(4), lambda _, now: [one.id for one in now.set_aside] == [4]),
    "page: result": Operation(
        lambda page: page.tell(4, _entry({"y": 7.0})), lambda was, now: _told(was, now, 7.0), True
    ),
    "page: run of one's own": Operation(
        lambda page: page.tell_unasked(_FORM, _entry({"y": 7.0}, {"x": 0.123})),
        lambda was, now: _told(was, now, 7.0),
        True,
    ),
    "page: correct": Operation(
        lambda page: page.amend(
            1, compute_version(page.get_trial(1)), _entry({"y": 9.0}, dict(_campaign_history().told[0].setting))
        ),
        _amended,
        True,
    ),
    "page: take back the last": Operation(
        lambda page: page.undo(3), lambda _, now: [one.id for one in now.pending] == [3, 4, 5], True
    ),
    "page: withdraw": Operation(
        lambda page: page.withdraw(2), lambda _, now: [one.id for one in now.set_aside] == [2], True
    ),
    "page: cancel": Operation(
        lambda page: page.cancel(4), lambda _, now: [one.id for one in now.set_aside] == [4], True
    ),
}
SAVE = "save"
ALL = (*OPERATIONS, SAVE)


@cache
def _campaign() -> Path:
    """A campaign in a file, with three results and two open suggestions."""
    path = Path(tempfile.mkdtemp(prefix="tunedprior-faults-")) / "campaign.db"
    opt = Optimizer(
        {"x": (0.0, 1.0)}, direction="maximize", storage=f"sqlite:///{path}", search=SearchConfig(initial=1000), seed=0
    )
    for value, setting in zip((1.0, 2.0, 3.0), opt.ask(5), strict=False):
        opt.tell(setting, value)
    opt.study._storage.remove_session()
    return path


@cache
def _campaign_history() -> History:
    return Optimizer.load(f"sqlite:///{_campaign()}").trials


@cache
def steps_of(operation: str) -> int:
    """How many steps an operation has, when none goes wrong."""
    fault = Fault()
    with tempfile.TemporaryDirectory(prefix="tunedprior-faults-") as folder:
        if operation == SAVE:
            _save(Path(folder), fault)
        else:
            answer, said = _run(operation, Path(shutil.copy(_campaign(), folder)), fault)
            assert answer == _DONE, said
    return fault.count


def after_faults(job: FaultJob) -> list[float]:
    """In the order of OF_FAULTS, over all steps of the operation."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    steps = range(1, steps_of(job.operation) + 1, job.stride)
    found = [judge(job.operation, Fault(at, job.mode)) for at in steps]
    return [float(len(found)), *(float(sum(column)) for column in zip(*found, strict=True))]


def _run(operation: str, path: Path, fault: Fault) -> tuple[str, str]:
    """What came of an operation, and what was said."""
    what = OPERATIONS[operation]
    opt = Optimizer.load(f"sqlite:///{path}")
    by = SharedCampaign(lambda: opt) if what.on_page else opt
    _ = opt.trials  # as somebody has it who looked before
    _in_database(fault, opt)
    try:
        with fault.armed():
            what.act(by)
    except TunedPriorError as error:
        return _REFUSED, str(error)
    except Exception as error:  # counted: an error from inside
        return _FOREIGN, repr(error)
    finally:
        fault.is_armed = False
        opt.study._storage.remove_session()
    return _DONE, ""


def _in_child(act: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    """What came of it in a process of its own, which may be killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        answer, said = "", ""
        with suppress(BaseException):
            answer, said = act()
        os.write(write, f"{answer}\n{said}".encode()[:60_000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        answer, _, said = pipe.read().decode().partition("\n")
    _, status = os.waitpid(child, 0)
    return (_KILLED, "") if os.WIFSIGNALED(status) else (answer, said)


def judge(operation: str, fault: Fault) -> list[bool]:
    """Whether it was acknowledged, refused, lost, doubled, and whether what was said was false."""
    if operation == SAVE:
        return _judge_saving(fault)
    what = OPERATIONS[operation]
    with tempfile.TemporaryDirectory(prefix="tunedprior-faults-") as folder:
        path = Path(shutil.copy(_campaign(), folder))
        if fault.mode == KILL:
            answer, said = _in_child(lambda: _run(operation, path, fault))
        else:
            answer, said = _run(operation, path, fault)
        before, now = _campaign_history(), Optimizer.load(f"sqlite:///{path}").trials
        done, untouched = what.is_done(before, now), now == before
        lost = (answer == _DONE and not done) or not (done or untouched)
        false = answer == _FOREIGN or (answer == _REFUSED and not _is_true(said, done))
        if false or lost:
            print(f"{operation}, {fault.mode} step {fault.at}: {answer} {said}, done: {done}", file=sys.stderr)
        doubled = False
        if not done or what.on_page:  # whoever sends a form again need not look first
            _pass_time(path)
            again, _ = _run(operation, path, Fault())
            doubled = not what.is_done(before, Optimizer.load(f"sqlite:///{path}").trials)
            false = false or again != _DONE
    return [answer == _DONE, answer in (_REFUSED, _KILLED), lost, doubled, false]


def _pass_time(path: Path) -> None:
    """Let a minute go by for claims of forms, which a program that died leaves behind."""
    with closing(sqlite3.connect(path)) as database, suppress(sqlite3.OperationalError):  # there may be no form yet
        database.execute("UPDATE tunedprior_forms SET since = datetime('now', '-1 minute')")
        database.commit()


def _is_true(said: str, done: bool) -> bool:
    """Whether a message says what is the case; one that says that it does not know cannot be wrong."""
    says_nothing = ("could not be found out", "It could not be read", "it counts once")
    return not done or any(words in said for words in says_nothing)


def _save(folder: Path, fault: Fault) -> tuple[str, str]:
    path = folder / "campaign.json"
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", search=SearchConfig(initial=1000), seed=0)
    opt.tell(opt.ask(), 1.0)
    opt.save(path)
    opt.tell(opt.ask(), 2.0)
    try:
        with _in_files(fault), fault.armed():
            opt.save(path)
    except TunedPriorError as error:
        opt.save(path)  # what the message says may be done
        return _REFUSED, str(error)
    except Exception as error:  # counted: an error from inside
        return _FOREIGN, repr(error)
    return _DONE, ""


def _judge_saving(fault: Fault) -> list[bool]:
    """As `judge`: a file holds what it held before, or all that is new."""
    with tempfile.TemporaryDirectory(prefix="tunedprior-faults-") as name:
        folder = Path(name)
        answer, said = _in_child(lambda: _save(folder, fault)) if fault.mode == KILL else _save(folder, fault)
        values = [one.value for one in Optimizer.load(folder / "campaign.json").trials.told]
        left = [one.name for one in folder.iterdir()]
        lost = values not in ([1.0], [1.0, 2.0]) or (answer != _KILLED and values != [1.0, 2.0])
        false = answer in (_FOREIGN, "")
        if false or lost:
            print(f"save, {fault.mode} step {fault.at}: {answer} {said} {values} {left}", file=sys.stderr)
    return [answer == _DONE, answer in (_REFUSED, _KILLED), lost, False, false]
