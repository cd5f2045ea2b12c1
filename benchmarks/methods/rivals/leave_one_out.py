"""GP-UCB and EI as the paper ran them: no old data, hyperparameters by leave-one-out on D at every step."""

from copy import deepcopy
from dataclasses import dataclass

import torch
from botorch.models import SingleTaskGP
from botorch.settings import validate_input_scaling
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.means import ZeroMean
from torch import Tensor

from benchmarks.methods.rivals.source import Rival, on_unit_cube
from tunedprior.goals.observations import Observations
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import LeastSquares, select
from tunedprior.models.gaussian_process import LEAST_NOISE
from tunedprior.numerics.linalg import solve_posdef


@dataclass(frozen=True, eq=False)
class LeaveOneOut(Rival):
    """f ~ GP(0, s² SE(ℓ)) with noise s²λ; ℓ and λ least in leave-one-out error on D, s² = yᵀ(K + λI)⁻¹y/n.

    Leave-one-out says nothing about the amplitude s, as it cancels from every prediction; this is its most probable
    value given ℓ and λ.
    """

    def model(self, inputs: Tensor, observations: Observations) -> SingleTaskGP:
        """Tuned anew; of the old data only the box counts."""
        y = observations.y
        kernel, lam = SquaredExponential(1.0), 1e-3  # while all responses are equal, nothing can be tuned
        if y.max() > y.min():
            chosen = select(LeastSquares(1.0), kernel, 2 * inputs - 1, y[:, 0])
            kernel, lam = chosen.kernel, chosen.machine.lam
        return fixed_process(on_unit_cube(kernel), lam, inputs, y)


def fixed_process(kernel: Kernel, lam: float, inputs: Tensor, y: Tensor) -> SingleTaskGP:
    """A zero-mean process with this kernel and noise-to-signal ratio λ, its amplitude in closed form."""
    with torch.no_grad():
        gram = kernel(inputs).to_dense() + lam * torch.eye(len(y)).to(y)
    amplitude = float((y * solve_posdef(gram, y)).mean()) or 1.0
    covariance = ScaleKernel(deepcopy(kernel))
    covariance.outputscale = amplitude
    noise = torch.full_like(y, max(amplitude * lam, LEAST_NOISE))
    with validate_input_scaling(False):  # this process has its own amplitude, and standardises nothing
        model = SingleTaskGP(inputs, y, noise, covar_module=covariance, mean_module=ZeroMean(), outcome_transform=None)
    return model.requires_grad_(False).eval()
