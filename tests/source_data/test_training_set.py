"""From old data to what is learnt from: repeated settings, scales, subsets, and what says nothing."""

import numpy as np
import pandas as pd
import pytest
import torch

from support.builders import PLANT, box_of, plant_data
from support.cases import table
from tunedprior import average_replicates
from tunedprior.errors import InputError, NothingToLearnError
from tunedprior.source_data.matching import read_old_data
from tunedprior.source_data.training_set import TrainingSet, check_distinct_rows, draw_row_numbers, is_flat
from tunedprior.space.search_space import Space


def training_set(old: pd.DataFrame, **options) -> TrainingSet:
    return TrainingSet.from_old_table(read_old_data(old, Space.parse(PLANT)), box_of(PLANT), **options)


def repeated(times: int = 3) -> pd.DataFrame:
    """Ten settings, each measured so many times with another result."""
    old = pd.concat([plant_data(10)] * times, ignore_index=True)
    return old.assign(y=np.arange(10.0 * times))


# -- repeated settings ---------------------------------------------------------------------------------


def test_replicated_labels_go_by_majority_and_ties_drop_out() -> None:
    points, labels = average_replicates([[0.0], [0.5], [0.0], [-0.5], [0.5], [0.5]], [1, 1, -1, -1, 1, -1], labels=True)
    assert points.flatten().tolist() == [-0.5, 0.5]
    assert labels.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize(
    ("y", "message"), [([1.0, 2.0], "each of the 3 points"), ([1.0, 2.0, np.nan], "must be finite")]
)
def test_replicates_need_sound_responses(y: list[float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        average_replicates([[0.0], [1.0], [0.0]], y)


def test_repeated_rows_are_averaged_unless_there_are_many_settings() -> None:
    old = repeated()
    few = training_set(old, rows_with_alpha=10)
    assert len(few) == len(few.response) == 10
    assert few.response.mean().item() == pytest.approx(old["y"].mean())
    every = training_set(old, rows_with_alpha=9)
    assert torch.equal(every.points, box_of(PLANT).to_kernel_inputs(box_of(PLANT).encode(old[["a", "b"]])))
    assert every.response.tolist() == old["y"].tolist()


def test_what_was_averaged_is_what_was_measured_there() -> None:
    assert sorted(training_set(repeated(2)).response.tolist()) == [5.0 + row for row in range(10)]


# -- scales and subsets --------------------------------------------------------------------------------


def test_standardised_responses_say_what_was_taken_off() -> None:
    plain = training_set(plant_data(12))
    for scaled in (plain.standardise(), plain.standardise_if_possible()):
        assert scaled.response.mean().item() == pytest.approx(0.0, abs=1e-12)
        assert scaled.response.std(correction=0).item() == pytest.approx(1.0)
        torch.testing.assert_close(scaled.shift + scaled.scale * scaled.response, plain.response)
        assert torch.equal(scaled.points, plain.points)


def test_labels_keep_their_values_unless_they_are_standardised() -> None:
    old = plant_data(12)
    labels = training_set(old.assign(y=np.where(old["y"] > old["y"].median(), "pass", "fail")))
    assert labels.labels
    assert labels.standardise_if_possible() is labels
    assert set(labels.response.tolist()) == {-1.0, 1.0}
    assert labels.standardise().response.mean().item() == pytest.approx(0.0, abs=1e-12)


def test_a_reach_below_one_leaves_room() -> None:
    whole, less = training_set(plant_data(12)), training_set(plant_data(12), reach=0.9)
    torch.testing.assert_close(less.points, 0.9 * whole.points)


def test_a_subset_is_a_random_choice_and_always_the_same() -> None:
    every = training_set(plant_data(30))
    some = every.draw_subset(8, seed=3)
    assert len(some) == 8
    assert torch.equal(some.points, every.draw_subset(8, seed=3).points)
    assert not torch.equal(some.points, every.draw_subset(8, seed=4).points)
    assert every.draw_subset(30, seed=3) is every
    rows = draw_row_numbers(30, 8, seed=3)
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert draw_row_numbers(5, 8, seed=3).tolist() == [0, 1, 2, 3, 4]


# -- what is refused -----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Old data says nothing")
def test_what_says_nothing_is_its_own_error() -> None:
    with pytest.raises(NothingToLearnError, match="is empty"):
        training_set(plant_data(3).iloc[:0])
    with pytest.raises(NothingToLearnError, match="2 different settings or more; it has 1"):
        training_set(plant_data(3).iloc[:1]).standardise()
    with pytest.raises(NothingToLearnError, match="never varies"):
        training_set(plant_data(3).assign(y=2.0)).standardise()
    assert training_set(plant_data(3).assign(y=2.0)).standardise_if_possible().response.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_rounding_is_no_response(size: float) -> None:
    """Easom far from its well: the responses differ in their last digits, and dividing by that would learn them."""
    rounded = size * (0.991 + np.array([0.0, 1.1e-16, -2.2e-16, 1.1e-16]))
    flat = training_set(plant_data(4).assign(y=rounded))
    assert len(set(flat.response.tolist())) > 1
    assert is_flat(flat.response)
    assert flat.standardise_if_possible() is flat
    with pytest.raises(NothingToLearnError, match="never varies"):
        flat.standardise()
    with pytest.raises(NothingToLearnError, match=r"must vary; all 4 are \S+ but for rounding"):
        check_distinct_rows(flat.points, flat.response)
    some = training_set(plant_data(4).assign(y=size * (0.991 + np.array([0.0, 1e-11, 0.0, 0.0]))))
    assert some.standardise_if_possible().response.std(correction=0).item() == pytest.approx(1.0, rel=1e-4)


def test_a_machine_learns_from_distinct_rows() -> None:
    x, y = table(4, 2), table(4, seed=1)
    found = check_distinct_rows(x, y[:, None])  # a column will do
    assert torch.equal(found[0], x)
    assert torch.equal(found[1], y)
    with pytest.raises(InputError, match=r"2 of 5 rows repeat another \(rows 1, 4\)"):
        check_distinct_rows(torch.cat([x, x[1:2]]), torch.cat([y, y[:1]]))


@pytest.mark.parametrize(("spread", "varies"), [(0.0, False), (1e-9, False), (1e-2, True)])
def test_rounding_of_a_large_response_is_no_variation(spread: float, varies: bool) -> None:
    response = 1e6 + spread * torch.tensor([0.0, 1.0, 2.0, 1.0]).double()
    training = TrainingSet(table(4, 1), response, labels=False)
    if varies:
        assert training.standardise().response.std(correction=0).item() == pytest.approx(1.0)
    else:
        with pytest.raises(NothingToLearnError, match="never varies"):
            training.standardise()


def test_a_response_that_is_zero_somewhere_is_measured_by_its_largest() -> None:
    response = torch.tensor([0.0, 1.0, 1.0, 1.0]).double()
    assert TrainingSet(table(4, 1), response, labels=False).standardise().scale == pytest.approx(3**0.5 / 4)
