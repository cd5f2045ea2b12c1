"""Odd search spaces for Hypothesis, with what they allow decided without the package."""

import math
import os
from decimal import Decimal
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

#: How many examples: a few in `make test`, as many as TUNEDPRIOR_FUZZ says in `make fuzz`, other ones every time.
LONG = int(os.environ.get("TUNEDPRIOR_FUZZ", "0"))


def sized(quick: int, steps: int = 50) -> settings:
    """The same few examples every time, or many new ones."""
    return settings(max_examples=LONG or quick, stateful_step_count=steps, derandomize=not LONG, deadline=None)


#: Names that are columns of a history, look like code, or are hardly names.
NAMES = (
    "x",
    "y",
    "state",
    "trial",
    "asked",
    "asked x",
    "note",
    "y_",
    "ünï",
    "a,b",
    "a\nb",
    "0",
    "class",
    "'",
    "{x}",
)
_SIZES = st.sampled_from([1e-12, 1e-3, 1.0, 7.0, 1e3, 1e9])


@st.composite
def ranges(draw: st.DrawFn) -> tuple[float, float]:
    """(low, high): tiny, large, far from 0, or a single point."""
    low, width = draw(st.sampled_from([-1.0, 0.0, 0.1, 1e6, -1e9])), draw(st.one_of(st.just(0.0), _SIZES))
    return low, low + width


@st.composite
def grids(draw: st.DrawFn) -> FloatDistribution | IntDistribution:
    """Steps, whole numbers and logarithmic scales."""
    count = draw(st.integers(0, 40))
    kind = draw(st.sampled_from(["step", "integer", "log", "log integer"]))
    if kind == "step":
        step = draw(st.sampled_from(["0.1", "0.25", "3", "0.001"]))
        low = draw(st.sampled_from(["0", "-1", "0.3"]))
        return FloatDistribution(float(low), float(Decimal(low) + count * Decimal(step)), step=float(step))
    if kind == "integer":
        step = draw(st.integers(1, 5))
        low = draw(st.integers(-5, 5))
        return IntDistribution(low, low + count * step, step=step)
    low = draw(st.sampled_from([1, 2, 1000]))
    if kind == "log":
        return FloatDistribution(low * 1e-4, low * 1e-4 * 10 ** draw(st.integers(0, 9)), log=True)
    return IntDistribution(low, low + draw(st.integers(0, 2000)), log=True)


LEVELS = st.lists(st.one_of(st.integers(-5, 5), st.sampled_from([0.5, 1e-3, 1e6])), min_size=1, max_size=6, unique=True)
CATEGORIES = st.one_of(
    st.lists(st.sampled_from(["air", "Argon", "neon gas", "é", "x" * 30]), min_size=1, max_size=5, unique=True),
    st.integers(2, 70).map(lambda count: [f"lot {number}" for number in range(count)]),
    st.sampled_from([(None, 32, 64), (0.5, 1, 2), (True, False), ("1", "2")]).map(CategoricalDistribution),
)
PARAMETERS = st.one_of(ranges(), grids(), LEVELS, CATEGORIES)


def spaces(most: int = 4) -> st.SearchStrategy[dict[str, Any]]:
    """Up to so many parameters, of which one can change."""
    one = st.dictionaries(st.sampled_from(NAMES), PARAMETERS, min_size=1, max_size=most)
    return one.filter(lambda space: any(not _is_fixed(given) for given in space.values()))


def _is_fixed(given: Any) -> bool:
    if isinstance(given, tuple):
        return given[0] == given[1]
    if isinstance(given, list):
        return len(given) == 1
    return isinstance(given, FloatDistribution | IntDistribution) and given.single()


def is_allowed(given: Any, value: Any) -> bool:
    """Whether a value is one that the description allows; floating-point steps up to rounding."""
    if isinstance(given, tuple):
        return given[0] <= value <= given[1]
    if isinstance(given, list):
        return value in given
    if isinstance(given, CategoricalDistribution):
        return value in given.choices
    inside = given.low <= value <= given.high
    if isinstance(given, IntDistribution):
        return inside and isinstance(value, int) and (given.log or (value - given.low) % given.step == 0)
    steps = 0.0 if given.step is None else (value - given.low) / given.step
    return inside and math.isclose(steps, round(steps), abs_tol=1e-6)


def assert_allowed(space: dict[str, Any], setting: dict[str, Any]) -> None:
    """Every value is there, and allowed."""
    assert list(setting) == list(space)
    for name, value in setting.items():
        assert is_allowed(space[name], value), (name, value, space[name])
