"""Algorithm 1's ridge problem for more rows than selection can hold, solved so that K^A₂ is right, or refused."""

from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel
from tunedprior.kernels.box_means import draw_box_sample
from tunedprior.kernels.features.certificate import OPEN_REACH
from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.machines.machine import compute_gram_matrix
from tunedprior.machines.streamed import FeatureFit, FeatureMap
from tunedprior.numerics.linalg import compute_largest_inverse_eigenvalue, try_cholesky

#: The error of K^A₂(x, x) that is allowed, as a share of its mean over the box.
ACCURACY = 1e-6
#: Rows up to which all of them may have an α: their matrix takes 200 MB, and half a minute.
MOST_ROWS = 5000
# Features up to which the primal problem is solved, and the share of the trace that they may miss: a power of λ/trace.
_MOST_FEATURES = 2048
_SHARE, _POWERS = 1e-8, (1.5, 2.0)
_ROUNDING = 4 * torch.finfo(torch.float64).eps  # of a QR factorisation, relative to each column
_UNSEEN = 2.0  # the error of α over its last correction: entries of K_A are rounded, too
_REFINEMENTS = 2


def solve_exactly(
    kernel: FreeKernel, points: Float[Tensor, "n d"], y: Float[Tensor, " n"], lam: float
) -> tuple[Fit, float]:
    """α = (K_A + λI)⁻¹y, or the same in features, and the leave-one-out error; K^A₂ is right to `ACCURACY`.

    Let t be the part of trace K_A that a finite set of features misses, and ŵ the weights in φ. Leaving features out
    changes the other weights by Φᵀ(K_A + λI)⁻¹Rα with ‖R‖ ≤ t, so by no more than t‖α‖/(2√λ); their own are no more
    than √t ‖α‖. So t must be small compared with λ, not with the trace: features are taken up to 1e-8 (λ/trace)^{3/2}
    of it (or its square), far below what a difference of traces could show. Where these are too many, α is computed for
    each row, and refined; the last correction to ŵ is an estimate of its error. An error e of ŵ changes K^A₂(x, x) by
    no more than 2e √K^A₂(x, x) + e², as |ϑ_i| ≤ 1.

    Raises:
        InputError: If neither can be shown to be accurate enough.
    """
    fit = _solve_by_features(kernel, points, y, lam)
    if fit is not None:
        return fit, fit.compute_loo_error(points, y)
    found = _solve_by_alpha(kernel, points, y, lam) if len(points) <= MOST_ROWS else None
    if found is not None:
        return found
    raise make_accuracy_error(kernel, len(points), lam)


def make_accuracy_error(kernel: FreeKernel, rows: int, lam: float) -> InputError:
    """What is said where the problem cannot be solved accurately enough."""
    fewer = f"{MOST_ROWS:,} rows or fewer" if rows > MOST_ROWS else "fewer rows (500 always have an α each)"
    return InputError(
        f"Algorithm 1 as printed takes the fit of all {rows:,} old rows, with λ = {lam:.2g} as leave-one-out chose it; "
        f"with {type(kernel).__name__} its kernel cannot be computed to {ACCURACY:g} of its mean variance, as rounding "
        f"and the features left out weigh 1/λ. Learn from {fewer}, ask for a larger λ "
        "(pretrain(…, as_printed=True, lam_bounds=(1e-4, 100.0)), and give that to Optimizer), or use "
        "prior='reweighted', whose λ is 0.01 or more."
    )


def _solve_by_features(
    kernel: FreeKernel, points: Float[Tensor, "n d"], y: Float[Tensor, " n"], lam: float
) -> FeatureFit | None:
    """ŵ in a set of features that is complete enough; None if there is none."""
    both = kernel.make_product(points)
    trace = float(kernel.evaluate_matrix(both.multiply_rows(both), both.make_empty_product()).sum())
    for power in _POWERS:
        features = FeatureMap.from_complete_features(
            kernel, points, _MOST_FEATURES, _SHARE * min(1.0, lam / trace) ** power
        )
        if features.missing >= 1:
            break
        fit = FeatureFit.fit_by_rows(features, points, y, lam)
        alpha = float((y - fit(points)).norm()) / lam
        truncated = features.missing * trace * alpha / (2 * sqrt(lam))
        # A factorisation is that of rows with an error relative to each column.
        columns, left = fit.factor.norm(dim=1), sqrt(fit.signal * lam * len(y))
        inverse = compute_largest_inverse_eigenvalue(fit.factor)
        rounded = float((columns * fit.weights).norm()) * sqrt(inverse) + float(columns.norm()) * left * inverse
        missed = features.missing * trace * alpha**2
        if _is_accurate(features, fit.weights, truncated + _ROUNDING * rounded, missed):
            return fit
        if len(features) == _MOST_FEATURES:
            break
    return None


def _solve_by_alpha(
    kernel: FreeKernel, points: Float[Tensor, "n d"], y: Float[Tensor, " n"], lam: float
) -> tuple[AlphaFit, float] | None:
    """α for each row, refined, and the leave-one-out error; None if it is not accurate enough."""
    ridged = compute_gram_matrix(kernel, points)
    ridged.diagonal().add_(lam)
    factor = try_cholesky(ridged)
    if factor is None:
        return None
    alpha, error = torch.zeros_like(y), float("inf")
    for _ in range(_REFINEMENTS + 1):
        left = y - ridged @ alpha
        step = torch.cholesky_solve(left[:, None], factor)[:, 0]
        alpha, error = alpha + step, sqrt(abs(float(step @ (left - lam * step))))  # √(stepᵀ K_A step)
    largest = FeatureMap.from_largest_features(kernel, points, _MOST_FEATURES)
    weights = torch.stack([phi @ some for phi, some in largest.iterate_blocks(points, alpha)]).sum(0)
    if not _is_accurate(largest, weights, _UNSEEN * error, 0.0):
        return None
    residuals = alpha / torch.cholesky_inverse(factor).diagonal()
    return AlphaFit(kernel, points, alpha, lam), float(residuals.square().mean())


def _is_accurate(features: FeatureMap, weights: Float[Tensor, " p"], error: float, missed: float) -> bool:
    """Whether an error of ŵ, and what features left out add to a variance, are small beside the mean variance."""
    reach = OPEN_REACH if features.kernel.open_domain else 1.0
    sample = features.kernel.make_product(draw_box_sample(features.features.indices.shape[1], reach).to(weights))
    variances = weights.square() @ features.features.evaluate_all(sample).square()
    mean = float(variances.mean())
    return 2 * error * sqrt(mean) + error**2 + missed <= ACCURACY * mean
