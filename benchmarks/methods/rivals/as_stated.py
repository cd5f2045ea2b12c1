"""The paper's rivals on the scale that it states: f ~ GP(0, K) with K(x, x) = 1, for responses on [0, 1] as they are.

The paper has a zero mean and standard kernels, brings all responses to [0, 1] and speaks of no further scaling, and
all its parameters come from leave-one-out errors. Such an error does not depend on the amplitude, which stays 1.
GP-UCB counts t as the paper's listing does.
"""

from abc import abstractmethod
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.settings import validate_input_scaling
from gpytorch.kernels import Kernel, RBFKernel, ScaleKernel
from gpytorch.means import ConstantMean
from numpy.linalg import LinAlgError
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from torch import Tensor

from benchmarks.methods.rivals.envelope import ALPHA_0, BETA_0, SIGMA
from benchmarks.methods.rivals.learnt_kernel import LENGTHSCALES, STARTS, Learnt
from benchmarks.methods.rivals.source import Rival, Source
from tunedprior.goals.observations import Observations
from tunedprior.models.gaussian_process import KnownNoiseLikelihood
from tunedprior.numerics.linalg import compute_jitter

#: The search interval of λ, as for Algorithm 1 as printed.
LAMBDAS = (1e-8, 100.0)
#: The length-scale and λ while all responses are equal, and nothing can be tuned.
_UNTUNED = (0.5, 1e-3)
_LOG_LAMBDA = -3.0


