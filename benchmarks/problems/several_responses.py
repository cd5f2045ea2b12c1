"""Problems with two responses: published test functions over a box, and measured settings as a pool."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.test_functions.multi_objective import DTLZ2, ZDT1, BraninCurrin, MultiObjectiveTestProblem

from benchmarks.problems.fronts import hypervolume
from benchmarks.problems.pairs import ROWS, parameter, read_pair
from benchmarks.problems.variants import old_variant
from tunedprior.space.search_space import Setting, Space

#: Functions, all of whose inputs are in [0, 1] and both of whose responses are minimised.
FUNCTIONS = ("ZDT1", "DTLZ2", "Branin-Currin")
#: Measured pools; both need the folder of measured pairs.
POOLS = ("laser graphene", "storm")
_MAXIMIZED = "maximize"


@dataclass(frozen=True, eq=False)
class TwoResponses:
    """A process with two responses.

    Attributes:
        name: One of `FUNCTIONS` or `POOLS`.
        space: What may be set.
        directions: "minimize" or "maximize" for each response.
        formula: From rows of settings to rows of responses; None where a pool has them.
        pool: Settings to choose from; None: all of the space.
        measured: The pool's responses, a row for each setting.
        reference: What hypervolumes are measured from, in the responses' own units.
        largest: The true front's hypervolume.
        old: From a seed to a table of old data, with a column for each response.
    """

    name: str
    space: Mapping[str, Any]
    directions: Mapping[str, str]
    formula: Callable[[np.ndarray], np.ndarray] | None
    pool: pd.DataFrame | None
    measured: np.ndarray | None
    reference: np.ndarray
    largest: float
    old: Callable[[int], pd.DataFrame]

    @property
    def bounds(self) -> dict[str, str]:
        """The reference as what is of interest of each response, such as "<= 1.1"."""
        ways = zip(self.directions.items(), self.reference.tolist(), strict=True)
        return {name: f"{'>=' if way == _MAXIMIZED else '<='} {end!r}" for (name, way), end in ways}

    @property
    def signs(self) -> np.ndarray:
        """What responses are multiplied by to be minimised."""
        return np.array([-1.0 if way == _MAXIMIZED else 1.0 for way in self.directions.values()])

    def respond(self, setting: Setting) -> dict[str, float]:
        """What an experiment gives."""
        if self.formula is not None:
            found = self.formula(np.array([list(setting.values())], dtype=np.float64))[0]
        else:
            found = self.measured[self._rows[tuple(setting.values())]]
        return dict(zip(self.directions, map(float, found), strict=True))

    def first_settings(self, seed: int) -> list[Setting]:
        """One more than there are parameters: of a Sobol sequence over the box, or drawn from the pool."""
        count = len(self.space) + 1
        if self.pool is None:
            return Space.parse(self.space).sobol(count, seed)
        rows = np.random.default_rng(seed).choice(len(self.pool), size=count, replace=False)
        return self.pool.iloc[rows].to_dict("records")

    def regret(self, found: np.ndarray) -> float:
        """(HV* - HV)/HV* of rows of responses; a front that was sampled may be beaten by a hair, which counts as 0."""
        reached = hypervolume(found * self.signs, self.reference * self.signs)
        return max(0.0, 1.0 - reached / self.largest)

    @cached_property
    def _rows(self) -> dict[tuple[Any, ...], int]:
        return {tuple(setting.values()): row for row, setting in enumerate(self.pool.to_dict("records"))}


def problem_named(name: str, folder: str | None = None) -> TwoResponses:
    """One of the functions, or one of the pools from the folder of measured pairs."""
    return published_function(name) if name in FUNCTIONS else measured_pool(name, Path(folder))


@cache
def published_function(name: str) -> TwoResponses:
    """A published function, with BoTorch's reference point, but for ZDT1.

    BoTorch's (11, 11) leaves less than 1 % of ZDT1's hypervolume open once anything near the front is found, where
    (1.1, 1.1), which is DTLZ2's, tells fronts apart.
    """
    published, reference, largest = _published()[name]
    space = {f"x{number}": (0.0, 1.0) for number in range(published.dim)}
    responses = ("f0", "f1")

    def formula(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return published(torch.tensor(x, dtype=torch.float64)).numpy()

    return TwoResponses(
        name=name,
        space=space,
        directions=dict.fromkeys(responses, "minimize"),
        formula=formula,
        pool=None,
        measured=None,
        reference=np.array(reference),
        largest=largest,
        old=lambda seed: old_variant(space, formula, responses, seed),
    )


def _published() -> dict[str, tuple[MultiObjectiveTestProblem, tuple[float, float], float]]:
    """Each function, its reference r and its true front's hypervolume: r₀r₁ less the area below the front."""
    near = (1.1, 1.1)
    return {
        "ZDT1": (ZDT1(dim=4, num_objectives=2), near, 1.1**2 - 1 / 3),  # f1 = 1 - √f0, whose integral is 1/3
        "DTLZ2": (DTLZ2(dim=4, num_objectives=2), near, 1.1**2 - np.pi / 4),  # a quarter of the unit circle
        "Branin-Currin": (BraninCurrin(), (18.0, 6.0), BraninCurrin().max_hv),  # BoTorch's, by NSGA-II
    }


