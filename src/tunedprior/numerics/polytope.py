"""Points that satisfy linear equalities and inequalities: random ones, a centre, and the nearest to a given point."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64
from numpy import ndarray

# What is within this of a bound, in coordinates of order 1, is on it.
_ON = 1e-12


@dataclass(frozen=True, eq=False)
class Polytope:
    """The points x with E x = e and A x ≤ b, for given E and A and any e and b.

    Attributes:
        equal: E, a row for each equality.
        below: A, a row for each inequality.
    """

    equal: Float64[ndarray, "p n"]
    below: Float64[ndarray, "m n"]

    @cached_property
    def directions(self) -> Float64[ndarray, "n d"]:
        """An orthonormal basis of the directions that keep the equalities."""
        if len(self.equal) == 0:
            return np.eye(self.below.shape[1])
        _, sizes, directions = np.linalg.svd(self.equal)
        rank = int((sizes > 1e-10 * sizes.max(initial=1e-300)).sum())
        return directions[rank:].T

    def sample_hit_and_run(
        self, starts: Float64[ndarray, "s n"], b: Float64[ndarray, "s m"], steps: int, random: np.random.Generator
    ) -> Float64[ndarray, "s n"]:
        """Run hit and run from each start: the ends are uniform over the polytope after enough steps."""
        points = starts.copy()
        if self.directions.shape[1] == 0:
            return points
        for _ in range(steps):
            towards = random.standard_normal((len(points), self.directions.shape[1])) @ self.directions.T
            speed, room = towards @ self.below.T, (b - points @ self.below.T).clip(min=0.0)
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = room / speed
            ahead = np.where(speed > _ON, reach, np.inf).min(1, initial=np.inf)
            behind = np.where(speed < -_ON, reach, -np.inf).max(1, initial=-np.inf)
            share = random.random(len(points))
            step = behind + share * (ahead - behind)
            points += np.where(np.isfinite(step), step, 0.0)[:, None] * towards
        return points

    def find_centre(self, e: Float64[ndarray, " p"], b: Float64[ndarray, " m"]) -> Float64[ndarray, " n"] | None:
        """The centre of the largest ball in the polytope; None if it is empty."""
        from scipy.optimize import linprog  # takes as long to import as all of pandas

        size = self.below.shape[1]
        radii = np.linalg.norm(self.below @ self.directions, axis=1)[:, None]
        found = linprog(
            np.append(np.zeros(size), -1.0),
            A_ub=np.hstack([self.below, radii]) if len(b) else None,
            b_ub=b if len(b) else None,
            A_eq=np.hstack([self.equal, np.zeros((len(e), 1))]) if len(e) else None,
            b_eq=e if len(e) else None,
            bounds=[(None, None)] * size + [(0.0, 1.0)],
            method="highs",
        )
        return None if found.x is None else found.x[:-1]

    def find_nearby_point(
        self, point: Float64[ndarray, " n"], e: Float64[ndarray, " p"], b: Float64[ndarray, " m"]
    ) -> Float64[ndarray, " n"] | None:
        """A point of the polytope near the given one; None if none is found.

        Violated bounds become equalities one after another; this is the projection wherever no bound has to be released
        again.
        """
        active: list[int] = []
        found = point
        for _ in range(2 * len(point) + 2):
            rows = np.vstack([self.equal, self.below[active]])
            if len(rows):
                gap = np.concatenate([e, b[active]]) - rows @ point
                found = point + np.linalg.lstsq(rows, gap, rcond=1e-12)[0]
                if np.abs(rows @ (found - point) - gap).max() > 1e3 * _ON:
                    return None
            over = self.below @ found - b
            over[active] = -np.inf
            if over.max(initial=-np.inf) <= _ON:
                return found
            active.append(int(over.argmax()))
        return None