def tuned(inputs: Tensor, y: Tensor, extra_noise: Tensor | float = 0.0) -> Learnt:
    """SE and λ of least leave-one-out error, with a known variance on top of λ for each row; y is `n`.

    It is sought from several starts, by its gradient: with M = (K + diag(λ + extra))⁻¹ and α = My the left-out residual
    of row i is r_i = α_i/M_ii, and dr_i = (dα_i - r_i dM_ii)/M_ii with dα = -M dK α and dM = -M dK M.
    """
    kernel, lam = RBFKernel().double(), _UNTUNED[1]
    kernel.lengthscale = _UNTUNED[0]
    if y.max() == y.min():
        return kernel, lam
    squares = torch.cdist(inputs, inputs).square().numpy()
    responses, extra = y.numpy(), np.broadcast_to(torch.as_tensor(extra_noise).numpy(), len(y))

    def error_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        lengthscale, lam = np.exp(theta)
        gram = np.exp(-squares / (2 * lengthscale**2))
        try:
            factor = cho_factor(gram + np.diag(lam + extra), lower=True)
        except LinAlgError:  # a step too far
            return np.inf, np.zeros(2)
        inverse = cho_solve(factor, np.eye(len(responses)))
        alpha, diagonal = inverse @ responses, np.diag(inverse)
        residuals = alpha / diagonal
        slopes = []
        for product in (inverse @ (gram * squares / lengthscale**2), inverse * lam):  # M dK, over log ℓ and log λ
            changes = -product @ alpha + residuals * np.einsum("ij,ji->i", product, inverse)
            slopes.append(2 * np.mean(residuals * changes / diagonal))
        return float(np.mean(residuals**2)), np.array(slopes)

    bounds = [np.log(LENGTHSCALES), np.log(LAMBDAS)]
    starts = [[np.log(start), _LOG_LAMBDA] for start in STARTS]
    found = [minimize(error_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    lengthscale, lam = np.exp(min(found, key=lambda one: one.fun).x).tolist()
    kernel.lengthscale = lengthscale
    return kernel, lam


def unit_process(
    kernel: Kernel, noise: Tensor, inputs: Tensor, y: Tensor, shift: float = 0.0, scale: float = 1.0
) -> SingleTaskGP:
    """f ~ GP(0, K) with a noise variance for each row, where shift + scale·y was measured; in units of y."""
    covariance = ScaleKernel(deepcopy(kernel))
    covariance.outputscale = scale**-2
    mean = ConstantMean()
    mean.constant.data.fill_(-shift / scale)
    with torch.no_grad():
        gram = covariance(inputs).to_dense() + torch.diag(noise / scale**2)
    likelihood = KnownNoiseLikelihood(noise / scale**2 + compute_jitter(gram))
    with validate_input_scaling(False):
        model = SingleTaskGP(
            inputs, y, likelihood=likelihood, covar_module=covariance, mean_module=mean, outcome_transform=None
        )
    return model.requires_grad_(False).eval()


@dataclass(frozen=True, eq=False)
class AsStated(Rival):
    """A rival on the scale that the paper states."""

    #: What makes GP-UCB count t as the listing does.
    as_printed = True

    def model(self, inputs: Tensor, observations: Observations) -> SingleTaskGP:
        """Observations, and what the rival makes of old ones."""
        shift, scale = observations.shift, observations.scale
        kernel, noise, at, measured = self.told(inputs, shift + scale * observations.y[:, 0])
        return unit_process(kernel, noise, at, ((measured - shift) / scale)[:, None], shift, scale)

    @abstractmethod
    def told(self, inputs: Tensor, y: Tensor) -> tuple[Kernel, Tensor, Tensor, Tensor]:
        """The kernel, the noise variance of each row, the rows and their responses, from D in the response's units."""


@dataclass(frozen=True, eq=False)
class LeaveOneOutAsStated(AsStated):
    """EI and GPUCB: SE with ℓ and noise λ of least leave-one-out error on D."""

    def told(self, inputs: Tensor, y: Tensor) -> tuple[Kernel, Tensor, Tensor, Tensor]:
        """D alone."""
        kernel, lam = tuned(inputs, y)
        return kernel, torch.full_like(y, lam), inputs, y


@dataclass(frozen=True, eq=False)
class LearntKernelAsStated(AsStated):
    """ARD and DT-MKL: K and noise λ learnt from old data once."""

    learnt: Learnt | None

    @classmethod
    def learn(cls, source: Source, learn: Callable[[Source], Learnt]) -> "LearntKernelAsStated":
        """From the old data; a flat one teaches nothing, and D tunes SE."""
        return cls(source, None if source.flat else learn(source))

    def told(self, inputs: Tensor, y: Tensor) -> tuple[Kernel, Tensor, Tensor, Tensor]:
        """D alone."""
        kernel, lam = tuned(inputs, y) if self.learnt is None else self.learnt
        return kernel, torch.full_like(y, lam), inputs, y


@dataclass(frozen=True, eq=False)
class WithSourceAsStated(AsStated):
    """What envGP and diffGP share: SE tuned on A, and on A and D together, with variances of A on top of λ."""

    @cached_property
    def source_process(self) -> SingleTaskGP:
        """f ~ GP(0, SE) given A."""
        kernel, lam = tuned(self.source.inputs, self.source.y)
        return unit_process(kernel, torch.full_like(self.source.y, lam), self.source.inputs, self.source.y[:, None])

    def expected(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Its mean and variance."""
        with torch.no_grad():
            posterior = self.source_process.posterior(inputs)
        return posterior.mean[:, 0], posterior.variance[:, 0]

    def joined(self, inputs: Tensor, y: Tensor, old: Tensor, variance: Tensor) -> tuple[Kernel, Tensor, Tensor, Tensor]:
        """D, then A with these responses and variances."""
        at, measured = torch.cat([inputs, self.source.inputs]), torch.cat([y, old])
        extra = torch.cat([torch.zeros_like(y), variance])
        kernel, lam = tuned(at, measured, extra)
        return kernel, lam + extra, at, measured


@dataclass(frozen=True, eq=False)
class EnvelopeAsStated(WithSourceAsStated):
    """envGP: the variance of A is the mode β/(α + 1) of `Envelope`, here in the response's own units."""

    def told(self, inputs: Tensor, y: Tensor) -> tuple[Kernel, Tensor, Tensor, Tensor]:
        """A as it is, with one variance."""
        beta = BETA_0 * SIGMA + float(((y - self.expected(inputs)[0]) ** 2).sum()) / 2
        variance = torch.full_like(self.source.y, beta / (ALPHA_0 + len(y) / 2 + 1))
        return self.joined(inputs, y, self.source.y, variance)


@dataclass(frozen=True, eq=False)
class DifferenceAsStated(WithSourceAsStated):
    """diffGP: A is corrected by δ ~ GP(0, SE), tuned on y_i - m_source(x_i) with the source's variance there."""

    def told(self, inputs: Tensor, y: Tensor) -> tuple[Kernel, Tensor, Tensor, Tensor]:
        """A, corrected, with the variance of δ."""
        expected, variance = self.expected(inputs)
        gaps = y - expected
        kernel, lam = tuned(inputs, gaps, variance)
        with torch.no_grad():
            difference = unit_process(kernel, lam + variance, inputs, gaps[:, None]).posterior(self.source.inputs)
        return self.joined(inputs, y, self.source.y + difference.mean[:, 0], difference.variance[:, 0])
