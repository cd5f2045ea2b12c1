"""Rows that satisfy constraints, drawn at random all over what they leave."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64
from numpy import ndarray

from tunedprior.problem.feasible_rows import FeasibleRows
from tunedprior.problem.parameters import Categorical

_ORDERS = 8  # in which parameters are drawn one after another
_MOST_MIDDLES = 64  # that are looked for in one draw
_STEPS = 50  # of hit and run, and as many more for each five parameters


@dataclass(frozen=True, eq=False)
class RowSampler:
    """Draws rows.

    Attributes:
        rows: Which there are.
    """

    rows: FeasibleRows

    def draw_rows(self, shares: Float64[ndarray, "n k"], random: np.random.Generator) -> Float64[ndarray, "m k"]:
        """A row for each row of shares in [0, 1), how far along each parameter is among the values that are left to it.

        Parameters are chosen one after another in several orders, so that each sum can still be met. Continuous ones
        that take part in sums are then mixed by hit and run. Rows that lead nowhere are left out.
        """
        parts = [self._fill_rows(part, random) for part in np.array_split(shares, _ORDERS) if len(part)]
        rows = np.concatenate(parts)
        for pattern in np.unique(self.rows.are_free(rows), axis=0):
            some = (self.rows.are_free(rows) == pattern).all(1)
            rows[some] = self._mix_rows(rows[some], pattern, random)
        rows = rows.clip(*self.rows.bounds)
        kept: Float64[ndarray, "m k"] = rows[self.rows.are_feasible(rows)]
        return kept

    def _fill_rows(self, shares: Float64[ndarray, "n k"], random: np.random.Generator) -> Float64[ndarray, "m k"]:
        order = self._draw_column_order(random)
        rows, known = np.zeros_like(shares), np.zeros(len(self.rows.names), dtype=bool)
        for column in [one for one in order if one not in self.rows.continuous]:
            low, high = self._compute_interval(rows, known, column)
            rows[:, column], good = self._choose_values(
                column, low, high, self._skew_shares(shares[:, column], known, column)
            )
            pin = self.rows.are_pinned(rows, column)
            near = self.rows.tolerances[column]
            for otherwise in {otherwise for target, otherwise, _ in self.rows.pins if target == column}:
                rows[pin, column] = otherwise
                good = np.where(pin, (low <= otherwise + near) & (otherwise - near <= high), good)
            rows, shares = rows[good], shares[good]
            known[column] = True
        started, good, partly = rows.copy(), np.ones(len(rows), dtype=bool), known.copy()
        for column in [one for one in order if one in self.rows.continuous]:
            low, high = self._compute_interval(started, partly, column)
            started[:, column], possible = self._choose_values(
                column, low, high, self._skew_shares(shares[:, column], partly, column)
            )
            pin = self.rows.are_pinned(started, column)
            near = self.rows.tolerances[column]
            for otherwise in {otherwise for target, otherwise, _ in self.rows.pins if target == column}:
                started[pin, column] = otherwise
            good &= possible | pin
            partly[column] = True
        good &= self.rows.are_feasible(np.clip(started, *self.rows.bounds))
        return np.concatenate([started[good], self._fill_from_middles(rows[~good])])

    def _draw_column_order(self, random: np.random.Generator) -> list[int]:
        """Columns at random, but lists before what is continuous, and what others depend on before these."""
        depth = np.zeros(len(self.rows.names), dtype=int)
        for _ in range(min(len(self.rows.pins), len(self.rows.names))):
            for target, _, needed in self.rows.pins:
                after = max(depth[other] + 1 for other, _ in needed)
                depth[target] = min(len(self.rows.names), max(depth[target], after))
        lot = random.permutation(len(self.rows.names))
        return sorted(range(len(self.rows.names)), key=lambda k: (self.rows.values[k] is None, depth[k], lot[k]))

    def _compute_interval(
        self, rows: Float64[ndarray, "n k"], known: Bool[ndarray, " k"], column: int
    ) -> tuple[Float64[ndarray, " n"], Float64[ndarray, " n"]]:
        """Between which numbers a column must lie for each sum to be met by some values of those not known yet."""
        left = ~known
        left[column] = False
        least, most = self.rows.compute_sum_range(left)
        low, high = (np.full(len(rows), edge) for edge in self.rows.bounds[:, column])
        sums = rows[:, known] @ self.rows.matrix[:, known].T
        for j, coefficient in enumerate(self.rows.matrix[:, column]):
            if coefficient != 0:
                least_sum, most_sum = self.rows.edges[:, j]
                ends = np.stack([least_sum - sums[:, j] - most[j], most_sum - sums[:, j] - least[j]])
                ends = (ends if coefficient > 0 else ends[::-1]) / coefficient
                low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        return low, high

    def _skew_shares(
        self, share: Float64[ndarray, " n"], known: Bool[ndarray, " k"], column: int
    ) -> Float64[ndarray, " n"]:
        """Shares for a part of a mixture: the more parts are still to come, the less is left for each.

        For parts from 0 to the total this makes all mixtures equally probable: the first of r + 1 parts has the
        distribution function 1 - (1 - x)^r.
        """
        left = ~known
        left[column] = False
        for coefficients, (low, high) in zip(self.rows.matrix, self.rows.edges.T, strict=True):
            parts = coefficients[coefficients != 0]
            if low != high or coefficients[column] == 0 or not (parts > 0).all():
                continue
            others = int((coefficients[left] != 0).sum())
            least, most = coefficients @ self.rows.bounds[0], coefficients @ self.rows.bounds[1]
            if others > 1:
                fewer = low - least <= most - low
                return 1 - (1 - share) ** (1 / others) if fewer else share ** (1 / others)
        return share

    def _choose_values(
        self, column: int, low: Float64[ndarray, " n"], high: Float64[ndarray, " n"], share: Float64[ndarray, " n"]
    ) -> tuple[Float64[ndarray, " n"], Bool[ndarray, " n"]]:
        """The number a share of the way along what is left of a column, and whether anything is."""
        values, parameter = self.rows.values[column], self.rows.parameters[column]
        slack = max(1e-300, self.rows.tolerances[column])
        first = last = np.zeros(len(share), dtype=int)
        if values is not None:
            first, last = np.searchsorted(values, low - slack), np.searchsorted(values, high + slack, side="right")
            if isinstance(parameter, Categorical) or not parameter.log:
                at = first + np.floor(share * (last - first)).astype(int)
                return values[at.clip(0, len(values) - 1)], last > first
        good = low <= high + slack
        middle = (low + high) / 2
        low, high = np.where(good, np.minimum(low, middle), 1.0), np.where(good, np.maximum(high, middle), 1.0)
        if isinstance(parameter, Categorical) or not parameter.log:
            found = low + share * (high - low)
        else:
            ends = [np.log(end.clip(*self.rows.bounds[:, column])) for end in (low, high)]
            found = np.exp(ends[0] + share * (ends[1] - ends[0]))
        if values is not None:
            at = np.minimum(np.searchsorted(values, found), last - 1)
            return values[np.maximum(at, first).clip(0, len(values) - 1)], last > first
        if not isinstance(parameter, Categorical) and parameter.count is not None:
            found = np.array([parameter.find_nearest_value(one) for one in found.tolist()], dtype=np.float64)
        return found, good

    def _mix_rows(
        self, rows: Float64[ndarray, "n k"], free: Bool[ndarray, " k"], random: np.random.Generator
    ) -> Float64[ndarray, "n k"]:
        """Rows after hit and run along the free columns, except logarithmic ones, whose density is another."""
        columns = [k for k in np.flatnonzero(free).tolist() if not getattr(self.rows.parameters[k], "log", False)]
        if not columns:
            return rows
        polytope, _, below = self.rows.make_polytope(rows, columns)
        low, high = self.rows.bounds[:, columns]
        units = (rows[:, columns] - low) / (high - low)
        steps = _STEPS * (1 + len(columns) // 5)
        rows = rows.copy()
        rows[:, columns] = low + (high - low) * polytope.sample_hit_and_run(units, below, steps, random)
        return rows

    def _fill_from_middles(self, rows: Float64[ndarray, "n k"]) -> Float64[ndarray, "m k"]:
        """Rows whose continuous columns could not be chosen one by one, with the middle of what is left for them."""
        if not self.rows.continuous or len(rows) == 0:
            return rows[:0]
        rows, good = rows.copy(), np.zeros(len(rows), dtype=bool)
        matter = (self.rows.matrix != 0).any(0)
        matter[[other for _, _, needed in self.rows.pins for other, _ in needed]] = True
        matter[self.rows.continuous] = False
        _, first, which = np.unique(rows[:, matter], axis=0, return_index=True, return_inverse=True)
        for k, one in enumerate(first[:_MOST_MIDDLES]):
            key, some = rows[one, matter].tobytes(), which.ravel() == k
            if key not in self.rows.middle_cache:
                self.rows.middle_cache[key] = self._fill_with_middle(rows[one])
            row = self.rows.middle_cache[key]
            if row is not None:
                rows[np.ix_(some, self.rows.continuous)] = row[self.rows.continuous]
                good |= some
        return rows[good]

    def _fill_with_middle(self, row: Float64[ndarray, " k"]) -> Float64[ndarray, " k"] | None:
        row = row.copy()
        for target, otherwise, _ in self.rows.pins:
            if target in self.rows.continuous and self.rows.are_pinned(row[None], target)[0]:
                row[target] = otherwise
        columns = np.flatnonzero(self.rows.are_free(row[None])[0]).tolist()
        if columns:
            polytope, equal, below = self.rows.make_polytope(row[None], columns)
            middle = polytope.find_centre(equal[0], below[0])
            exact = None if middle is None else polytope.find_nearby_point(middle, equal[0], below[0])
            if exact is None:
                return None
            low, high = self.rows.bounds[:, columns]
            row[columns] = low + (high - low) * exact
        return row
