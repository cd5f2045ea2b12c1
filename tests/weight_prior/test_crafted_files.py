"""Files that somebody crafted or a disk damaged: each is refused with our error, or holds a prior that can be used."""

import json
import zipfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from support.builders import PLANT, plant_data
from support.cases import table
from tunedprior import WeightPrior, pretrain
from tunedprior.errors import FileFormatError
from tunedprior.kernels import DotProduct, Exponential, LogRatio, Polynomial
from tunedprior.machines import FeatureFit, PrunedLeastSquares

Arrays = dict[str, np.ndarray]
NESTED = "[" * 100_000 + "]" * 100_000
#: Values for every field of a header, as JSON.
VALUES = [
    *("null", "true", '"x"', '""', "[]", "[1]", "{}", '{"x": 1}', "-1", "0", "1", "1.5", "2", "99", "1e308", "-1e308"),
    *("1e-320", "NaN", "Infinity", "-Infinity", "1e999", "9" * 400, "[null]", '["x"]', "[-1]", "[0]", "[1e308]"),
    *("[1e-300]", "[1e300]", f"[{','.join('1' * 2000)}]", NESTED, '"\\ud800"', '"\\u0000"', '[{"a": 1}]', "[[1]]"),
]
KERNELS = ("Linear", "Polynomial", "Sinh", "LogRatio", "SquaredExponential", "DirectProduct", "Reweighted", "os")
KINDS: dict[str, dict[str, Any]] = {
    "alpha": {},
    "features": {"kernel": Polynomial(5), "rows_with_alpha": 50},
    "pruned": {"machine": PrunedLeastSquares(1.0, most=25), "rows_with_alpha": 50},
    "polynomial": {"kernel": Polynomial(3)},
    "exponential": {"kernel": Exponential()},
    "log ratio": {"kernel": LogRatio()},
    "dot product": {"kernel": DotProduct([1.0, 0.0, 0.5])},
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A sound file of each kind."""
    path = tmp_path_factory.mktemp("priors") / "prior"
    space = PLANT | {"gas": ["air", "argon", None]}
    found = {}
    for kind, options in KINDS.items():
        if "rows_with_alpha" in options:
            prior = pretrain(plant_data(150), PLANT, **options)
            assert isinstance(prior.fit, FeatureFit) == (kind == "features")
        else:
            prior = pretrain(plant_data(10).assign(gas=["air", "argon"] * 5), space, **options)
        prior.save(path)
        found[kind] = path.read_bytes()
    return found


def arrays_of(data: bytes) -> Arrays:
    with np.load(BytesIO(data)) as archive:
        return {name: archive[name] for name in archive.files}


def file_of(arrays: Arrays, compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, array in arrays.items():
            one = BytesIO()
            np.save(one, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", one.getvalue())
    return buffer.getvalue()


def with_header(arrays: Arrays, text: str) -> bytes:
    return file_of(arrays | {"header": np.frombuffer(text.encode(), dtype=np.uint8)})


def changed(fields: dict[str, Any]) -> Iterator[str]:
    """The JSON object with each of its fields left out, added to, and given each of the values."""
    plain = {name: json.dumps(value) for name, value in fields.items()}
    variants = [{k: v for k, v in plain.items() if k != name} for name in plain]
    variants += [plain | {name: value} for name in plain for value in VALUES]
    variants += [plain | {"surplus": "1"}]
    for variant in variants:
        yield "{" + ", ".join(f"{json.dumps(name)}: {value}" for name, value in variant.items()) + "}"


def headers(header: dict[str, Any], axes: bool) -> Iterator[str]:
    """Headers with one thing wrong."""
    yield from ("", "null", "[]", "{}", "{", NESTED, '"x"', "\ufeff{}", json.dumps(header) + "x")
    if axes:
        yield from changed(header)
        for place in (0, len(header["axes"]) - 1):  # a number and a category
            axis = header["axes"][place]
            before, after = map(json.dumps, (header["axes"][:place], header["axes"][place + 1 :]))
            for text in changed(axis):
                joined = ", ".join(part for part in (before[1:-1], text, after[1:-1]) if part)
                yield json.dumps(header | {"axes": "HERE"}).replace('"HERE"', f"[{joined}]")
    for text in changed(header["arguments"]):
        yield json.dumps(header | {"arguments": "HERE"}).replace('"HERE"', text)
    for kernel in KERNELS:
        yield json.dumps(header | {"kernel": kernel})


def with_entry(array: np.ndarray, value: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.concatenate([array.flat[:-1], np.array([value]).astype(array.dtype)]).reshape(array.shape)


ARRAY_CHANGES: dict[str, Callable[[np.ndarray], Any]] = {
    "float32": lambda array: array.astype(np.float32),
    "other endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "complex": lambda array: array.astype(complex),
    "whole": lambda array: array.astype(np.int64),
    "bytes": lambda array: array.astype(np.uint8),
    "fields": lambda array: array.astype([("x", "<f8")]),
    "pickle": lambda array: array.astype(object),
    "text": lambda array: array.astype(str),
    "NaN": lambda array: with_entry(array.astype(float), np.nan),
    "infinite": lambda array: with_entry(array.astype(float), np.inf),
    "huge": lambda array: with_entry(array, 1e18),
    "very huge": lambda array: with_entry(array.astype(float), 1e300),
    "negative": lambda array: with_entry(array, -1),
    "large": lambda array: with_entry(array, 10**6),
    "zero": np.zeros_like,
    "turned": lambda array: array.T,
    "column-major": np.asfortranarray,
    "deeper": lambda array: array[None],
    "flat": np.ravel,
    "single": lambda array: array.flat[0],
    "longer": lambda array: np.concatenate([array, array[:1]]),
    "shorter": lambda array: array[:-1],
    "narrower": lambda array: array[..., :-1],
    "empty": lambda array: array[:0],
    "doubled": lambda array: np.repeat(array[:1], len(array), 0),
}


def claimed(array: np.ndarray, shape: str) -> bytes:
    """The array in NumPy's format, with another shape in its preamble."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()


CLAIMS = ("(10**12,)", "(1000000000000,)", "(-1,)", "(1.5,)", "(True,)", "'x'", "None", "(" * 200 + ")" * 200, "(9,)*9")
NO_ARRAYS = (b"", b"\x93NUMPY", b"\x93NUMPY\x09\x00", b"x" * 99)


def array_files(arrays: Arrays) -> Iterator[bytes]:
    """Files with one array changed."""
    for name, array in arrays.items():
        yield file_of({other: value for other, value in arrays.items() if other != name})
        for change in ARRAY_CHANGES.values():
            if array.size and array.ndim:
                yield file_of(arrays | {name: change(array)})
        for content in (*(claimed(array, shape) for shape in CLAIMS), *NO_ARRAYS):
            yield replaced(arrays, name, content)
        yield replaced(arrays, name, bytes(10**7), zipfile.ZIP_DEFLATED)  # would be much larger than the file
        yield file_of(arrays | {"surplus": array})
        yield file_of(arrays)[:-22] + file_of(arrays)  # two archives, one behind the other
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield file_of(arrays, method)
    yield from (b"", b"PK", b"PK\x05\x06" + bytes(18), b"a,b,y\n1,2,3\n", bytes(1000))


def replaced(arrays: Arrays, name: str, content: bytes, compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = BytesIO(file_of({other: value for other, value in arrays.items() if other != name}))
    with zipfile.ZipFile(buffer, "a", compression) as archive:
        archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def damaged(data: bytes) -> Iterator[bytes]:
    """Cut short, and with a few bytes changed at random."""
    yield from (data[: len(data) * k // 40] for k in range(40))
    generator = np.random.default_rng(0)
    for _ in range(200):
        changed = bytearray(data)
        for place in generator.integers(len(data), size=generator.integers(1, 5)):
            changed[place] = generator.integers(256)
        yield bytes(changed)


def usable(data: bytes, path: Path) -> bool:
    """Whether the file loads; if it does, it must be usable, and if not, the error must be ours."""
    path.write_bytes(data)
    refused = None
    try:
        prior = WeightPrior.load(path)
    except FileFormatError as error:
        refused = str(error)
    if refused is not None:
        assert "pickle" not in refused
        assert len(refused) < 1000
        return False
    x = prior.reach * table(5, prior.box.num_inputs, low=-1, high=1)
    with torch.no_grad():
        assert torch.isfinite(prior.make_kernel()(x).to_dense()).all()
        assert torch.isfinite(prior.fit(x)).all()
    assert prior.lam > 0
    assert 0 < prior.reach <= 1
    assert all(np.isfinite([axis.decode(-1.0), axis.decode(1.0)]).all() for axis in prior.box.axes)
    assert prior.vanishes in (True, False)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_headers_are_checked_before_anything_is_built(kind: str, files: dict[str, bytes], tmp_path: Path) -> None:
    arrays = arrays_of(files[kind])
    header = json.loads(bytes(arrays["header"]))
    outcomes = [usable(with_header(arrays, text), tmp_path / "x") for text in headers(header, axes=kind == "alpha")]
    assert usable(with_header(arrays, json.dumps(header)), tmp_path / "x")
    assert len(outcomes) > (700 if kind == "alpha" else 15)
    assert sum(outcomes) < 0.2 * len(outcomes)


@pytest.mark.parametrize("kind", ["alpha", "features", "pruned"])
def test_arrays_are_checked_before_they_are_made(kind: str, files: dict[str, bytes], tmp_path: Path) -> None:
    outcomes = [usable(data, tmp_path / "x") for data in array_files(arrays_of(files[kind]))]
    assert len(outcomes) > 100
    assert sum(outcomes) < 0.2 * len(outcomes)


@pytest.mark.parametrize("kind", ["alpha", "features", "pruned"])
def test_damage_is_noticed(kind: str, files: dict[str, bytes], tmp_path: Path) -> None:
    outcomes = [usable(data, tmp_path / "x") for data in damaged(files[kind])]
    assert sum(outcomes) < 0.2 * len(outcomes)  # some bytes of an archive mean nothing


@pytest.mark.parametrize(
    "change",
    [
        *({"lam": "x"}, {"lam": -1.0}, {"lam": True}, {"reach": 0.0}, {"reach": 1.5}, {"axes": []}, {"version": 1.5}),
        *({"response_scale": 0}, {"error": -1}, {"machine": None}, {"kernel": "Linear"}),
        {"arguments": {"lengthscale": [1, 2]}},
    ],
    ids=str,
)
def test_what_used_to_load_is_refused(change: dict[str, Any], files: dict[str, bytes], tmp_path: Path) -> None:
    arrays = arrays_of(files["alpha"])
    header = json.loads(bytes(arrays["header"])) | change
    assert not usable(with_header(arrays, json.dumps(header)), tmp_path / "x")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *(("anchors", "NaN"), ("alpha", "NaN"), ("factor", "NaN"), ("indices", "large"), ("inverse_root", "huge")),
        *(("signal", "zero"), ("signal", "longer")),
    ],
)
def test_arrays_that_cannot_be_are_refused(name: str, change: str, files: dict[str, bytes], tmp_path: Path) -> None:
    kinds = {"factor": "features", "indices": "features", "inverse_root": "pruned", "signal": "pruned"}
    arrays = arrays_of(files[kinds.get(name, "alpha")])
    assert not usable(file_of(arrays | {name: ARRAY_CHANGES[change](arrays[name])}), tmp_path / "x")


def test_compressed_files_are_refused_unread(files: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(file_of(arrays_of(files["alpha"]), zipfile.ZIP_DEFLATED))
    with pytest.raises(FileFormatError, match="is compressed"):
        WeightPrior.load(tmp_path / "x")
