"""What is known before the first experiment: any number of old data sets, each read in several ways."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import pandas as pd
from jaxtyping import Float
from torch import Tensor

from tunedprior.auxiliary import AuxiliaryData, read_auxiliary
from tunedprior.box import Box
from tunedprior.errors import AuxiliaryDataWarning, InputError, NothingToLearnError
from tunedprior.old_fits import MOST_ROWS_WITH_ALPHA, OldFit, Reading, StreamedFit, fits
from tunedprior.pretrain import usable_or_warn
from tunedprior.space import Space
from tunedprior.validation import few_or_all, listed
from tunedprior.weight_prior import WeightPrior

OldData = pd.DataFrame | str | PathLike[str] | WeightPrior
_ONE_SET = (pd.DataFrame, str, PathLike, WeightPrior)
_LEAST_SETTINGS = 2


@dataclass(frozen=True, eq=False)
class Knowledge:
    """One old data set.

    Attributes:
        name: What the user calls it; "old data" if there is one and it has no name.
        readings: What can be made of it, the most probable reading first.
        unit: The standard deviation of its responses, which readings have divided by.
    """

    name: str
    readings: tuple[Reading, ...]
    unit: float = 1.0


def named(auxiliary: Any) -> dict[str, OldData]:
    """Old data sets by name: one, a list of them, or named ones."""
    if auxiliary is None:
        return {}
    if isinstance(auxiliary, Mapping):
        if not all(isinstance(name, str) and name for name in auxiliary):
            raise InputError(f"Old data sets need names to tell them apart; got {listed(map(repr, auxiliary))}.")
        if not all(isinstance(one, _ONE_SET) for one in auxiliary.values()):
            raise InputError(
                "A dict of old data sets must hold tables, paths of CSV files or WeightPriors; got "
                f"{listed({type(one).__name__ for one in auxiliary.values()})}. Wrap columns in pandas.DataFrame."
            )
        return dict(auxiliary)
    if isinstance(auxiliary, _ONE_SET):
        return {"old data": auxiliary}
    return {f"old data {position}": one for position, one in enumerate(auxiliary, start=1)}


def learn(
    auxiliary: Mapping[str, OldData], space: Space, target: str, direction: str, seed: int
) -> tuple[Box, tuple[Knowledge, ...]]:
    """A box around the space and all old settings, and what the old data says; sets that say nothing are left out.

    A `WeightPrior` is one reading, in the box that it was learnt in, and so cannot be joined with other sets.
    """
    if any(isinstance(one, WeightPrior) for one in auxiliary.values()):
        return _from_weight_prior(auxiliary, space)
    tables = {
        name: read_auxiliary(one, space, target, direction)
        for name, one in auxiliary.items()
        if not isinstance(one, WeightPrior)
    }
    useful = {}
    for name, table in tables.items():
        own = Box.around(space, table.settings if len(table) else None)
        try:
            useful[name] = own, _training_set(table, own)
        except NothingToLearnError as error:  # before it can stretch the box that all share
            warnings.warn(f"{error} Going on without {name}.", AuxiliaryDataWarning, stacklevel=4)
    if not useful:
        return Box.around(space), ()
    box = Box.around(space, pd.concat([tables[name].settings for name in useful], ignore_index=True))
    known = []
    for name, (own, ready) in useful.items():
        points, response, unit = ready if own == box else _training_set(tables[name], box)
        known.append(Knowledge(name, tuple(fits(points, response, seed)), unit))
    return box, tuple(known)


def _from_weight_prior(auxiliary: Mapping[str, OldData], space: Space) -> tuple[Box, tuple[Knowledge, ...]]:
    if len(auxiliary) > 1:
        raise InputError(
            f"A WeightPrior brings its own box, so it must be the only old data; got {len(auxiliary)} sets. "
            "Give the tables they were learnt from instead."
        )
    ((name, prior),) = auxiliary.items()
    assert isinstance(prior, WeightPrior)
    usable = usable_or_warn(prior, space)
    if usable is None:
        return Box.around(space), ()
    if usable.reach != 1:
        raise InputError(
            f"The average needs a kernel that is defined on all of [-1, 1]; {type(usable.base).__name__} is not. "
            "Use prior='reweighted', or another kernel."
        )
    by_alpha = OldFit(usable.base, usable.anchors, usable.alpha, usable.lam)
    reading = by_alpha if usable.fit is None else StreamedFit(usable.fit)
    return usable.box, (Knowledge(name, (reading,), usable.response_scale),)


def _training_set(data: AuxiliaryData, box: Box) -> tuple[Float[Tensor, "a d"], Float[Tensor, " a"], float]:
    """Different settings as kernel inputs, their mean responses with mean 0 and variance 1, and the unit of these."""
    if len(data) == 0:
        raise NothingToLearnError("Old data is empty: there are no rows to learn from.")
    inputs = box.inputs(box.codes(data.settings))
    points, response = few_or_all(inputs, data.response, data.labels, MOST_ROWS_WITH_ALPHA)
    if len(points) < _LEAST_SETTINGS:
        raise NothingToLearnError(f"Old data needs {_LEAST_SETTINGS} different settings or more; it has {len(points)}.")
    spread = float(response.std(correction=0))
    if not spread > 1e-12 * float(response.abs().max()):
        raise NothingToLearnError("Old data's response never varies.")
    return points, (response - response.mean()) / spread, spread
