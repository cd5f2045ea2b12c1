"""Two responses at once: which settings none is better than in both, and how much they dominate together."""

import numpy as np


def front(values: np.ndarray) -> np.ndarray:
    """Rows of values (both minimised) that no other row is as good as in both and better in one, by the first."""
    rows = values[np.lexsort((values[:, 1], values[:, 0]))]
    best_before = np.minimum.accumulate(np.concatenate([[np.inf], rows[:-1, 1]]))
    return rows[rows[:, 1] < best_before]


def hypervolume(values: np.ndarray, reference: np.ndarray) -> float:
    """HV = Σ_i (r₀ - v_i0) (v_(i-1)1 - v_i1): the area between a front, sorted by its first value, and r; v₀1 = r₁.

    Both are minimised; what is beyond the reference in either counts for nothing.
    """
    within = values[(values < reference).all(axis=1)]
    if not len(within):
        return 0.0
    rows = front(within)
    above = np.concatenate([[reference[1]], rows[:-1, 1]])
    return float(((reference[0] - rows[:, 0]) * (above - rows[:, 1])).sum())
