"""Sharing: the machine with a program that keeps a core busy, and one Suggester among threads and processes."""

import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from statistics import median

from benchmarks.problems.kinds import old_data
from benchmarks.studies.speed.data import (
    BY_INPUTS,
    OLD_ROWS,
    SEED,
    in_the_midst,
    observations,
    old_records,
    usual_function,
)
from benchmarks.studies.speed.timing import Options, Row, seconds
from tunedprior import Optimizer, Suggester
from tunedprior.campaign import simulate
from tunedprior.space.search_space import Setting

_SPIN = "while True: pass"


def busy(options: Options) -> list[Row]:
    """Making an optimiser, and one suggestion, on an idle machine and while another process keeps one core busy."""
    function, count = usual_function(options), 8 if options.smoke else 50
    sizes = (20, 600) if options.smoke else (OLD_ROWS, 2000)
    tables = {rows: old_data("noisy flip", function, SEED, rows) for rows in sizes}
    surrogate = Optimizer(function.space, tables[min(tables)], direction="maximize", seed=0).surrogate  # warms up too
    told = observations(function, count + 1, SEED)
    whats: dict[str, Callable[[], Callable[[], object]]] = {
        f"an optimiser with {rows:,} old rows": lambda table=table: partial(
            Optimizer, function.space, table, "maximize", seed=0
        )
        for rows, table in tables.items()
    } | {f"a suggestion at {count} observations": lambda: in_the_midst(function, told, model=surrogate)}
    states = {"idle": nullcontext, "busy": busy_core}
    times: dict[str, dict[str, list[float]]] = {what: {state: [] for state in states} for what in whats}
    for _ in range(1 if options.smoke else 5):
        for what, prepare in whats.items():
            for state, surroundings in states.items():
                run = prepare()
                with surroundings():
                    times[what][state].append(seconds(run))
    return [
        {"what": what, "inputs": function.num_inputs}
        | {state: median(some) for state, some in found.items()}
        | {"ratio": median(b / a for a, b in zip(found["idle"], found["busy"], strict=True))}
        for what, found in times.items()
    ]


@contextmanager
def busy_core() -> Iterator[None]:
    """Another process keeps a core busy meanwhile."""
    with subprocess.Popen([sys.executable, "-c", _SPIN]) as process:
        try:
            time.sleep(1.0)  # it takes a moment to start, and the scheduler another to give it a core of its own
            yield
        finally:
            process.kill()


def workers(options: Options) -> list[Row]:
    """Campaigns that share one Suggester: whatever they are run on, they suggest the same as one after the other."""
    function, steps, count = usual_function(options), 6 if options.smoke else 20, 2 if options.smoke else 4
    suggester = Optimizer(function.space, old_records(function, options), direction="maximize", seed=0).suggester
    settings_of_campaign(suggester, function.num_inputs, steps, SEED)  # once to warm up
    ways: dict[str, Callable[[], Executor]] = {
        "one after the other": partial(ThreadPoolExecutor, 1),
        "two threads": partial(ThreadPoolExecutor, 2),
        "two processes": partial(ProcessPoolExecutor, 2, multiprocessing.get_context("spawn")),
        "four threads": partial(ThreadPoolExecutor, 4),
    }
    campaign = partial(settings_of_campaign, suggester, function.num_inputs, steps)
    expected, rows = None, []
    for way, make in ways.items():
        started = time.perf_counter()
        with make() as pool:
            found = list(pool.map(campaign, range(SEED, SEED + count)))
        taken = time.perf_counter() - started
        expected = expected or found
        same = {"campaigns": count, "steps": steps, "equal": found == expected}
        rows.append({"way": way, "inputs": function.num_inputs, "seconds": taken} | same)
    return rows


def settings_of_campaign(suggester: Suggester, num_inputs: int, steps: int, seed: int) -> list[Setting]:
    """All settings of a campaign with this suggester."""
    optimizer = Optimizer.from_suggester(suggester, seed)
    simulate(optimizer, BY_INPUTS[num_inputs].respond, steps)
    return [trial.setting for trial in optimizer.trials.told]