@cache
def measured_pool(name: str, folder: Path) -> TwoResponses:
    """Settings with two measured responses; the reference is the pool's worst of each.

    Laser graphene: the G/D ratio on two substrates (GOPI, GOQ) at the settings that both were tried at: which setting
    does for both? Old data is that of a third substrate (PI), for either response.

    Storm: throughput and the logarithm of latency of one cluster's configurations, joined by their settings. Old data
    is the log latency of another cluster for either response: it runs against throughput, and nothing else of that
    cluster was published.
    """
    joined, old, responses, inputs = {"laser graphene": _laser_graphene, "storm": _storm}[name](folder)
    names = list(responses)
    values = joined[names].to_numpy()
    signs = np.array([-1.0 if way == _MAXIMIZED else 1.0 for way in responses.values()])
    reference = (values * signs).max(axis=0)
    old = old.assign(**dict.fromkeys(names, old["y"])).drop(columns="y")
    return TwoResponses(
        name=name,
        space={column: parameter(column, old, joined, is_category=column == "gas") for column in inputs},
        directions=responses,
        formula=None,
        pool=joined[inputs],
        measured=values,
        reference=reference * signs,
        largest=hypervolume(values * signs, reference),
        old=lambda seed: _drawn(old, seed),
    )


_Joined = tuple[pd.DataFrame, pd.DataFrame, dict[str, str], list[str]]


def _laser_graphene(folder: Path) -> _Joined:
    one, other = read_pair(folder, "lig_PI_GOPI"), read_pair(folder, "lig_GOPI_GOQ")
    inputs = list(one.pool.columns)
    joined = one.pool.assign(gopi=one.responses).merge(other.pool.assign(goq=other.responses), on=inputs)
    return joined, one.old, {"gopi": _MAXIMIZED, "goq": _MAXIMIZED}, inputs


def _storm(folder: Path) -> _Joined:
    latency, throughput = read_pair(folder, "storm_c1_c3_lat"), read_pair(folder, "storm_c1thr_c3lat_flip")
    inputs = list(latency.pool.columns)
    joined = throughput.old.rename(columns={"y": "throughput"}).merge(
        latency.old.rename(columns={"y": "log_latency"}), on=inputs, validate="one_to_one"
    )
    old = latency.pool.assign(y=latency.responses)
    return joined, old, {"throughput": _MAXIMIZED, "log_latency": "minimize"}, inputs


def _drawn(old: pd.DataFrame, seed: int) -> pd.DataFrame:
    """At most as many rows as other studies of measured pairs draw."""
    kept = np.random.default_rng(seed).choice(len(old), size=min(ROWS, len(old)), replace=False)
    return old.iloc[np.sort(kept)].reset_index(drop=True)
