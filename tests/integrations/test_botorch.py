"""BoTorch's own tools on `TunedPriorGP` and `TunedPriorEnsemble`, with tensors in units of all sizes."""

import copy
import io
import pickle
import warnings

import pytest
import torch
from botorch.acquisition import LogExpectedImprovement, qKnowledgeGradient, qLogNoisyExpectedImprovement
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.cross_validation import batch_cross_validation, gen_loo_cv_folds
from botorch.exceptions.warnings import InputDataWarning, OptimizationWarning
from botorch.fit import fit_gpytorch_mll
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.model import ModelList
from botorch.models.transforms import Log, Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.sampling.get_sampler import get_sampler
from gpytorch.kernels import Kernel
from gpytorch.mlls import ExactMarginalLogLikelihood, SumMarginalLogLikelihood

from support.cases import table
from support.mixtures import sampler
from support.tensors import (
    BOUNDS,
    OLD,
    OTHER,
    TEST,
    X_OLD,
    X,
    Y,
    ensemble,
    error,
    gp,
    mean_of,
    response,
    same_predictions,
)
from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.goals.observations import Observations
from tunedprior.integrations.botorch import TunedPriorGP, pretrain_on_tensors
from tunedprior.integrations.tensors import KernelInputMap
from tunedprior.machines import Fit
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.weight_prior.tuned_prior import TunedPrior

# -- what they are -------------------------------------------------------------------------------------


def test_it_is_algorithm_1_in_other_units() -> None:
    """The posterior of `TunedPrior`, which computes in codes, at the same parameters."""
    prior = pretrain_on_tensors(*OLD, BOUNDS)
    model, y = gp(prior="reweighted", remainder=False), (Y - Y.mean()) / Y.std()
    ours = TunedPrior(prior)(Observations(_codes(X), y))
    covariance, likelihood = ours.covar_module, ours.likelihood
    covariance.outputscale = model.covar_module.outputscale.detach()
    likelihood.noise = model.likelihood.noise.detach()
    # Standardize of standardised observations is the identity.
    ours.mean_module.constant.data = model.mean_module.constant.data
    ours.train().eval()
    found, expected = model.posterior(TEST), ours.posterior(_codes(TEST))
    torch.testing.assert_close(found.mean, Y.mean() + Y.std() * expected.mean, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(found.variance, Y.var() * expected.variance, rtol=1e-6, atol=1e-7)


def _codes(X: torch.Tensor) -> torch.Tensor:
    return (2 * X - BOUNDS[0] - BOUNDS[1]) / (BOUNDS[1] - BOUNDS[0])


@pytest.mark.parametrize(
    "make", [gp, lambda: gp(prior="reweighted", remainder=False), ensemble], ids=["default", "paper", "average"]
)
def test_old_data_pays_off(make) -> None:
    plain = SingleTaskGP(X, Y, input_transform=Normalize(2, bounds=BOUNDS))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(plain.likelihood, plain))
    assert error(make()) < 0.5 * error(plain)


def test_the_fit_changes_amplitude_mean_and_noise_alone() -> None:
    before, after = gp(fitted=False, remainder=False), gp(remainder=False)
    changed = {name for name, value in after.state_dict().items() if not torch.equal(value, before.state_dict()[name])}
    assert changed == {
        "likelihood.noise_covar.raw_noise",
        "mean_module.raw_constant",
        "covar_module.raw_outputscale",
    }


def test_an_ensemble_is_the_mixture_in_other_units() -> None:
    model = ensemble()
    mixture = model.mixture
    assert isinstance(mixture, MixtureOfProcesses)
    assert model.batch_shape == torch.Size([64])
    inner = mixture.posterior(_codes(TEST))
    spread = Y.std(correction=0)
    torch.testing.assert_close(model.posterior(TEST).mean, Y.mean() + spread * inner.mean)
    torch.testing.assert_close(model.posterior(TEST).variance, spread**2 * inner.variance)


# -- transforms, units, noise --------------------------------------------------------------------------


def test_an_input_transform_changes_nothing() -> None:
    """Old settings go through it too, with ranges taken from the training data."""
    same_predictions(gp(), gp(input_transform=Normalize(2, bounds=BOUNDS)), rtol=1e-3)
    same_predictions(ensemble(), ensemble(input_transform=Normalize(2, bounds=BOUNDS)), rtol=1e-5)
    learnt = Normalize(2)
    found = gp(input_transform=learnt)
    torch.testing.assert_close(learnt.mins.flatten(), X.amin(0))
    same_predictions(gp(), found, rtol=1e-2)


def test_outcome_transforms_are_kept() -> None:
    for transform in (None, Standardize(1), Log()):
        model = gp(outcome_transform=transform)
        assert (mean_of(model, X) - Y).abs().max().item() < 1.0
    torch.testing.assert_close(mean_of(gp(Y=1000 * Y)), 1000 * mean_of(gp()), rtol=1e-3, atol=0.0)


