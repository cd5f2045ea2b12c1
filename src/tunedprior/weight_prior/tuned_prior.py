"""The second half of Algorithm 1: a Gaussian process whose kernel is re-weighted by old data."""

from dataclasses import dataclass
from functools import cached_property, partial

from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel

from tunedprior.beliefs.reweighted import FixedReweightedKernel
from tunedprior.errors import FileFormatError, InputError
from tunedprior.goals.observations import Observations
from tunedprior.kernels.anchors import compute_mean_variance
from tunedprior.machines.machine import AlphaFit
from tunedprior.models.gaussian_process import (
    KernelInputs,
    UnitDiagonal,
    UnitMeanVariance,
    add_amplitude,
    fit_process,
    fit_unscaled_process,
)
from tunedprior.models.surrogate import encode_surrogate, register_decoder
from tunedprior.source_data.training_set import MOST_ROWS_WITH_ALPHA
from tunedprior.space.encoding import Box
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.prior_archive import decode_prior, encode_prior


@dataclass(frozen=True, eq=False)
class TunedPrior:
    """f ~ GP(m, σ_f² K^A₂): a process with the re-weighted kernel, its m, σ_f and noise fitted to observations D.

    As printed it is f ~ GP(0, K^A₂) in the units of the response, without m and σ_f. The paper does not say where the
    noise variance comes from: where it is not known it is fitted, with BoTorch's prior. Known noise is taken as it is
    then; otherwise it counts as 2e-6 of the variance of D at least.

    Attributes:
        prior: The weight prior learnt from old data.
        unit_diagonal: Whether the kernel is normalised to K^A₂(x, x')/√(K^A₂(x, x) K^A₂(x', x')), as the paper's
            published program does. The prior variance is then the same everywhere, and only correlations are learnt. It
            takes a prior with an α for each old row, 500 at most: the kernel is then the exact sum over their pairs.
        as_printed: Whether the process is that of Algorithm 1 to the letter; the weight prior must be so as well.
    """

    prior: WeightPrior
    unit_diagonal: bool = False
    as_printed: bool = False

    def __post_init__(self) -> None:
        if self.unit_diagonal and len(self.prior.alpha) not in range(1, MOST_ROWS_WITH_ALPHA + 1):
            raise InputError(
                "A unit diagonal divides by variances however small, so it takes the exact sum over pairs of old rows: "
                f"a prior with an α for each of {MOST_ROWS_WITH_ALPHA} rows at most. This one has "
                f"{len(self.prior.alpha) or 'none'}. Learn from fewer rows, or leave unit_diagonal out."
            )
        if self.as_printed and (self.prior.response_shift, self.prior.response_scale) != (0.0, 1.0):
            raise InputError(
                "A process as printed needs a weight prior learnt from responses as they are; those of this one were "
                f"shifted by {self.prior.response_shift:g} and divided by {self.prior.response_scale:g}. "
                "Learn it with pretrain(…, as_printed=True)."
            )

    @property
    def box(self) -> Box:
        """The box of the old data and the search space."""
        return self.prior.box

    def __call__(self, observations: Observations) -> SingleTaskGP:
        """The process fitted to these observations."""
        inputs = KernelInputs(self.box, -self.prior.reach, self.prior.reach)
        if self.as_printed:  # zero, and the kernel as it is, in units of the observations' y
            shift, scale = observations.shift, observations.scale
            return fit_unscaled_process(
                observations, inputs, UnitMeanVariance(self._make_kernel(), scale**2), -shift / scale
            )
        unit = UnitMeanVariance(self._make_kernel(), self._mean_variance)
        return fit_process(observations, inputs, add_amplitude(unit))

    def _make_kernel(self) -> Kernel:
        if not self.unit_diagonal:
            return self.prior.make_kernel()
        fit = self.prior.fit
        assert isinstance(fit, AlphaFit)  # it has an α
        return UnitDiagonal(FixedReweightedKernel(fit.kernel, fit.anchors, fit.alpha, by_features=False))

    @cached_property
    def _mean_variance(self) -> float:
        """Mean prior variance over the box; with a unit diagonal 1, but for places where the learnt kernel vanishes.

        Cached: it is constant over a run, and costs up to |A|² terms for each point of the box sample.
        """
        return compute_mean_variance(self._make_kernel(), self.prior.anchors.shape[1], self.prior.reach)


#: What these processes are called where surrogates are stored: as printed or not.
_KINDS = {False: "reweighted", True: "as printed"}


@encode_surrogate.register
def _encode_registered(surrogate: TunedPrior) -> tuple[str, bytes]:
    return _KINDS[surrogate.as_printed], encode_prior(surrogate.prior)


def _decode(data: bytes, as_printed: bool) -> TunedPrior:
    try:
        return TunedPrior(WeightPrior(**decode_prior(data)), as_printed=as_printed)
    except FileFormatError as error:
        raise FileFormatError(f"What is stored of old data {error}.") from error


for _as_printed, _kind in _KINDS.items():
    register_decoder(_kind, partial(_decode, as_printed=_as_printed))
