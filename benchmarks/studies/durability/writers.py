"""Two programs that correct the same campaign at the same moment: is every change that was acknowledged there?"""

import multiprocessing
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from typer.testing import CliRunner

from benchmarks.studies.workers.server import running_server
from tunedprior import SearchConfig
from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import TunedPriorError
from tunedprior.history.trials import Trial

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"
#: What two do at the same moment, and through what.
PAIRS = {
    "amend beside amend": ("python: value", "python: note"),
    "amend beside withdraw": ("python: value", "python: withdraw"),
    "amend beside undo": ("python: note", "python: undo"),
    "withdraw beside undo": ("python: withdraw", "python: undo"),
    "page beside command line": ("page: value", "shell: note"),
    "two servers": ("page: value", "page: withdraw"),
}
#: What is kept of each job.
OF_WRITERS = ("times", "acknowledged", "refused", "lost", "errors")
_BEFORE, _AFTER, _NOTE = 1.0, 2.0, "read again"


@dataclass(frozen=True)
class WriterJob:
    """Two programs on one campaign.

    Attributes:
        database: Where it is kept.
        pair: What they do.
        pairs: How often, each time with another trial.
    """

    database: str
    pair: str
    pairs: int = 34


def after_writers(job: WriterJob) -> list[float]:
    """In the order of OF_WRITERS."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with _database(job.database) as url:
        opt = Optimizer(
            {"x": (0.0, 1.0)}, direction="maximize", storage=url, search=SearchConfig(initial=10**6), seed=0
        )
        for setting in opt.ask(job.pairs):
            opt.tell(setting, _BEFORE)
        context = multiprocessing.get_context("spawn")
        barrier, queue = context.Barrier(2), context.Queue()
        both = [
            context.Process(target=_work, args=(url, what, job.pairs, barrier, queue, side))
            for side, what in enumerate(PAIRS[job.pair])
        ]
        for one in both:
            one.start()
        answers = dict(queue.get(timeout=600) for _ in range(2 * job.pairs))
        for one in both:
            one.join()
        opt.study._storage.remove_session()  # what is read now is read anew
        history = Optimizer.load(url).trials
        trials, journal = {one.id: one for one in history.trials}, opt.journal
    lost = errors = acknowledged = 0
    for (side, number), answer in answers.items():
        what = PAIRS[job.pair][side].split(": ")[1]
        acknowledged += answer == "done"
        errors += answer not in ("done", "refused")
        action = {"value": "amend", "note": "amend", "withdraw": "withdraw", "undo": "undo"}[what]
        entries = journal[(journal["trial"] == number) & (journal["action"] == action)]
        logged = any(_says(what, row) for row in entries.to_dict("records"))
        lost += answer == "done" and not (logged and _stands(what, trials[number]))
    refused = len(answers) - acknowledged - errors
    return [float(job.pairs), float(acknowledged), float(refused), float(lost), float(errors)]


def _says(what: str, row: dict[Any, Any]) -> bool:
    """Whether an entry of the journal is this change."""
    return {
        "value": row["after"].get("y") == _AFTER,
        "note": row["after"].get("note") == _NOTE,
        "withdraw": row["after"].get("state") == "withdrawn",
        "undo": row["after"].get("state") == "pending",
    }[what]


def _stands(what: str, trial: Trial) -> bool:
    """Whether a trial is as this change made it, as far as no later one took it back."""
    undone = trial.is_pending or trial.set_aside == "withdrawn"
    return {
        "value": trial.value == _AFTER or trial.is_pending,
        "note": trial.note == _NOTE or undone,
        "withdraw": undone,
        "undo": undone,
    }[what]


@contextmanager
def _database(kind: str) -> Any:
    if kind == POSTGRESQL:
        with running_server() as server:
            yield server.new_database()
    else:
        with tempfile.TemporaryDirectory(prefix="tunedprior-writers-") as folder:
            yield f"sqlite:///{Path(folder) / 'campaign.db'}"


def _work(url: str, what: str, pairs: int, barrier: Any, queue: Any, side: int) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    act = _actor(url, what)
    for number in range(1, pairs + 1):
        barrier.wait(300)
        try:
            answer = act(number)
        except TunedPriorError:
            answer = "refused"
        except Exception as error:  # counted: an error from inside
            answer = repr(error)
        queue.put(((side, number), answer))


def _actor(url: str, what: str) -> Callable[[int], str]:
    """What acts upon a trial, as a program, the page or the command line does."""
    through, change = what.split(": ")
    if through == "shell":
        from tunedprior.cli.app import app

        def run(number: int) -> str:
            words = ["amend", url, str(number), "--note", _NOTE]
            return "done" if CliRunner().invoke(app, words).exit_code == 0 else "refused"

        return run
    if through == "page":
        from tunedprior.web.entries import Entry
        from tunedprior.web.shared import SharedCampaign, compute_version

        shared = SharedCampaign(lambda: Optimizer.load(url))

        def post(number: int) -> str:
            now = shared.get_trial(number)
            if change == "withdraw":
                shared.withdraw(number)
            else:
                shared.amend(number, compute_version(now), Entry(now.setting, {"y": _AFTER}, note=now.note))
            return "done"

        return post
    opt = Optimizer.load(url)
    acts: dict[str, Callable[[int], object]] = {
        "value": lambda number: opt.amend(number, _AFTER),
        "note": lambda number: opt.amend(number, note=_NOTE),
        "withdraw": opt.withdraw,
        "undo": opt.undo,
    }

    def do(number: int) -> str:
        acts[change](number)
        return "done"

    return do
