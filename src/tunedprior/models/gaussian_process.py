"""Gaussian processes with a learnt or a standard kernel: input transform, scaling, noise and fitting."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.transforms.input import InputTransform
from botorch.settings import validate_input_scaling
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch.likelihoods.noise_models import FixedGaussianNoise
from gpytorch.means import ConstantMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import refuse_other_types, warn
from tunedprior.errors import FittingWarning, JitterWarning
from tunedprior.goals.observations import Observations
from tunedprior.numerics.isolation import ENDED_EARLY, ROUNDED_NOISE, silence_warnings
from tunedprior.numerics.linalg import compute_jitter
from tunedprior.space.encoding import Box

# Where a prior variance is less than so many times its own rounding error, dividing by it would only magnify that.
_LEAST_DIGITS = 1e3
# A kernel whose mean variance is below this counts as zero.
_VANISHING = 1e-12


class KernelInputs(InputTransform, torch.nn.Module):
    """Input transform from encoded settings, which acquisition functions are maximised over, to kernel inputs."""

    is_one_to_many = False

    def __init__(self, box: Box, low: float, high: float) -> None:
        super().__init__()
        self.box, self.low, self.high = box, low, high
        self.transform_on_train = True
        self.transform_on_eval = True
        self.transform_on_fantasize = True

    def transform(self, X: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n d"]:
        """Kernel inputs between `low` and `high`."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return middle + half * self.box.to_kernel_inputs(X)


class UnitMeanVariance(Kernel):
    """K(x, x')/c, with c the mean of K(x, x) over the box: a learnt kernel whose own parameters stay as learnt.

    On average over the box the prior variance is then 1, so the amplitude fitted to standardised observations is near 1
    whatever the size of α. The matrix of the training points is cached, as amplitude and noise are fitted many times on
    it.
    """

    def __init__(self, kernel: Kernel, mean_variance: float) -> None:
        super().__init__()
        self.base = kernel.requires_grad_(False)
        self.mean_variance = mean_variance
        self._kept: tuple[Tensor, Tensor] | None = None

    @property
    def vanishes(self) -> bool:
        """Whether K is numerically zero, so that it cannot be normalised."""
        return self.mean_variance < _VANISHING

    def forward(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"], diag: bool = False, **params: Any
    ) -> Float[Tensor, "..."]:
        """The scaled matrix, or its diagonal."""
        keep = not diag and not x1.requires_grad and torch.equal(x1, x2)
        if keep and self._kept is not None:
            x, kept = self._kept
            # A model may have been moved to another device or dtype in between.
            if (x1.dtype, x1.device) == (x.dtype, x.device) and torch.equal(x1, x):
                return kept
        matrix: Tensor = self.base.forward(x1, x2, diag=diag, **params) / self.mean_variance
        if keep and self.training:
            self._kept = (x1, matrix)
        return matrix


