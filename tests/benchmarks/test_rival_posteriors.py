"""Each rival's posterior against a direct computation, from its own parameters, by loops that share no code with it."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from benchmarks.methods.by_name import ALL_METHODS, METHODS, OldData
from benchmarks.methods.rivals import (
    Difference,
    Envelope,
    LearntKernel,
    LeaveOneOut,
    MultiTask,
    RankingEnsemble,
    anisotropic,
    difference,
    mixture,
)
from benchmarks.methods.rivals.source import Source, gaussian_process
from support import reference
from tunedprior.beliefs import FixedReweightedKernel
from tunedprior.goals.observations import Observations
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.tuned_prior import TunedPrior

# linear_operator builds sparse tensors for task indices, and torch warns whoever does so.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")

SPACE = {"a": (0.0, 2.0), "b": (-1.0, 1.0)}
X_NEW = torch.tensor([[0.1, -0.7], [-0.9, 0.2], [0.5, 0.9], [-0.3, -0.2], [0.8, -0.9]], dtype=torch.float64)  # codes


def assert_posterior(model, directly) -> None:
    """The model's mean and variance at X_NEW (as codes) are those that `directly` gives for points of the unit cube."""
    with torch.no_grad():
        posterior = model.posterior(X_NEW)
    expected = [directly(point) for point in ((1 + X_NEW) / 2).tolist()]
    np.testing.assert_allclose(posterior.mean[:, 0], [mean for mean, _ in expected], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(posterior.variance[:, 0], [variance for _, variance in expected], rtol=1e-5, atol=1e-8)


def numbers(values: Tensor) -> list:
    return values.detach().squeeze(-1).tolist() if values.dim() == 2 else values.detach().tolist()


def squared_exponential(model):
    """The kernel of BoTorch's standard process, by its length-scales."""
    return reference.stationary("squared exponential", model.covar_module.lengthscale.detach()[0].tolist())


def posterior_of(model, kernel, noise: list[float] | None = None, inputs: list | None = None):
    """By loops, for a fitted process: kernel(x, z), a constant mean, and one noise or one for each row.

    Kernel and noise are those of standardised responses, if the process standardises; the result is not.
    """
    X, y = model.train_inputs[0].tolist() if inputs is None else inputs, told(model)
    shift, scale = (float(np.mean(y)), float(np.std(y, ddof=1))) if hasattr(model, "outcome_transform") else (0.0, 1.0)
    noise = [model.likelihood.noise.item()] * len(y) if noise is None else noise
    constant = model.mean_module.constant.item() if hasattr(model.mean_module, "constant") else 0.0

    def directly(point: list[float]) -> tuple[float, float]:
        standardised = [(value - shift) / scale for value in y]
        mean, variance = reference.gp_posterior(kernel, X, standardised, noise, lambda _: constant, point)
        return shift + scale * mean, scale**2 * variance

    return directly


def told(model) -> list[float]:
    """The responses that a process was given, before it standardised them."""
    y = model.train_targets
    return (
        numbers(model.outcome_transform.untransform(y[:, None])[0])
        if hasattr(model, "outcome_transform")
        else numbers(y)
    )


def with_amplitude_from(observations: Observations, kernel, lam: float):
    """By loops: a zero-mean process with noise s²λ and s² = yᵀ(K + λI)⁻¹y/n."""
    X, y = ((1 + observations.X) / 2).tolist(), numbers(observations.y)
    alpha = reference.ridge([[kernel(a, b) for b in X] for a in X], y, lam)
    amplitude = sum(a * b for a, b in zip(alpha, y, strict=True)) / len(y)
    return lambda point: reference.gp_posterior(
        lambda x, z: amplitude * kernel(x, z), X, y, [amplitude * lam] * len(y), lambda _: 0.0, point
    )


def in_own_units(observations: Observations, kernel, noise: list[float]):
    """By loops: f ~ GP(0, kernel) given D as it was measured, then in units of `observations.y`."""
    shift, scale = observations.shift, observations.scale
    X = ((1 + observations.X) / 2).tolist()
    y = [shift + scale * value for value in numbers(observations.y)]

    def directly(point: list[float]) -> tuple[float, float]:
        mean, variance = reference.gp_posterior(kernel, X, y, noise, lambda _: 0.0, point)
        return (mean - shift) / scale, variance / scale**2

    return directly


def test_leave_one_out(source: Source, observations: Observations) -> None:
    model = LeaveOneOut(source)(observations)
    inner = model.inner
    lengthscale = inner.covar_module.base_kernel.lengthscale.item()
    shape = reference.stationary("squared exponential", [lengthscale] * 2)
    X, y = inner.train_inputs[0].tolist(), inner.train_targets.tolist()
    amplitude, noise = inner.covar_module.outputscale.item(), inner.likelihood.noise[0].item()
    gram = [[shape(a, b) for b in X] for a in X]
    assert_posterior(model, with_amplitude_from(observations, shape, noise / amplitude))
    # Neither a shorter nor a longer length-scale, nor another λ, predicts left-out rows better.
    least = reference.leave_one_out_error(gram, y, noise / amplitude)
    for factor_of_scale, factor_of_lam in ((0.9, 1.0), (1.1, 1.0), (1.0, 1.5), (1.0, 1 / 1.5), (3.0, 1.0), (0.3, 1.0)):
        other = reference.stationary("squared exponential", [lengthscale * factor_of_scale] * 2)
        other_gram = [[other(a, b) for b in X] for a in X]
        lam = max(noise / amplitude * factor_of_lam, 1e-6)
        assert reference.leave_one_out_error(other_gram, y, lam) >= least * (1 - 1e-6)


def test_leave_one_out_while_nothing_varies(source: Source, observations: Observations) -> None:
    flat = Observations(observations.X, torch.zeros_like(observations.y))
    posterior = LeaveOneOut(source)(flat).posterior(X_NEW)
    assert torch.allclose(posterior.mean, torch.zeros(()).double())
    assert (posterior.variance > 0).all()


def test_standard(source: Source, observations: Observations) -> None:
    model = StandardSurrogate(source.box)(observations)
    inputs = ((1 + observations.X) / 2).tolist()
    assert told(model) == pytest.approx(numbers(observations.y))
    assert_posterior(model, posterior_of(model, squared_exponential(model), inputs=inputs))


def test_anisotropic(source: Source, observations: Observations) -> None:
    rival = LearntKernel.learn(source, anisotropic)
    kernel, lam = rival.learnt
    shape = reference.stationary("squared exponential", kernel.lengthscale[0].tolist())
    assert_posterior(rival(observations), with_amplitude_from(observations, shape, lam))
    assert kernel.lengthscale[0, 0] < kernel.lengthscale[0, 1]  # the response varies faster in a


def test_mixture(source: Source, observations: Observations) -> None:
    rival = LearntKernel.learn(source, mixture)
    kernel, lam = rival.learnt
    weights = kernel.log_weights.exp().tolist()
    kinds = ("squared exponential", "matern 1/2", "matern 3/2")
    shapes = [
        reference.stationary(kind, [part.lengthscale.item()] * 2)
        for kind, part in zip(kinds, kernel.parts, strict=True)
    ]

    def mixed(x: list[float], z: list[float]) -> float:
        return sum(weight * shape(x, z) for weight, shape in zip(weights, shapes, strict=True))

    assert_posterior(rival(observations), with_amplitude_from(observations, mixed, lam))


def test_the_mixture_predicts_old_data_better_than_its_parts(source: Source) -> None:
    X, y = source.inputs.tolist(), numbers(source.standardised)
    found, lam = mixture(source)
    with torch.no_grad():
        gram = found(source.inputs).to_dense().tolist()
    lams = np.geomspace(1e-6, 10, 30)
    least = reference.leave_one_out_error(gram, y, lam)
    for kind in ("squared exponential", "matern 1/2", "matern 3/2"):
        for lengthscale in (0.1, 0.3, 1.0):
            kernel = reference.stationary(kind, [lengthscale] * 2)
            alone = [[kernel(a, b) for b in X] for a in X]
            assert least <= min(reference.leave_one_out_error(alone, y, lam) for lam in lams) + 1e-3


def test_envelope(source: Source, observations: Observations) -> None:
    rival = Envelope(source)
    inner = rival(observations).inner
    # s² = β/(α + 1) by hand, from the old data's own process.
    of_source = posterior_of(source.model, squared_exponential(source.model))
    old, new = source.y.tolist(), numbers(observations.shift + observations.scale * observations.y)
    spread, centre, std = max(old) - min(old), float(np.mean(old)), float(np.std(old))
    inputs = ((1 + observations.X) / 2).tolist()
    gaps = [(y - (centre + std * of_source(x)[0])) / spread for x, y in zip(inputs, new, strict=True)]
    variance = (1e-4 + sum(gap**2 for gap in gaps) / 2) / (0.1 + len(new) / 2 + 1) * (spread / observations.scale) ** 2
    joined = [(y - observations.shift) / observations.scale for y in new + old]
    assert told(inner) == pytest.approx(joined)
    learnt = inner.likelihood.second_noise.item()
    noise = [learnt + 2e-6] * len(new) + [learnt + variance / np.var(joined, ddof=1)] * len(old)
    assert_posterior(rival(observations), posterior_of(inner, squared_exponential(inner), noise))


def test_difference(source: Source, observations: Observations, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = []

    def spied(*args, **kwargs):
        fitted.append(gaussian_process(*args, **kwargs))
        return fitted[-1]

    monkeypatch.setattr(difference, "gaussian_process", spied)
    model = Difference(source)(observations)
    (of_gap,), joined = fitted, model.inner
    # The difference at D, its noise (the source's own variance there), and what it says at the old settings.
    of_source = posterior_of(source.model, squared_exponential(source.model))
    old, new = source.y.tolist(), numbers(observations.y)
    centre, std = float(np.mean(old)), float(np.std(old))
    expected = [of_source(x) for x in ((1 + observations.X) / 2).tolist()]
    unit = std / observations.scale
    gaps = [
        y - ((centre - observations.shift) / observations.scale + unit * mean)
        for y, (mean, _) in zip(new, expected, strict=True)
    ]
    learnt = of_gap.likelihood.second_noise.item()
    noise = [learnt + max(variance * unit**2 / np.var(gaps, ddof=1), 2e-6) for _, variance in expected]
    assert told(of_gap) == pytest.approx(gaps, abs=1e-8)
    at_old = [posterior_of(of_gap, squared_exponential(of_gap), noise)(x) for x in source.inputs.tolist()]
    corrected = [(y - observations.shift) / observations.scale + mean for y, (mean, _) in zip(old, at_old, strict=True)]
    assert told(joined) == pytest.approx(new + corrected, abs=1e-6)
    learnt, size = joined.likelihood.second_noise.item(), np.var(new + corrected, ddof=1)
    noise = [learnt + 2e-6] * len(new) + [learnt + max(variance / size, 2e-6) for _, variance in at_old]
    assert_posterior(model, posterior_of(joined, squared_exponential(joined), noise))


@pytest.mark.parametrize("free_sign", [False, True])
def test_multi_task(source: Source, observations: Observations, free_sign: bool) -> None:
    model = MultiTask(source, free_sign)(observations)
    inner = model.inner
    over_inputs, over_tasks = inner.covar_module.kernels
    if free_sign:
        correlation, amplitude = over_tasks.correlation.item(), over_tasks.amplitude.item()
        between = [[1.0, correlation * amplitude], [correlation * amplitude, amplitude**2]]
    else:
        between = over_tasks.covar_matrix.to_dense().tolist()
    shape = reference.stationary("squared exponential", over_inputs.lengthscale.detach()[0].tolist())

    def kernel(x: list[float], z: list[float]) -> float:
        return between[int(x[-1])][int(z[-1])] * shape(x[:-1], z[:-1])

    X, y = inner.train_inputs[0].tolist(), inner.train_targets.tolist()
    levels = inner.likelihood.noise.flatten().tolist()
    means = [base.constant.item() for base in inner.mean_module.base_means]
    noise = [levels[int(x[-1])] for x in X]
    assert_posterior(
        model,
        lambda point: reference.gp_posterior(kernel, X, y, noise, lambda x: means[int(x[-1])], [*point, 1.0]),
    )
    assert y[: len(source.y)] == pytest.approx(numbers(source.standardised))
    # The old response runs backwards: only a free sign can say so.
    assert (between[0][1] < 0) == free_sign


def test_ranking_ensemble(source: Source, observations: Observations) -> None:
    rival = RankingEnsemble(source)
    model = rival(observations)
    old_model, new_model = model.inner.models
    weights = model.inner.weights.tolist()
    assert sum(weights) == pytest.approx(1.0)
    parts = [posterior_of(each, squared_exponential(each)) for each in (old_model, new_model)]

    def directly(point: list[float]) -> tuple[float, float]:
        means, variances = zip(*(part(point) for part in parts), strict=True)
        return (
            sum(w * m for w, m in zip(weights, means, strict=True)),
            sum(w**2 * v for w, v in zip(weights, variances, strict=True)),
        )

    assert_posterior(model, directly)


def test_tuned_prior(old: pd.DataFrame, observations: Observations) -> None:
    surrogate = METHODS["TP-EI-BO"].surrogate(OldData(old, SPACE, "maximize", 0))
    assert isinstance(surrogate, TunedPrior)
    prior = surrogate.prior
    vars(prior)["_kernel"] = FixedReweightedKernel(prior.base, prior.anchors, prior.alpha, by_features=False)
    model, raw = surrogate(observations), reweighted_of(prior)

    def kernel(x: list[float], z: list[float]) -> float:
        return model.covar_module.outputscale.item() / model.covar_module.base_kernel.mean_variance * raw(x, z)

    inputs = ((1 + observations.X) / 2).tolist()
    assert_posterior(model, posterior_of(model, kernel, inputs=inputs))


def test_tuned_prior_as_printed_at_unit_diagonal(old: pd.DataFrame, observations: Observations) -> None:
    """f ~ GP(0, K/√KK') in the units of the response: neither an amplitude nor a mean is fitted."""
    surrogate = ALL_METHODS["TP-EI-BO (as printed, unit diagonal)"].surrogate(OldData(old, SPACE, "maximize", 0))
    model, raw = surrogate(observations), reweighted_of(surrogate.prior)
    noise = model.likelihood.noise.item() * observations.scale**2

    def kernel(x: list[float], z: list[float]) -> float:
        return raw(x, z) / math.sqrt(raw(x, x) * raw(z, z))

    assert_posterior(model, in_own_units(observations, kernel, [noise] * len(observations)))


def reweighted_of(prior: WeightPrior):
    """The Theorem's sum over pairs of old rows, at points of the unit cube."""
    scales = [prior.base.lengthscale.item()] * 2
    anchors, alpha = prior.anchors.tolist(), prior.alpha.tolist()

    def raw(x: list[float], z: list[float]) -> float:
        spread = [[2 * value - 1 for value in point] for point in (x, z)]
        at = reference.reweighted(lambda points: reference.squared_exponential(points, scales), spread, anchors, alpha)
        return complex(at).real

    return raw
