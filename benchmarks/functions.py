"""Test functions of two inputs on [-1, 1]², to be maximised, with their range moved onto [0, 1]."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from botorch.test_functions import Ackley, EggHolder, HolderTable, Rastrigin, StyblinskiTang
from botorch.test_functions.synthetic import SyntheticTestFunction

Formula = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Function:
    """f(x) = (highest - formula(h·(x - shift))) / (highest - lowest): 1 at the best setting, 0 at the worst.

    Attributes:
        name: As in the paper, with " (shifted)" for a copy whose optimum was moved out of the centre.
        formula: The published function, which is minimised.
        half_width: h; the published domain is [-h, h]².
        lowest: The formula's least value there.
        highest: Its largest value there.
        minimisers: Where it is least.
        shift: How far the copy was moved, in units of [-1, 1].
    """

    name: str
    formula: Formula
    half_width: float
    lowest: float
    highest: float
    minimisers: tuple[tuple[float, float], ...]
    shift: tuple[float, float] = (0.0, 0.0)

    @property
    def best_settings(self) -> np.ndarray:
        """Where f is 1."""
        return np.array(self.minimisers) / self.half_width + np.array(self.shift)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The scaled function at rows of x. Beyond [-1, 1] the formula goes on, and may leave [0, 1]."""
        natural = self.half_width * (np.asarray(x, dtype=np.float64) - np.asarray(self.shift))
        return (self.highest - self.formula(natural)) / (self.highest - self.lowest)


def _from_botorch(kind: type[SyntheticTestFunction], half_width: float) -> Formula:
    # Wider bounds than published: old data may have been taken a little beside the search space.
    problem = kind(bounds=[(-2 * half_width, 2 * half_width)] * 2)
    return lambda x: problem(torch.as_tensor(x)).numpy()


def _himmelblau(x: np.ndarray) -> np.ndarray:
    first, second = x[..., 0], x[..., 1]
    return (first**2 + second - 11) ** 2 + (first + second**2 - 7) ** 2


def _levi_13(x: np.ndarray) -> np.ndarray:
    first, second = x[..., 0], x[..., 1]
    return (
        np.sin(3 * np.pi * first) ** 2
        + (first - 1) ** 2 * (1 + np.sin(3 * np.pi * second) ** 2)
        + (second - 1) ** 2 * (1 + np.sin(2 * np.pi * second) ** 2)
    )


def _easom(x: np.ndarray) -> np.ndarray:
    return -np.cos(x).prod(-1) * np.exp(-((x - np.pi) ** 2).sum(-1))


_ackley = _from_botorch(Ackley, 5.0)
_rastrigin = _from_botorch(Rastrigin, 5.12)
_centre = ((0.0, 0.0),)
_HOLDER = (8.055023472141116, 9.664590028909654)
_OUT_OF_THE_CENTRE = (0.3, -0.4)

# The extremes are those of the published domain, to the last digit (the tests search for them again).
_ALL = (
    Function(
        "Hölder table", _from_botorch(HolderTable, 10.0), 10.0, -19.20850256788673, 0.0,
        tuple((a * _HOLDER[0], b * _HOLDER[1]) for a in (1, -1) for b in (1, -1)),
    ),
    Function(
        "Himmelblau", _himmelblau, 5.0, 0.0, 890.0,
        ((3.0, 2.0), (-2.805118086952745, 3.131312518250573), (-3.779310253377747, -3.283185991286170),
         (3.584428340330492, -1.848126526964404)),
    ),
    Function("Ackley", _ackley, 5.0, 0.0, 14.302667500265276, _centre),
    Function(
        "Styblinski-Tang", _from_botorch(StyblinskiTang, 5.0), 5.0, -78.33233140754284, 250.0,
        ((-2.903534027771178, -2.903534027771178),),
    ),
    Function("eggholder", _from_botorch(EggHolder, 512.0), 512.0, -959.6406627208507, 1049.131623504493,
             ((512.0, 404.2318051),)),
    Function("Rastrigin", _rastrigin, 5.12, 0.0, 80.70658038767782, _centre),
    Function("Ackley (shifted)", _ackley, 5.0, 0.0, 16.920011730102118, _centre, _OUT_OF_THE_CENTRE),
    Function("Rastrigin (shifted)", _rastrigin, 5.12, 0.0, 124.93184093005203, _centre, _OUT_OF_THE_CENTRE),
    Function("Levi N.13", _levi_13, 10.0, 0.0, 454.12864891172944, ((1.0, 1.0),)),
    Function("Easom", _easom, 100.0, -1.0, 0.009005678148566095, ((np.pi, np.pi),)),
)  # fmt: skip
FUNCTIONS = {function.name: function for function in _ALL}

#: Experiment 1 of the paper, in its order.
PAPER = ("Hölder table", "Himmelblau", "Ackley", "Styblinski-Tang", "eggholder", "Rastrigin")
#: A kernel with an origin is flattered by an optimum at the centre; these copies take that away.
SHIFTED = ("Ackley (shifted)", "Rastrigin (shifted)")
#: Where the paper says that it does not help.
FAILURES = ("Levi N.13", "Easom")
