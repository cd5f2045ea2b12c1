"""Test functions on [-1, 1]^d, to be maximised, with their range moved onto [0, 1]."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from botorch.test_functions import (
    Ackley,
    Branin,
    EggHolder,
    Hartmann,
    HolderTable,
    Rastrigin,
    SixHumpCamel,
    StyblinskiTang,
)
from botorch.test_functions.synthetic import SyntheticTestFunction

from tunedprior.space.search_space import Setting

Formula = Callable[[np.ndarray], np.ndarray]
Domain = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Function:
    """f(x) = (highest - formula(c + h·(x - shift))) / (highest - lowest): 1 at the best setting, 0 at the worst.

    c and h are the centre and the half-widths of the published domain, so x is in [-1, 1]^d.

    Attributes:
        name: As in the literature, with " (shifted)" for a copy whose optimum was moved out of the centre.
        formula: The published function, which is minimised.
        domain: (low, high) of every input, as published.
        lowest: The formula's least value there.
        highest: Its largest value there.
        minimisers: Where it is least.
        shift: How far the copy was moved, in units of [-1, 1]: a number for each input, or one for all.
    """

    name: str
    formula: Formula
    domain: Domain
    lowest: float
    highest: float
    minimisers: tuple[tuple[float, ...], ...]
    shift: tuple[float, ...] = (0.0,)

    @property
    def num_inputs(self) -> int:
        """d."""
        return len(self.domain)

    @property
    def space(self) -> dict[str, tuple[float, float]]:
        """The search space: x0, x1, …, each in [-1, 1]."""
        return {f"x{number}": (-1.0, 1.0) for number in range(self.num_inputs)}

    @property
    def best_settings(self) -> np.ndarray:
        """Where f is 1."""
        return (np.array(self.minimisers) - self._centre) / self._half_width + np.array(self.shift)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The scaled function at rows of x. Beyond [-1, 1] the formula goes on, and may leave [0, 1]."""
        natural = self._centre + self._half_width * (np.asarray(x, dtype=np.float64) - np.asarray(self.shift))
        return (self.highest - self.formula(natural)) / (self.highest - self.lowest)

    def respond(self, setting: Setting) -> float:
        """The scaled function at one setting, as a campaign asks for it."""
        return float(self(np.array(list(setting.values()))))

    @property
    def _centre(self) -> np.ndarray:
        return np.mean(self.domain, axis=1)

    @property
    def _half_width(self) -> np.ndarray:
        return np.ptp(self.domain, axis=1) / 2


def _cube(low: float, high: float, num_inputs: int = 2) -> Domain:
    return ((low, high),) * num_inputs


def _from_botorch(kind: type[SyntheticTestFunction], domain: Domain, **options: Any) -> Formula:
    # BoTorch refuses points beyond its bounds; these are twice as wide as published, because old data may have been
    # taken a little beside the search space.
    wide = [(low - (high - low) / 2, high + (high - low) / 2) for low, high in domain]
    problem = kind(bounds=wide, **options)
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


def styblinski_tang(num_inputs: int, name: str | None = None) -> Function:
    """½ Σ (x⁴ - 16x² + 5x): every input has the same lowest point, and the edge 5 as its highest."""
    domain = _cube(-5.0, 5.0, num_inputs)
    return Function(
        name or f"Styblinski-Tang-{num_inputs}", _from_botorch(StyblinskiTang, domain, dim=num_inputs), domain,
        num_inputs * -39.16616570377142,
        num_inputs * 125.0, ((-2.903534027771178,) * num_inputs,),
    )  # fmt: skip


_ACKLEY, _RASTRIGIN, _EGGS, _TEN = _cube(-5.0, 5.0), _cube(-5.12, 5.12), _cube(-512.0, 512.0), _cube(-10.0, 10.0)
_BRANIN, _CAMEL = ((-5.0, 10.0), (0.0, 15.0)), ((-3.0, 3.0), (-2.0, 2.0))
_UNIT_3, _UNIT_6 = _cube(0.0, 1.0, 3), _cube(0.0, 1.0, 6)
_ackley = _from_botorch(Ackley, _ACKLEY)
_rastrigin = _from_botorch(Rastrigin, _RASTRIGIN)
_centre = ((0.0, 0.0),)
_HOLDER = (8.055023472141116, 9.664590028909654)
_HUMP = (0.08984201310031806, -0.7126564030207396)
_OUT_OF_THE_CENTRE = (0.3, -0.4)

