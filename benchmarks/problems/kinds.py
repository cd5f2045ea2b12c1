"""Old data of every kind: from a faithful copy of the objective to pure noise."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.problems.functions import FUNCTIONS, PAPER, PARTNERS, Function

#: Of the functions with two inputs, which are all of the paper's; every function has its own as `space`.
SPACE = {"x0": (-1.0, 1.0), "x1": (-1.0, 1.0)}
ROWS_PER_INPUT = 25
NOISE = 0.1
SHIFT = 0.15

Points, Responses = np.ndarray, np.ndarray


def _another(function: Function) -> Function:
    """For "another function": a function's partner, or the paper's next; a shifted copy's is its original's."""
    if function.name in PARTNERS:
        return PARTNERS[function.name]
    original = function.name.removesuffix(" (shifted)")
    return FUNCTIONS[PAPER[(PAPER.index(original) + 1) % len(PAPER)] if original in PAPER else PAPER[0]]


def _labels(function: Function, x: Points, _rng: np.random.Generator) -> Responses:
    values = function(x)
    return np.where(values >= np.median(values), 1.0, -1.0)


#: What each kind of old response is, of the objective f, the old points and a random generator.
KINDS: dict[str, Callable[[Function, Points, np.random.Generator], Responses]] = {
    "flipped": lambda f, x, _rng: 1 - f(x),
    "same": lambda f, x, _rng: f(x),
    "noisy flip": lambda f, x, rng: 1 - f(x) + NOISE * rng.standard_normal(len(x)),
    "shifted": lambda f, x, _rng: f(x - SHIFT),
    "squared": lambda f, x, _rng: f(x) ** 2,
    "binary labels": _labels,
    "another function": lambda f, x, _rng: _another(f)(x),
    "pure noise": lambda _f, x, rng: rng.uniform(size=len(x)),
}
#: What the experiments with all methods have; the others come after it.
FLIPPED = "flipped"
OTHER_KINDS = [kind for kind in KINDS if kind != FLIPPED]


def old_data(kind: str, function: Function, seed: int, rows: int | None = None) -> pd.DataFrame:
    """Uniform points of the search space with a response of this kind; 25 for each input, unless told."""
    rng = np.random.default_rng(seed)
    size = (ROWS_PER_INPUT * function.num_inputs if rows is None else rows, function.num_inputs)
    points = rng.uniform(-1, 1, size)
    return pd.DataFrame(points, columns=list(function.space)).assign(y=KINDS[kind](function, points, rng))
