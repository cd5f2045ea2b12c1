"""What is shared without rows: of use, and nobody finds a row in it, however hard it is looked for."""

import struct
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.problems.attacks import ATTACKS, chance
from tunedprior import Optimizer, SearchConfig, TransferConfig, WeightPrior, pretrain
from tunedprior.errors import InputError
from tunedprior.kernels import Polynomial
from tunedprior.model_averaging import average_archive
from tunedprior.weight_prior import prior_archive

NAMES = ("speed", "conc")
SPACE = {"speed": (10.0, 90.0), "conc": (0.0, 2.0)}


def old_rows(count: int, seed: int = 0, rough: float = 2.0) -> pd.DataFrame:
    """Rows evenly from the space, none at its edge, and a response that changes as fast as `rough` says."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"speed": random.uniform(10.5, 89.5, count), "conc": random.uniform(0.01, 1.99, count)})
    x, z = table["speed"] / 40 - 1.25, table["conc"] - 1
    table["y"] = 7 + np.sin(rough * x) + np.cos(0.7 * rough * z + x) + 0.01 * random.normal(size=count)
    return table


def codes(table: pd.DataFrame) -> torch.Tensor:
    """The rows as the box of the space has them."""
    return torch.as_tensor(np.column_stack([table["speed"] / 40 - 1.25, table["conc"] - 1]))


def test_no_row_and_no_response_is_in_the_file(tmp_path: Path) -> None:
    """Neither as bytes nor as text, neither in the user's units nor in those of the model."""
    table = old_rows(40)
    prior = pretrain(table, SPACE)
    assert "line" not in "".join(prior.places)

    def found_in(path: Path) -> int:
        data = path.read_bytes()
        scaled = codes(table).numpy()
        response = (table["y"] - prior.response_shift) / prior.response_scale
        values = np.concatenate([table.to_numpy().ravel(), scaled.ravel(), prior.anchors.numpy().ravel(), response])
        values = np.concatenate([values, prior.alpha.numpy()])
        as_bytes = sum(struct.pack("<d", value) in data for value in values)
        return as_bytes + sum(f"{value:.6g}".encode() in data for value in values)

    prior.save(tmp_path / "full.prior")
    prior.save(tmp_path / "anonymous.prior", anonymous=True)
    assert found_in(tmp_path / "full.prior") >= 3 * len(table)
    assert found_in(tmp_path / "anonymous.prior") == 0


def test_other_numbers_are_round() -> None:
    """A mean, a spread or a length-scale to all digits may tell of a row; two digits do not."""
    prior = pretrain(old_rows(40), SPACE).drop_rows()
    assert all(float(f"{one:.2g}") == one for one in (prior.response_scale, prior.error, prior.lam))
    assert prior.response_shift / prior.response_scale == pytest.approx(
        round(prior.response_shift / prior.response_scale, 1)
    )
    lengths = prior.base.lengthscale.flatten().tolist()
    assert lengths == [float(f"{one:.2g}") for one in lengths]


def test_the_ends_of_old_data_are_not_those_of_the_box() -> None:
    table = old_rows(40)
    wide = pretrain(table, {"speed": (40.0, 60.0), "conc": (0.5, 1.5)})
    assert wide.box.axes[0].low == table["speed"].min()
    rounded = wide.drop_rows().box.axes
    assert [(axis.low, axis.high) for axis in rounded] == [(10.0, 90.0), (0.1, 2.0)]
    logarithmic = pretrain(table, {"speed": (40.0, 60.0, "log"), "conc": (0.5, 1.5)}).drop_rows().box.axes[0]
    assert logarithmic.decode(-1.0) == pytest.approx(10.0)
    assert logarithmic.decode(1.0) == pytest.approx(np.ceil(table["speed"].max()))
    assert pretrain(table, SPACE).drop_rows().box == pretrain(table, SPACE).box


SETS = [(count, seed, rough) for count in (16, 40) for rough in (3.0, 12.0) for seed in range(3)]


@pytest.mark.parametrize("high", [5.0, 3.0, 0.7, 1e4])
def test_a_logarithmic_range_is_covered_to_the_last_digit(high: float) -> None:
    """exp(log(5)) is a little below 5, so that an end rounded from there lay within the range."""
    old = old_rows(40).rename(columns={"conc": "flow"})
    old["flow"] = np.exp(np.linspace(np.log(0.1), np.log(high), len(old)))
    space = {"speed": (10.0, 90.0), "flow": (0.1, high, "log")}
    opt = Optimizer(
        space,
        pretrain(old, space).drop_rows(),
        direction="maximize",
        seed=0,
        transfer=TransferConfig(prior="reweighted"),
    )
    assert 0.1 <= opt.ask()["flow"] <= high


@pytest.fixture(scope="module")
def attacked() -> dict[tuple[str, bool], list[float]]:
    """How each attack does against both files, over several data sets."""
    found: dict[tuple[str, bool], list[float]] = {}
    for count, seed, rough in SETS:
        table = old_rows(count, seed, rough)
        full = pretrain(table, SPACE)
        for is_anonymous, prior in ((False, full), (True, full.drop_rows())):
            for name, attack in ATTACKS.items():
                found.setdefault((name, is_anonymous), []).append(chance(attack(prior, count), codes(table), 100))
    return found


