"""K + 1: the footnote's way to a bias."""

import pandas as pd
import pytest
import torch
from gpytorch.kernels import RBFKernel

from support.cases import CASES, IDS, Case, number, table
from tunedprior import pretrain
from tunedprior.errors import InputError
from tunedprior.kernels import Linear, Polynomial, ReweightedKernel, Sinh, SquaredExponential, WithBias
from tunedprior.machines import LeastSquares, select


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_it_is_the_kernel_plus_one_and_the_sum_over_its_features(case: Case, m: int) -> None:
    xs, kernel = [table(2, 2, seed=k, low=-0.5, high=0.5) for k in range(m)], WithBias(case.make(num_inputs=2))
    torch.testing.assert_close(kernel.evaluate_m_kernel(*xs), case.make().evaluate_m_kernel(*xs) + 1)
    total = kernel.compute_weights(case.max_degree) ** 2
    for x in xs:
        total = total[..., None, :] * kernel.evaluate_features(x, case.max_degree)
    torch.testing.assert_close(total.sum(-1), kernel.evaluate_m_kernel(*xs), rtol=1e-6, atol=1e-8)
    assert kernel(xs[0]).to_dense().diagonal().tolist() == pytest.approx(kernel(xs[0], diag=True).tolist())


def test_reweighted_the_constant_has_the_weight_of_the_learnt_bias() -> None:
    anchors, y, x = table(6, 2), table(6, seed=1) + 5, table(3, 2, seed=2)
    base = SquaredExponential(number(0.7))
    fit = LeastSquares(0.1).fit(WithBias(base), anchors, y)
    bias = fit.alpha.sum()
    plain = base(x, anchors).to_dense() @ fit.alpha
    torch.testing.assert_close(fit(x), plain + bias)
    kernel = fit.make_reweighted_kernel()
    torch.testing.assert_close(
        kernel.evaluate_m_kernel(x, x), ReweightedKernel(base, anchors, fit.alpha).evaluate_m_kernel(x, x) + bias**2
    )
    assert kernel.compute_weights(3)[-1].item() == pytest.approx(bias.item())


def test_reweighted_twice_it_is_still_the_sum_over_its_features() -> None:
    anchors, alpha, x = table(4, 2), table(4, seed=1), table(3, 2, seed=2)
    once = ReweightedKernel(WithBias(Polynomial(2, number(0.8))), anchors, alpha)
    twice = ReweightedKernel(once, anchors[:3], alpha[:3])
    weighted = twice.evaluate_features(x, 2) * twice.compute_weights(2)
    torch.testing.assert_close(twice(x).to_dense(), weighted @ weighted.mT)


@pytest.mark.parametrize("base", [SquaredExponential(), Sinh(), Polynomial(2)], ids=lambda base: type(base).__name__)
def test_the_bases_parameter_is_tuned(base) -> None:
    X = table(12, 2)
    y = torch.sin(2 * X[:, 0]) + 3
    chosen = select(LeastSquares(1.0), WithBias(base), X, y)
    tuned = getattr(chosen.kernel, base.tuned_parameter)
    assert tuned is not None
    assert tuned.tolist() == getattr(chosen.kernel.base, base.tuned_parameter).tolist()
    assert tuned.item() != pytest.approx(1.0)
    assert chosen.error < select(LeastSquares(1.0), Linear(), X, y).error


def test_old_data_can_be_learnt_from_with_it() -> None:
    points = table(20, 1)[:, 0]
    old = pd.DataFrame({"x": points, "y": torch.sin(3 * points)})
    prior = pretrain(old, {"x": (-1.0, 1.0)}, kernel=WithBias(SquaredExponential()))
    x = table(4, 1, seed=3)
    expected = ReweightedKernel(prior.base, prior.anchors, prior.alpha).evaluate_m_kernel(x, x)
    torch.testing.assert_close(prior.make_kernel()(x).to_dense(), expected)


def test_bad_input_says_what_to_do() -> None:
    with pytest.raises(InputError, match=r"takes a free kernel, one of tunedprior\.kernels; got RBFKernel"):
        WithBias(RBFKernel())
    with pytest.raises(AttributeError, match="scale"):
        _ = WithBias(Polynomial(2)).scale
