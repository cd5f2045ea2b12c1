"""A model of one's own: what it is given, what it decides, and when it does not fit."""

import numpy as np
import pandas as pd
import pytest
import torch
from botorch.models.model import Model

from support.builders import SPACE, mixed, old_data, scaled, told_what_it_asked
from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig, pretrain
from tunedprior.errors import InputError
from tunedprior.goals.observations import Observations
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.models.posterior import condition_on_pending
from tunedprior.models.surrogate import Surrogate
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.tuned_prior import TunedPrior


class Remembering:
    """The standard model, and what it was given."""

    def __init__(self, box: Box) -> None:
        self.box = box
        self.given: list[Observations] = []

    def __call__(self, observations: Observations):
        self.given.append(observations)
        return StandardSurrogate(self.box)(observations)


def test_a_model_of_ones_own_gets_the_observations_and_decides() -> None:
    own = Remembering(Box.enclose(Space.parse(SPACE)))
    assert isinstance(own, Surrogate)
    opt, plain = (
        Optimizer(SPACE, direction="minimize", seed=3, search=SearchConfig(initial=3, model=model))
        for model in (own, StandardSurrogate(own.box))
    )
    for _ in range(5):
        setting = opt.ask()
        assert setting == plain.ask()
        for each in (opt, plain):
            each.tell(setting, 100 + 7 * mixed(setting))
    told, last = own.given[-1], [-value for value in opt.history["y"][: len(own.given[-1].y)]]
    np.testing.assert_allclose(told.shift + told.scale * told.y[:, 0], last)
    assert float(told.y.mean()) == pytest.approx(0.0, abs=1e-12)
    assert told.noise_std is None


def test_a_known_noise_reaches_the_model_in_its_units() -> None:
    own = Remembering(Box.enclose(Space.parse(SPACE)))
    opt = Optimizer(SPACE, direction="maximize", noise_std=0.5, search=SearchConfig(initial=3, model=own), seed=0)
    for setting in opt.ask(n=3):
        opt.tell(setting, 10 * mixed(setting))
    opt.ask()
    assert own.given[-1].noise_std == pytest.approx(0.5 / own.given[-1].scale)


def test_the_default_models_can_be_named() -> None:
    prior = pretrain(old_data(scaled(mixed, -1.0), space=SPACE), SPACE)
    runs = []
    for arguments in ({"old_data": prior, "prior": "reweighted"}, {"model": TunedPrior(prior)}):
        opt = make_optimizer(SPACE, seed=2, search=SearchConfig(initial=3), **arguments)
        for _ in range(4):
            setting = opt.ask()
            opt.tell(setting, mixed(setting))
        runs.append(opt.history)
    pd.testing.assert_frame_equal(*runs)


def test_a_model_that_does_not_fit_is_refused() -> None:
    small = StandardSurrogate(Box.enclose(Space.parse({"a": (-0.5, 0.5), "b": (0.0, 5.0)})))
    with pytest.raises(InputError, match="does not hold this search space"):
        Optimizer(SPACE, direction="maximize", search=SearchConfig(model=small), seed=0)
    fitting = StandardSurrogate(Box.enclose(Space.parse(SPACE)))
    with pytest.raises(InputError, match="either a model, or old data"):
        Optimizer(
            SPACE,
            old_data(scaled(mixed, -1.0), space=SPACE),
            direction="maximize",
            search=SearchConfig(model=fitting),
            seed=0,
        )


class NotConditioned(Remembering):
    """A model that cannot be told more: believing has to ask for a new one."""

    def __call__(self, observations: Observations):
        model = super().__call__(observations)
        return Opaque(model)


class Opaque(Model):
    num_outputs = 1

    def __init__(self, inner: Model) -> None:
        super().__init__()
        self.inner = inner

    @property
    def batch_shape(self) -> torch.Size:
        return torch.Size()

    def posterior(self, X, *args, **kwargs):
        return self.inner.posterior(X, *args, **kwargs)


def test_any_model_can_believe_in_what_is_pending() -> None:
    own = NotConditioned(Box.enclose(Space.parse(SPACE)))
    opt = Optimizer(SPACE, direction="maximize", seed=1, search=SearchConfig(initial=4, model=own))
    told_what_it_asked(opt, 4, mixed)
    first, second = opt.ask(n=2)
    assert first != second
    told, believed = own.given[-2:]
    assert len(believed.y) == 5  # the four that were told, and the one that is pending
    expected = StandardSurrogate(own.box)(told).posterior(believed.X[-1:]).mean.item()
    assert believed.y[-1].item() == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("noise_std", [None, 0.01])
def test_pending_points_are_believed_not_observed(noise_std: float | None) -> None:
    opt = Optimizer(
        SPACE,
        direction="maximize",
        seed=1,
        noise_std=noise_std,
        search=SearchConfig(model=StandardSurrogate(Box.enclose(Space.parse(SPACE)))),
    )
    told_what_it_asked(opt, 5, mixed)
    fitted = opt.suggester.fit(opt.trials, opt.seed)
    model, pending = fitted.model, opt.surrogate.box.encode([{"a": 0.9, "b": 4.5}, {"a": -0.9, "b": 0.2}])
    before = model.posterior(pending)
    conditioned, expected = condition_on_pending(model, opt.surrogate, fitted.observations, pending)
    after = conditioned.posterior(pending)
    torch.testing.assert_close(expected, before.mean.squeeze(-1))
    torch.testing.assert_close(after.mean, before.mean, rtol=1e-3, atol=1e-3)
    assert (after.variance < 0.2 * before.variance).all()
