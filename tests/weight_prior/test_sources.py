"""Any number of old data sets: their names, the box they share, and sets that say nothing."""

import warnings

import pandas as pd
import pytest

from support.builders import SPACE, average_of, old_data, told
from tunedprior import Optimizer
from tunedprior.errors import InputError, OldDataWarning
from tunedprior.goals.goals import Goals
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.sources import SourceData, name_sources, read_sources

POOL = Space.parse(SPACE).sobol(200, seed=3)


def test_sets_that_say_nothing_are_left_out_and_the_others_kept() -> None:
    sets = {
        "good": old_data(),
        "flat": (10 * old_data()).assign(y=2.0),  # far out, and may not stretch the box of the others
        "none": old_data().iloc[:0],
        "single": old_data().iloc[:1],
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt = Optimizer(SPACE, sets, direction="maximize", seed=0)
    messages = [str(w.message) for w in caught if w.category is OldDataWarning]
    for name, reason in {"flat": "never varies", "none": "is empty", "single": "it has 1"}.items():
        assert sum(reason in message and f"Going on without {name}." in message for message in messages) == 1
    assert [old.name for old in opt.surrogate.sources] == ["good"]
    alone = told(Optimizer(SPACE, {"good": old_data()}, direction="maximize", seed=0), 4)
    pd.testing.assert_frame_equal(told(opt, 4).predict(POOL), alone.predict(POOL))


def test_an_average_of_settings_that_cannot_be_told_apart_is_no_trouble() -> None:
    """Old rows at the same setting are one; the unit is that of the means."""
    twice = pd.concat([old_data(rows=10), old_data(rows=10).assign(y=lambda t: t["y"] + 0.2)])
    (known,) = average_of(twice).sources
    assert len(known.fits[0].anchors) == 10
    assert known.units[0] == pytest.approx(old_data(rows=10)["y"].std(ddof=0))
    assert isinstance(known, SourceData)


def test_columns_and_rows_are_one_table_and_not_several() -> None:
    old = old_data()
    columns = {name: column.tolist() for name, column in old.items()}
    for given in (columns, old.to_dict("records")):
        read = read_sources(name_sources(given), Space.parse(SPACE), Goals())["y"]
        assert list(read) == ["old data"]
        assert read["old data"].response.tolist() == old["y"].tolist()
    with pytest.raises(InputError, match="either the columns of one table or old data sets by name; got both"):
        name_sources(columns | {"more": old})


def test_old_data_sets_need_names() -> None:
    with pytest.raises(InputError, match="need names"):
        Optimizer(SPACE, {"": old_data()}, direction="maximize", seed=0)


def test_every_set_is_read_in_the_box_that_all_share() -> None:
    wide = old_data(rows=8).assign(b=lambda t: t["b"] * 1.2)
    average = average_of(old_data(rows=8), wide)
    for known, table in zip(average.sources, (old_data(rows=8), wide), strict=True):
        expected = average.box.to_kernel_inputs(average.box.encode(table[list(SPACE)]))
        for fit in known.fits:
            assert sorted(fit.anchors.tolist()) == sorted(expected.tolist())
