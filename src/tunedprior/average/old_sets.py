"""Old data before the first experiment: any number of data sets, each with several readings (fits)."""

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import pandas as pd

from tunedprior.algorithm1.pretraining import usable_or_warn
from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.average.readings import several_fits
from tunedprior.checks import listed, warn
from tunedprior.errors import InputError, NothingToLearnError, OldDataWarning
from tunedprior.machines.fit import Fit
from tunedprior.numerics.isolation import computing
from tunedprior.problem.box import Box
from tunedprior.problem.old_data import read_old_data
from tunedprior.problem.space import Space
from tunedprior.problem.training_set import TrainingSet

#: What users may give as one old data set.
OldData = pd.DataFrame | str | PathLike[str] | WeightPrior
_ONE_SET = (pd.DataFrame, str, PathLike, WeightPrior)


@dataclass(frozen=True, eq=False)
class OldSet:
    """One old data set and its readings.

    Attributes:
        name: What the user calls it; "old data" if there is one and it has no name.
        readings: Its fits, the most probable first.
        unit: The standard deviation of its responses, by which they were divided for the readings.
    """

    name: str
    readings: tuple[Fit, ...]
    unit: float = 1.0


def named(old_data: Any) -> dict[str, OldData]:
    """Old data sets by name, from a single one, a list of them, or a dict."""
    if old_data is None:
        return {}
    if isinstance(old_data, Mapping):
        if not all(isinstance(name, str) and name for name in old_data):
            raise InputError(f"Old data sets need names to tell them apart; got {listed(map(repr, old_data))}.")
        if not all(isinstance(one, _ONE_SET) for one in old_data.values()):
            raise InputError(
                "A dict of old data sets must hold tables, paths of CSV files or WeightPriors; got "
                f"{listed({type(one).__name__ for one in old_data.values()})}. Wrap columns in pandas.DataFrame."
            )
        return dict(old_data)
    if isinstance(old_data, _ONE_SET):
        return {"old data": old_data}
    return {f"old data {position}": one for position, one in enumerate(old_data, start=1)}


def learn(
    old_data: Mapping[str, OldData], space: Space, target: str, direction: str, seed: int
) -> tuple[Box, tuple[OldSet, ...]]:
    """A box around the space and all old settings, and the old data sets with their readings.

    Sets without anything to learn from are left out, with a warning.

    A `WeightPrior` is one reading, in the box that it was learnt in, and so cannot be joined with other sets.
    """
    if any(isinstance(one, WeightPrior) for one in old_data.values()):
        return _from_weight_prior(old_data, space)
    tables = {
        name: read_old_data(one, space, target, direction)
        for name, one in old_data.items()
        if not isinstance(one, WeightPrior)
    }
    useful: dict[str, tuple[Box, TrainingSet]] = {}
    for name, table in tables.items():
        own = Box.around(space, table.settings if len(table) else None)
        try:
            useful[name] = own, TrainingSet.of(table, own).standardised()
        except NothingToLearnError as error:  # before it can stretch the box that all share
            warn(f"{error} Going on without {name}.", OldDataWarning)
    if not useful:
        return Box.around(space), ()
    box = Box.around(space, pd.concat([tables[name].settings for name in useful], ignore_index=True))
    known = []
    with computing():
        for name, (own, ready) in useful.items():
            training = ready if own == box else TrainingSet.of(tables[name], box).standardised()
            known.append(OldSet(name, tuple(several_fits(training, seed)), training.scale))
    return box, tuple(known)


def _from_weight_prior(old_data: Mapping[str, OldData], space: Space) -> tuple[Box, tuple[OldSet, ...]]:
    if len(old_data) > 1:
        raise InputError(
            f"A WeightPrior brings its own box, so it must be the only old data; got {len(old_data)} sets. "
            "Give the tables they were learnt from instead."
        )
    ((name, prior),) = old_data.items()
    assert isinstance(prior, WeightPrior)
    usable = usable_or_warn(prior, space)
    if usable is None:
        return Box.around(space), ()
    if usable.reach != 1:
        raise InputError(
            f"The average needs a kernel that is defined on all of [-1, 1]; {type(usable.base).__name__} is not. "
            "Use prior='reweighted', or another kernel."
        )
    return usable.box, (OldSet(name, (usable.fit,), usable.response_scale),)
