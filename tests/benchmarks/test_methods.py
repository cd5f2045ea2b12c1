"""Every method of the comparison, behind the optimiser and with old data that says little."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.methods.by_name import ALL_METHODS, METHODS, RIVAL_VARIANTS, OldData
from benchmarks.methods.rivals import Envelope
from benchmarks.methods.rivals.source import Source
from tunedprior import Optimizer, SearchConfig
from tunedprior.campaign import simulate
from tunedprior.errors import InputError
from tunedprior.goals.observations import Observations
from tunedprior.space.search_space import Setting, Space

# linear_operator builds sparse tensors for task indices, and torch warns whoever does so.
# A rival may meet a variance just below zero on one machine and not on another, and rounds it up with a warning.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning"),
    pytest.mark.filterwarnings("ignore:Negative variance values detected"),
]

SPACE = {"a": (0.0, 2.0), "b": (-1.0, 1.0)}
X_NEW = torch.tensor([[0.1, -0.7], [-0.9, 0.2], [0.5, 0.9]], dtype=torch.float64)  # codes
# Methods of a family differ in their acquisition alone, which no posterior depends on.
ONE_OF_EACH_FAMILY = {method.family: name for name, method in (METHODS | RIVAL_VARIANTS).items()}.values()


def truth(setting: Setting) -> float:
    return math.sin(2 * setting["a"]) + setting["b"] ** 2 * setting["a"]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.usefixtures("short_search")
def test_every_method_runs_behind_the_optimiser(name: str, old: pd.DataFrame) -> None:
    method = METHODS[name]
    surrogate = method.surrogate(OldData(old, SPACE, "minimize", 0))
    opt = Optimizer(
        SPACE,
        direction="minimize",
        search=SearchConfig(acquisition=method.acquisition, initial=4, model=surrogate),
        seed=0,
    )
    simulate(opt, truth, 4)
    # Searching the box takes long, and needs the model's gradients; what the acquisition is changes nothing there.
    pool = Space.parse(SPACE).sobol(64, 1) if method.acquisition == "ucb" else None
    first, second = opt.ask(n=2, candidates=pool)  # the second believes in the first
    assert first != second
    assert all(0 <= setting["a"] <= 2 and -1 <= setting["b"] <= 1 for setting in (first, second))


@pytest.mark.parametrize(
    "name", [name for name, method in (METHODS | RIVAL_VARIANTS).items() if method.acquisition == "ei"]
)
@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")  # flat data is meant to be noticed
def test_flat_old_data_breaks_no_method(name: str, old: pd.DataFrame, observations: Observations) -> None:
    flat = OldData(old.assign(y=2.0), SPACE, "maximize", 0)
    posterior = ALL_METHODS[name].surrogate(flat)(observations).posterior(X_NEW)
    assert torch.isfinite(posterior.mean).all()
    assert (posterior.variance > 0).all()


def test_minimised_old_data_is_turned_but_labels_are_not(old: pd.DataFrame) -> None:
    assert torch.equal(Source.read(old, SPACE, "minimize").y, -Source.read(old, SPACE).y)
    labels = old.assign(y=np.where(old["y"] > 2, "pass", "fail"))
    assert torch.equal(Source.read(labels, SPACE, "minimize").y, Source.read(labels, SPACE).y)


@pytest.mark.parametrize("name", ONE_OF_EACH_FAMILY)
def test_one_observation_is_enough_for_a_posterior(name: str, old: pd.DataFrame, observations: Observations) -> None:
    one = Observations(observations.X[:1], torch.zeros(1, 1).double(), None, 0.3, 1.0)
    posterior = ALL_METHODS[name].surrogate(OldData(old, SPACE, "maximize", 0))(one).posterior(X_NEW)
    assert torch.isfinite(posterior.mean).all()
    assert (posterior.variance > 0).all()


def test_rivals_refuse_a_known_noise(source: Source, observations: Observations) -> None:
    known = Observations(observations.X, observations.y, noise_std=0.1)
    with pytest.raises(InputError, match="leave noise_std out"):
        Envelope(source)(known)


def test_unit_diagonal_has_gradients(old: pd.DataFrame, observations: Observations) -> None:
    surrogate = ALL_METHODS["TP-EI-BO (as printed, unit diagonal)"].surrogate(OldData(old, SPACE, "maximize", 0))
    model = surrogate(observations)
    x = X_NEW.clone().requires_grad_()
    model.posterior(x).mean.sum().backward()
    step = 1e-3  # the rounding of the cancelling sum shows with shorter ones
    for row, column in ((0, 0), (2, 1)):
        moved = [X_NEW.clone(), X_NEW.clone()]
        moved[0][row, column] += step
        moved[1][row, column] -= step
        high, low = (model.posterior(each).mean.sum().item() for each in moved)
        assert x.grad[row, column].item() == pytest.approx((high - low) / (2 * step), rel=1e-4, abs=1e-6)
