"""Guard files against changes by others: the file of a campaign before it is replaced, and files of old data."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from os import PathLike
from pathlib import Path

from tunedprior.errors import InputError
from tunedprior.machines.feature_ridge import FeatureFit
from tunedprior.source_data.matching import OldTable
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.sources import LoadedSource, OldData


@dataclass(frozen=True)
class FileGuard:
    """A file and the digest of its content, to notice changes by others.

    Attributes:
        path: The file, in full; None: none is known.
        digest: Of its content, when it was last read or written.
    """

    path: Path | None = None
    digest: str = ""

    @classmethod
    def from_path(cls, path: str | PathLike[str], content: bytes | None = None) -> "FileGuard":
        """Guard the file with this content (by default its present content)."""
        file = Path(path)
        if content is None:
            content = file.read_bytes() if file.is_file() else b""
        return cls(file.resolve(), sha256(content).hexdigest())

    def refuse_unknown(self, path: str | PathLike[str], overwrite: bool) -> None:
        """Raise an `InputError` if the file at this path is another one, or has changed since."""
        if overwrite or not Path(path).is_file():
            return
        if Path(path).resolve() != self.path:
            raise InputError(
                f"There is a file {str(path)!r} already, which this Optimizer neither saved nor loaded. Load it, "
                "choose another name, or write save(path, overwrite=True)."
            )
        if FileGuard.from_path(path) != self:
            raise InputError(
                f"{str(path)!r} was changed since this Optimizer saved or loaded it: somebody else's results may be in "
                "it. Load it again and tell the new results there, or save to another name."
            )


@dataclass(frozen=True)
class OldSource:
    """The source of one old data set.

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
    """The arguments of an `Optimizer` that its suggester does not have.

    Attributes:
        prior: The name of the prior.
        ard: Whether the kernel has one length-scale per input.
        old_sources: The sources of old data.
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
    """List the names of the arguments that are not None."""
    return tuple(name for name, one in objects.items() if one is not None)


def make_sources(given: Mapping[str, OldData], read: Mapping[str, Mapping[str, LoadedSource]]) -> tuple[OldSource, ...]:
    """Describe the sources of old data sets, from what was passed and what was read for each response."""
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
    """Compute the digest of an old data set over all responses that it has."""
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
