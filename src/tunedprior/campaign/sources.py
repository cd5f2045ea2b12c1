"""Where old data came from, and what it was: enough to find it again, and to notice that it changed."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.average.old_sets import LoadedSource, OldData
from tunedprior.machines.streamed import FeatureFit
from tunedprior.problem.old_data import OldTable


@dataclass(frozen=True)
class OldSource:
    """One old data set.

    Attributes:
        name: What the user calls it.
        path: The file it was read from, in full; None if it was no file.
        fingerprint: Of its content; the same for a table and for the file that it is saved as.
        units: The units in the headers of its columns, by name, where these have any.
    """

    name: str
    path: str | None
    fingerprint: str
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Provenance:
    """The arguments of an `Optimizer` that its suggester does not tell.

    Attributes:
        prior: The name of the prior.
        ard: Whether the kernel has one length-scale per input.
        old: Where old data came from.
        objects: The names of arguments that are objects, which no file can hold.
        relations: What the user knows of old data sets, by name.
        id: What tells the campaign from others; empty for one of before there were ids.
    """

    prior: str
    ard: bool = False
    old_sources: tuple[OldSource, ...] = ()
    objects: tuple[str, ...] = ()
    relations: Mapping[str, str] = field(default_factory=dict)
    id: str = ""


def list_given_names(**objects: object) -> tuple[str, ...]:
    """The names of those that are not None."""
    return tuple(name for name, one in objects.items() if one is not None)


def make_sources(given: Mapping[str, OldData], read: Mapping[str, Mapping[str, LoadedSource]]) -> tuple[OldSource, ...]:
    """Of old data sets by name, as they were given and as they were read for each response."""
    return tuple(
        OldSource(
            name,
            str(Path(data).absolute()) if isinstance(data, str | os.PathLike) else None,
            _hash_old_data([sets[name] for sets in read.values() if name in sets]),
            {
                column: unit
                for sets in read.values()
                if isinstance(one := sets.get(name), OldTable)
                for column, unit in one.units.items()
            },
        )
        for name, data in given.items()
    )


def _hash_old_data(read: Sequence[LoadedSource]) -> str:
    """Of what was read of one old data set: for each of the responses that it has."""
    each = [one.fingerprint if isinstance(one, OldTable) else _hash_weight_prior(one) for one in read]
    return each[0] if len(each) == 1 else hashlib.sha256("".join(each).encode()).hexdigest()


def _hash_weight_prior(prior: WeightPrior) -> str:
    arrays = {"anchors": prior.anchors, "alpha": prior.alpha}
    arrays |= prior.fit.to_arrays() if isinstance(prior.fit, FeatureFit) else {}
    axes = [asdict(axis) for axis in prior.box.axes]
    plain = (type(prior.base).__name__, prior.lam, prior.reach, prior.response_shift, prior.response_scale, axes)
    found = hashlib.sha256(repr(plain).encode())
    for name, array in sorted(arrays.items()):  # the kernel's own change in the last digit when they are stored
        found.update(name.encode() + array.detach().cpu().numpy().tobytes())
    return found.hexdigest()
