"""Length-scales and noise of a Gaussian process: their prior, most probable values, and importance-weighted draws.

θ = (log ℓ_1, …, log ℓ_g, log η): a length-scale for each parameter, and the noise variance relative to the amplitude.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import lgamma, log, pi

import numpy as np
import torch
from jaxtyping import Float, Float64
from scipy.optimize import minimize
from torch import Tensor
from torch.quasirandom import SobolEngine

from tunedprior.numerics.linalg import cholesky
from tunedprior.numerics.stationary import compute_matern_and_slope, compute_squared_exponentials

# Search intervals, for inputs in [-1, 1].
_LENGTHSCALES = (0.05, 1e3)
_NOISE = (6e-6, 20.0)
# Step of the differences of gradients that the curvature is computed from.
_STEP = 1e-3
_FIXED = 1e-2  # standard deviation of the logarithm of a noise variance that is known


@dataclass(frozen=True, eq=False)
class HyperPrior:
    """θ ~ N(m, C), where all log ℓ share a part; the amplitude a ~ inverse gamma(c, c) is integrated out.

    Attributes:
        mean: m.
        covariance: C.
        constant: The prior variance of the constant mean, relative to the amplitude.
        certainty: c.
        smooth: Whether the kernel is squared exponential, and not Matérn-5/2.
    """

    mean: Float[Tensor, " k"]
    covariance: Float[Tensor, "k k"]
    constant: float
    certainty: float
    smooth: bool = False

    @classmethod
    def from_axis_count(
        cls,
        num_axes: int,
        *,
        median: float,
        shared: float,
        own: float,
        noise: tuple[float, float],
        constant: float,
        certainty: float,
        smooth: bool = False,
    ) -> "HyperPrior":
        """The prior for so many parameters.

        Args:
            num_axes: g; length-scales grow with √g, as distances in the box do.
            median: The median length-scale of a single parameter.
            shared: The standard deviation of the part that all log ℓ share.
            own: The standard deviation of each log ℓ's own part.
            noise: The mean and standard deviation of log η.
            constant: The prior variance of the constant mean, relative to the amplitude.
            certainty: c.
            smooth: Whether the kernel is squared exponential, and not Matérn-5/2.
        """
        middle = torch.full((num_axes + 1,), log(median) + log(max(num_axes, 1)) / 2, dtype=torch.float64)
        covariance = shared**2 * torch.ones_like(middle).outer(torch.ones_like(middle))
        covariance.diagonal().add_(own**2)
        covariance[-1], covariance[:, -1] = 0.0, 0.0
        middle[-1], covariance[-1, -1] = noise[0], noise[1] ** 2
        return cls(middle, covariance, constant, certainty, smooth)

    def fix_noise(self, variance: float) -> "HyperPrior":
        """The prior where the noise variance, relative to the amplitude, is known."""
        middle, covariance = self.mean.clone(), self.covariance.clone()
        middle[-1], covariance[-1, -1] = log(min(max(variance, _NOISE[0]), _NOISE[1])), _FIXED**2
        return replace(self, mean=middle, covariance=covariance)

    @cached_property
    def root(self) -> Float[Tensor, "k k"]:
        """The Cholesky factor of C."""
        return cholesky(self.covariance)

    def sample(self, count: int) -> Float[Tensor, "count k"]:
        """Draws of θ: a scrambled Sobol sequence, the same in every call."""
        return _clamp_to_bounds(self.mean + _draw_normal(count, len(self.mean), seed=0) @ self.root.mT)

    def compute_log_posterior(
        self, theta: Float[Tensor, " k"], squares: Float[Tensor, "g n n"], y: Float[Tensor, " n"]
    ) -> tuple[float, Float[Tensor, " k"]]:
        """log p(θ) p(y | θ) up to a constant, and its gradient.

        log p(y | θ) = -Σ log L_ii - c' log m + …, where LLᵀ = R = K + constant + ηI, and a | y ~ inverse gamma(c', m).
        With β = R⁻¹y, its differential is Σ G ⊙ dR, G = ½ (c'/m ββᵀ - R⁻¹); dR is slope ⊙ s_d ν_d by log ℓ_d, and ηI
        by log η.
        """
        n, precision, noise = len(y), (-2 * theta[:-1]).exp(), theta[-1].exp()
        if self.smooth:
            values = slopes = compute_squared_exponentials(precision[None], squares)
        else:
            values, slopes = compute_matern_and_slope(precision[None], squares)
        covariance = values[0] + self.constant
        covariance.diagonal().add_(noise)
        factor = cholesky(covariance)
        white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        beta = torch.linalg.solve_triangular(factor.mT, white, upper=True)
        posterior, misfit = self.certainty + n / 2, self.certainty + float(white.square().sum()) / 2
        by_covariance = (posterior / misfit * beta @ beta.mT - torch.cholesky_inverse(factor)) / 2
        by_length = precision * (squares.flatten(1) @ (by_covariance * slopes[0]).flatten())
        gradient = torch.cat([by_length, (noise * by_covariance.trace())[None]])
        value = lgamma(posterior) - float(factor.diagonal().log().sum()) - posterior * log(misfit)
        off = theta - self.mean
        pull = torch.cholesky_solve(off[:, None], self.root)[:, 0]
        return value - float(off @ pull) / 2, gradient - pull

    def find_most_probable(
        self,
        squares: Float[Tensor, "g n n"],
        y: Float[Tensor, " n"],
        starts: Sequence[Float[Tensor, " k"]] = (),
        most: int = 40,
        least_lengthscale: float = _LENGTHSCALES[0],
    ) -> Float[Tensor, " k"]:
        """The argmax of p(θ) p(y | θ), searched from each start; from the prior's middle when left out."""
        lengths = (log(least_lengthscale), log(_LENGTHSCALES[1]))
        bounds = [lengths] * (len(self.mean) - 1) + [(log(_NOISE[0]), log(_NOISE[1]))]

        def evaluate_negative_log_posterior(
            theta: Float64[np.ndarray, " k"],
        ) -> tuple[float, Float64[np.ndarray, " k"]]:
            value, gradient = self.compute_log_posterior(torch.as_tensor(theta), squares, y)
            return -value, -gradient.numpy()

        found = [
            minimize(
                evaluate_negative_log_posterior, start.numpy().clip(*np.array(bounds).T),
                jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": most},
            )
            for start in (starts or (self.mean,))
        ]  # fmt: skip
        return torch.as_tensor(min(found, key=lambda one: float(one.fun)).x)

    def compute_proposal_root(
        self, theta: Float[Tensor, " k"], squares: Float[Tensor, "g n n"], y: Float[Tensor, " n"], widened: float
    ) -> Float[Tensor, "k k"]:
        """W, with WWᵀ the covariance of the normal distribution from which θ near the most probable one is drawn.

        It is Laplace's approximation of p(θ | y), with the curvature by finite differences of the gradient. Its
        standard deviations are capped at the prior's largest one, then multiplied by `widened`. W is square, not
        triangular.

        Args:
            theta: The most probable θ.
            squares: The squared distances of the observed points along each parameter.
            y: The observations.
            widened: The factor on the standard deviations.
        """
        _, here = self.compute_log_posterior(theta, squares, y)
        steps = _STEP * torch.eye(len(theta)).to(theta)
        there = torch.stack([self.compute_log_posterior(theta + step, squares, y)[1] for step in steps])
        curvature = (here - there) / _STEP
        least = 1 / torch.linalg.eigvalsh(self.covariance).max()
        values, vectors = torch.linalg.eigh((curvature + curvature.mT) / 2)
        root: Tensor = vectors * (widened * values.clamp_min(least).rsqrt())
        return root


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of θ with importance weights: Σ_i exp(log_weight_i) p(y | θ_i) estimates ∫ p(y | θ) p(θ) dθ.

    Attributes:
        theta: Draws of the prior first, then those near the most probable θ.
        log_weight: log p(θ)/(N q(θ)), with q the mixture of the two that N draws were made from.
        most_probable: θ of the largest p(θ) p(y | θ).
    """

    theta: Float[Tensor, "n k"]
    log_weight: Float[Tensor, " n"]
    most_probable: Float[Tensor, " k"]


def draw_hyperparameters(
    prior: HyperPrior,
    beforehand: Float[Tensor, "p k"],
    squares: Float[Tensor, "g n n"],
    y: Float[Tensor, " n"],
    count: int,
    widened: float,
) -> Draws:
    """The prior's draws and `count` more from Laplace's approximation to the posterior, weighted as one sample.

    An approximation with wrong tails would give few draws all the weight. With the prior's draws in the mixture, no
    weight exceeds that of a prior draw by more than the number of draws.
    """
    top = prior.find_most_probable(squares, y)
    root = prior.compute_proposal_root(top, squares, y, widened)
    off_top = _draw_normal(count, len(top), seed=1)
    off_top[0] = 0.0  # the most probable θ is the first draw
    theta = torch.cat([beforehand, _clamp_to_bounds(top + off_top @ root.mT)])
    log_prior = compute_normal_log_density(theta, prior.mean, prior.root)
    log_near = compute_normal_log_density(theta, top, root)
    total = len(theta)
    mixture = torch.logaddexp(log_prior + log(len(beforehand) / total), log_near + log(count / total))
    return Draws(theta, log_prior - mixture - log(total), top)


def _draw_normal(count: int, dims: int, seed: int) -> Float[Tensor, "count dims"]:
    """Standard normal draws from a scrambled Sobol sequence."""
    uniform = SobolEngine(dims, scramble=True, seed=seed).draw(count, dtype=torch.float64)
    found: Tensor = torch.special.ndtri(uniform.clamp(1e-6, 1 - 1e-6))
    return found


def _clamp_to_bounds(theta: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
    """θ with every entry inside its search interval."""
    lengths, noise = (torch.as_tensor(np.log(bounds)) for bounds in (_LENGTHSCALES, _NOISE))
    return torch.cat([theta[:, :-1].clamp(*lengths), theta[:, -1:].clamp(*noise)], dim=-1)


def compute_normal_log_density(
    theta: Float[Tensor, "n k"], middle: Float[Tensor, " k"], root: Float[Tensor, "k k"]
) -> Float[Tensor, " n"]:
    """log N(θ; m, WWᵀ) for a square root W."""
    off: Tensor = torch.linalg.solve(root, (theta - middle).mT)
    return -off.square().sum(0) / 2 - root.slogdet().logabsdet - len(middle) / 2 * log(2 * pi)
