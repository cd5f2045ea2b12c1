"""Old data that says nothing: it is said, and plain optimisation goes on."""

import warnings

import numpy as np
import pandas as pd
import pytest

from support.builders import SPACE, mixed, old_data, scaled
from tunedprior import Optimizer, TransferConfig, WeightPrior, pretrain
from tunedprior.errors import InputError, OldDataWarning
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import SupportVectorRegressor


@pytest.mark.parametrize(
    ("old", "reason"),
    [
        (old_data(scaled(mixed, -1.0), space=SPACE).iloc[:0], "is empty"),
        (
            old_data(scaled(mixed, -1.0), space=SPACE).iloc[:1],
            "it has 1",
        ),
        (
            old_data(scaled(mixed, -1.0), space=SPACE).assign(y=2.0),
            "never varies",
        ),
        # Nothing is learnt from there, so nothing is scaled to it either.
        (
            old_data(scaled(mixed, -1.0), space=SPACE).assign(y=2.0, a=[-9.0, 9.0] * 15),
            "never varies",
        ),
    ],
    ids=["empty", "one row", "constant", "constant, and far away"],
)
@pytest.mark.parametrize("prior", ["average", "reweighted"])
def test_old_data_that_says_nothing_is_said_and_left_out(old: pd.DataFrame, reason: str, prior: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt = Optimizer(SPACE, old, direction="maximize", seed=1, transfer=TransferConfig(prior=prior))
    messages = [str(w.message) for w in caught if w.category is OldDataWarning]
    assert any(reason in message and "Going on without old data" in message for message in messages)
    assert opt.surrogate.sources == ()
    assert "none is used" in str(opt.old_data_report)
    plain = Optimizer(SPACE, direction="maximize", seed=1)
    for _ in range(4):
        setting = opt.ask()
        assert setting == plain.ask()
        opt.tell(setting, mixed(setting))
        plain.tell(setting, mixed(setting))


@pytest.mark.parametrize("prior", ["average", "reweighted", "as printed"])
@pytest.mark.parametrize("seed", [4, 39])
def test_old_data_that_varies_by_rounding_says_nothing(prior: str, seed: int) -> None:
    """Easom on [-100, 100]² far from its well: 1 - f differs in the sixteenth digit, on these seeds."""
    x = np.random.default_rng(seed).uniform(-1, 1, (50, 2))
    well = -np.cos(100 * x).prod(1) * np.exp(-((100 * x - np.pi) ** 2).sum(1))
    flat = pd.DataFrame(x, columns=["p", "q"]).assign(y=1 - (0.009 - well) / 1.009)
    assert 0 < flat["y"].std() < 1e-15
    with pytest.warns(OldDataWarning, match=r"(never varies|but for rounding).* Going on without old data"):
        opt = Optimizer(
            {"p": (-1.0, 1.0), "q": (-1.0, 1.0)},
            flat,
            direction="maximize",
            transfer=TransferConfig(prior=prior),
            seed=0,
        )
    assert opt.surrogate.sources == ()


@pytest.mark.parametrize("prior", ["average", "reweighted"])
@pytest.mark.filterwarnings("ignore:The machine learnt nothing")
def test_a_vanishing_kernel_is_said_and_left_out(prior: str) -> None:
    nothing = pretrain(
        old_data(scaled(mixed, -1.0), space=SPACE), SPACE, machine=SupportVectorRegressor(1.0, epsilon=5.0)
    )
    assert nothing.vanishes
    with pytest.warns(OldDataWarning, match=r"vanishes\. Going on without old data"):
        opt = Optimizer(SPACE, nothing, direction="maximize", transfer=TransferConfig(prior=prior), seed=0)
    assert opt.surrogate.sources == ()
    assert opt.ask()


def test_a_prior_learnt_before_can_be_used_again(tmp_path) -> None:
    prior = pretrain(old_data(scaled(mixed, -1.0), space=SPACE), SPACE)
    prior.save(tmp_path / "prior")
    read = WeightPrior.load(tmp_path / "prior")
    loaded, fresh = (
        Optimizer(
            SPACE,
            old,
            direction="maximize",
            transfer=TransferConfig(prior="reweighted", kernel=SquaredExponential()),
            seed=0,
        )
        for old in (read, old_data(scaled(mixed, -1.0), space=SPACE))
    )
    for opt in (loaded, fresh):
        opt.tell({"a": 0.2, "b": 2.0}, 1.0)
    assert loaded.ask() == fresh.ask()
    with pytest.raises(InputError, match="does not cover this search space"):
        Optimizer({"a": (-1.0, 1.0), "c": (0.0, 1.0)}, prior, direction="maximize", seed=0)
