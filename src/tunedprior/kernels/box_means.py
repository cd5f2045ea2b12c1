"""A sample of the box [-1, 1]^d, and means over it."""

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

_SAMPLE = 256


def draw_box_sample(num_inputs: int, reach: float = 1.0, count: int = _SAMPLE) -> Float[Tensor, "n d"]:
    """A scrambled Sobol sample of [-reach, reach]^d, with a fixed seed."""
    sobol = torch.quasirandom.SobolEngine(num_inputs, scramble=True, seed=0)
    return reach * (2 * sobol.draw(count, dtype=torch.float64) - 1)


def compute_mean_variance(kernel: Kernel, num_inputs: int, reach: float = 1.0) -> float:
    """The mean of K(x, x) over [-reach, reach]^d, estimated on `draw_box_sample`."""
    with torch.no_grad():
        return float(kernel(draw_box_sample(num_inputs, reach), diag=True).mean())
