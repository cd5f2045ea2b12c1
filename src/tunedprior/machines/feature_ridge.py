"""Ridge regression in explicit features, streamed over any number of rows: the primal problem, without α.

`solve_exactly` solves Algorithm 1's problem for many rows so that K^A₂ is accurate, or refuses.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from math import log, sqrt

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel
from tunedprior.kernels.anchors import draw_box_sample
from tunedprior.kernels.explicit_features import (
    OPEN_REACH,
    Features,
    make_features,
    select_complete_features,
    select_largest_features,
)
from tunedprior.machines.machine import LAMBDAS, AlphaFit, Fit, compute_gram_matrix
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.numerics.linalg import (
    append_qr_rows,
    cholesky,
    compute_largest_inverse_eigenvalue,
    compute_profile_log_evidence,
    try_cholesky,
)

# Entries of Φ held at once: a row block of it has to stay in memory, the whole of it never does.
_ENTRIES = {"cpu": 2**21, "cuda": 2**28}
_BLOCK = 512  # rows of ΦᵀΦ at once; only its upper triangle is computed
_MANY_ROWS = 20_000  # from which a pass over them is worth more than one thread
_SAMPLE = 2000  # rows that decide which features are the largest
_LARGE_SAMPLE = 5000  # and which are all that there are, up to a negligible share
#: The share of the trace of K_A that may be missing: further features are not worth their cost.
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """φ_i(x) = τ_i ϑ_i(x) for a finite set of features: those largest at given settings a_j.

    Attributes:
        kernel: The free kernel, its parameters fixed.
        features: ϑ, for the selected multi-indices.
        weights: τ, one for each feature.
        missing: The share of Σ_j K₂(a_j, a_j), the trace, that these features miss.
    """

    kernel: FreeKernel
    features: Features
    weights: Float[Tensor, " p"]
    missing: float

    @classmethod
    def from_largest_features(cls, kernel: FreeKernel, points: Float[Tensor, "n d"], most: int) -> "FeatureMap":
        """The map of at most `most` features, those with the largest mean square over (a sample of) the rows."""
        sample = kernel.make_product(_draw_rows(points, _SAMPLE))
        return cls._from_indices(kernel, points, *select_largest_features(kernel, sample, most, _NEGLIGIBLE))

    @classmethod
    def from_complete_features(
        cls, kernel: FreeKernel, points: Float[Tensor, "n d"], most: int, negligible: float
    ) -> "FeatureMap":
        """The map of the features with all but a negligible share of the trace, `most` at most; see `missing`."""
        sample = kernel.make_product(_draw_rows(points, _LARGE_SAMPLE))
        return cls._from_indices(kernel, points, *select_complete_features(kernel, sample, most, negligible))

    @classmethod
    def _from_indices(
        cls, kernel: FreeKernel, points: Float[Tensor, "n d"], indices: Int[Tensor, "p d"], missing: float
    ) -> "FeatureMap":
        features = make_features(kernel, indices)
        return cls(kernel, features, kernel.compute_weights_at(features.indices).to(points), missing)

    def __len__(self) -> int:
        return len(self.weights)

    def __call__(self, points: Float[Tensor, "n d"]) -> Float[Tensor, "p n"]:
        """φ_i of every row."""
        return self.features.evaluate_all(self.kernel.make_product(points)).mul_(self.weights[:, None])

    def iterate_blocks(
        self, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]
    ) -> Iterator[tuple[Float[Tensor, "p b"], Float[Tensor, " b"]]]:
        """φ and y of all rows, in blocks of rows that fit into memory."""
        rows = max(1, _ENTRIES.get(points.device.type, _ENTRIES["cpu"]) // len(self))
        for some, responses in zip(points.split(rows), y.split(rows), strict=True):
            yield self(some), responses


def _draw_rows(points: Float[Tensor, "n d"], most: int) -> Float[Tensor, "k d"]:
    """All rows, or a random choice of so many with a fixed seed."""
    if len(points) <= most:
        return points
    rows = torch.randint(len(points), (most,), generator=torch.Generator().manual_seed(0))
    return points[rows.to(points.device)]


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """ΦᵀΦ, Φᵀy, yᵀy and n: the sufficient statistics of n rows for least squares in the features.

    Their size depends on the number of features alone. They are sums over rows, so those of separate parts of the rows
    can be computed anywhere and in any order, and merged.
    """

    feature_map: FeatureMap
    gram: Float[Tensor, "p p"]
    moment: Float[Tensor, " p"]
    square: float
    count: int

    @classmethod
    def from_rows(
        cls, feature_map: FeatureMap, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]
    ) -> "NormalEquations":
        """The normal equations of these rows, in one pass over them."""
        size = len(feature_map)
        gram, moment = points.new_zeros(size, size), points.new_zeros(size)
        with isolate_computation(parallel=len(points) >= _MANY_ROWS):
            for phi, responses in feature_map.iterate_blocks(points, y):
                for start in range(0, size, _BLOCK):
                    gram[start : start + _BLOCK, start:].addmm_(phi[start : start + _BLOCK], phi[start:].mT)
                moment += phi @ responses
        gram = gram.triu() + gram.triu(1).mT
        return cls(feature_map, gram, moment, float(y @ y), len(y))

    def add_rows(self, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> "NormalEquations":
        """The normal equations with more rows."""
        return self.merge(NormalEquations.from_rows(self.feature_map, points, y))

    def merge(self, other: "NormalEquations") -> "NormalEquations":
        """The normal equations of the rows of both, in the same features."""
        return replace(
            self,
            gram=self.gram + other.gram,
            moment=self.moment + other.moment,
            square=self.square + other.square,
            count=self.count + other.count,
        )

    def solve(self, lam: float) -> "FeatureFit":
        """ŵ = (ΦᵀΦ + λI)⁻¹ Φᵀy, as a fit with its posterior."""
        factor = cholesky(self.gram + lam * torch.eye(len(self.gram)).to(self.gram))
        weights = torch.cholesky_solve(self.moment[:, None], factor)[:, 0]
        signal = (self.square - float(self.moment @ weights)) / (lam * self.count)
        return FeatureFit(self.feature_map, weights, factor, lam, signal)

    def compute_log_evidence(self, lam: float) -> float:
        """max over the amplitude of log p(y | λ) = -½ log|R| - n/2 log yᵀR⁻¹y + const, with R = ΦΦᵀ + λI.

        |R| = |ΦᵀΦ + λI| λ^{n-p} and yᵀR⁻¹y = (yᵀy - yᵀΦŵ)/λ.
        """
        fit = self.solve(lam)
        determinant = 2 * float(fit.factor.diagonal().log().sum()) + (self.count - len(self.moment)) * log(lam)
        return compute_profile_log_evidence(determinant, fit.signal * self.count, self.count)


@dataclass(frozen=True, eq=False)
class FeatureFit:
    """g(x) = ŵᵀφ(x), with the posterior of its weights w | A ~ N(ŵ, s_f² λ (ΦᵀΦ + λI)⁻¹).

    Attributes:
        feature_map: φ.
        weights: ŵ.
        factor: L, the Cholesky factor of ΦᵀΦ + λI.
        lam: λ.
        signal: s_f² = yᵀ(ΦΦᵀ + λI)⁻¹y/n.
    """

    feature_map: FeatureMap
    weights: Float[Tensor, " p"]
    factor: Float[Tensor, "p p"]
    lam: float
    signal: float

    @classmethod
    def fit_by_evidence(
        cls, features: FeatureMap, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]
    ) -> "FeatureFit":
        """Ridge regression in these features; λ maximises the marginal likelihood (profiled amplitude)."""
        equations = NormalEquations.from_rows(features, points, y)
        return equations.solve(float(max(LAMBDAS, key=equations.compute_log_evidence)))

    @classmethod
    def fit_by_rows(
        cls, features: FeatureMap, points: Float[Tensor, "n d"], y: Float[Tensor, " n"], lam: float
    ) -> "FeatureFit":
        """argmin ‖y - Φw‖² + λ‖w‖², from the rows of [Φ; √λ I] themselves.

        The normal equations have the square of their condition: for λ = 1e-8 and 5,000 rows that leaves no digit. It
        costs a few times as much.
        """
        size = len(features)
        triangle = sqrt(lam) * torch.eye(size + 1).to(points)
        triangle[size, size] = 0.0  # the last column is y
        rows = 2 * max(size, _BLOCK)
        with isolate_computation(parallel=len(points) >= _MANY_ROWS):
            for some, responses in zip(points.split(rows), y.split(rows), strict=True):
                triangle = append_qr_rows(triangle, torch.cat([features(some), responses[None]]).mT)
        root, right = triangle[:size, :size], triangle[:size, size:]
        weights = torch.linalg.solve_triangular(root, right, upper=True)[:, 0]
        return cls(features, weights, root.mT.contiguous(), lam, float(triangle[size, size]) ** 2 / (lam * len(y)))

    @property
    def kernel(self) -> FreeKernel:
        """The free kernel K_m, its parameters fixed."""
        return self.feature_map.kernel

    def to(self, device: str) -> "FeatureFit":
        """The fit on another device."""
        where = replace(
            self.feature_map,
            kernel=deepcopy(self.feature_map.kernel).to(device),
            features=deepcopy(self.feature_map.features).to(device),
            weights=self.feature_map.weights.to(device),
        )
        return replace(self, feature_map=where, weights=self.weights.to(device), factor=self.factor.to(device))

    def __call__(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """g at each row of x."""
        nothing = x.new_zeros(len(x))
        return torch.cat([self.weights @ phi for phi, _ in self.feature_map.iterate_blocks(x, nothing)])

    def compute_determined_matrix(self) -> Float[Tensor, "p p"]:
        """Q = (ΦᵀΦ + λI)⁻¹ΦᵀΦ = I - λ(ΦᵀΦ + λI)⁻¹: near 1 in directions that the data determines, 0 in all others."""
        inverse = torch.cholesky_inverse(self.factor)
        return torch.eye(len(inverse)).to(inverse) - self.lam * inverse

    def compute_undetermined_shares(self) -> Float[Tensor, " p"]:
        """var(w_i | A)/s_f² = λ [(ΦᵀΦ + λI)⁻¹]_ii: near 0 for weights that the data determines, 1 for all others."""
        return self.lam * torch.cholesky_inverse(self.factor).diagonal()

    def compute_error(self, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> float:
        """The mean squared residual on rows that were not trained on."""
        return float((y - self(points)).square().mean())

    def compute_loo_error(self, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> float:
        """(1/n) Σ_j ((y_j - g(a_j))/(1 - h_j))² with h_j = φ(a_j)ᵀ(ΦᵀΦ + λI)⁻¹φ(a_j), for the rows trained on.

        The summands are the squared leave-one-out residuals. It takes a second pass over the rows; of a random choice
        of them it is an estimate.
        """
        total = 0.0
        with isolate_computation(parallel=len(points) >= _MANY_ROWS):
            for phi, responses in self.feature_map.iterate_blocks(points, y):
                residual = responses - self.weights @ phi
                leverage = torch.linalg.solve_triangular(self.factor, phi, upper=False).square().sum(0)
                total += float((residual / (1 - leverage)).square().sum())
        return total / len(y)

    def to_arrays(self) -> dict[str, Tensor]:
        """The fit as tensors to be saved, for `from_arrays`."""
        return {
            "indices": self.feature_map.features.indices,
            "weights": self.weights,
            "factor": self.factor,
            "signal_and_missing": torch.tensor([self.signal, self.feature_map.missing], dtype=torch.float64),
        }

    @classmethod
    def from_arrays(cls, kernel: FreeKernel, lam: float, arrays: Mapping[str, Tensor]) -> "FeatureFit":
        """Restore the fit from the tensors of `to_arrays`."""
        features, (signal, missing) = make_features(kernel, arrays["indices"]), arrays["signal_and_missing"].tolist()
        feature_map = FeatureMap(kernel, features, kernel.compute_weights_at(features.indices), missing)
        return cls(feature_map, arrays["weights"], arrays["factor"], lam, signal)


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
    """The error for a problem that cannot be solved accurately enough."""
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
