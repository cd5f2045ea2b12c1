"""How long a result takes to be recorded on the page while 200 others ask for reports and reasons.

    python -m benchmarks readers [--seeds LO-HI] [--smoke] [--out DIR]
    python -m benchmarks readers --tables

`tunedprior serve` runs by itself on a campaign with old data. In each round a result is sent to it while nobody else
asks for anything, and another one right after 200 requests were sent at once, half of them for the report and half for
the reasons of open suggestions. Every result changes the history, so that every round has them worked out anew.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import optuna
import pandas as pd

from benchmarks.results import read_results
from benchmarks.runner import Study, run_in_turn
from benchmarks.studies.beliefs import seeds_between
from benchmarks.studies.goals.campaigns import side_by_side
from benchmarks.studies.storing import add_storing, places
from benchmarks.tables import markdown, write_tables
from tunedprior.campaign.optimizer import Optimizer

#: What is kept of each round: seconds, and how many of the readers got a page and how many were told to try again.
OF_A_ROUND = ("idle", "among readers", "got the page", "told to try again")
_INPUTS, _OLD, _RESULTS, _OPEN = 3, 40, 12, 4
_PATIENCE = 300.0  # seconds for any one reply


@dataclass(frozen=True)
class ReaderJob:
    """One campaign at one server.

    Attributes:
        seed: Of its data.
        readers: How many requests are sent at once.
        rounds: How often.
    """

    seed: int
    readers: int = 200
    rounds: int = 5


class Browser:
    """Somebody who has shown the token.

    Args:
        port: Where the page is.
        cookies: What the browser keeps.
    """

    def __init__(self, port: int, cookies: dict[str, str] | None = None) -> None:
        self.port, self.cookies = port, dict(cookies or {})

    def get(self, path: str) -> tuple[int, str]:
        """The status and the text of a page."""
        return self._reply("GET", path)

    def record(self, setting: list[float], value: float) -> float:
        """Record a run of one's own; the seconds from sending the form to the reply that says it is recorded."""
        _, page = self.get("/run")
        fields = {name: re.findall(rf'name="{name}" value="([^"]*)"', page)[0] for name in ("key", "form")}
        typed = {f"p{place}": repr(one) for place, one in enumerate(setting)} | {"r0": repr(value), "outcome": "worked"}
        begun = time.perf_counter()
        status, text = self._reply("POST", "/run", urlencode(fields | typed))
        seconds = time.perf_counter() - begun
        if status != 303:
            raise RuntimeError(f"The result was not recorded (status {status}): {text[:1000]}")
        return seconds

    def _reply(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        headers |= {} if body is None else {"content-type": "application/x-www-form-urlencoded"}
        try:
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            for line in reply.headers.get_all("set-cookie") or ():
                name, value = line.split(";")[0].split("=", 1)
                self.cookies[name] = value
            return reply.status, reply.read().decode()
        finally:
            connection.close()


def recording_among_readers(job: ReaderJob) -> list[float]:
    """In the order of OF_A_ROUND, round by round, after one result to warm up."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = np.random.default_rng(job.seed)
    found: list[float] = []
    with tempfile.TemporaryDirectory(prefix="tunedprior-readers-") as folder:
        numbers = _begin(Path(folder, "campaign.db"), job.seed)
        with _served(folder) as ada:
            paths = ["/report", *(f"/trials/{number}/why" for number in numbers)]
            ada.record(rng.random(_INPUTS).tolist(), float(rng.random()))
            for _ in range(job.rounds):
                idle = ada.record(rng.random(_INPUTS).tolist(), float(rng.random()))
                asked = [paths[0] if k % 2 else paths[1 + k // 2 % len(numbers)] for k in range(job.readers)]
                statuses, busy = _among_readers(ada, asked, rng.random(_INPUTS).tolist(), float(rng.random()))
                if set(statuses) - {200, 503}:
                    raise RuntimeError(f"Replies with the status {sorted(set(statuses))}")
                found += [idle, busy, float(statuses.count(200)), float(statuses.count(503))]
    return found


def _among_readers(ada: Browser, paths: list[str], setting: list[float], value: float) -> tuple[list[int], float]:
    """What the readers were answered, and the seconds that a result took meanwhile."""
    context = multiprocessing.get_context("spawn")
    sent, statuses = context.Event(), context.Queue()
    readers = context.Process(target=_read, args=(ada.port, ada.cookies, paths, sent, statuses))
    readers.start()
    try:
        if not sent.wait(_PATIENCE):
            raise RuntimeError("The readers did not come.")
        seconds = ada.record(setting, value)
        return statuses.get(timeout=_PATIENCE), seconds
    finally:
        readers.join(10.0)
        readers.terminate()
        readers.join()
        readers.close()
        statuses.close()


def _read(port: int, cookies: dict[str, str], paths: list[str], sent: Any, statuses: Any) -> None:
    """Ask for all pages at once, from a process of its own."""
    with ThreadPoolExecutor(len(paths)) as threads:
        asked = [threads.submit(Browser(port, cookies).get, path) for path in paths]
        sent.set()
        statuses.put([one.result()[0] for one in asked])


def _begin(place: Path, seed: int) -> list[int]:
    """A campaign with old data, results and open suggestions, whose numbers are returned."""
    rng = np.random.default_rng([seed, 1])
    names = [f"x{number}" for number in range(_INPUTS)]

    def rows(count: int) -> list[dict[str, float]]:
        drawn = rng.random((count, _INPUTS))
        responses = np.sin(3 * drawn[:, 0]) * drawn[:, 1] + (drawn[:, 2] - 0.4) ** 2
        return [
            {**dict(zip(names, map(float, x), strict=True)), "y": float(y)}
            for x, y in zip(drawn, responses, strict=True)
        ]

    opt = Optimizer(
        dict.fromkeys(names, (0.0, 1.0)), rows(_OLD), direction="maximize", storage=f"sqlite:///{place}", seed=seed
    )
    for row in rows(_RESULTS):
        opt.tell({name: row[name] for name in names}, row["y"])
    return [one.trial for one in opt.ask(_OPEN)]


@contextmanager
def _served(folder: str) -> Iterator[Browser]:
    """`tunedprior serve`, and somebody at it."""
    words = ["serve", "campaign.db", "--port", "0", "--json"]
    running = subprocess.Popen(
        [sys.executable, "-c", "from tunedprior.cli.program import main; main()", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CONFIG_HOME": folder},
    )
    try:
        assert running.stdout is not None  # it is a pipe
        said = ""
        while not said.rstrip().endswith("}"):
            line = running.stdout.readline()
            if not line:
                raise RuntimeError(f"The page was not served: {said}")
            said += line
        found = json.loads(said)
        ada = Browser(int(found["port"]))
        ada.get("/" + found["url"].split("/", 3)[3])
        yield ada
    finally:
        running.send_signal(signal.SIGINT)
        try:
            running.communicate(timeout=60.0)
        except subprocess.TimeoutExpired:
            running.kill()
            running.communicate()


STUDY = Study("readers", ReaderJob, recording_among_readers, "python -m benchmarks readers")


def table(results: pd.DataFrame) -> str:
    """Over all rounds: seconds, how many were quick enough, and what the readers were answered."""
    told = side_by_side(results, OF_A_ROUND)
    limits = 2 * told["idle"] + 1.0
    row = {
        "rounds": len(told),
        "idle": _seconds(told["idle"]),
        "among readers": _seconds(told["among readers"]),
        "within twice the idle time and a second": f"{(told['among readers'] <= limits).sum()} of {len(told)}",
        "readers who got the page": f"{told['got the page'].sum():.0f}",
        "told to try again": f"{told['told to try again'].sum():.0f}",
    }
    named = f"{results['readers'].iloc[0]:.0f}"
    return markdown(pd.DataFrame.from_dict({named: row}, orient="index").rename_axis(index="readers at once"))


def _seconds(values: "pd.Series[float]") -> str:
    return f"{values.median():.2f} s (at most {values.max():.2f} s)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--seeds", metavar="LO-HI", type=seeds_between, default=(), help="only these")
    add_storing(parser, "one round with few readers, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, then write or (of a quick run) print the table."""
    folder, docs = places(arguments)
    jobs = [ReaderJob(0, 12, 1)] if arguments.smoke else [ReaderJob(seed) for seed in arguments.seeds or range(2)]
    if arguments.tables:
        assert folder is not None  # only a quick run has none
        results = read_results(STUDY.name, folder)
    else:
        results = run_in_turn(STUDY, jobs, folder)
    found = table(results)
    print(found)
    if folder is not None:
        write_tables(docs / "reliability.md", {"readers": found})
