"""Dead variance: the share of the box in which the re-weighted kernel has next to none is seen, said and warned of."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from tunedprior import Optimizer, TransferConfig, pretrain
from tunedprior.errors import OldDataWarning
from tunedprior.kernels import SquaredExponential, StationarySquaredExponential
from tunedprior.machines import AlphaFit

SPACE = {"x": (-1.0, 1.0), "z": (-1.0, 1.0)}


def wavy(reach: float = 1.0) -> pd.DataFrame:
    """A response of many short waves, over all of the box or around its centre."""
    random = np.random.default_rng(0)
    old = pd.DataFrame(random.uniform(-1, 1, (60, 2)), columns=["x", "z"])
    inside = (old.abs() <= reach).all(axis=1)
    return old.assign(y=np.where(inside, np.sin(9 * old["x"]) * np.cos(8 * old["z"]), 0.0))


def test_the_share_is_that_of_a_fine_grid() -> None:
    prior = pretrain(wavy(), SPACE)
    axis = np.linspace(-1, 1, 41)
    grid = pd.DataFrame([(x, z) for x in axis for z in axis], columns=["x", "z"])
    variance = prior.make_kernel()(prior.to_kernel_inputs(prior.box.encode(grid)), diag=True).detach().numpy()
    expected = (variance < 1e-3 * variance.mean()).mean()
    assert expected > 0.2
    assert prior.dead_share == pytest.approx(expected, abs=0.05)


def test_it_is_explained_and_warned_of() -> None:
    prior = pretrain(wavy(), SPACE)
    explained = prior.explain()
    assert explained.dead_share == prior.dead_share
    assert explained.to_dict()["dead_share"] == prior.dead_share
    assert any(f"{100 * prior.dead_share:.0f} % of the box" in sentence for sentence in explained.sentences)
    with pytest.warns(OldDataWarning, match="below a thousandth of its mean"):
        Optimizer(SPACE, wavy(), "maximize", transfer=TransferConfig("reweighted", kernel=SquaredExponential()), seed=0)


def test_a_kernel_without_an_origin_keeps_its_variance_where_the_response_varies() -> None:
    assert pretrain(wavy(), SPACE, StationarySquaredExponential()).dead_share < 0.05


def test_a_kernel_without_an_origin_is_dead_where_the_response_is_level() -> None:
    prior = pretrain(wavy(reach=0.5), SPACE, StationarySquaredExponential())
    assert prior.dead_share > 0.1
    assert not prior.vanishes


def test_a_smooth_response_leaves_nothing_dead_and_nothing_to_say() -> None:
    random = np.random.default_rng(0)
    old = pd.DataFrame(random.uniform(-1, 1, (40, 2)), columns=["x", "z"])
    explained = pretrain(old.assign(y=old["x"] + old["z"] ** 2), SPACE).explain()
    assert explained.dead_share == 0.0
    assert not any("below a thousandth" in sentence for sentence in explained.sentences)


@pytest.mark.parametrize("kernel", [SquaredExponential(0.3), StationarySquaredExponential(0.3)])
def test_a_prior_vanishes_if_nothing_was_learnt(kernel) -> None:
    prior = pretrain(wavy(), SPACE, kernel)
    assert isinstance(prior.fit, AlphaFit)
    nothing = replace(prior, fit=replace(prior.fit, alpha=0 * prior.fit.alpha))
    assert nothing.vanishes
    assert nothing.dead_share == 1.0
