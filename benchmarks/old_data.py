"""Old data of every kind: from a faithful copy of the objective to pure noise."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from benchmarks.functions import FUNCTIONS, PAPER, Function

SPACE = {"x0": (-1.0, 1.0), "x1": (-1.0, 1.0)}
ROWS = 50
NOISE = 0.1
SHIFT = 0.15

Points, Responses = np.ndarray, np.ndarray


def _another(function: Function) -> Function:
    """The paper's next function, for "another function"; a shifted copy's is its original's."""
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


def old_data(kind: str, function: Function, seed: int, rows: int = ROWS) -> pd.DataFrame:
    """Uniform points of the search space with a response of this kind."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (rows, len(SPACE)))
    return pd.DataFrame(points, columns=list(SPACE)).assign(y=KINDS[kind](function, points, rng))