# The extremes are those of the published domain, to the last digit (the tests search for them again).
_OF_THE_PAPER = (
    Function(
        "Hölder table", _from_botorch(HolderTable, _TEN), _TEN, -19.20850256788673, 0.0,
        tuple((a * _HOLDER[0], b * _HOLDER[1]) for a in (1, -1) for b in (1, -1)),
    ),
    Function(
        "Himmelblau", _himmelblau, _cube(-5.0, 5.0), 0.0, 890.0,
        ((3.0, 2.0), (-2.805118086952745, 3.131312518250573), (-3.779310253377747, -3.283185991286170),
         (3.584428340330492, -1.848126526964404)),
    ),
    Function("Ackley", _ackley, _ACKLEY, 0.0, 14.302667500265276, _centre),
    styblinski_tang(2, "Styblinski-Tang"),
    Function("eggholder", _from_botorch(EggHolder, _EGGS), _EGGS, -959.6406627208507, 1049.131623504493,
             ((512.0, 404.2318051),)),
    Function("Rastrigin", _rastrigin, _RASTRIGIN, 0.0, 80.70658038767782, _centre),
    Function("Ackley (shifted)", _ackley, _ACKLEY, 0.0, 16.920011730102118, _centre, _OUT_OF_THE_CENTRE),
    Function("Rastrigin (shifted)", _rastrigin, _RASTRIGIN, 0.0, 124.93184093005203, _centre, _OUT_OF_THE_CENTRE),
    Function("Levi N.13", _levi_13, _TEN, 0.0, 454.12864891172944, ((1.0, 1.0),)),
    Function("Easom", _easom, _cube(-100.0, 100.0), -1.0, 0.009005678148566095, ((np.pi, np.pi),)),
)  # fmt: skip
_OTHERS = (
    Function("Branin", _from_botorch(Branin, _BRANIN), _BRANIN, 0.39788735772973816, 308.12909601160663,
             ((-np.pi, 12.275), (np.pi, 2.275), (3 * np.pi, 2.475))),
    Function("six-hump camel", _from_botorch(SixHumpCamel, _CAMEL), _CAMEL, -1.0316284534898774, 162.9,
             (_HUMP, (-_HUMP[0], -_HUMP[1]))),
    # BoTorch keeps Hartmann's constants in single precision, and has 0.0381 where some print 0.03815: the extremes
    # are those of its formulas.
    Function(
        "Hartmann-3", _from_botorch(Hartmann, _UNIT_3, dim=3), _UNIT_3, -3.862779860974306, -3.772718514163315e-05,
        ((0.1145888780216636, 0.5556488938847998, 0.8525469841069017),),
    ),
    Function(
        "Hartmann-6", _from_botorch(Hartmann, _UNIT_6, dim=6), _UNIT_6, -3.322368004440186, -2.8124505351132234e-08,
        ((0.20168951147428166, 0.15001069180927995, 0.47687397189587083, 0.2753324307506445, 0.3116516166482795,
          0.6573005342632461),),
    ),
)  # fmt: skip
#: What the paper's experiments are run on, with what they leave out.
FUNCTIONS = {function.name: function for function in _OF_THE_PAPER}
#: Functions of other shapes and of more inputs.
MORE_FUNCTIONS = {function.name: function for function in _OTHERS}
#: For each of those, another with as many inputs; old data may come from it.
PARTNERS = {
    "Branin": MORE_FUNCTIONS["six-hump camel"],
    "six-hump camel": MORE_FUNCTIONS["Branin"],
    "Hartmann-3": styblinski_tang(3),
    "Hartmann-6": styblinski_tang(6),
}

#: Experiment 1 of the paper, in its order.
PAPER = ("Hölder table", "Himmelblau", "Ackley", "Styblinski-Tang", "eggholder", "Rastrigin")
#: A kernel with an origin is flattered by an optimum at the centre; these copies take that away.
SHIFTED = ("Ackley (shifted)", "Rastrigin (shifted)")
#: Where the paper says that it does not help.
FAILURES = ("Levi N.13", "Easom")
#: Beyond the paper, with two, two, three and six inputs.
MORE = ("Branin", "six-hump camel", "Hartmann-3", "Hartmann-6")


def function_named(name: str) -> Function:
    """One of the paper's functions or of the others."""
    return FUNCTIONS[name] if name in FUNCTIONS else MORE_FUNCTIONS[name]
