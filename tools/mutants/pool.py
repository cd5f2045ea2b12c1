"""Forked children, a few at a time, each with a limit of time and of memory."""

import json
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")
_PAUSE = 0.01
_MEMORY = 8 * 2**30  # address space of a child: a mistake may ask for a matrix of any size


@dataclass
class _Child:
    task: Any
    pipe: int
    deadline: float
    text: bytes = b""


def forked(
    tasks: Iterable[T], work: Callable[[T], Any], limit: Callable[[T], float], jobs: int
) -> Iterator[tuple[T, Any]]:
    """What `work` gives for each task (as JSON), in the order in which children end; "timeout" or "crash" if nothing.

    A child has all that this process has imported, and nothing that it does is seen here.
    """
    waiting, running = iter(tasks), {}
    more = True
    while more or running:
        while more and len(running) < jobs:
            task = next(waiting, None)
            if task is None:
                more = False
                break
            pid, pipe = _start(task, work)
            running[pid] = _Child(task, pipe, time.monotonic() + limit(task))
        for pid, child in list(running.items()):
            child.text += _read(child.pipe)
            late = time.monotonic() > child.deadline
            if late:
                os.killpg(pid, signal.SIGKILL)
            ended, _ = os.waitpid(pid, 0 if late else os.WNOHANG)
            if ended:
                del running[pid]
                child.text += _read(child.pipe)
                os.close(child.pipe)
                yield child.task, "timeout" if late else _result(child.text)
        time.sleep(_PAUSE)


def _start(task: T, work: Callable[[T], Any]) -> tuple[int, int]:
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        os.set_blocking(read, False)
        return pid, read
    try:
        os.setpgid(0, 0)
        os.close(read)
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(silence, descriptor)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY + _used(), resource.RLIM_INFINITY))
        text = json.dumps(work(task)).encode()
        while text:
            text = text[os.write(write, text) :]
    finally:
        os._exit(0)


def _read(pipe: int) -> bytes:
    text = b""
    try:
        while part := os.read(pipe, 2**16):
            text += part
    except BlockingIOError:
        pass
    return text


def _result(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return "crash"


def _used() -> int:
    with open("/proc/self/statm", encoding="utf-8") as file:  # noqa: PTH123  # no file of ours
        return int(file.read().split()[0]) * resource.getpagesize()
