"""Weight priors in files: the same again, old versions, and files that are something else."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from support.builders import PLANT, plant_data
from support.cases import table
from tunedprior import WeightPrior, pretrain
from tunedprior.errors import FileFormatError, InputError
from tunedprior.kernels import (
    DirectProduct,
    DotProduct,
    Exponential,
    Linear,
    LogRatio,
    Polynomial,
    ReweightedKernel,
    SquaredExponential,
    StationarySquaredExponential,
)
from tunedprior.kernels.explicit_features import FeatureKernel
from tunedprior.machines import AlphaFit, FeatureFit
from tunedprior.space.encoding import Axis, Box
from tunedprior.weight_prior.prior_archive import is_weight_prior

SAVED = {
    "squared exponential": {},
    "squared exponential, ARD": {"ard": True},
    "linear": {"kernel": Linear()},
    "polynomial": {"kernel": Polynomial(3)},
    "exponential": {"kernel": Exponential()},
    "log ratio": {"kernel": LogRatio()},
    "dot product": {"kernel": DotProduct([1.0, 0.0, 0.5])},
    "stationary": {"kernel": StationarySquaredExponential()},
    "stationary, ARD": {"kernel": StationarySquaredExponential(), "ard": True},
}


@pytest.mark.parametrize("name", SAVED)
def test_a_saved_prior_is_the_same_prior(name: str, tmp_path: Path) -> None:
    space = PLANT | {"gas": ["air", "argon", "helium"]}
    old = plant_data().assign(gas=["air", "argon"] * 10)
    prior = pretrain(old, space, **SAVED[name])
    prior.save(tmp_path / "prior.tp")
    again = WeightPrior.load(tmp_path / "prior.tp")
    x = prior.to_kernel_inputs(prior.box.encode(old.drop(columns="y")))
    torch.testing.assert_close(
        again.make_kernel()(x).to_dense(), prior.make_kernel()(x).to_dense(), rtol=1e-10, atol=1e-12
    )
    assert again.box == prior.box
    for field in ("lam", "machine", "error", "reach", "response_shift", "response_scale", "vanishes"):
        assert getattr(again, field) == getattr(prior, field)
    assert [path.name for path in tmp_path.iterdir()] == ["prior.tp"]


def test_files_that_are_not_priors_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "prior.tp"
    prior = pretrain(plant_data(), PLANT)
    prior.save(path)
    whole = path.read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(FileFormatError, match="is not a weight prior, or is damaged"):
            WeightPrior.load(path)
    path.write_text("a,b,y\n1,2,3\n")
    with pytest.raises(FileFormatError, match=r"is not a weight prior.*such as a CSV file: learn from it"):
        WeightPrior.load(path)
    assert not is_weight_prior(path)
    with path.open("wb") as file:
        np.savez(file, anything=np.ones(3))
    with pytest.raises(FileFormatError, match="is not a weight prior"):
        WeightPrior.load(path)
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(FileFormatError, match="is not a weight prior"):
        WeightPrior.load(path)
    with pytest.raises(InputError, match="There is no file"):
        WeightPrior.load(tmp_path / "nothing")
    with pytest.raises(InputError, match="is a folder"):
        WeightPrior.load(tmp_path)
    with pytest.raises(InputError, match="is a folder"):
        prior.save(tmp_path)
    with pytest.raises(InputError, match="There is no folder"):
        prior.save(tmp_path / "nothing" / "prior")


def test_priors_are_known_by_their_content(tmp_path: Path) -> None:
    pretrain(plant_data(), PLANT).save(tmp_path / "prior.csv")
    assert is_weight_prior(tmp_path / "prior.csv")
    assert is_weight_prior(str(tmp_path / "prior.csv"))
    with (tmp_path / "arrays").open("wb") as file:
        np.savez(file, anything=np.ones(3))
    for other in (tmp_path / "arrays", tmp_path, tmp_path / "nothing", "\0"):
        assert not is_weight_prior(other)


def test_saving_keeps_the_mode_of_a_file_and_leaves_others_alone(tmp_path: Path) -> None:
    path, beside = tmp_path / "prior", tmp_path / "prior.part"
    beside.write_text("somebody's own")
    path.touch(mode=0o600)
    pretrain(plant_data(), PLANT).save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert beside.read_text() == "somebody's own"


@pytest.mark.parametrize("choice", [("a", 1), float("nan"), frozenset()], ids=str)
def test_categories_that_a_file_cannot_hold_are_refused_when_saving(choice: object, tmp_path: Path) -> None:
    prior = pretrain(plant_data(), PLANT)
    axes = (*prior.box.axes[:1], Axis("gas", choices=("air", choice)))
    with pytest.raises(InputError, match=r"cannot be saved.*Categories must be text"):
        replace(prior, box=Box(axes), anchors=torch.ones(20, 3).double()).save(tmp_path / "prior")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "format version 99; this tunedprior reads up to 2"),
        ({"format": "something else"}, "does not hold a weight prior"),
        ({"kernel": "Matern"}, "names a kernel 'Matern'"),
    ],
)
def test_newer_and_foreign_headers_are_refused(change: dict, message: str, tmp_path: Path) -> None:
    path = tmp_path / "prior.tp"
    pretrain(plant_data(), PLANT).save(path)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(bytes(arrays["header"])) | change
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(FileFormatError, match=message):
        WeightPrior.load(path)


def test_files_of_the_first_version_can_still_be_read(tmp_path: Path) -> None:
    anchors, alpha = table(3, 2, low=-1, high=1), torch.tensor([0.5, -1.0, 0.25], dtype=torch.float64)
    header = {
        "format": "tunedprior weight prior",
        "version": 1,
        "kernel": "SquaredExponential",
        "arguments": {"lengthscale": [0.75]},
        "axes": [{"name": name, "low": 0.0, "high": 1.0, "log": False, "choices": None} for name in ("a", "b")],
        "lam": 0.1,
        "machine": "LeastSquares",
        "error": 0.2,
        "reach": 1.0,
        "response_shift": 5.0,
        "response_scale": 2.0,
    }
    with (tmp_path / "prior.tp").open("wb") as file:
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        np.savez(file, header=text, anchors=anchors.numpy(), alpha=alpha.numpy())
    prior = WeightPrior.load(tmp_path / "prior.tp")
    assert isinstance(prior.fit, AlphaFit)
    assert (prior.lam, prior.error, prior.response_shift, prior.response_scale) == (0.1, 0.2, 5.0, 2.0)
    x = table(5, 2, seed=1)
    exact = ReweightedKernel(SquaredExponential(torch.tensor([0.75], dtype=torch.float64)), anchors, alpha)(
        x
    ).to_dense()
    torch.testing.assert_close(prior.make_kernel()(x).to_dense(), exact.detach(), rtol=0, atol=1e-5)


def test_the_file_holds_no_pickle(tmp_path: Path) -> None:
    pretrain(plant_data(), PLANT).save(tmp_path / "prior.tp")
    with zipfile.ZipFile(tmp_path / "prior.tp") as archive:
        assert sorted(archive.namelist()) == ["alpha.npy", "anchors.npy", "header.npy"]
        assert all(b"|O" not in archive.read(name)[:128] for name in archive.namelist())


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ard": True},
        {"kernel": Polynomial(5)},
        {"kernel": Exponential()},
        {"kernel": DirectProduct([1.0, 1.0, 0.5])},
    ],
    ids=["squared exponential", "ARD", "polynomial", "exponential", "direct product"],
)
def test_a_saved_prior_without_alpha_is_the_same_prior(options: dict, tmp_path: Path) -> None:
    prior = pretrain(plant_data(150), PLANT, rows_with_alpha=50, **options)
    prior.save(tmp_path / "prior.tp")
    again = WeightPrior.load(tmp_path / "prior.tp")
    x = prior.reach * table(20, 2, low=-1, high=1)
    assert isinstance(prior.fit, FeatureFit)
    assert isinstance(again.make_kernel(), FeatureKernel)
    assert len(again.alpha) == 0
    torch.testing.assert_close(
        again.make_kernel()(x).to_dense(), prior.make_kernel()(x).to_dense(), rtol=1e-12, atol=1e-14
    )
    torch.testing.assert_close(again.fit(x), prior.fit(x), rtol=1e-12, atol=1e-14)
    assert torch.equal(again.fit.factor, prior.fit.factor)
    assert torch.equal(again.anchors, prior.anchors)
    assert (again.fit.signal, again.fit.lam, again.fit.feature_map.missing) == (
        prior.fit.signal,
        prior.fit.lam,
        prior.fit.feature_map.missing,
    )
    assert (again.error, again.vanishes) == (prior.error, False)


def test_a_file_that_lacks_a_part_is_refused(tmp_path: Path) -> None:
    prior = pretrain(plant_data(150), PLANT, rows_with_alpha=50)
    prior.save(tmp_path / "prior")
    with np.load(tmp_path / "prior") as archive:
        arrays = {name: archive[name] for name in archive.files if name != "factor"}
    with (tmp_path / "damaged").open("wb") as file:
        np.savez(file, **arrays)
    with pytest.raises(FileFormatError, match="lacks 'factor'"):
        WeightPrior.load(tmp_path / "damaged")
