"""The evidence of a squared exponential kernel, and its gradient by hand."""

import numpy as np
import pytest
import torch

from cases import table
from tunedprior.evidence import AMPLITUDE_CERTAINTY, _evidence_and_gradient, log_evidence


def data(rows: int, num_inputs: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = table(rows, num_inputs, seed=3, low=-1.0, high=1.0)
    y = torch.sin(4 * x[:, 0]) + 0.1 * table(rows, seed=4)
    return x, (y - y.mean()) / y.std(correction=0)


def by_autograd(x: torch.Tensor, y: torch.Tensor, logs: torch.Tensor) -> torch.Tensor:
    """The evidence as its definition has it, with PyTorch's own derivatives."""
    lengthscale, noise = logs[:-1].exp(), logs[-1].exp()
    gram = (-(((x[:, None] - x) / lengthscale) ** 2).sum(-1) / 2).exp()
    factor = torch.linalg.cholesky(gram + noise * torch.eye(len(y)).double())
    white = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    return log_evidence(factor.diagonal(), white, AMPLITUDE_CERTAINTY)


@pytest.mark.parametrize(("rows", "num_inputs"), [(1, 1), (2, 3), (20, 1), (20, 2), (60, 5)])
@pytest.mark.parametrize("noise", [1e-4, 0.3])
def test_the_gradient_by_hand_is_that_of_the_definition(rows: int, num_inputs: int, noise: float) -> None:
    x, y = data(rows, num_inputs) if rows > 1 else (table(1, num_inputs), torch.ones(1).double())
    theta = torch.cat([torch.linspace(0.4, 2.0, num_inputs), torch.tensor([noise])]).double()
    squares = (x.T[:, :, None] - x.T[:, None]).square().flatten(1)
    value, gradient = _evidence_and_gradient(y, squares, theta)
    logs = theta.log().requires_grad_()
    expected = by_autograd(x, y, logs)
    (slopes,) = torch.autograd.grad(expected, logs)
    assert value == pytest.approx(expected.item(), rel=1e-10, abs=1e-10)
    torch.testing.assert_close(gradient, slopes, rtol=1e-7, atol=1e-8)
    step = 1e-5
    for place in range(len(logs)):
        shift = step * torch.eye(len(logs)).double()[place]
        ends = [_evidence_and_gradient(y, squares, (logs.detach() + sign * shift).exp())[0] for sign in (1, -1)]
        assert gradient[place].item() == pytest.approx(np.subtract(*ends) / (2 * step), rel=1e-4, abs=1e-5)
