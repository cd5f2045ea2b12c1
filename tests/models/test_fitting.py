"""Fitting a Gaussian process: known noise, the standard model, and a warning where fitting fails."""

import pytest
import torch
from botorch.exceptions.errors import ModelFittingError
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood

from support.builders import SPACE, box_of, observed
from tunedprior.errors import FittingWarning
from tunedprior.models import gaussian_process
from tunedprior.models.gaussian_process import LEAST_NOISE, StandardSurrogate


def test_the_standard_model_follows_observations() -> None:
    observations = observed(12, noise_std=0.0)
    posterior = StandardSurrogate(box_of(SPACE))(observations).posterior(observations.X)
    torch.testing.assert_close(posterior.mean, observations.y, rtol=0, atol=0.02)


@pytest.mark.parametrize(("noise_std", "variance"), [(0.3, 0.09), (0.0, LEAST_NOISE)])
def test_a_known_noise_is_not_learnt(noise_std: float, variance: float) -> None:
    model = StandardSurrogate(box_of(SPACE))(observed(6, noise_std=noise_std))
    assert isinstance(model.likelihood, FixedNoiseGaussianLikelihood)
    units = observed(6).y.var()  # BoTorch standardises once more, with n - 1
    assert (units * model.likelihood.noise).tolist() == pytest.approx([variance] * 6)


def test_a_fit_that_fails_is_said_and_goes_on_with_what_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_args, **_more) -> None:
        raise ModelFittingError("All attempts to fit the model have failed.")

    monkeypatch.setattr(gaussian_process, "fit_gpytorch_mll", fails)
    with pytest.warns(FittingWarning, match="could not be fitted .*going on with those it had") as caught:
        model = StandardSurrogate(box_of(SPACE))(observed(6))
    assert caught[0].filename == __file__
    assert torch.isfinite(model.posterior(observed(6).X).mean).all()
