"""The paper's rivals on the scale that it states: their posteriors, and what they tune, against direct computations."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import torch
from gpytorch.kernels import MaternKernel

from benchmarks.methods.by_name import ALL_METHODS, RIVAL_VARIANTS, OldData
from benchmarks.methods.rivals.as_stated import (
    DifferenceAsStated,
    EnvelopeAsStated,
    LearntKernelAsStated,
    LeaveOneOutAsStated,
    tuned,
)
from benchmarks.methods.rivals.mean_discrepancy import discrepancy, weigh
from benchmarks.methods.rivals.source import Source
from support import reference
from tunedprior.goals.observations import Observations
from tunedprior.space.search_space import Space

SPACE = {"a": (0.0, 2.0), "b": (-1.0, 1.0)}
X_NEW = torch.tensor([[0.1, -0.7], [-0.9, 0.2], [0.5, 0.9]], dtype=torch.float64)  # codes


def squared_exponential(lengthscale: float):
    return reference.stationary("squared exponential", [lengthscale] * 2)


def assert_posterior(surrogate, observations: Observations, kernel, noise: list[float], X: list, y: list) -> None:
    """The surrogate's posterior is that of f ~ GP(0, kernel) given responses y as they were measured."""
    with torch.no_grad():
        posterior = surrogate(observations).posterior(X_NEW)
    points = ((1 + X_NEW) / 2).tolist()
    found = [reference.gp_posterior(kernel, X, y, noise, lambda _: 0.0, point) for point in points]
    mean = observations.shift + observations.scale * posterior.mean[:, 0]
    np.testing.assert_allclose(mean, [one for one, _ in found], rtol=1e-6, atol=1e-8)
    variance = observations.scale**2 * posterior.variance[:, 0]
    np.testing.assert_allclose(variance, [one for _, one in found], rtol=1e-5, atol=1e-8)


def told(observations: Observations) -> tuple[list, list]:
    """D in the unit cube, and its responses as they were measured."""
    y = observations.shift + observations.scale * observations.y[:, 0]
    return ((1 + observations.X) / 2).tolist(), y.tolist()


def loo_error(lengthscale: float, X: list, y: list, noise: list[float]) -> float:
    """The mean squared error of each row's prediction from all others, by loops."""
    kernel, total = squared_exponential(lengthscale), 0.0
    for out in range(len(y)):
        rest = [i for i in range(len(y)) if i != out]
        mean, _ = reference.gp_posterior(
            kernel, [X[i] for i in rest], [y[i] for i in rest], [noise[i] for i in rest], lambda _: 0.0, X[out]
        )
        total += (y[out] - mean) ** 2
    return total / len(y)


@pytest.mark.parametrize("with_extra", [False, True])
def test_what_is_tuned_has_the_least_leave_one_out_error(source: Source, with_extra: bool) -> None:
    extra = torch.linspace(0, 0.3, len(source.y)).double() if with_extra else torch.zeros(len(source.y)).double()
    kernel, lam = tuned(source.inputs, source.y, extra)
    X, y, lengthscale = source.inputs.tolist(), source.y.tolist(), kernel.lengthscale.item()

    def error(of_scale: float, of_lam: float) -> float:
        noise = [min(max(lam * of_lam, 1e-8), 100) + more for more in extra.tolist()]
        return loo_error(lengthscale * of_scale, X, y, noise)

    least = error(1, 1)
    for factors in ((0.9, 1), (1.1, 1), (1, 1.5), (1, 1 / 1.5), (3, 1), (0.3, 1)):
        assert error(*factors) >= least * (1 - 1e-6)


def test_leave_one_out(source: Source, observations: Observations) -> None:
    X, y = told(observations)
    kernel, lam = tuned(torch.tensor(X).double(), torch.tensor(y).double())
    shape = squared_exponential(kernel.lengthscale.item())
    assert_posterior(LeaveOneOutAsStated(source), observations, shape, [lam] * len(y), X, y)


