"""One audit: of a source as it was published, or of a spoiled copy of it."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
from optuna.distributions import CategoricalDistribution
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import KFold, cross_val_predict

from benchmarks.problems.pairs import LOG_INPUTS, PAIRS, read_pair
from benchmarks.studies.audits.spoiled import TARGET, Clean
from benchmarks.studies.audits.spoilers import SPOILERS
from tunedprior.audit import Audit, run_audit
from tunedprior.audit.measures import NEAR
from tunedprior.errors import InputError

#: What is measured of a clean source, in the order of its values.
OF_A_CLEAN_SOURCE = (
    "faults",
    "rows",
    "rows by pandas",
    "ranges that differ",
    "explained",
    "explained by a forest",
    "first input is among the forest's two",
    "coverage",
    "coverage by brute force",
    "ratio",
    "better",
    "seconds",
)
#: And of a spoiled one.
OF_A_SPOILED_COPY = ("found", "other faults", "refused")
_MOST_ROWS, _DRAWS = 2000, 1500


@dataclass(frozen=True)
class CleanJob:
    """The source of a pair, as it is."""

    pair: str
    seed: int = 0


@dataclass(frozen=True)
class SpoiledJob:
    """A spoiled copy of the source of a pair."""

    spoiler: str
    pair: str
    seed: int


def read_clean(folder: Path, name: str) -> Clean:
    """A source with its cells as text."""
    pair = read_pair(folder, name)
    cells = pd.read_csv(folder / name / "source.csv", dtype=str, keep_default_na=False)
    return Clean(pair, cells[[*pair.space, TARGET]])


def clean_jobs(pairs: Sequence[str] = PAIRS) -> list[CleanJob]:
    """One for each pair."""
    return [CleanJob(name) for name in pairs]


def spoiled_jobs(folder: Path, seeds: Sequence[int], pairs: Sequence[str] = PAIRS) -> list[SpoiledJob]:
    """Twenty copies for each seed, one for each way to spoil a table, of pairs at random among those that can be."""
    clean = {name: read_clean(folder, name) for name in pairs}
    jobs = []
    for spoiler, (_, can_be) in SPOILERS.items():
        able = [name for name in pairs if can_be(clean[name])]
        jobs += [SpoiledJob(spoiler, str(_generator(spoiler, seed).choice(able)), seed) for seed in seeds if able]
    return jobs


def of_a_spoiled_copy(job: SpoiledJob, folder: Path) -> list[float]:
    """Whether the fault is found, how many others are blamed, and whether the file was refused."""
    clean = read_clean(folder, job.pair)
    rng = _generator(job.spoiler, job.seed)
    rng.choice(2)  # the pair was drawn with the first number
    copy = SPOILERS[job.spoiler][0](clean, rng)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "old.csv"
        path.write_bytes(copy.content)
        try:
            found = run_audit(path, clean.pair.space, TARGET, clean.pair.direction, rehearse=False)
        except InputError:  # it says what is wrong, but it is no audit
            return [0.0, 0.0, 1.0]
    others = [one for one in found.faults if one.kind not in copy.kinds]
    return [float(copy.is_found_in(found.faults)), float(len(others)), float(found.used == 0)]


def of_a_clean_source(job: CleanJob, folder: Path) -> list[float]:
    """What the audit says of it beside what else says so: see `OF_A_CLEAN_SOURCE`."""
    pair, path = read_pair(folder, job.pair), folder / job.pair / "source.csv"
    started = time.perf_counter()
    found = run_audit(path, pair.space, TARGET, pair.direction, seed=job.seed)
    seconds = time.perf_counter() - started
    table = pd.read_csv(path)
    explained, first_two = _by_a_forest(table, pair.space, _logarithm(found), job.seed)
    first = next(iter(found.influences.inputs)) if found.influences else ""
    return [
        len(found.faults),
        found.rows,
        len(table),
        _ranges_that_differ(found, table, pair.space),
        found.prediction.explained if found.prediction else np.nan,
        explained,
        float(first in first_two),
        found.coverage.share if found.coverage else np.nan,
        _coverage(table, pair.space, job.seed),
        found.rehearsal.ratio if found.rehearsal else np.nan,
        found.rehearsal.better if found.rehearsal else np.nan,
        seconds,
    ]


def _generator(spoiler: str, seed: int) -> np.random.Generator:
    return np.random.default_rng([seed, crc32(spoiler.encode())])


def _logarithm(found: Audit) -> bool:
    return found.prediction is not None and found.prediction.logarithm


def _ranges_that_differ(found: Audit, table: pd.DataFrame, space: Mapping[str, Any]) -> float:
    """How many of the ranges that the audit tells of are not those that pandas finds."""
    wrong = 0
    for one in found.ranges:
        column = table[one.name]
        if isinstance(space[one.name], CategoricalDistribution):
            wrong += set(map(str, one.old or ())) != set(map(str, column))
        else:
            wrong += one.old != (float(column.min()), float(column.max()))
    return float(wrong)


def _by_a_forest(
    table: pd.DataFrame, space: Mapping[str, Any], logarithm: bool, seed: int
) -> tuple[float, tuple[str, ...]]:
    """R² of a random forest in five folds, and the two inputs whose shuffling costs it most."""
    table = table.sample(min(_MOST_ROWS, len(table)), random_state=seed)
    y = np.log(table[TARGET]) if logarithm else table[TARGET]
    X = pd.DataFrame(
        {
            name: table[name].astype("category").cat.codes
            if isinstance(one, CategoricalDistribution)
            else np.log(table[name])
            if name in LOG_INPUTS
            else table[name]
            for name, one in space.items()
        }
    ).to_numpy(dtype=np.float64)
    forest = RandomForestRegressor(200, random_state=seed)
    expected = cross_val_predict(forest, X, y, cv=KFold(5, shuffle=True, random_state=seed))
    cost = permutation_importance(forest.fit(X, y), X, y, n_repeats=5, random_state=seed).importances_mean
    explained = 1 - float(np.mean((expected - y) ** 2) / np.var(y))
    return explained, tuple(list(space)[k] for k in np.argsort(-cost)[:2])


def _coverage(table: pd.DataFrame, space: Mapping[str, Any], seed: int) -> float:
    """The part of settings at random, of the space, that have an old row nearby: by comparing all with all."""
    rng = np.random.default_rng(seed)
    squares = np.zeros((_DRAWS, len(table)))
    for name, one in space.items():
        column = table[name].to_numpy()
        if isinstance(one, CategoricalDistribution):
            drawn = rng.choice(np.array(one.choices, dtype=object), _DRAWS)
            squares += drawn[:, None].astype(str) != column[None, :].astype(str)
            continue
        low, high = (np.log(one.low), np.log(one.high)) if one.log else (one.low, one.high)
        column = np.log(column) if one.log else column
        squares += ((rng.uniform(low, high, _DRAWS)[:, None] - column[None, :]) / (high - low)) ** 2
    return float((np.sqrt(squares.min(axis=1) / len(space)) <= NEAR).mean())
