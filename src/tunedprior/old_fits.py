"""Several readings of the same old data: a least-squares fit at its most probable length-scales, and at others."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import sqrt

import numpy as np
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.evidence import lengthscale_prior, most_probable
from tunedprior.kernels import Aligned, FreeKernel, Matched, ReweightedBelief, SquaredExponential, Uncertain
from tunedprior.linalg import solve_posdef
from tunedprior.machines.primal import FeatureMap, NormalEquations, PrimalFit
from tunedprior.validation import sample_of_rows

#: Beliefs that one fit of old data can justify, by name.
BELIEFS = ("aligned", "matched", "uncertain", "reweighted")

_LAMBDAS = np.geomspace(1e-4, 3.0, 20)
_STARTS = tuple((lengthscale, noise) for lengthscale in (0.3, 0.8, 2.0) for noise in (0.007, 0.4))
# A smooth response with some noise and a rough one without are told apart by the likelihood, not by the prior.
_NOISE_PRIOR = (-4.0, 3.0)  # of its logarithm
_ROWS_FOR_LENGTHSCALES = 300
#: Rows up to which each has its own α; the cost of a prediction grows with them.
MOST_ROWS_WITH_ALPHA = 500
# Explicit features of more rows than that: a prediction costs about as much as with the most rows that have an α.
_MOST_FEATURES = 512
_MOST_MISSING = 0.25  # of the kernel's variance at old settings; a short length-scale in many inputs has more features
#: Fixed length-scales for two inputs; distances in the box grow with √d, and so do they.
FIXED_LENGTHSCALES = (0.3, 0.6, 1.2)


class Reading(ABC):
    """g, what one kernel and one λ make of old data, and the beliefs about the objective that it justifies."""

    kernel: FreeKernel

    @abstractmethod
    def belief(self, name: str) -> Kernel:
        """The belief's kernel on the objective (see `tunedprior.kernels`)."""

    @abstractmethod
    def expected(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """ĝ(x)."""

    def lengthscale(self, num_inputs: int) -> Float[Tensor, " d"] | None:
        """One length-scale per input; None if the kernel has none."""
        if not isinstance(self.kernel, SquaredExponential):
            return None
        lengthscale: Tensor = self.kernel.lengthscale.detach().flatten().double()
        return lengthscale.expand(num_inputs)


@dataclass(frozen=True, eq=False)
class OldFit(Reading):
    """g(x) = Σ_j α_j K₂(a_j, x): of so few rows that each can have its α.

    Attributes:
        kernel: K_m, its parameters fixed.
        anchors: Old settings as kernel inputs, `a x d`.
        alpha: α.
        lam: λ.
    """

    kernel: FreeKernel
    anchors: Float[Tensor, "a d"]
    alpha: Float[Tensor, " a"]
    lam: float

    @classmethod
    def at(cls, anchors: Float[Tensor, "a d"], y: Float[Tensor, " a"], lengthscale: Float[Tensor, " d"]) -> "OldFit":
        """Least squares at these length-scales, with λ by marginal likelihood, the amplitude at its best."""
        kernel = SquaredExponential(lengthscale.double()).requires_grad_(False)
        gram = kernel(anchors).to_dense()
        values, vectors = torch.linalg.eigh(gram)
        projected = (vectors.mT @ y).square()

        def badness(lam: float) -> float:
            spectrum = values.clamp_min(0) + lam
            return float(spectrum.log().sum() / 2 + len(y) / 2 * (projected / spectrum).mean().log())

        lam = float(min(_LAMBDAS, key=badness))
        alpha = solve_posdef(gram + lam * torch.eye(len(y)).to(y), y[:, None])[:, 0]
        return cls(kernel, anchors, alpha, lam)

    def belief(self, name: str) -> Kernel:
        """The belief's kernel on the objective (see `tunedprior.kernels`)."""
        if name == "aligned":
            return Aligned(self.kernel, self.anchors, self.alpha, self.lam)
        if name == "matched":
            return Matched(self.kernel, self.anchors, self.alpha)
        if name == "uncertain":
            return Uncertain(self.kernel, self.anchors, self.alpha, self.lam)
        return ReweightedBelief(self.kernel, self.anchors, self.alpha)

    def expected(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """ĝ(x)."""
        with torch.no_grad():
            expected: Tensor = self.kernel(x, self.anchors).to_dense() @ self.alpha
        return expected


@dataclass(frozen=True, eq=False)
class StreamedFit(Reading):
    """g(x) = ŵᵀφ(x): of any number of rows, in explicit features; a prediction costs the same whatever their number.

    Attributes:
        fit: ŵ, and how well the rows determine it.
    """

    fit: PrimalFit

    @classmethod
    def at(cls, features: FeatureMap, points: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> "StreamedFit":
        """Least squares in these features, with λ by marginal likelihood, the amplitude at its best."""
        equations = NormalEquations.of(features, points, y)
        return cls(equations.solve(float(max(_LAMBDAS, key=equations.log_evidence))))

    @property
    def kernel(self) -> FreeKernel:  # type: ignore[override]  # as good as an attribute
        """K_m, its parameters fixed."""
        return self.fit.map.kernel

    def belief(self, name: str) -> Kernel:
        """The belief's kernel on the objective (see `tunedprior.kernels`)."""
        return self.fit.belief(name)

    def expected(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """ĝ(x)."""
        return self.fit(x)


def fits(anchors: Float[Tensor, "a d"], y: Float[Tensor, " a"], seed: int = 0) -> list[Reading]:
    """The most probable fit with a length-scale for each input, and one at each of the fixed length-scales.

    One length-scale chosen on old data alone is brittle: it may see nothing, or nothing that the objective shares.
    Observations of the objective choose better, so they are left several to choose from. Length-scales are looked for
    on a choice of the rows, and what each teaches comes from all of them.
    """
    few = torch.as_tensor(np.sort(np.random.default_rng(seed).permutation(len(y))[:_ROWS_FOR_LENGTHSCALES]))
    lengthscale = most_probable(anchors[few], y[few], _STARTS, lengthscale_prior(anchors.shape[1]), _NOISE_PRIOR)
    spread = sqrt(anchors.shape[1] / 2)
    tried = [lengthscale, *(torch.full_like(lengthscale, spread * fixed) for fixed in FIXED_LENGTHSCALES)]
    return [_reading(anchors, y, one, seed) for one in tried]


def _reading(
    points: Float[Tensor, "a d"], y: Float[Tensor, " a"], lengthscale: Float[Tensor, " d"], seed: int
) -> Reading:
    """With an α for each row; if there are too many, in features; if those reach too little, with α for some rows."""
    if len(y) <= MOST_ROWS_WITH_ALPHA:
        return OldFit.at(points, y, lengthscale)
    kernel = SquaredExponential(lengthscale.double()).requires_grad_(False)
    features = FeatureMap.of(kernel, points, _MOST_FEATURES)
    if features.missing <= _MOST_MISSING:
        return StreamedFit.at(features, points, y)
    return OldFit.at(*sample_of_rows(points, y, False, MOST_ROWS_WITH_ALPHA, seed), lengthscale)