@pytest.mark.parametrize("make", [gp, ensemble], ids=["process", "ensemble"])
def test_known_noise_is_used(make) -> None:
    exact, noisy = (make(train_Yvar=torch.full_like(Y, variance)) for variance in (1e-2, 400.0))
    assert (mean_of(exact, X) - Y).abs().max().item() < 0.1
    assert (mean_of(noisy, X) - Y).abs().max().item() > 1.0
    one_wrong = torch.full_like(Y, 1e-2)
    one_wrong[0] = 1e4
    uneven = make(Y=Y + 50 * (torch.arange(6) == 0)[:, None], train_Yvar=one_wrong)
    assert (mean_of(uneven, X) - Y)[1:].abs().max().item() < 2.0
    assert (mean_of(uneven, X) - Y)[0].abs().item() < 25.0


def test_single_precision_is_answered_in_kind() -> None:
    with pytest.warns(InputDataWarning, match="double precision"):
        model = TunedPriorGP(X.float(), Y.float(), old=OLD, bounds=BOUNDS)
    model.load_state_dict(gp().state_dict())  # fits end elsewhere, as single precision rounds each step
    found = model.posterior(TEST.float())
    assert found.mean.dtype == torch.float32
    assert (found.mean.detach() - mean_of(gp())).abs().max().item() < 1e-3
    with warnings.catch_warnings():
        # On some processors a line search ends in that rounding; BoTorch says so, and begins anew.
        warnings.simplefilter("ignore", OptimizationWarning)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    assert (mean_of(model, TEST.float()) - mean_of(gp())).square().mean().sqrt().item() < 2.0
    single = ensemble(X.float(), Y.float()).posterior(TEST.float())
    assert single.mean.dtype == torch.float32
    torch.testing.assert_close(single.mixture_mean.double(), mean_of(ensemble()), rtol=1e-3, atol=1e-3)


def test_a_batch_of_settings_is_predicted_as_one_by_one() -> None:
    model = gp()
    found = model.posterior(TEST.unsqueeze(-2))
    expected = model.posterior(TEST)
    torch.testing.assert_close(found.mean[:, 0], expected.mean)
    torch.testing.assert_close(found.variance[:, 0], expected.variance)
    pairs = model.posterior(TEST.reshape(2, 10, 2, 2)).distribution.covariance_matrix
    own = model.posterior(TEST[:2]).distribution.covariance_matrix
    torch.testing.assert_close(pairs[0, 0], own)