@pytest.mark.parametrize("name", ["ARD-EI", "DT-MKL-EI", "DT-MKL-EI (MMD)"])
def test_learnt_kernels(old: pd.DataFrame, observations: Observations, name: str) -> None:
    name = name.replace(")", ", as stated)") if ")" in name else f"{name} (as stated)"
    surrogate = ALL_METHODS[name].surrogate(OldData(old, SPACE, "maximize", 0))
    assert isinstance(surrogate, LearntKernelAsStated)
    kernel, lam = surrogate.learnt
    if "ARD" in name:
        shape = reference.stationary("squared exponential", kernel.lengthscale[0].tolist())
    else:
        kinds = ("squared exponential", "matern 1/2", "matern 3/2")
        parts = [
            reference.stationary(kind, [part.lengthscale.item()] * 2)
            for kind, part in zip(kinds, kernel.parts, strict=True)
        ]
        weights = kernel.log_weights.exp().tolist()
        assert sum(weights) == pytest.approx(1.0)

        def shape(x: list[float], z: list[float]) -> float:
            return sum(weight * part(x, z) for weight, part in zip(weights, parts, strict=True))

    X, y = told(observations)
    assert_posterior(surrogate, observations, shape, [lam] * len(y), X, y)


def of_source(source: Source):
    """The old data's own process, by loops."""
    kernel, lam = tuned(source.inputs, source.y)
    shape, X, y = squared_exponential(kernel.lengthscale.item()), source.inputs.tolist(), source.y.tolist()
    return lambda point: reference.gp_posterior(shape, X, y, [lam] * len(y), lambda _: 0.0, point)


def joined(source: Source, observations: Observations, old: list[float], variances: list[float]):
    """The arguments of `assert_posterior`: D, then old rows with these responses and variances."""
    X, y = told(observations)
    X, y = X + source.inputs.tolist(), y + old
    extra = [0.0] * len(observations) + variances
    kernel, lam = tuned(torch.tensor(X).double(), torch.tensor(y).double(), torch.tensor(extra).double())
    return squared_exponential(kernel.lengthscale.item()), [lam + more for more in extra], X, y


def test_envelope(source: Source, observations: Observations) -> None:
    X, y = told(observations)
    expected = of_source(source)
    gaps = [value - expected(x)[0] for x, value in zip(X, y, strict=True)]
    variance = (1e-4 + sum(gap**2 for gap in gaps) / 2) / (0.1 + len(y) / 2 + 1)
    arguments = joined(source, observations, source.y.tolist(), [variance] * len(source.y))
    assert_posterior(EnvelopeAsStated(source), observations, *arguments)


def test_difference(source: Source, observations: Observations) -> None:
    X, y = told(observations)
    means, variances = zip(*map(of_source(source), X), strict=True)
    gaps = [value - mean for value, mean in zip(y, means, strict=True)]
    kernel, lam = tuned(*(torch.tensor(one).double() for one in (X, gaps, variances)))
    shape, noise = squared_exponential(kernel.lengthscale.item()), [lam + variance for variance in variances]
    at_old = [reference.gp_posterior(shape, X, gaps, noise, lambda _: 0.0, x) for x in source.inputs.tolist()]
    old = [value + mean for value, (mean, _) in zip(source.y.tolist(), at_old, strict=True)]
    arguments = joined(source, observations, old, [variance for _, variance in at_old])
    assert_posterior(DifferenceAsStated(source), observations, *arguments)


def test_rivals_as_stated_count_t_as_the_listing_does(source: Source) -> None:
    assert LeaveOneOutAsStated(source).as_printed
    stated = {name for name in RIVAL_VARIANTS if "as stated" in name}
    assert stated == {f"{name} (as stated)" for name in (*BASES, "DT-MKL-EI", "DT-MKL-GPUCB")} | {
        f"DT-MKL-{end} (MMD, as stated)" for end in ("EI", "GPUCB")
    }


BASES = ("EI", "GPUCB", "ARD-EI", "ARD-GPUCB", "envEI", "envGPUCB", "diffEI", "diffGPUCB")


# -- DT-MKL's maximum mean discrepancy -----------------------------------------------------------------


def mean_discrepancy(kernel, old: list, target: list) -> float:
    """‖mean φ(old) - mean φ(target)‖², by loops over sᵀKs with s = 1/|A| on old rows and -1/|T| on the target's."""
    rows = [(point, 1 / len(old)) for point in old] + [(point, -1 / len(target)) for point in target]
    return sum(one * other * kernel(x, z) for x, one in rows for z, other in rows)