@pytest.mark.parametrize("attack", ATTACKS)
def test_rows_are_not_found(attack: str, attacked: dict[tuple[str, bool], list[float]]) -> None:
    """What attacks guess lies no nearer to the rows than to other data sets. Against the full file it does."""
    full, anonymous = (np.array(attacked[attack, is_anonymous]) for is_anonymous in (False, True))
    assert (full <= 0.05).mean() > 0.3, full
    # Each is evenly distributed over 0 to 1 by chance; so many of twelve below 0.05 happen once in 300 times.
    assert (anonymous <= 0.05).sum() <= 3, anonymous
    assert 0.2 < anonymous.mean() < 0.8


@pytest.mark.parametrize("kernel", [None, Polynomial(3, 1.0)])
def test_what_was_learnt_is_nearly_the_same(kernel: Polynomial | None) -> None:
    full = pretrain(old_rows(60), SPACE, kernel=kernel)
    shared = full.drop_rows()
    x = 2 * torch.rand(200, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    before, after = (one.response_shift + one.response_scale * one.fit(x) for one in (full, shared))
    assert float((before - after).square().mean().sqrt()) < 0.02 * float(before.std())
    with torch.no_grad():
        kernels = [one.response_scale**2 * one.make_kernel()(x).to_dense() for one in (full, shared)]
    assert torch.corrcoef(torch.stack([one.flatten() for one in kernels]))[0, 1] > 0.99
    assert float(kernels[1].diagonal().mean() / kernels[0].diagonal().mean()) == pytest.approx(1.0, rel=0.15)


@pytest.mark.parametrize("prior", ["average", "reweighted"])
def test_it_serves_as_old_data(tmp_path: Path, prior: str) -> None:
    table = old_rows(60)
    pretrain(table, SPACE).save(tmp_path / "shared.prior", anonymous=True)
    del table
    opt = Optimizer(
        SPACE, tmp_path / "shared.prior", direction="maximize", seed=0, transfer=TransferConfig(prior=prior)
    )
    for _ in range(5):
        setting = opt.ask()
        opt.tell(setting, float(old_response(setting)))
    best = max(old_response({"speed": s, "conc": c}) for s in np.linspace(10, 90, 41) for c in np.linspace(0, 2, 41))
    assert opt.best.value > best - 0.15


def old_response(setting: dict) -> float:
    x, z = setting["speed"] / 40 - 1.25, setting["conc"] - 1
    return 7 + np.sin(2 * x) + np.cos(1.4 * z + x)


def test_explanations_name_no_rows(tmp_path: Path) -> None:
    pretrain(old_rows(40), SPACE).save(tmp_path / "shared.prior", anonymous=True)
    shared = WeightPrior.load(tmp_path / "shared.prior")
    assert shared.is_anonymous
    assert "left out" in repr(shared)
    opt = Optimizer(SPACE, shared, direction="maximize", seed=0)
    again = average_archive.decode_average(average_archive.encode_average(opt.surrogate))
    for found in (
        shared.explain(),
        opt.explain(),
        Optimizer(SPACE, direction="maximize", search=SearchConfig(model=again), seed=0).explain(),
    ):
        assert found.rows.empty
        assert any("left out" in sentence for sentence in found.sentences)
        assert len(found.inputs) == 2


@pytest.mark.filterwarnings("ignore:old data")
def test_categories_and_many_rows() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"gas": random.choice(["air", "argon"], 60), "x": random.uniform(0, 1, 60), "k": 3.0})
    table["y"] = (table["gas"] == "air") * table["x"]
    space = {"gas": ["air", "argon"], "x": (0.0, 1.0), "k": (3.0, 3.0)}
    for most in (500, 30):
        full = pretrain(table, space, rows_with_alpha=most)
        shared = full.drop_rows()
        grid = shared.box.encode(pd.DataFrame({"gas": ["air", "argon"] * 5, "x": np.linspace(0, 1, 10), "k": 3.0}))
        before, after = (
            one.response_shift + one.response_scale * one.fit(one.to_kernel_inputs(grid)) for one in (full, shared)
        )
        np.testing.assert_allclose(after, before, atol=0.05 * float(before.std()))
        assert set(map(tuple, shared.anchors[:, :2].tolist())) == {(1.0, -1.0), (-1.0, 1.0)}


def test_twice_is_once_and_few_rows_are_too_few(tmp_path: Path) -> None:
    shared = pretrain(old_rows(12), SPACE).drop_rows()
    assert shared.drop_rows() is shared
    shared.save(tmp_path / "a.prior")
    assert prior_archive.encode_prior(WeightPrior.load(tmp_path / "a.prior")) == prior_archive.encode_prior(shared)
    with pytest.raises(InputError, match="9 different settings cannot be told"):
        pretrain(old_rows(9), SPACE).save(tmp_path / "b.prior", anonymous=True)
    assert not (tmp_path / "b.prior").exists()
