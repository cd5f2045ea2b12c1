"""Pruned least squares: the same rows and α as loops that refit each time, and what does not depend on the choice."""

import pytest
import torch

from support import reference
from support.builders import normal, vector
from support.cases import number, table
from tunedprior.beliefs import get_belief
from tunedprior.errors import InputError, NothingToLearnError
from tunedprior.kernels import Linear, Polynomial, SquaredExponential
from tunedprior.machines import LeastSquares, PrunedLeastSquares, compute_loo_error, pruning, select
from tunedprior.machines.machine import compute_gram_matrix

SCALE, LAM, COUNT, MOST = 0.5, 0.05, 18, 4
KERNEL = SquaredExponential(number(SCALE)).requires_grad_(False)


def rows(count: int = COUNT) -> tuple[torch.Tensor, torch.Tensor]:
    x = table(count, 2, seed=3, low=-1, high=1)
    return x, (3 * x[:, 0]).sin() + x[:, 1] ** 2 + 0.1 * normal(count)


def loop(points: list) -> complex:
    return reference.squared_exponential(points, [SCALE, SCALE])


def gram_of(x: torch.Tensor) -> list[list[float]]:
    return [[complex(loop([a, b])).real for b in x.tolist()] for a in x.tolist()]


@pytest.mark.parametrize(("most", "lam"), [(1, LAM), (2, 1.0), (4, LAM), (5, 0.5)])
def test_rows_and_alpha_are_those_of_refits_after_each_change(most: int, lam: float) -> None:
    x, y = rows()
    gram = gram_of(x)
    kept = reference.pruned_rows(gram, y.tolist(), lam, most)
    alpha, objective = reference.subset_ridge(gram, y.tolist(), lam, kept)
    machine = PrunedLeastSquares(lam, most=most)
    fit = machine.fit(KERNEL, x, y)
    assert torch.equal(fit.anchors, x[kept])
    assert fit.alpha.tolist() == pytest.approx(alpha, rel=1e-8, abs=1e-8)
    assert fit.posterior is not None
    assert fit.posterior.signal == pytest.approx(objective / (lam * len(y)), rel=1e-8)
    everywhere, bias = machine.solve(compute_gram_matrix(KERNEL, x), y)
    assert everywhere[kept].tolist() == pytest.approx(alpha, rel=1e-8, abs=1e-8)
    assert (everywhere.count_nonzero(), bias) == (most, 0.0)


def test_the_posterior_is_that_of_a_process_on_all_rows() -> None:
    x, y = rows()
    fit = PrunedLeastSquares(LAM, most=MOST).fit(KERNEL, x, y)
    kept = [x.tolist().index(anchor) for anchor in fit.anchors.tolist()]
    explained, signal = reference.subset_process(loop, x.tolist(), y.tolist(), LAM, kept)
    first, second = points = [[0.3, -0.6], [0.9, 0.8]]
    pairs = [(first, first), (first, second), (second, second)]
    known, mean = [explained(*pair) for pair in pairs], fit(vector(points)).tolist()
    assert fit.posterior is not None
    assert fit.posterior.signal == pytest.approx(signal, rel=1e-8)
    aligned = get_belief("aligned").make_kernel(fit)(vector(points)).to_dense()
    squares = [mean[0] ** 2, mean[0] * mean[1], mean[1] ** 2]
    expected = [
        square + signal * (complex(loop(list(pair))).real - part)
        for square, pair, part in zip(squares, pairs, known, strict=True)
    ]
    assert [aligned[0, 0].item(), aligned[0, 1].item(), aligned[1, 1].item()] == pytest.approx(expected, rel=1e-8)