@runtime_checkable
class HasRoundingBound(Protocol):
    """A kernel that is exact up to rounding and can bound the rounding error."""

    def bound_rounding_error(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n"]:
        """Upper bound on the rounding error of K(x, x)."""
        ...


class UnitDiagonal(Kernel):
    """K(x, x') / √(K(x, x) K(x', x')): every setting has prior variance 1, only correlations are learnt.

    K(x, x) may be 1e-200 of its mean over the box, so K must be accurate relative to itself; features with an error
    relative to the mean are not enough. Where K(x, x) is less than 1,000 times its rounding error, that bound is the
    divisor: the prior variance stays (nearly) zero there.

    Args:
        kernel: K, a kernel that also is `HasRoundingBound`, as `FixedReweightedKernel` summed over pairs of rows.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        refuse_other_types(kernel, HasRoundingBound, "kernel", "one that is exact but for rounding, FixedReweighted")
        self.base = kernel

    def forward(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"], diag: bool = False, **params: Any
    ) -> Float[Tensor, "..."]:
        """The scaled matrix, or its diagonal."""
        left, right = self._compute_scale(x1, **params), self._compute_scale(x2, **params)
        matrix: Tensor = self.base.forward(x1, x2, diag=diag, **params)
        # One after the other: both together may overflow.
        return matrix * left * right if diag else matrix * left[..., :, None] * right[..., None, :]

    def _compute_scale(self, x: Float[Tensor, "*batch n d"], **params: Any) -> Float[Tensor, "*batch n"]:
        """1/√K(x, x). A batch of candidates repeats the training points; they are computed once."""
        if x.requires_grad:
            return self._compute_distinct_scale(x, **params)
        points, place = x.flatten(0, -2).unique(dim=0, return_inverse=True)
        return self._compute_distinct_scale(points, **params)[place].reshape(x.shape[:-1])

    def _compute_distinct_scale(self, x: Float[Tensor, "*batch n d"], **params: Any) -> Float[Tensor, "*batch n"]:
        variance: Tensor = self.base.forward(x, x, diag=True, **params)
        with torch.no_grad():
            least = (_LEAST_DIGITS * self.base.bound_rounding_error(x)).clamp_min(torch.finfo(variance.dtype).tiny)
        return torch.maximum(variance, least).rsqrt()


def add_amplitude(kernel: Kernel, batch_shape: tuple[int, ...] = ()) -> ScaleKernel:
    """σ_f² K(x, x') with an amplitude σ_f to fit, one for each member of a batch."""
    return ScaleKernel(
        kernel,
        batch_shape=torch.Size(batch_shape),
        outputscale_prior=LogNormalPrior(0.0, 1.0),
        # Untransformed, so that the fit has a bound to respect instead of an underflow to fall into.
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=1.0),
    )


#: Known noise counts as this share of the results' variance at least, but for a process as printed: with less,
#: covariance matrices may be singular. It shows where settings lie so close together that results differ by as little.
LEAST_NOISE = 2e-6

ModelT = TypeVar("ModelT", bound=GPyTorchModel)


class _UnclampedNoise(FixedGaussianNoise):
    """GPyTorch's fixed noise, without its floor of 1e-6."""

    def __init__(self, noise: Float[Tensor, " n"]) -> None:
        super().__init__(torch.ones_like(noise))
        self.noise = noise


class KnownNoiseLikelihood(FixedNoiseGaussianLikelihood):
    """Gaussian noise with a known variance for each observation, without a lower bound."""

    def __init__(self, noise: Float[Tensor, " n"]) -> None:
        super().__init__(torch.ones_like(noise))
        self.noise_covar = _UnclampedNoise(noise)

    def get_fantasy_likelihood(self, **kwargs: Any) -> "KnownNoiseLikelihood":
        """The likelihood with more observations, whose noise variance is given as `noise`."""
        more: Tensor = kwargs["noise"]
        return KnownNoiseLikelihood(torch.cat([self.noise.expand(*more.shape[:-1], -1), more], -1))


def compute_known_noise(observations: Observations) -> Float[Tensor, "n 1"] | None:
    """The known noise variance of each observation, at least `LEAST_NOISE`; with a warning if it was less.

    An exact response gets `LEAST_NOISE` without a warning.
    """
    told, counted = observations.compute_noise_variances(0.0), observations.compute_noise_variances(LEAST_NOISE)
    if told is not None and bool(((told > 0) & (told < LEAST_NOISE)).any()):
        warn_of_little_noise()
    return counted


def warn_of_little_noise() -> None:
    """Warn that the known noise is below `LEAST_NOISE` and counts as that."""
    warn(
        f"noise_std is less than {100 * sqrt(LEAST_NOISE):.2f} % of the standard deviation of the results, and counts "
        "as that much: with less, their covariance matrix may be singular. prior='as printed' takes it as it is.",
        JitterWarning,
    )


def fit_process(
    observations: Observations, transform: InputTransform, covariance: Kernel | None = None
) -> SingleTaskGP:
    """Fit BoTorch's Gaussian process, with this covariance or else its own, to the observations."""
    return fit(_make_process(observations, transform, covariance, compute_known_noise(observations)))


def fit_unscaled_process(
    observations: Observations, transform: InputTransform, covariance: Kernel, mean: float
) -> SingleTaskGP:
    """The process with this prior mean and covariance in the units of y; only unknown noise is fitted.

    Known noise is used as it is. Where the covariance matrix cannot be factorised with it, jitter is added, with a
    warning that says how much.
    """
    constant = ConstantMean()
    constant.constant.requires_grad_(False).fill_(mean)
    fixed: dict[str, Any] = {"mean_module": constant, "outcome_transform": None}
    noise = observations.compute_noise_variances(0.0)
    if noise is not None:
        with torch.no_grad():
            inputs = transform.transform(observations.X)
            matrix: Tensor = covariance(inputs).to_dense()
        matrix = matrix + torch.diag(noise[:, 0])
        fixed["likelihood"] = KnownNoiseLikelihood(noise[:, 0] + compute_jitter(matrix))
    return fit(_make_process(observations, transform, covariance, None, **fixed))


def _make_process(
    observations: Observations,
    transform: InputTransform,
    covariance: Kernel | None,
    noise: Float[Tensor, "n 1"] | None,
    **options: Any,
) -> SingleTaskGP:
    # [-1, 1] is where free kernels live. BoTorch standardises once more: of two results LEAST_NOISE becomes 1e-6, which
    # is GPyTorch's bound, but for rounding.
    with silence_warnings(ROUNDED_NOISE), validate_input_scaling(False):
        return SingleTaskGP(
            observations.X, observations.y, noise, covar_module=covariance, input_transform=transform, **options
        )


def fit(model: ModelT, max_steps: int | None = None) -> ModelT:
    """Fit the model's parameters (maximum a posteriori); if that fails, warn and keep the initial ones.

    `max_steps` bounds the number of steps; the fit can be continued by another call.
    """
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return model.eval()  # BoTorch would not know what to do without any
    options = None if max_steps is None else {"options": {"maxiter": max_steps}}
    # [-1, 1] is where free kernels live; BoTorch's settings, like its warnings, are those of the whole process.
    with silence_warnings(ENDED_EARLY), torch.enable_grad(), validate_input_scaling(False):
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs=options)
        except ModelFittingError as error:
            failure: str | None = f"The model's parameters could not be fitted ({error}); going on with those it had."
        else:
            failure = None
    if failure is not None:
        warn(failure, FittingWarning)
    return model.eval()


@dataclass(frozen=True, eq=False)
class StandardSurrogate:
    """BoTorch's standard Gaussian process, without old data: squared exponential with ARD and BoTorch's priors."""

    box: Box

    def __call__(self, observations: Observations) -> SingleTaskGP:
        """The fitted model."""
        return fit_process(observations, KernelInputs(self.box, 0.0, 1.0))
