"""Where old data came from, and what it was: enough to find it again, and to notice that it changed."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.errors import TunedPriorError
from tunedprior.files import is_blank, numbers, read_table
from tunedprior.machines.streamed import FeatureFit


@dataclass(frozen=True)
class OldSource:
    """One old data set.

    Attributes:
        name: What the user calls it.
        path: The file it was read from, in full; None if it was no file.
        fingerprint: Of its content; the same for a table and for the file that it is saved as.
    """

    name: str
    path: str | None
    fingerprint: str


@dataclass(frozen=True)
class MadeWith:
    """The arguments of an `Optimizer` that its suggester does not tell.

    Attributes:
        prior: The name of the prior.
        ard: Whether the kernel has one length-scale per input.
        old: Where old data came from.
        objects: The names of arguments that are objects, which no file can hold.
    """

    prior: str
    ard: bool = False
    old: tuple[OldSource, ...] = ()
    objects: tuple[str, ...] = ()


def given(**objects: object) -> tuple[str, ...]:
    """The names of those that are not None."""
    return tuple(name for name, one in objects.items() if one is not None)


def sources_of(old: Mapping[str, Any], names: Sequence[str]) -> tuple[OldSource, ...]:
    """Of old data sets by name; `names` are the columns that are learnt from."""
    return tuple(
        OldSource(name, str(Path(one).absolute()) if _is_path(one) else None, _content(one, names))
        for name, one in old.items()
    )


def fingerprint(table: pd.DataFrame, names: Sequence[str]) -> str:
    """SHA-256 over the named columns, rows in order: numbers as numbers, however they were written."""
    found = hashlib.sha256()
    for name in sorted(name for name in names if name in table.columns):
        values, wrong = numbers(table[name])
        cells = [] if not wrong else ["" if is_blank(cell) else str(cell).strip() for cell in table[name]]
        values = np.where(np.isnan(values), np.nan, values + 0.0)  # one kind of NaN, one kind of zero
        found.update(name.encode() + b"\0" + ("\0".join(cells).encode() if wrong else values.tobytes()) + b"\0")
    return found.hexdigest()


def _is_path(one: Any) -> bool:
    return isinstance(one, str | os.PathLike)


def _content(one: Any, names: Sequence[str]) -> str:
    if isinstance(one, WeightPrior):
        return _learnt(one)
    try:
        return fingerprint(read_table(one, names, "Old data").table, names)
    except TunedPriorError:  # no table, such as the file of a prior; or not there, where nothing is learnt from it
        return hashlib.sha256(Path(one).read_bytes() if _is_path(one) and Path(one).is_file() else b"").hexdigest()


def _learnt(prior: WeightPrior) -> str:
    arrays = {"anchors": prior.anchors, "alpha": prior.alpha}
    arrays |= prior.fit.arrays() if isinstance(prior.fit, FeatureFit) else {}
    axes = [asdict(axis) for axis in prior.box.axes]
    plain = (type(prior.base).__name__, prior.lam, prior.reach, prior.response_shift, prior.response_scale, axes)
    found = hashlib.sha256(repr(plain).encode())
    for name, array in sorted(arrays.items()):  # the kernel's own change in the last digit when they are stored
        found.update(name.encode() + array.detach().cpu().numpy().tobytes())
    return found.hexdigest()