def test_a_batch_of_settings_does_not_repeat_the_training_data(monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = gp(remainder=False), []
    model.posterior(TEST)
    forward = KernelInputMap.forward

    def count_rows(inputs: KernelInputMap, x: torch.Tensor) -> torch.Tensor:
        rows.append(x.shape[:-1].numel())
        return forward(inputs, x)

    monkeypatch.setattr(KernelInputMap, "forward", count_rows)
    model.posterior(TEST.unsqueeze(-2))
    assert sum(rows) <= len(X) + 3 * len(TEST)


def test_models_of_one_prior_share_its_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop makes a model at every step: what takes long is done once."""
    prior, made = pretrain_on_tensors(*OLD, BOUNDS), []
    make_kernel = AlignedBelief.make_kernel

    def count(belief: AlignedBelief, fit: Fit) -> Kernel:
        made.append(fit)
        return make_kernel(belief, fit)

    monkeypatch.setattr(AlignedBelief, "make_kernel", count)
    first, second = (TunedPriorGP(X, Y, old=one) for one in (copy.copy(prior), prior))
    third = TunedPriorGP(X, Y, old=prior)
    assert len(made) <= 2
    same_predictions(second, third)
    same_predictions(first, third)


def test_several_old_sets_have_an_amplitude_each() -> None:
    noise = X_OLD, table(30, 1, seed=9)
    model = gp(old=[OLD, noise])
    amplitudes = [kernel.outputscale.item() for kernel in model.covar_module.kernels]
    assert len(amplitudes) == 3
    assert amplitudes[0] > amplitudes[1]
    assert error(model) < error(gp(old=noise))
    assert error(ensemble(old=[OLD, noise])) < 2.0


# -- what BoTorch does with models ---------------------------------------------------------------------


@pytest.mark.parametrize("make", [gp, ensemble], ids=["process", "ensemble"])
def test_acquisitions_are_maximised(make) -> None:
    model = make()
    torch.manual_seed(0)
    acquisition = qLogNoisyExpectedImprovement(model, X, sampler=sampler(64))
    found, value = optimize_acqf(acquisition, BOUNDS, q=2, num_restarts=2, raw_samples=16)
    assert found.shape == (2, 2)
    assert ((found >= BOUNDS[0]) & (found <= BOUNDS[1])).all()
    with torch.no_grad():
        assert value >= acquisition(TEST.reshape(20, 2, 2)).max()
        analytic = LogExpectedImprovement(model, best_f=Y.max())(TEST[:, None])
    best = TEST[analytic.argmax()]
    assert response(best).item() > response(X).max().item() - 0.05


@pytest.mark.parametrize("kind", ["process", "ensemble"])
def test_two_objectives_go_into_a_list(kind: str) -> None:
    if kind == "process":
        both = ModelListGP(gp(fitted=False), gp(Y=OTHER, fitted=False))
        fit_gpytorch_mll(SumMarginalLogLikelihood(both.likelihood, both))
    else:
        both = ModelList(ensemble(), ensemble(Y=OTHER))
    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        both, ref_point=[80.0, 0.0], X_baseline=X, sampler=get_sampler(both.posterior(X), torch.Size([8]), seed=0)
    )
    torch.manual_seed(0)
    found, value = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=2, raw_samples=8, options={"maxiter": 10})
    assert torch.isfinite(value)
    assert ((found >= BOUNDS[0]) & (found <= BOUNDS[1])).all()


@pytest.mark.parametrize("make", [gp, ensemble], ids=["process", "ensemble"])
@pytest.mark.parametrize("transform", [None, Normalize(2, bounds=BOUNDS)], ids=["plain", "normalised"])
def test_more_observations_are_those_of_a_larger_table(make, transform) -> None:
    """Conditioning equals the exact posterior given all observations, at the same parameters."""
    model = make() if transform is None else make(input_transform=transform)
    before = mean_of(model)  # fills GPyTorch's caches, which it conditions
    more_y = 100 + 20 * response(TEST[:2])
    conditioned = model.condition_on_observations(TEST[:2], more_y)
    assert (mean_of(conditioned, TEST[:2]) - more_y).abs().max().item() < (before[:2] - more_y).abs().max().item()
    assert conditioned.train_inputs[0].shape[-2] == 8
    fantasies = model.fantasize(TEST[:3], sampler(4))
    posterior = fantasies.posterior(TEST[:5])
    assert posterior.mean.shape[0] == 4
    assert torch.isfinite(posterior.variance).all()
    assert posterior.variance[..., :3, :].mean().item() < model.posterior(TEST[:3]).variance.mean().item()


def test_conditioning_is_exact() -> None:
    model, y = gp(), 100 + 20 * response(TEST[:2])
    mean_of(model)
    conditioned = model.condition_on_observations(TEST[:2], y)
    again = gp(fitted=False, X=torch.cat([X, TEST[:2]]), Y=torch.cat([Y, y]), outcome_transform=None)
    again.load_state_dict(model.state_dict(), strict=False)
    standardise = model.outcome_transform
    again.set_train_data(again.train_inputs[0], standardise(torch.cat([Y, y]))[0].squeeze(-1), strict=False)
    again.eval()
    expected = standardise.untransform(again.posterior(TEST).mean)[0]
    torch.testing.assert_close(mean_of(conditioned), expected, rtol=1e-5, atol=1e-5)


def test_fantasies_serve_the_knowledge_gradient() -> None:
    acquisition = qKnowledgeGradient(gp(), num_fantasies=4)
    value = acquisition(TEST[: 1 + 4][None])
    assert torch.isfinite(value).all()


@pytest.mark.parametrize("make", [gp, ensemble], ids=["process", "ensemble"])
def test_observation_noise_widens_the_posterior(make) -> None:
    model = make()
    assert (model.posterior(TEST, observation_noise=True).variance > model.posterior(TEST).variance).all()


def test_a_batch_of_models_has_an_amplitude_each() -> None:
    folds = gen_loo_cv_folds(X, Y)
    found = batch_cross_validation(
        TunedPriorGP, ExactMarginalLogLikelihood, folds, model_init_kwargs={"old": OLD, "bounds": BOUNDS}
    )
    assert found.model.batch_shape == torch.Size([6])
    assert all(kernel.outputscale.shape == (6,) for kernel in found.model.covar_module.kernels)
    assert (found.posterior.mean.squeeze(-1) - Y).abs().mean().item() < (Y - Y.mean()).abs().mean().item()
    first = gp(X=X[1:], Y=Y[1:])
    torch.testing.assert_close(found.posterior.mean[0, 0], first.posterior(X[:1]).mean[0], rtol=0.02, atol=0.1)


@pytest.mark.parametrize("make", [gp, ensemble], ids=["process", "ensemble"])
def test_models_are_copied_pickled_and_restored(make) -> None:
    model = make()
    same_predictions(model, copy.deepcopy(model))
    same_predictions(model, pickle.loads(pickle.dumps(model)))
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    fresh = make(fitted=False) if make is gp else make()
    fresh.load_state_dict(torch.load(file))
    same_predictions(model, fresh)
    assert model.subset_output([0]).num_outputs == 1
