"""Starts a peer where it lives and talks with it, line by line."""

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from benchmarks.peers.by_name import ALL_PEERS
from benchmarks.peers.tasks import Input, OldSet, Setting, Task

_ROOT = Path(__file__).parents[2]
#: A peer that is silent for so many seconds is given up.
PATIENCE = 600.0
#: What suggestions may depend on beside the peer's own package, where its environment has it.
_BENEATH = ("torch", "gpytorch", "botorch", "jax", "numpy", "scipy", "scikit-learn", "optuna")
_TELL_VERSIONS = """
import json, platform, sys
from importlib.metadata import PackageNotFoundError, version

found = {"python": platform.python_version()}
for package in sys.argv[1:]:
    try:
        found[package] = version(package)
    except PackageNotFoundError:
        pass
print(json.dumps(found))
"""


class PeerError(Exception):
    """A peer raised an error, ended or was silent for too long."""


class Called:
    """A peer in a process of its own, which ends with this object; as a `Peer`, with seconds.

    Args:
        name: One of `ALL_PEERS`.
    """

    def __init__(self, name: str) -> None:
        self.name, entry = name, ALL_PEERS[name]
        command = [str(interpreter(entry.environment)), "-m", "benchmarks.peers.serving", entry.module, entry.kind]
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        paths = os.pathsep.join([str(_ROOT), str(_ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        # It is written to as long as the process runs, and closed with that, in `close`.
        self._complaints = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
            cwd=_ROOT,
            env=os.environ | one_thread | {"PYTHONPATH": paths},
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def begin(self, task: Task) -> float:
        """Give it a task; the seconds that it took to learn from old data, if it did."""
        return self._answered({"begin": task.as_plain()})["seconds"]

    def choose(self) -> tuple[Setting, float]:
        """The next setting, and the seconds that choosing it took."""
        answer = self._answered({"choose": True})
        return answer["setting"], answer["seconds"]

    def learn(self, setting: Setting, response: float) -> float:
        """Tell it a result; the seconds that it took."""
        return self._answered({"learn": [setting, response]})["seconds"]

    def mebibytes(self) -> float:
        """The most memory that its process has held."""
        return self._answered({"memory": True})["mebibytes"]

    @property
    def running(self) -> bool:
        """Whether it can be asked anything."""
        return self._process.poll() is None

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        self._listener.join()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._complaints.close()

    def _listen(self) -> None:
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _answered(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process.stdin.closed:
            raise PeerError(f"{self.name} was closed.")
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            self.close()
            raise PeerError(f"{self.name} was silent for {PATIENCE:.0f} seconds.") from None
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(f"{self.name} ended by itself{self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{self.name}: {answer['error']}")
        return answer

    def _last_words(self) -> str:
        """What it wrote last, outside of its answers: why it ended, most likely."""
        self._process.wait()
        self._complaints.seek(0)
        lines = self._complaints.read().strip().splitlines()
        return f": {lines[-1]}" if lines else "."


def why_missing(name: str) -> str | None:
    """Why a peer cannot be compared here, if it cannot: it is given a small task, with old data if it uses any."""
    try:
        peer = Called(name)
    except PeerError as error:
        return str(error)
    old = {"old": OldSet(tuple({"x": place / 4} for place in range(5)), (0.0, 0.7, 1.0, 0.7, 0.0))}
    try:
        peer.begin(Task((Input("x"),), old if ALL_PEERS[name].uses_old else {}))
    except PeerError as error:
        return str(error)
    finally:
        peer.close()
    return None


def versions_of(name: str) -> dict[str, str]:
    """What a peer's environment holds of all that its suggestions may depend on; nothing is imported there."""
    entry = ALL_PEERS[name]
    packages = dict.fromkeys((*((entry.package,) if entry.package else ()), *_BENEATH))
    command = [str(interpreter(entry.environment)), "-c", _TELL_VERSIONS, *packages]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=_ROOT).stdout)


def interpreter(environment: str) -> Path:
    """The Python of an environment; this one's, for those who live here."""
    if not environment:
        return Path(sys.executable)
    found = _ROOT / environment / "bin" / "python"
    if not found.exists():
        raise PeerError(f"there is no environment {environment}; `make peers` builds it.")
    return found
