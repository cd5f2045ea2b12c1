"""Plain arrays in a zip archive, as `numpy.savez` writes them, read without trusting anything that it says."""

import zipfile
from io import BytesIO
from math import prod
from typing import Any

import numpy as np

from tunedprior.errors import FileFormatError

_TYPES: dict[str, type[np.generic]] = {"<f8": np.float64, "<i8": np.int64, "|u1": np.uint8}
_LONGEST_PREAMBLE = 1024  # of an array: its type, order and shape


def pack_arrays(arrays: dict[str, np.ndarray]) -> bytes:
    """The arrays as the bytes of an uncompressed archive."""
    buffer = BytesIO()
    content: dict[str, Any] = dict(arrays)
    np.savez(buffer, **content)
    return buffer.getvalue()


def unpack_arrays(data: bytes) -> dict[str, np.ndarray]:
    """All arrays of the archive, or a `FileFormatError` with the reason.

    Members must be stored as they are, so that no array is larger than the file.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            if len({member.filename for member in members}) < len(members):
                raise FileFormatError("two of its parts have one name")
            for member in members:
                if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                    raise FileFormatError(f"its part {member.filename[:40]!r} is compressed")
                if not member.filename.endswith(".npy") or member.file_size > len(data):
                    raise FileFormatError(f"its part {member.filename[:40]!r} is no array")
            return {member.filename.removesuffix(".npy"): _parse_array(archive.read(member)) for member in members}
    except FileFormatError:
        raise
    except Exception as error:  # a damaged archive makes zipfile and NumPy raise errors of a dozen kinds
        raise FileFormatError(str(error)[:200] or type(error).__name__) from error


def _parse_array(data: bytes) -> np.ndarray:
    file = BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise FileFormatError("an array has an unknown version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=_LONGEST_PREAMBLE)
    if dtype.str not in _TYPES or dtype.shape or dtype.fields:
        raise FileFormatError(f"an array has the type {str(dtype)[:40]}, and must have float64 or int64")
    rest = len(data) - file.tell()
    if any(type(length) is not int or length < 0 for length in shape) or prod(shape) * dtype.itemsize != rest:
        raise FileFormatError(f"an array of shape {str(shape)[:40]} cannot have {rest} bytes")
    flat: np.ndarray = np.frombuffer(data, dtype=_TYPES[dtype.str], offset=file.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")