def test_the_discrepancy_is_that_of_loops(source: Source) -> None:
    target = torch.rand(9, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    kernel = MaternKernel(nu=1.5).double()
    kernel.lengthscale = 0.4
    expected = mean_discrepancy(reference.stationary("matern 3/2", [0.4] * 2), source.inputs.tolist(), target.tolist())
    with torch.no_grad():
        assert discrepancy(kernel, source.inputs, target).item() == pytest.approx(expected)


@pytest.mark.parametrize("theta", [1e-8, 1e-4, 1.0])
def test_weights_minimise_the_discrepancy_and_the_risk(source: Source, theta: float) -> None:
    """No other weights on a grid of the simplex have a lower ½(pᵀv)² + θ·½ yᵀ(K_v + λI)⁻¹y."""
    kinds = [("squared exponential", 0.5), ("matern 1/2", 0.8), ("matern 3/2", 0.6)]
    kernels = [reference.stationary(kind, [scale] * 2) for kind, scale in kinds]
    X, y, lam = source.inputs.tolist(), source.y.tolist(), 0.05
    grams = [[[kernel(a, b) for b in X] for a in X] for kernel in kernels]
    target = [[0.1 * i, 0.1 * j] for i in range(0, 11, 2) for j in range(0, 11, 2)]
    p = [mean_discrepancy(kernel, X, target) for kernel in kernels]

    def objective(v: list[float]) -> float:
        gram = [[sum(w * g[i][j] for w, g in zip(v, grams, strict=True)) for j in range(len(y))] for i in range(len(y))]
        alpha = reference.ridge(gram, y, lam)
        risk = sum(a * b for a, b in zip(alpha, y, strict=True)) / 2
        return sum(a * b for a, b in zip(p, v, strict=True)) ** 2 / 2 + theta * risk

    found = weigh(torch.tensor(grams).double(), torch.tensor(p).double(), source.y, lam, theta).tolist()
    assert sum(found) == pytest.approx(1.0)
    assert min(found) >= 0
    shares = [one for one in itertools.product(range(13), repeat=3) if sum(one) == 12]
    grid = [[share / 12 for share in one] for one in shares]
    assert objective(found) <= min(map(objective, grid)) * (1 + 1e-6)


def test_a_large_discrepancy_is_avoided_and_a_small_theta_hears_of_nothing_else(source: Source) -> None:
    n = len(source.y)
    grams = torch.stack([torch.eye(n).double() * 0.9 + 0.1, torch.eye(n).double() * 0.5 + 0.5, torch.eye(n).double()])
    p = torch.tensor([0.3, 0.01, 0.2]).double()
    assert weigh(grams, p, source.y, 0.1, 1e-12).tolist() == pytest.approx([0, 1, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("kind", "lengthscale", "most"), [("squared exponential", 1.0, 0.03), ("matern 1/2", 0.2, 0.14)]
)
def test_the_discrepancy_of_samples_of_one_distribution(kind: str, lengthscale: float, most: float) -> None:
    """Old settings and the search space are both uniform: E p = (1/|A| + 1/|T|)(1 - E k(x, x'))."""
    rng, kernel = np.random.default_rng(0), reference.stationary(kind, [lengthscale] * 2)
    samples = [(rng.uniform(size=(10, 2)).tolist(), rng.uniform(size=(20, 2)).tolist()) for _ in range(40)]
    drawn = [mean_discrepancy(kernel, old, target) for old, target in samples]
    expected = (1 / 10 + 1 / 20) * (1 - np.mean([kernel(x, z) for x, z in rng.uniform(size=(2000, 2, 2)).tolist()]))
    assert np.mean(drawn) == pytest.approx(expected, abs=4 * np.std(drawn) / math.sqrt(len(drawn)))
    assert most / 2 < expected < most


def test_the_target_is_the_pool(old: pd.DataFrame) -> None:
    data = OldData(old, SPACE, "maximize", 3)
    pool = pd.DataFrame(Space.parse(SPACE).sobol(1024, data.seed))  # as `pool_of` draws it
    at = data.target(data.source)
    assert len(at) == len(pool) == 1024
    low, high = zip(*SPACE.values(), strict=True)
    np.testing.assert_allclose(at, (pool.to_numpy() - low) / (np.array(high) - low), atol=1e-12)
