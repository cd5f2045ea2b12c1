"""L₄ of the squared exponential kernel: its series, Bessel functions, derivatives, and large exponents."""

from functools import partial

import pytest
import torch

from support import reference
from support.builders import LAM, normal
from support.cases import number, table
from tunedprior.beliefs import MatchedKernel, UncertainKernel
from tunedprior.kernels import SquaredExponential, table1

# ν below and above where L₄'s series gives way to Bessel functions, and one input on each side.
BOTH_SIDES = pytest.mark.parametrize("lengthscales", [[0.6, 0.2], [0.15, 0.12], [0.15, 0.9]], ids=str)


@BOTH_SIDES
def test_l4_equals_its_series(lengthscales: list[float]) -> None:
    base = SquaredExponential(torch.tensor(lengthscales, dtype=torch.float64)).requires_grad_(False)
    corners = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [0.0, -1.0], [1e-9, 0.5]], dtype=torch.float64)
    xs = [torch.cat([table(3, 2, seed=seed, low=-1, high=1), corners]) for seed in range(4)]
    products = [base.make_product(x) for x in xs]
    values = table1.evaluate_squared_exponential_l4(
        base, products[0].multiply_all_pairs(products[1]), products[2].multiply_all_pairs(products[3])
    )
    loop = partial(reference.squared_exponential_l4, lengthscales=lengthscales, terms=300)
    values = values.reshape(7, 7, 7, 7)
    for choice, expected in reference.every_choice(loop, [x.tolist() for x in xs]).items():
        assert values[choice].item() == pytest.approx(expected, rel=1e-8, abs=1e-14)
    assert values.max() > 0.01  # the corners, where h is huge and the envelope tiny


@BOTH_SIDES
@pytest.mark.parametrize("which", range(2), ids=["matched", "uncertain"])
def test_first_and_second_derivatives(which: int, lengthscales: list[float]) -> None:
    base = SquaredExponential(torch.tensor(lengthscales, dtype=torch.float64))
    anchors = torch.tensor([[0.5, -0.8], [-0.9, 0.0], [0.7, 0.9]], dtype=torch.float64)
    kernel = [
        MatchedKernel(base, anchors, normal(3), by_features=False),
        UncertainKernel(base, anchors, normal(3), LAM, by_features=False),
    ][which]
    x = torch.tensor([[0.0, 0.6], [-0.4, 0.0], [0.3, -0.8]], dtype=torch.float64, requires_grad=True)
    z = torch.tensor([[0.5, 0.0], [-0.7, -0.2]], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(kernel.forward, (x, z))
    assert torch.autograd.gradgradcheck(kernel.forward, (x, z))
    assert torch.autograd.gradcheck(lambda x: kernel.forward(x, x), (x,))
    assert torch.autograd.gradcheck(lambda x: kernel.forward(x, x, diag=True), (x,))


@pytest.mark.parametrize("order", range(4))
def test_bessel_functions_agree_with_the_series(order: int) -> None:
    t = torch.cat([torch.linspace(-9, 9, 61, dtype=torch.float64), number(1e-300)[None]])[None]
    scale = torch.exp(-2 * t.clamp(min=0).sqrt())
    series = table1.evaluate_bessel_clifford(t, order, 40) * scale
    torch.testing.assert_close(table1.evaluate_bessel_clifford(t, order, None), series, rtol=1e-11, atol=1e-13)


def test_short_lengthscales_do_not_overflow() -> None:
    base = SquaredExponential(number(0.02))  # I₀ of 5,000
    x = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [0.5, 0.1]], dtype=torch.float64, requires_grad=True)
    gram = MatchedKernel(base, x.detach(), [1.0, 1.0, 1.0], by_features=False)(x).to_dense()
    assert gram[0, 0] > 0
    assert torch.isfinite(torch.autograd.grad(gram.sum(), x)[0]).all()


@pytest.mark.parametrize("num_inputs", [1, 40])
def test_many_inputs_do_not_overflow(num_inputs: int) -> None:
    corner = torch.ones(1, num_inputs, dtype=torch.float64)
    kernel = MatchedKernel(SquaredExponential(number(0.25)), corner, [1.0], by_features=False)
    value = kernel(corner).to_dense().item()
    one = reference.squared_exponential_l4([[1.0]] * 4, [0.25]).real
    assert value == pytest.approx(one**num_inputs, rel=1e-9)


@pytest.mark.parametrize("order", range(2, 5))
def test_bessel_functions_of_higher_order_lose_no_digits_near_zero(order: int) -> None:
    """t h_q = h_{q-2} - (q-1) h_{q-1} would, for small t."""
    small = torch.logspace(-14, 0.6, 60, dtype=torch.float64)
    t = torch.cat([-small, small])[None]
    series = table1.evaluate_bessel_clifford(t, order, 40) * torch.exp(-2 * t.clamp(min=0).sqrt())
    torch.testing.assert_close(table1.evaluate_bessel_clifford(t, order, None), series, rtol=2e-13, atol=0)
