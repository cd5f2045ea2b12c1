"""BoTorch's standard Gaussian process, which uses no old data."""

from dataclasses import dataclass

from botorch.models import SingleTaskGP

from tunedprior.models.covariances import KernelInputs
from tunedprior.models.fitting import fit_process
from tunedprior.problem.box import Box
from tunedprior.problem.observations import Observations


@dataclass(frozen=True, eq=False)
class StandardSurrogate:
    """BoTorch's standard Gaussian process: squared exponential, ARD, priors that grow with the number of inputs."""

    box: Box

    def __call__(self, observations: Observations) -> SingleTaskGP:
        """The fitted model."""
        return fit_process(observations, KernelInputs(self.box, 0.0, 1.0))
