"""Test functions of two inputs on [-1, 1]², to be maximised, with their range moved onto [0, 1]."""

from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]


def ackley(x: np.ndarray) -> np.ndarray:
    """Minus Ackley's function on [-5, 5]²; 0 at the centre."""
    x = 5 * x
    return 20 * np.exp(-0.2 * np.sqrt((x**2).mean(-1))) + np.exp(np.cos(2 * np.pi * x).mean(-1)) - 20 - np.exp(1)


def styblinski_tang(x: np.ndarray) -> np.ndarray:
    """Minus the Styblinski-Tang function on [-5, 5]²."""
    x = 5 * x
    return -(x**4 - 16 * x**2 + 5 * x).sum(-1) / 2


def himmelblau(x: np.ndarray) -> np.ndarray:
    """Minus Himmelblau's function on [-5, 5]²; 0 at four points."""
    first, second = 5 * x[..., 0], 5 * x[..., 1]
    return -((first**2 + second - 11) ** 2) - (first + second**2 - 7) ** 2


FUNCTIONS: dict[str, Function] = {"ackley": ackley, "styblinski_tang": styblinski_tang, "himmelblau": himmelblau}


def scaled(name: str) -> Function:
    """The function with its range on the box moved onto [0, 1] (the range from a fine grid)."""
    function = FUNCTIONS[name]
    axis = np.linspace(-1, 1, 1001)
    values = function(np.stack(np.meshgrid(axis, axis), -1))
    low, high = values.min(), values.max()
    return lambda x: (function(np.asarray(x)) - low) / (high - low)
