"""Several readings of the same old data: a least-squares fit at its most probable length-scales, and at others."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Float64
from numpy import ndarray
from scipy.optimize import minimize
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels import Aligned, FreeKernel, Matched, Reweighted, SquaredExponential, Uncertain
from tunedprior.linalg import cholesky, solve_posdef

#: Beliefs that one fit of old data can justify, by name.
BELIEFS = ("aligned", "matched", "uncertain", "reweighted")

# Where length-scales are looked for, in units of [-1, 1]; a shorter one sees nothing between old settings.
_LENGTHSCALES = (0.1, 60.0)
_NOISE = (1e-5, 3.0)
_LAMBDAS = np.geomspace(1e-4, 3.0, 20)
_STARTS = tuple((lengthscale, noise) for lengthscale in (0.3, 0.8, 2.0) for noise in (0.007, 0.4))
# A smooth response with some noise and a rough one without are told apart by the likelihood, not by the prior.
_NOISE_PRIOR = (-4.0, 3.0)  # of its logarithm
_ROWS_FOR_LENGTHSCALES = 300
#: How sure it is that a process for standardised responses has amplitude 1, as half a number of observations.
AMPLITUDE_CERTAINTY = 1.0
#: Fixed length-scales for two inputs; distances in the box grow with √d, and so do they.
FIXED_LENGTHSCALES = (0.3, 0.6, 1.2)


Normal = tuple[float, float]  # mean and standard deviation


def lengthscale_prior(num_inputs: int) -> Normal:
    """Of log ℓ on [-1, 1]: BoTorch's, whose cube is half as wide."""
    return sqrt(2) + log(num_inputs) / 2 + log(2), sqrt(3)


@dataclass(frozen=True, eq=False)
class OldFit:
    """g(x) = Σ_j α_j K₂(a_j, x): what one kernel and one λ make of old data.

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
            return _by_features_or_exact(Matched, self.kernel, self.anchors, self.alpha)
        if name == "uncertain":
            return _by_features_or_exact(Uncertain, self.kernel, self.anchors, self.alpha, self.lam)
        return Reweighted(self.kernel, self.anchors, self.alpha)

    def lengthscale(self, num_inputs: int) -> Float[Tensor, " d"] | None:
        """One length-scale per input; None if the kernel has none."""
        if not isinstance(self.kernel, SquaredExponential):
            return None
        lengthscale: Tensor = self.kernel.lengthscale.detach().flatten().double()
        return lengthscale.expand(num_inputs)

    def expected(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """ĝ(x)."""
        with torch.no_grad():
            expected: Tensor = self.kernel(x, self.anchors).to_dense() @ self.alpha
        return expected


def _by_features_or_exact(belief: type[Kernel], *learnt: Any) -> Kernel:
    """Features cost far less than the sum over pairs of old settings, where there are not too many."""
    try:
        return belief(*learnt, by_features=True)
    except InputError:
        return belief(*learnt)


def fits(anchors: Float[Tensor, "a d"], y: Float[Tensor, " a"], seed: int = 0) -> list[OldFit]:
    """The most probable fit with a length-scale for each input, and one at each of the fixed length-scales.

    One length-scale chosen on old data alone is brittle: it may see nothing, or nothing that the objective shares.
    Observations of the objective choose better, so they are left several to choose from.
    """
    few = torch.as_tensor(np.sort(np.random.default_rng(seed).permutation(len(y))[:_ROWS_FOR_LENGTHSCALES]))
    lengthscale = most_probable(anchors[few], y[few], _STARTS, lengthscale_prior(anchors.shape[1]), _NOISE_PRIOR)
    spread = sqrt(anchors.shape[1] / 2)
    tried = [lengthscale, *(torch.full_like(lengthscale, spread * fixed) for fixed in FIXED_LENGTHSCALES)]
    return [OldFit.at(anchors, y, one) for one in tried]


def most_probable(
    x: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    starts: Sequence[tuple[float, float]],
    lengthscales: Normal,
    noises: Normal,
) -> Float[Tensor, " d"]:
    """ℓ, where p(y | ℓ, η) p(log ℓ) p(log η) is largest over length-scales ℓ and noise η, the amplitude integrated out.

    Args:
        x: Inputs in [-1, 1].
        y: Responses with mean 0 and variance 1.
        starts: Where to begin: a length-scale for all inputs, and a noise variance relative to the amplitude.
        lengthscales: The prior of each log ℓ.
        noises: That of log η.
    """
    num_inputs = x.shape[1]
    squares = (x[:, None] - x).square().flatten(0, 1)
    identity = torch.eye(len(y)).to(y)

    def badness(theta: Float64[ndarray, " k"]) -> tuple[float, Float64[ndarray, " k"]]:
        logs = torch.tensor(theta, requires_grad=True)
        log_lengthscale, log_noise = logs[:-1], logs[-1]
        gram = (-(squares @ (-2 * log_lengthscale).exp()) / 2).exp().reshape(len(y), len(y))
        factor = cholesky(gram + log_noise.exp() * identity)
        white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        value = -log_evidence(factor, white, AMPLITUDE_CERTAINTY)
        value = value + (((log_lengthscale - lengthscales[0]) / lengthscales[1]).square() / 2).sum()
        value = value + ((log_noise - noises[0]) / noises[1]).square() / 2
        (gradient,) = torch.autograd.grad(value, logs)
        return value.item(), gradient.numpy()

    bounds = [tuple(np.log(_LENGTHSCALES))] * num_inputs + [tuple(np.log(_NOISE))]
    found = [
        minimize(
            badness,
            np.log([*[lengthscale] * num_inputs, noise]).clip(*np.array(bounds).T),
            jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 50},
        )
        for lengthscale, noise in starts
    ]  # fmt: skip
    best = min(found, key=lambda one: float(one.fun))
    return torch.as_tensor(np.exp(best.x[:-1]))


def log_evidence(
    factor: Float[Tensor, "*batch n n"], white: Float[Tensor, "*batch n 1"], certainty: float | Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """log ∫ N(y; 0, a LLᵀ) p(a) da + n/2 log 2π, where white = L⁻¹y and a ~ inverse gamma(c, c), c the certainty."""
    prior = torch.as_tensor(certainty).to(white)
    posterior = prior + white.shape[-2] / 2
    misfit = prior + white.square().sum((-2, -1)) / 2
    constant = prior * prior.log() - torch.lgamma(prior) + torch.lgamma(posterior)
    evidence: Tensor = constant - factor.diagonal(dim1=-2, dim2=-1).log().sum(-1) - posterior * misfit.log()
    return evidence


def amplitude(white: Float[Tensor, "*batch n 1"], certainty: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """m/c' of its posterior inverse gamma(c', m): what the mean of 1/a says of a."""
    misfit: Tensor = certainty + white.square().sum((-2, -1)) / 2
    return misfit / (certainty + white.shape[-2] / 2)