def test_the_uncertain_belief_has_what_all_rows_leave_open() -> None:
    """Σ_i (ŵ_i² + s_f²(1 - φ_i-share that is known)) φ_iφ_i', by L₄ over the anchors with M from the definition."""
    x, y = rows()
    fit = PrunedLeastSquares(LAM, most=MOST).fit(KERNEL, x, y)
    cross, own = KERNEL(x, fit.anchors).to_dense(), KERNEL(fit.anchors).to_dense()
    known = torch.linalg.inv(own) - LAM * torch.linalg.inv(cross.mT @ cross + LAM * own)
    assert fit.posterior is not None
    shares = torch.outer(fit.alpha, fit.alpha) - fit.posterior.signal * known
    kernel, point = get_belief("uncertain").make_kernel(fit), [0.4, -0.7]
    expected = fit.posterior.signal * complex(loop([point, point])).real
    for j, a in enumerate(fit.anchors.tolist()):
        for k, b in enumerate(fit.anchors.tolist()):
            four = reference.squared_exponential_l4([a, b, point, point], [SCALE, SCALE])
            expected += shares[j, k].item() * complex(four).real
    assert kernel(vector([point])).to_dense().item() == pytest.approx(expected, rel=1e-8)


def test_leave_one_out_residuals_are_those_of_refits_with_the_same_rows() -> None:
    x, y = rows()
    fit, error = PrunedLeastSquares(LAM, most=MOST).fit_with_error(KERNEL, x, y)
    cross, own = KERNEL(x, fit.anchors).to_dense(), KERNEL(fit.anchors).to_dense()
    squares = []
    for row in range(COUNT):
        others = torch.arange(COUNT) != row
        moments = cross[others].mT @ cross[others] + LAM * own
        alpha = torch.linalg.solve(moments, cross[others].mT @ y[others])
        squares.append(float(y[row] - cross[row] @ alpha) ** 2)
    assert error == pytest.approx(sum(squares) / COUNT, rel=1e-8)
    assert compute_loo_error(PrunedLeastSquares(LAM, most=MOST), KERNEL, x, y) == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize("most", [COUNT, 500])
def test_without_anything_to_prune_it_is_least_squares(most: int) -> None:
    x, y = rows()
    machine = PrunedLeastSquares(LAM, most=most)
    fit, error = machine.fit_with_error(KERNEL, x, y)
    exact = LeastSquares(LAM).fit(KERNEL, x, y)
    assert torch.equal(fit.alpha, exact.alpha)
    assert torch.equal(fit.anchors, x)
    assert fit.posterior is None
    assert error == compute_loo_error(LeastSquares(LAM), KERNEL, x, y) == compute_loo_error(machine, KERNEL, x, y)


def test_as_more_rows_are_kept_the_fit_approaches_least_squares_at_the_rate_of_its_objective() -> None:
    x, y = rows(60)
    gram = compute_gram_matrix(KERNEL, x)
    exact = LeastSquares(LAM).solve(gram, y)[0]

    def objective(alpha: torch.Tensor) -> float:
        return float((y - gram @ alpha).square().sum() + LAM * alpha @ gram @ alpha)

    before = float("inf")
    for most in (5, 10, 20, 40):
        difference = PrunedLeastSquares(LAM, most=most).solve(gram, y)[0] - exact
        excess = objective(exact + difference) - objective(exact)
        assert LAM * float(difference @ gram @ difference) <= excess + 1e-9
        assert excess < before
        before = excess
    assert before < 1e-4 * float(y @ y)


def test_repeated_rows_count_as_often_as_they_are_there() -> None:
    x, y = rows()
    twice = PrunedLeastSquares(2 * LAM, most=MOST).fit(KERNEL, torch.cat([x, x]), torch.cat([y, y]))
    once = PrunedLeastSquares(LAM, most=MOST).fit(KERNEL, x, y)
    torch.testing.assert_close(twice.anchors, once.anchors)
    torch.testing.assert_close(twice.alpha, once.alpha, rtol=1e-9, atol=1e-9)
    assert twice.posterior is not None
    assert once.posterior is not None
    known = [one.posterior.inverse_root.mT @ one.posterior.inverse_root for one in (twice, once)]
    torch.testing.assert_close(*known, rtol=1e-8, atol=1e-8)
    assert twice.posterior.signal == pytest.approx(once.posterior.signal / 2)  # a mean over rows of y(Q + λI)⁻¹y


