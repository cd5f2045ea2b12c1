"""Every prior that may be asked for, and what it may be asked with."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from optuna.distributions import IntDistribution

from support.builders import (
    PLANT,
    SPACE,
    bowl,
    flipped,
    old_data,
    plant_data,
    ripple,
    scaled,
    settings_of_plant,
    smooth,
    told,
    unrelated,
)
from support.cases import table
from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig, TransferConfig, pretrain
from tunedprior.errors import InputError
from tunedprior.kernels import Linear, LogRatio, Polynomial
from tunedprior.model_averaging.average import Average
from tunedprior.space.search_space import Space
from tunedprior.suggestion.config import list_prior_names
from tunedprior.weight_prior import TunedPrior

POOL = Space.parse(SPACE).sobol(200, seed=3)


@pytest.mark.parametrize("prior", list_prior_names())
def test_every_prior_suggests(prior: str) -> None:
    opt = told(
        Optimizer(
            SPACE, old_data(flipped, rows=15), direction="maximize", seed=1, transfer=TransferConfig(prior=prior)
        ),
        4,
    )
    kinds = {"average": Average, "uninformed": Average, "as printed": TunedPrior}
    assert isinstance(opt.surrogate, kinds.get(prior, Average))
    if prior not in kinds:
        assert {label.belief for label in opt.surrogate.hypotheses.labels} == {prior}
    setting = opt.ask(candidates=POOL)
    assert setting in POOL
    assert np.isfinite(opt.predict(POOL)).all(axis=None)
    assert Optimizer(SPACE, direction="maximize", transfer=TransferConfig(prior=prior), seed=0).surrogate.sources == ()


def test_an_unknown_prior_is_refused() -> None:
    for old in (None, old_data(rows=5)):
        with pytest.raises(InputError, match=f"prior must be one of {', '.join(list_prior_names())}; got 'averaged'"):
            Optimizer(SPACE, old, direction="maximize", transfer=TransferConfig(prior="averaged"), seed=0)


def test_a_weight_prior_is_one_fit() -> None:
    learnt = pretrain(old_data(scaled(smooth, -2.0)), SPACE)
    opt = told(Optimizer(SPACE, learnt, direction="maximize", seed=0), 6)
    (known,) = opt.surrogate.sources
    (fit,) = known.fits
    assert fit.kernel is learnt.base
    torch.testing.assert_close(fit.alpha, learnt.alpha)
    assert opt.trust.relations["slope"].item() == pytest.approx(-0.5, rel=0.1)
    assert opt.ask(candidates=POOL) in POOL
    with pytest.raises(InputError, match="must be the only old data; got 2 sets"):
        Optimizer(SPACE, [learnt, old_data()], direction="maximize", seed=0)


def test_a_kernel_of_ones_own_learns() -> None:
    opt = told(
        Optimizer(
            SPACE, old_data(bowl, rows=20), direction="maximize", transfer=TransferConfig(kernel=Polynomial(2)), seed=0
        ),
        6,
        bowl,
    )
    assert isinstance(opt.surrogate, Average)
    assert isinstance(opt.surrogate.sources[0].fits[0].kernel, Polynomial)
    trust = opt.trust
    assert "shape" not in trust.history  # it has no length-scales to share
    assert trust.relations["slope"].item() == pytest.approx(1.0, abs=0.1)
    assert opt.predict(POOL)["mean"].sub([bowl(setting) for setting in POOL]).abs().max() < 0.1
    with pytest.raises(InputError, match="LogRatio is not"):
        Optimizer(SPACE, old_data(rows=10), direction="maximize", transfer=TransferConfig(kernel=LogRatio()), seed=0)
    for options in ({"kernel": Linear()}, {"prior": "reweighted", "ard": True}):
        with pytest.raises(InputError, match=r"learns from one old data set; got 2 \(old data 1, old data 2\)"):
            make_optimizer(SPACE, [old_data(rows=10), old_data(unrelated, rows=10)], **options)


def test_categories_and_whole_numbers_can_be_averaged_over() -> None:
    space = {"x": (0.0, 1.0), "n": IntDistribution(1, 7, step=2), "gas": ["air", "argon", "helium"]}
    bonus = {"air": 0.0, "argon": 1.0, "helium": 0.3}

    def response(setting: dict) -> float:
        return math.sin(3 * setting["x"]) * bonus[setting["gas"]] - (setting["n"] / 7 - 0.6) ** 2

    old = pd.DataFrame(Space.parse(space).sobol(60, seed=9))
    old["y"] = [-response(row) for row in old.to_dict("records")]
    pool = Space.parse(space).sobol(100, seed=4)
    opt = Optimizer(space, old, direction="maximize", seed=1, search=SearchConfig(initial=3))
    for _ in range(6):
        setting = opt.ask(candidates=pool)
        assert isinstance(setting["n"], int)
        opt.tell(setting, response(setting))
    assert opt.best.setting["gas"] == "argon"
    assert opt.best.value >= sorted(map(response, pool))[-5]
    free = opt.ask()
    assert 0 <= free["x"] <= 1
    assert free["n"] in (1, 3, 5, 7)


@pytest.mark.slow
def test_labels_say_which_way_is_up() -> None:
    old = old_data()
    old["y"] = np.where(old["y"] > 0, "pass", "fail")
    opt = told(Optimizer(SPACE, old, direction="maximize", seed=0), 4)
    assert isinstance(opt.surrogate, Average)
    assert opt.trust.relations["positive"].item() > 0.9
    assert opt.ask(candidates=POOL) in POOL


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("prior", [prior for prior in list_prior_names() if prior != "uninformed"])
def test_an_optimizer_with_many_old_rows_knows_their_function(prior: str) -> None:
    old = plant_data(650, noise=0.1)
    opt = Optimizer(
        PLANT, old, direction="maximize", seed=1, search=SearchConfig(initial=2), transfer=TransferConfig(prior=prior)
    )
    for _ in range(4):
        setting = opt.ask()
        assert 0 <= setting["a"] <= 10
        assert 0 <= setting["b"] <= 1
        x = torch.tensor([[setting["a"] / 5 - 1, 2 * setting["b"] - 1]], dtype=torch.float64)
        opt.tell(setting, float(ripple(x)))
    z = table(40, 2, seed=8, low=-0.9, high=0.9)
    settings = settings_of_plant(z)
    assert np.isfinite(opt.predict(settings).to_numpy()).all()
    if isinstance(opt.surrogate, TunedPrior):
        expected = opt.surrogate.prior.fit(z)
    else:
        expected = opt.surrogate.sources[0].fits[0](z)
    assert np.corrcoef(expected, ripple(z))[0, 1] > 0.99
    if prior in ("average", "aligned"):
        assert np.corrcoef(opt.predict(settings)["mean"], ripple(z))[0, 1] > 0.97
