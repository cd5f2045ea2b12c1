"""Models of several responses, as far as old data taught them, as bytes; no pickle."""

import json
from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from tunedprior.algorithm1 import storage
from tunedprior.algorithm1.tuned_prior import TunedPrior
from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.average import archived
from tunedprior.average.surrogate import Average
from tunedprior.errors import FileFormatError, InputError
from tunedprior.models.surrogate import Surrogate
from tunedprior.problem.aims import Goals
from tunedprior.problem.space import Space

_AVERAGE, _TUNED, _AS_PRINTED = "average", "reweighted", "as printed"


def encode_surrogates(surrogates: Mapping[str, Surrogate]) -> bytes:
    """Surrogates by response, for `decoded`; an `InputError` for one of the user's own."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        kinds = {}
        for number, (name, one) in enumerate(surrogates.items()):
            if isinstance(one, Average):
                kinds[name], data = _AVERAGE, archived.encode_average(one)
            elif isinstance(one, TunedPrior):
                kinds[name], data = _AS_PRINTED if one.as_printed else _TUNED, storage.encode_prior(one.prior)
            else:
                raise InputError(f"A model of your own, {type(one).__name__}, cannot be stored. Give it each time.")
            archive.writestr(str(number), data)
        archive.writestr("kinds", json.dumps(kinds))
    return buffer.getvalue()


def decode_surrogates(data: bytes) -> dict[str, Surrogate]:
    """The surrogates that `encoded` wrote; a `FileFormatError` if they are damaged."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            kinds = dict(json.loads(archive.read("kinds")))
            parts = [archive.read(str(number)) for number in range(len(kinds))]
    except (BadZipFile, KeyError, ValueError, TypeError) as error:
        raise FileFormatError(f"What is stored of old data is damaged: {error}.") from error
    return {name: _decode_surrogate(kind, part) for (name, kind), part in zip(kinds.items(), parts, strict=True)}


def are_compatible(surrogates: Mapping[str, Surrogate], space: Space, aims: Goals) -> bool:
    """Whether there is one for each response, in a box that holds the space."""
    responses = {one.name for one in aims.responses}
    return set(surrogates) == responses and all(one.box.covers(space) for one in surrogates.values())


def _decode_surrogate(kind: str, data: bytes) -> Surrogate:
    if kind == _AVERAGE:
        return archived.decode_average(data)
    if kind in (_TUNED, _AS_PRINTED):
        try:
            return TunedPrior(WeightPrior(**storage.decode_prior(data)), as_printed=kind == _AS_PRINTED)
        except FileFormatError as error:
            raise FileFormatError(f"What is stored of old data {error}.") from error
    raise FileFormatError(f"What is stored of old data is of an unknown kind, {kind[:40]!r}. Update tunedprior.")