@pytest.mark.parametrize(("kernel", "rank"), [(Linear(), 2), (Polynomial(2, 1.0), 6)], ids=["linear", "quadratic"])
def test_no_more_rows_are_kept_than_the_kernel_has_features(kernel, rank: int) -> None:
    x, y = rows(40)
    fit, exact = PrunedLeastSquares(LAM, most=20).fit(kernel, x, y), LeastSquares(LAM).fit(kernel, x, y)
    assert len(fit.alpha) == rank
    z = table(7, 2, seed=8)
    torch.testing.assert_close(fit(z), exact(z), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(
        get_belief("reweighted").make_kernel(fit)(z).to_dense(),
        get_belief("reweighted").make_kernel(exact)(z).to_dense(),
        rtol=1e-6,
        atol=1e-9,
    )


def test_anchors_are_sought_among_some_rows_and_fitted_to_all(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(60)
    monkeypatch.setattr(pruning, "_CANDIDATES", 12)
    fit = PrunedLeastSquares(LAM, most=6).fit(KERNEL, x, y)
    kept = [x.tolist().index(anchor) for anchor in fit.anchors.tolist()]
    alpha, _ = reference.subset_ridge(gram_of(x), y.tolist(), LAM, kept)
    assert fit.alpha.tolist() == pytest.approx(alpha, rel=1e-8)
    assert set(kept) <= set(pruning.draw_row_numbers(60, 12, 0).tolist())


def test_blocks_of_rows_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = rows(50)
    whole, error = PrunedLeastSquares(LAM, most=6).fit_with_error(KERNEL, x, y)
    monkeypatch.setattr(pruning, "_ENTRIES", 100)
    blocks, same = PrunedLeastSquares(LAM, most=6).fit_with_error(KERNEL, x, y)
    torch.testing.assert_close(blocks.alpha, whole.alpha)
    assert same == pytest.approx(error)


def test_single_precision_comes_back() -> None:
    x, y = rows()
    fit = PrunedLeastSquares(LAM, most=MOST).fit(KERNEL, x.float(), y.float())
    assert fit.alpha.dtype == fit.anchors.dtype == torch.float32
    exact = PrunedLeastSquares(LAM, most=MOST).fit(KERNEL, x, y)
    torch.testing.assert_close(fit.alpha.double(), exact.alpha, rtol=1e-3, atol=1e-3)


def test_selection_keeps_how_many_rows_are_wanted() -> None:
    x, y = rows(30)
    found = select(PrunedLeastSquares(1.0, most=7), SquaredExponential(), x, y, lam_bounds=(0.01, 10.0))
    exact = select(LeastSquares(1.0), SquaredExponential(), x, y, lam_bounds=(0.01, 10.0))
    assert found.machine == PrunedLeastSquares(exact.machine.lam, most=7)
    assert type(exact.machine) is LeastSquares


def test_flat_responses_and_wrong_counts_are_refused() -> None:
    x, y = rows()
    with pytest.raises(NothingToLearnError, match="must vary"):
        PrunedLeastSquares(LAM, most=MOST).fit(KERNEL, x, torch.ones_like(y))
    even = torch.tensor([[-1.0], [1.0], [-0.5], [0.5]], dtype=torch.float64)  # an odd kernel has nothing of it
    with pytest.raises(NothingToLearnError, match="nothing in common with the old responses"):
        PrunedLeastSquares(LAM, most=2).fit(Linear(), even, [1.0, 1.0, 2.0, 2.0])
    with pytest.raises(InputError, match="most must be"):
        PrunedLeastSquares(LAM, most=0)
