"""The second half of Algorithm 1: a Gaussian process whose kernel is re-weighted by old data."""

from dataclasses import dataclass
from functools import cached_property

from botorch.models import SingleTaskGP
from gpytorch.kernels import Kernel

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.kernels.box_means import mean_variance
from tunedprior.models.covariances import KernelInputs, UnitDiagonal, with_amplitude
from tunedprior.models.fitting import fitted_process
from tunedprior.problem.box import Box
from tunedprior.problem.observations import Observations


@dataclass(frozen=True, eq=False)
class TunedPrior:
    """f ~ GP(m, σ_f² K^A₂): a process with the re-weighted kernel, its m, σ_f and noise fitted to observations D.

    Attributes:
        prior: The weight prior learnt from old data.
        unit_diagonal: Whether the kernel is normalised to K^A₂(x, x')/√(K^A₂(x, x) K^A₂(x', x')), as the paper's
            published program does. The prior variance is then the same everywhere, and only correlations are learnt.
    """

    prior: WeightPrior
    unit_diagonal: bool = False

    @property
    def box(self) -> Box:
        """The box of the old data and the search space."""
        return self.prior.box

    def __call__(self, observations: Observations) -> SingleTaskGP:
        """The process fitted to these observations."""
        reach = self.prior.reach
        covariance = with_amplitude(self._kernel(), self._mean_variance)
        return fitted_process(observations, KernelInputs(self.box, -reach, reach), covariance)

    def _kernel(self) -> Kernel:
        kernel = self.prior.kernel()
        return UnitDiagonal(kernel, self._learnt_mean_variance) if self.unit_diagonal else kernel

    # Cached: they are constant over a run, and cost up to |A|² terms for each point of the box sample.

    @cached_property
    def _learnt_mean_variance(self) -> float:
        return self._mean_over_box(self.prior.kernel())

    @cached_property
    def _mean_variance(self) -> float:
        """Mean prior variance over the box; with a unit diagonal 1, but for places where the learnt kernel vanishes."""
        return self._mean_over_box(self._kernel()) if self.unit_diagonal else self._learnt_mean_variance

    def _mean_over_box(self, kernel: Kernel) -> float:
        return mean_variance(kernel, self.prior.anchors.shape[1], self.prior.reach)
