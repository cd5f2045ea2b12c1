"""Runs one peer and answers requests, a line of JSON each: `python -m benchmarks.peers.serving MODULE CLASS`.

Requests: `{"begin": task}`, `{"choose": true}`, `{"learn": [setting, response]}`, `{"memory": true}`. An answer has
`seconds`, and `setting` or `mebibytes` where that was asked for; or `error`, when the peer raised one.
"""

import importlib
import json
import os
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.tasks import Peer, Task

_KIBIBYTES = 1 if sys.platform != "darwin" else 1024  # macOS counts bytes


class Served:
    """A peer's class, and the peer at work on the present task."""

    def __init__(self, kind: Callable[[Task], Peer]) -> None:
        self._kind = kind
        self._peer: Peer | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a request gives, with the seconds that it took."""
        started = time.perf_counter()
        result: dict[str, Any] = {}
        if "begin" in request:
            self._peer = self._kind(Task.from_plain(request["begin"]))
        elif "choose" in request:
            result["setting"] = {name: _plain(value) for name, value in self._peer.choose().items()}
        elif "learn" in request:
            self._peer.learn(*request["learn"])
        else:
            result["mebibytes"] = most_memory()
        return result | {"seconds": time.perf_counter() - started}


def most_memory() -> float:
    """The most that this process has held, in MiB.

    On Linux it is what the system says of the program itself: `getrusage` would begin with what its parent held.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = [line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 / _KIBIBYTES


def main(module: str, name: str) -> None:
    """Answer until there are no more requests."""
    answers = os.fdopen(os.dup(1), "w")  # what peers print must not mix with answers
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    served: Served | None = None
    for line in sys.stdin:
        try:
            if served is None:  # not before, so that an import that fails is told of
                served = Served(getattr(importlib.import_module(f"benchmarks.peers.kinds.{module}"), name))
            answer = served.answer(json.loads(line))
        except Exception as error:
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _plain(value: Any) -> Any:
    """A number of NumPy's as Python's own."""
    return value.item() if hasattr(value, "item") else value


if __name__ == "__main__":
    main(*sys.argv[1:])
