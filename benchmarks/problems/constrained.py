"""Problems whose other responses must not exceed zero: a published objective, its constraints, its optimum."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from benchmarks.problems.variants import old_variant
from tunedprior.space.search_space import Setting, Space

_SAMPLE = 4096


@dataclass(frozen=True, eq=False)
class Constrained:
    """min y(x) subject to c_k(x) ≤ 0.

    Attributes:
        name: As in the literature.
        space: (low, high) of every input.
        formula: From rows of settings to rows of y, c1, c2, …
        num_constraints: How many c there are.
        optimum: The least y of a setting that meets all constraints.
    """

    name: str
    space: Mapping[str, tuple[float, float]]
    formula: Callable[[np.ndarray], np.ndarray]
    num_constraints: int
    optimum: float

    @property
    def constraints(self) -> list[str]:
        """Their names: c1, c2 and so on."""
        return [f"c{number}" for number in range(1, 1 + self.num_constraints)]

    @property
    def responses(self) -> list[str]:
        """The objective first."""
        return ["y", *self.constraints]

    def respond(self, setting: Setting) -> dict[str, float]:
        """What an experiment gives."""
        found = self.formula(np.array([list(setting.values())], dtype=np.float64))[0]
        return dict(zip(self.responses, map(float, found), strict=True))

    def first_settings(self, seed: int) -> list[Setting]:
        """One more than there are parameters."""
        return Space.parse(self.space).sobol(len(self.space) + 1, seed)

    def old(self, seed: int) -> pd.DataFrame:
        """Records of a related process: its objective and its constraints."""
        return old_variant(self.space, self.formula, self.responses, seed)

    @cached_property
    def worst(self) -> float:
        """The largest y of a setting that meets all constraints, in a Sobol sample that is always the same."""
        sample = pd.DataFrame(Space.parse(self.space).sobol(_SAMPLE, 0)).to_numpy()
        found = self.formula(sample)
        return float(found[(found[:, 1:] <= 0).all(axis=1), 0].max())

    def regret(self, found: np.ndarray) -> float:
        """(y - optimum)/(worst - optimum) of the best row that meets all constraints; 1 while none does."""
        feasible = found[(found[:, 1:] <= 0).all(axis=1), 0]
        best = min(self.worst, float(feasible.min())) if len(feasible) else self.worst
        return max(0.0, (best - self.optimum) / (self.worst - self.optimum))


def _gardner_1(x: np.ndarray) -> np.ndarray:
    first, second = x[:, 0], x[:, 1]
    objective = np.cos(2 * first) * np.cos(second) + np.sin(first)
    return np.stack([objective, np.cos(first) * np.cos(second) - np.sin(first) * np.sin(second) - 0.5], axis=1)


def _gardner_2(x: np.ndarray) -> np.ndarray:
    first, second = x[:, 0], x[:, 1]
    return np.stack([np.sin(first) + second, np.sin(first) * np.sin(second) + 0.95], axis=1)


def _spring(x: np.ndarray) -> np.ndarray:
    """The weight of a spring; limits on its deflection, shear stress, surge frequency and outer diameter."""
    wire, coil, coils = x.T
    return np.stack(
        [
            (coils + 2) * coil * wire**2,
            1 - coil**3 * coils / (71785 * wire**4),
            (4 * coil**2 - wire * coil) / (12566 * (coil * wire**3 - wire**4)) + 1 / (5108 * wire**2) - 1,
            1 - 140.45 * wire / (coil**2 * coils),
            (wire + coil) / 1.5 - 1,
        ],
        axis=1,
    )


_GARDNER = {"x0": (0.0, 6.0), "x1": (0.0, 6.0)}
_PROBLEMS = (
    # Gardner et al., "Bayesian Optimization with Inequality Constraints", ICML 2014.
    Constrained("Gardner 1", _GARDNER, _gardner_1, 1, -2.0),
    Constrained("Gardner 2", _GARDNER, _gardner_2, 1, float(np.arcsin(0.95)) - 1),
    # The published box has wires up to 2.0: as thick as their coil, where the second constraint has a pole.
    Constrained(
        "spring", {"wire": (0.05, 0.2), "coil": (0.25, 1.3), "coils": (2.0, 15.0)}, _spring, 4, 0.012665232788
    ),
)  # fmt: skip
CONSTRAINED = {problem.name: problem for problem in _PROBLEMS}
