"""Long campaigns with odd responses: `make campaigns`; the quick size is a test.

Up to 60 results every setting is asked for, afterwards every 25th: the others are random settings of the space, so that
the numbers of observations grow large in reasonable time. What must hold at every step is in `Campaign.problems`.
"""

import argparse
import math
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

from tunedprior import Optimizer, SearchConfig, errors
from tunedprior.space.search_space import Setting, Space

ASKED_UP_TO, ASKED_EVERY = 60, 25
#: Resident memory that a campaign may add to what the process had before, in MiB.
MOST_MEMORY = 1500.0
_SAME = 1e-6  # of a range: on some machines a sum depends in its last digit on where in memory its terms are
_OWN_WARNINGS = tuple(
    one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Warning) and one is not Warning
)
INPUTS = (1, 2, 6)

Response = Callable[[Setting, np.random.Generator], float]


def smooth(setting: Setting, _rng: np.random.Generator | None = None) -> float:
    """A response with one bump, whatever the number of inputs."""
    return sum(math.sin(3 * value + position) for position, value in enumerate(setting.values()))


def _failing(share: float) -> Response:
    return lambda setting, rng: math.nan if rng.random() < share else smooth(setting)


RESPONSES: dict[str, Response] = {
    "constant": lambda _setting, _rng: 3.0,
    "huge": lambda setting, _rng: 1e300 * smooth(setting),
    "tiny": lambda setting, _rng: 1e-300 * smooth(setting),
    "noise": lambda _setting, rng: float(rng.standard_normal()),
    "30 % fail": _failing(0.3),
    "all fail": _failing(1.1),
    "duplicates": smooth,
}


def space_of(inputs: int) -> dict[str, tuple[float, float]]:
    """Ranges of different sizes."""
    return {f"x{position}": (-1.0, 10.0 ** (position % 3)) for position in range(inputs)}


def old_table(inputs: int) -> pd.DataFrame:
    """Old data of a related response."""
    settings = Space.parse(space_of(inputs)).sobol(30, seed=11)
    return pd.DataFrame(settings).assign(y=[2 - smooth(setting) for setting in settings])


@dataclass
class Campaign:
    """One campaign, and what was found wrong with it.

    Attributes:
        name: The kind of response, a key of `RESPONSES`.
        inputs: How many parameters.
        with_old: Whether there is old data.
    """

    name: str
    inputs: int
    with_old: bool
    steps: int = 0
    asks: int = 0
    slowest: float = 0.0
    memory: float = 0.0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def run(self, steps: int, seed: int = 0) -> "Campaign":
        """So many results, with all checks."""
        space, rng = space_of(self.inputs), np.random.default_rng([seed, self.inputs, self.with_old])
        before, start = _resident(), time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                opt = Optimizer(
                    space, old_table(self.inputs) if self.with_old else None, direction="maximize", seed=seed
                )
                repeated = Space.parse(space).sobol(5, seed=7)
                for step in range(steps):
                    setting = self._next(opt, step, rng, repeated)
                    opt.tell(setting, RESPONSES[self.name](setting, rng))
                    self.steps += 1
                    if step in (3, ASKED_UP_TO, steps - 1):
                        self._check_resuming(opt)
            except Exception as error:
                self.problems.append(f"step {self.steps}: {type(error).__name__}: {error}")
        foreign = {str(one.message) for one in caught if not issubclass(one.category, _OWN_WARNINGS)}
        self.problems += [f"warning: {text}" for text in sorted(foreign)]
        self.memory, self.seconds = _resident() - before, time.perf_counter() - start
        if self.memory > MOST_MEMORY:
            self.problems.append(f"memory: {self.memory:.0f} MiB")
        return self

    def _next(self, opt: Optimizer, step: int, rng: np.random.Generator, repeated: list[Setting]) -> Setting:
        if step >= ASKED_UP_TO and step % ASKED_EVERY:
            if self.name == "duplicates":
                return repeated[int(rng.integers(len(repeated)))]
            return {name: float(rng.uniform(low, high)) for name, (low, high) in space_of(self.inputs).items()}
        start = time.perf_counter()
        setting = opt.ask()
        self.slowest = max(self.slowest, time.perf_counter() - start)
        self.asks += 1
        for name, (low, high) in space_of(self.inputs).items():
            if not low <= setting[name] <= high:  # NaN is not, either
                self.problems.append(f"step {step}: {name} = {setting[name]} outside {low} to {high}")
        if opt.best is not None:
            corner = {name: high for name, (_, high) in space_of(self.inputs).items()}
            predicted = opt.predict([setting, corner])
            if not np.isfinite(predicted.to_numpy()).all() or (predicted["std"] < 0).any():
                self.problems.append(f"step {step}: predicted {predicted.to_dict('list')}")
        return setting

    def _check_resuming(self, opt: Optimizer) -> None:
        """The saved history goes on where this one does."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "history.csv"
            opt.history.to_csv(path, index=False)
            saved = pd.read_csv(path)
        again = Optimizer(
            space_of(self.inputs), direction="maximize", seed=opt.seed, search=SearchConfig(model=opt.surrogate)
        ).resume(saved)
        mine, theirs = opt.ask(), again.ask()
        opt.cancel(mine)
        apart = max(
            abs(mine[name] - theirs[name]) / (high - low) for name, (low, high) in space_of(self.inputs).items()
        )
        if apart > _SAME:
            self.problems.append(f"step {self.steps}: resumed, it suggests {theirs} instead of {mine}")


def every_campaign() -> list[Campaign]:
    """Every kind of response in every number of inputs, with and without old data in turn."""
    return [
        Campaign(name, inputs, bool((row + column) % 2))
        for row, name in enumerate(RESPONSES)
        for column, inputs in enumerate(INPUTS)
    ]


def _resident() -> float:
    """The most memory that this process has held so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    """Run them all and print a table; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--inputs", type=int, nargs="+", default=INPUTS, choices=INPUTS)
    parser.add_argument("--only", nargs="+", default=tuple(RESPONSES), choices=tuple(RESPONSES))
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    chosen = [one for one in every_campaign() if one.inputs in arguments.inputs and one.name in arguments.only]
    print("| response | inputs | old data | results | suggestions | slowest | minutes | memory | problems |")
    print("|---|---|---|---|---|---|---|---|---|")
    done = []
    # Each in a process of its own, whose memory is then that campaign's.
    workers = ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn"), max_tasks_per_child=1)
    with workers:
        for found in as_completed(workers.submit(one.run, arguments.steps) for one in chosen):
            one = found.result()
            done.append(one)
            print(
                f"| {one.name} | {one.inputs} | {'yes' if one.with_old else 'no'} | {one.steps} | {one.asks} | "
                f"{one.slowest:.1f} s | {one.seconds / 60:.1f} | {one.memory:.0f} MiB | {len(one.problems)} |",
                flush=True,
            )
            for problem in one.problems:
                print(f"  {problem}", flush=True)
    print(f"{sum(one.steps for one in done)} results, {sum(one.asks for one in done)} suggestions, "
          f"{sum(len(one.problems) for one in done)} problems")  # fmt: skip
    return int(any(one.problems for one in done))


if __name__ == "__main__":
    sys.exit(main())
