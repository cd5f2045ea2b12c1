"""Worker processes on one study, which can be held at a point of their work, killed, stopped and continued."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from benchmarks.studies.workers.at_work import Post, work
from benchmarks.studies.workers.ledger import HELD, Entry, read_ledgers

_POLL = 0.02


class CrewError(RuntimeError):
    """Something that was waited for did not happen."""


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Look again and again."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise CrewError(f"Waited {seconds:g} s for {what}.")
        time.sleep(_POLL)


@dataclass
class Crew:
    """Workers with numbers from 0, each with a ledger; leaving the block kills whoever is left.

    Attributes:
        post: What each does; number and seed are its own.
        count: How many they are.
    """

    post: Post
    count: int

    def __enter__(self) -> "Crew":
        # Workers are copies of a process that has imported all they need, and has no threads that could be lost.
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["benchmarks.studies.workers.at_work"])
        posts = [replace(self.post, number=number) for number in range(self.count)]
        self._processes = [context.Process(target=work, args=(post,), daemon=True) for post in posts]
        for process in self._processes:
            process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._processes:
            process.kill()
            process.join()
        self._processes = []

    def begin(self, seconds: float = 120.0) -> None:
        """Let them begin together, once all are there."""
        wait_until(lambda: all(self._path("ready", one).exists() for one in range(self.count)), seconds, "the workers")
        (self.post.folder / "go").touch()

    def hold(self, number: int, point: str, seconds: float = 60.0) -> None:
        """Have a worker wait when it comes to this point of its next trial, and return once it does."""
        seen = sum(entry.what == HELD for entry in self._entries(number))
        self._path("hold", number).write_text(point)
        held = lambda: sum(entry.what == HELD for entry in self._entries(number)) > seen  # noqa: E731
        wait_until(held, seconds, f"worker {number} to come to {point}")

    def release(self, number: int) -> None:
        """Let it go on."""
        self._path("hold", number).unlink()

    def send(self, number: int, what: signal.Signals) -> None:
        """A signal to a worker."""
        pid = self._processes[number].pid
        assert pid is not None
        os.kill(pid, what)
        if what == signal.SIGKILL:
            self._processes[number].join()

    def join(self, seconds: float, but: Sequence[int] = ()) -> int:
        """Wait until all have ended by themselves; how many of them with an error, of those that were not killed."""
        ended = [one for number, one in enumerate(self._processes) if number not in but]
        wait_until(lambda: not any(one.is_alive() for one in ended), seconds, "the workers to end")
        return sum(one.exitcode != 0 for one in ended)

    def entries(self) -> list[Entry]:
        """Of all ledgers."""
        return read_ledgers(self._path("ledger", number) for number in range(self.count))

    def errors(self) -> list[str]:
        """What workers that ended with an error said."""
        paths = [self._path("error", number) for number in range(self.count)]
        return [path.read_text() for path in paths if path.exists()]

    def _entries(self, number: int) -> list[Entry]:
        return read_ledgers([self._path("ledger", number)])

    def _path(self, what: str, number: int) -> Path:
        return self.post.folder / f"{what}-{number}"
