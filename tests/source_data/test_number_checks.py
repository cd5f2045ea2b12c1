"""What is suspicious in a column: by hand."""

import numpy as np
import pytest

from tunedprior.source_data.number_checks import (
    compute_accepted_range,
    find_fractions,
    find_isolated,
    find_other_units,
    find_sentinels,
)
from tunedprior.space.parameters import Numeric

TEN = Numeric("t", 0.0, 10.0)


def test_reach_is_the_hull_and_once_its_width_to_either_side() -> None:
    reach = compute_accepted_range(np.array([-2.0, 0.0, 3.0, 8.0, 6200.0]), TEN)
    assert (reach.low, reach.high, reach.is_near) == (-14.0, 22.0, True)  # the hull is [-2, 10]
    assert reach.contains(np.array([-14.1, -14.0, 22.0, 22.1])).tolist() == [False, True, True, False]


@pytest.mark.parametrize(("first", "meets"), [(10.0, True), (29.9, True), (30.1, False), (500.0, False)])
def test_the_bulk_may_be_as_far_from_the_space_as_both_are_wide(first: float, meets: bool) -> None:
    assert compute_accepted_range(np.linspace(first, first + 10, 20), TEN).is_near is meets


def test_a_narrow_space_in_wide_old_data_keeps_all_of_it() -> None:
    old = np.linspace(30, 90, 61)
    reach = compute_accepted_range(old, Numeric("t", 50.0, 51.0))
    assert reach.is_near
    assert reach.contains(old).all()


def test_a_setting_that_is_fixed_now_has_the_reach_of_the_old_values() -> None:
    old = np.linspace(30, 90, 61)
    assert compute_accepted_range(old, Numeric("t", 50.0, 50.0)).contains(old).all()
    assert not compute_accepted_range(old, Numeric("t", 500.0, 500.0)).is_near


def test_on_a_logarithmic_scale_a_factor_of_ten_is_near() -> None:
    rate = Numeric("rate", 1.0, 2.0, log=True)
    assert (
        compute_accepted_range(np.log(np.array([1.0, 1.5, 2.0, 1.2])), rate)
        .contains(np.log(np.array([0.11, 19.9])))
        .all()
    )
    assert (
        not compute_accepted_range(np.log(np.array([1.0, 1.5, 2.0, 1.2])), rate)
        .contains(np.log(np.array([0.09, 21.0])))
        .any()
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.linspace(0, 10, 20), None),
        (np.linspace(1, 8, 20), None),
        (np.linspace(0, 1, 20), "about 10 times too small"),
        (np.linspace(0, 1e4, 20), "about 1,000 times too large"),
        (np.linspace(0, 10, 20) - 273.15, "°C and the other in K"),
        (np.linspace(3, 4, 20), None),
        (np.array([0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 10.0]), None),  # from one end to the other, if mostly near one
        (np.full(20, 500.0), None),
    ],
)
def test_other_units(values: np.ndarray, said: str | None) -> None:
    found = find_other_units(values, TEN)
    assert found is None if said is None else found is not None and said in found.text


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.geomspace(2e-5, 5, 20), None),  # nearly all of it, if most of it is near 0
        (np.geomspace(1e-8, 1e-2, 20), "about 1,000 times too small"),
        (np.geomspace(6e-4, 600, 20), "seconds and the other in minutes"),
    ],
)
def test_other_units_on_a_logarithmic_scale(values: np.ndarray, said: str | None) -> None:
    found = find_other_units(values, Numeric("rate", 1e-5, 10.0, log=True))
    assert found is None if said is None else found is not None and said in found.text


def test_sentinels_lie_apart() -> None:
    assert find_sentinels(np.array([1.0, 2.0, -9999.0, 3.0])).tolist() == [False, False, True, False]
    assert not find_sentinels(np.array([9990.0, 9999.0, 10050.0])).any()  # one number among others
    assert not find_sentinels(np.array([1.0, 2.0, -9999.5])).any()
    assert find_sentinels(np.array([-999.0, 0.5, np.nan, -999.0])).tolist() == [True, False, False, True]


def test_isolated_responses() -> None:
    ordinary = np.linspace(0, 1, 60)
    assert not find_isolated(ordinary).any()
    assert np.flatnonzero(find_isolated(np.append(ordinary, 4.1))).tolist() == [60]
    assert not find_isolated(np.append(ordinary, 3.9)).any()
    assert np.flatnonzero(find_isolated(np.append(-30.0, ordinary))).tolist() == [0]
    assert not find_isolated(np.concatenate([ordinary, [50.0, 51.0, 52.0]])).any()  # too many to be mistakes
    assert not find_isolated(np.append(np.zeros(60), 1.0)).any()  # a needle in a haystack


def test_one_value_far_off_is_not_another_unit() -> None:
    values = np.append(np.linspace(10, 1000, 60), 93_000.0)
    assert find_other_units(values, Numeric("pressure", 10.0, 1000.0)) is None


def test_numbers_of_an_infinite_range_have_no_sentinels() -> None:
    assert not find_sentinels(np.array([1.7e308, -1.7e308, 0.1, -999.0])).any()


@pytest.mark.parametrize(
    ("values", "odd"),
    [
        ([83.0, 41.0, 0.0, 0.62, 55.0, 71.0, 90.0], [3]),
        ([83.0, 41.0, 0.62, 55.0, 0.7, 71.0, 90.0], [2, 4]),
        ([83.0, 4.0, 0.62, 55.0, 71.0, 90.0], []),  # small percentages occur
        ([0.2, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0], []),  # the end of a tail
        ([83.0, 41.0, 0.32, 55.0, 71.0, 90.0], []),  # as per cent it would be less than all others
        ([83.0, 41.0, 0.62, 55.0, 71.0], []),  # too few to tell
        ([83.0, 41.0, 0.62, 55.0, 71.0, 390.0], []),  # no percentages
        ([83.0, 41.0, 0.62, 55.0, -3.0, 71.0, 90.0], []),
    ],
)
def test_fractions_among_percentages(values: list[float], odd: list[int]) -> None:
    assert np.flatnonzero(find_fractions(np.array(values))).tolist() == odd
