"""Least squares without α: the primal problem in explicit features, streamed over any number of rows."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from math import log

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.kernels import FreeKernel
from tunedprior.kernels.features import AlignedFeatures, Explicit, Features
from tunedprior.kernels.search import largest_features
from tunedprior.linalg import cholesky, symmetric_root

# Entries of Φ held at once: a row block of it has to stay in memory, the whole of it never does.
_ENTRIES = {"cpu": 2**21, "cuda": 2**28}
_BLOCK = 512  # of ΦᵀΦ, of which only the upper half is computed
_SAMPLE = 2000  # rows that decide which features are the largest
#: Of the trace of K_A: features beyond this share are not worth their cost.
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """φ_i(x) = τ_i ϑ_i(x) for the features that make up most of a kernel on some data.

    Attributes:
        kernel: The free kernel, its parameters fixed.
        features: ϑ, of the chosen multi-indices.
        weights: τ of each.
        missing: The share of Σ_j K₂(a_j, a_j) that the others would add.
    """

    kernel: FreeKernel
    features: Features
    weights: Float[Tensor, " p"]
    missing: float

    @classmethod
    def of(cls, kernel: FreeKernel, points: Float[Tensor, "n d"], most: int) -> "FeatureMap":
        """The features with the largest mean square over the rows, at most `most`."""
        sample = points
        if len(points) > _SAMPLE:
            rows = torch.randint(len(points), (_SAMPLE,), generator=torch.Generator().manual_seed(0))
            sample = points[rows.to(points.device)]
        indices, missing = largest_features(kernel, kernel._product(sample), most, _NEGLIGIBLE)
        features = Features(indices)
        return cls(kernel, features, kernel._weights_at(features.indices).to(points), missing)

    def __len__(self) -> int:
        return len(self.weights)

    def __call__(self, points: Float[Tensor, "n d"]) -> Float[Tensor, "p n"]:
        """φ of every row."""
        return self.features.all(self.kernel._product(points)).mul_(self.weights[:, None])

    def blocks(
        self, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]
    ) -> Iterator[tuple[Float[Tensor, "p b"], Float[Tensor, " b"]]]:
        """φ and y of so many rows at a time as memory allows."""
        rows = max(1, _ENTRIES.get(points.device.type, _ENTRIES["cpu"]) // len(self))
        for some, responses in zip(points.split(rows), y.split(rows), strict=True):
            yield self(some), responses


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """ΦᵀΦ, Φᵀy, yᵀy and n: all that least squares in the features needs to know of n rows.

    Its size depends on the number of features alone, and it is made in one pass.
    """

    map: FeatureMap
    gram: Float[Tensor, "p p"]
    moment: Float[Tensor, " p"]
    square: float
    count: int

    @classmethod
    def of(cls, feature_map: FeatureMap, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> "NormalEquations":
        """One pass over the rows."""
        size = len(feature_map)
        gram, moment = points.new_zeros(size, size), points.new_zeros(size)
        for phi, responses in feature_map.blocks(points, y):
            for start in range(0, size, _BLOCK):
                gram[start : start + _BLOCK, start:].addmm_(phi[start : start + _BLOCK], phi[start:].mT)
            moment += phi @ responses
        gram = gram.triu() + gram.triu(1).mT
        return cls(feature_map, gram, moment, float(y @ y), len(y))

    def solve(self, lam: float) -> "PrimalFit":
        """ŵ = (ΦᵀΦ + λI)⁻¹ Φᵀy."""
        factor = cholesky(self.gram + lam * torch.eye(len(self.gram)).to(self.gram))
        weights = torch.cholesky_solve(self.moment[:, None], factor)[:, 0]
        signal = (self.square - float(self.moment @ weights)) / (lam * self.count)
        return PrimalFit(self.map, weights, factor, lam, signal)

    def log_evidence(self, lam: float) -> float:
        """log p(y | λ) at the best amplitude, but for a constant: with R = ΦΦᵀ + λI, -½ log|R| - n/2 log yᵀR⁻¹y.

        |R| = |ΦᵀΦ + λI| λ^{n-p} and yᵀR⁻¹y = (yᵀy - yᵀΦŵ)/λ.
        """
        fit = self.solve(lam)
        determinant = 2 * float(fit.factor.diagonal().log().sum()) + (self.count - len(self.moment)) * log(lam)
        return -determinant / 2 - self.count / 2 * log(fit.signal)


@dataclass(frozen=True, eq=False)
class PrimalFit:
    """g(x) = ŵᵀφ(x), and how sure of it the data is: w | A ~ N(ŵ, s_f² λ (ΦᵀΦ + λI)⁻¹).

    Attributes:
        map: φ.
        weights: ŵ.
        factor: L with LLᵀ = ΦᵀΦ + λI.
        lam: λ.
        signal: s_f² = yᵀ(ΦΦᵀ + λI)⁻¹y/n.
    """

    map: FeatureMap
    weights: Float[Tensor, " p"]
    factor: Float[Tensor, "p p"]
    lam: float
    signal: float

    def to(self, device: str) -> "PrimalFit":
        """The same, elsewhere."""
        where = replace(
            self.map,
            kernel=deepcopy(self.map.kernel).to(device),
            features=deepcopy(self.map.features).to(device),
            weights=self.map.weights.to(device),
        )
        return replace(self, map=where, weights=self.weights.to(device), factor=self.factor.to(device))

    def __call__(self, points: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """g of every row."""
        nothing = points.new_zeros(len(points))
        return torch.cat([self.weights @ phi for phi, _ in self.map.blocks(points, nothing)])

    def determined(self) -> Float[Tensor, "p p"]:
        """Q = (ΦᵀΦ + λI)⁻¹ΦᵀΦ = I - λ(ΦᵀΦ + λI)⁻¹: 1 in directions that the data settles, 0 where it says nothing."""
        inverse = torch.cholesky_inverse(self.factor)
        return torch.eye(len(inverse)).to(inverse) - self.lam * inverse

    def undetermined(self) -> Float[Tensor, " p"]:
        """var(w_i | A)/s_f² = λ [(ΦᵀΦ + λI)⁻¹]_ii: 1 for a coefficient that the data says nothing of."""
        return self.lam * torch.cholesky_inverse(self.factor).diagonal()

    def error(self, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> float:
        """The mean squared residual on rows that were not trained on."""
        return float((y - self(points)).square().mean())

    def leave_one_out_error(self, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> float:
        """(1/n) Σ_j ((y_j - g(a_j))/(1 - h_j))² with h_j = φ(a_j)ᵀ(ΦᵀΦ + λI)⁻¹φ(a_j), for the rows trained on.

        In a second pass over them: every one's prediction by the machine trained without it.
        """
        total = 0.0
        for phi, responses in self.map.blocks(points, y):
            residual = responses - self.weights @ phi
            leverage = torch.linalg.solve_triangular(self.factor, phi, upper=False).square().sum(0)
            total += float((residual / (1 - leverage)).square().sum())
        return total / len(y)

    def arrays(self) -> dict[str, Tensor]:
        """All that `from_arrays` needs, to be saved."""
        return {
            "indices": self.map.features.indices,
            "weights": self.weights,
            "factor": self.factor,
            "signal_and_missing": torch.tensor([self.signal, self.map.missing], dtype=torch.float64),
        }

    @classmethod
    def from_arrays(cls, kernel: FreeKernel, lam: float, arrays: Mapping[str, Tensor]) -> "PrimalFit":
        """The fit that `arrays` came from."""
        features, (signal, missing) = Features(arrays["indices"]), arrays["signal_and_missing"].tolist()
        feature_map = FeatureMap(kernel, features, kernel._weights_at(features.indices), missing)
        return cls(feature_map, arrays["weights"], arrays["factor"], lam, signal)

    def belief(self, name: str) -> Explicit | AlignedFeatures:
        """The belief's kernel on the objective (see `tunedprior.kernels`), as a sum over these features.

        uncertain: Σ_i E[w_i²|A] φ_iφ_i' with s_f² for all i that are not among them.
        """
        if name == "aligned":
            known, indices = symmetric_root(self.determined()), self.map.features.indices
            return AlignedFeatures(self.map.kernel, indices, self.weights, known, self.signal)
        squares, tau = self.weights.square(), self.map.weights.square()
        if name == "reweighted":
            return self._explicit(squares)
        if name == "matched":
            return self._explicit(squares * tau)
        return self._explicit((squares + self.signal * (self.undetermined() - 1)) * tau, self.signal)

    def _explicit(self, coefficients: Float[Tensor, " p"], remainder: float = 0.0) -> Explicit:
        return Explicit(self.map.kernel, self.map.features.indices, coefficients, remainder)
