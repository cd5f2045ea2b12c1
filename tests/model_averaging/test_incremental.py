"""Gram matrices and factors that grow a row at a time: as exact as direct ones, and the same whenever rows came."""

import warnings

import numpy as np
import pytest
import torch

from support.builders import SPACE, average_over, flipped, smooth, told, unrelated
from support.cases import table
from support.mixtures import SHARES, four_processes
from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig
from tunedprior.errors import JitterWarning
from tunedprior.model_averaging import incremental
from tunedprior.model_averaging.incremental import Factors, GramMatrices
from tunedprior.numerics.linalg import cholesky

LENGTHS = [1, 2, 7, 31, 32, 33, 40, 63, 64, 65, 80, 100]


def points(count: int = 100) -> torch.Tensor:
    return table(count, 2, seed=1, low=-1.0, high=1.0)


def assert_equal_to_the_last_digit(found: GramMatrices, expected: GramMatrices) -> None:
    assert torch.equal(found.x, expected.x)
    assert torch.equal(found.gram, expected.gram)
    everyone = torch.arange(len(SHARES))
    assert torch.equal(found.factors.to_dense(everyone), expected.factors.to_dense(everyone))


def nothing_yet(noise: float = 1e-3, factorised: bool = True) -> GramMatrices:
    return GramMatrices.make_empty(four_processes([noise * (1 + k) for k in range(4)]), factorised)


def fresh(x: torch.Tensor, noise: float = 1e-3) -> GramMatrices:
    """As if all points came at once, and nothing had been seen before."""
    return nothing_yet(noise).extend_to(x)


@pytest.mark.parametrize("count", LENGTHS)
def test_what_has_grown_is_what_is_computed_directly(count: int) -> None:
    x = points(count)
    seen = fresh(x)
    held = seen.processes
    torch.testing.assert_close(seen.gram, held.kernels.evaluate_matrices(x, x), rtol=1e-12, atol=1e-13)
    covariance = held.add_noise_(held.compute_covariance(x, x))
    factor, right = seen.factors.to_dense(torch.tensor([2, 0])), table(4, count, 3, seed=9)
    direct = cholesky(covariance)
    torch.testing.assert_close(factor, direct[[2, 0]], rtol=1e-9, atol=1e-10)
    solved = torch.linalg.solve_triangular(direct, right, upper=False)
    torch.testing.assert_close(seen.factors.solve(right), solved, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(seen.factors.get_diagonal(), direct.diagonal(dim1=-2, dim2=-1), rtol=1e-9, atol=1e-10)
    without = nothing_yet(factorised=False).extend_to(x)
    assert without.factors is None
    assert torch.equal(without.gram, seen.gram)


@pytest.mark.parametrize("steps", [[1] * 70, [40, 30], [33, 1, 1, 35], [69, 1]], ids=len)
def test_it_does_not_matter_when_points_came(steps: list[int]) -> None:
    seen, count = nothing_yet(), 0
    for step in steps:
        count += step
        seen = seen.extend_to(points(70)[:count])
        if count in (1, 31, 32, 33, 40, 64, 70):
            assert_equal_to_the_last_digit(seen, fresh(points(70)[:count]))


def test_it_does_not_matter_what_else_was_shown() -> None:
    seen, x = nothing_yet(), points()
    other = x.clone()
    other[50:] = -x[50:]
    for shown in (x[:90], x[:40], x[:90], other, x[:3], x[:0], x, other[:70], x.flip(0), x):
        seen = seen.extend_to(shown)
        assert len(seen) == len(shown)
        if len(shown):
            assert_equal_to_the_last_digit(seen, fresh(shown))


def test_pivots_lost_to_rounding_are_had_by_jitter() -> None:
    x = points(70)
    x[36], x[50] = x[3], x[4]
    seen = nothing_yet(noise=0.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for shown in (x[:30], x[:45], x[:60], x, x[:40], x[:20]):
            seen = seen.extend_to(shown)
            assert_equal_to_the_last_digit(seen, fresh(shown, noise=0.0))
            factor = seen.factors.to_dense(torch.arange(4))
            covariance = seen.processes.compute_covariance(shown, shown)
            torch.testing.assert_close(factor @ factor.mT, covariance, rtol=1e-5, atol=1e-5)
    assert {w.category for w in caught} == {JitterWarning}


def test_factors_of_whole_matrices_can_be_in_blocks() -> None:
    root = table(3, 9, 9)
    covariance = root @ root.mT + torch.eye(9).double()
    in_blocks, in_one = Factors.from_covariance(covariance, [4, 9]), Factors.from_covariance(covariance)
    assert in_blocks.ends == [4, 9]
    assert len(in_one) == 9
    assert torch.equal(in_blocks.to_dense(torch.arange(3)), in_one.to_dense(torch.arange(3)))


def test_many_may_go_on_from_the_same_one() -> None:
    """It is a value: whatever is shown later, what was seen before stays as it was."""
    x = points()
    before = fresh(x[:50])
    expected = fresh(x[:50])
    longer, shorter, other = before.extend_to(x), before.extend_to(x[:40]), before.extend_to(x.flip(0)[:60])
    for found, shown in ((longer, x), (shorter, x[:40]), (other, x.flip(0)[:60])):
        assert_equal_to_the_last_digit(found, fresh(shown))
    assert_equal_to_the_last_digit(before, expected)


# -- in the average ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"noise_std": 0.1}, {"acquisition": "ucb"}], ids=str)
def test_a_resumed_run_goes_on_with_exactly_the_same_suggestions(options: dict) -> None:
    going_on = told(
        make_optimizer(SPACE, seed=3, search=SearchConfig(model=average_over(flipped)), **options), 31, seed=1
    )
    for step in range(3):  # with 31, 32 and 33 results, so that a block of rows is completed on the way
        resumed = make_optimizer(SPACE, seed=3, search=SearchConfig(model=going_on.surrogate), **options).resume(
            going_on.history
        )
        pool = going_on.space.sobol(20, seed=step)
        assert np.array_equal(resumed.predict(pool), going_on.predict(pool))
        suggestion = going_on.ask()
        assert resumed.ask() == suggestion
        going_on.tell(suggestion, smooth(suggestion))


def test_trust_is_the_same_to_the_last_digit_however_often_it_was_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental, "_BLOCK", 4)  # so that blocks are completed with few results
    going_on = Optimizer(SPACE, direction="maximize", seed=3, search=SearchConfig(model=average_over(flipped)))
    for setting in going_on.space.sobol(9, seed=1):
        going_on.tell(setting, smooth(setting))
        looked_at = going_on.trust
    resumed = Optimizer(SPACE, direction="maximize", seed=3, search=SearchConfig(model=going_on.surrogate)).resume(
        going_on.history
    )
    assert looked_at.history.equals(resumed.trust.history)
    assert looked_at.relations.equals(resumed.trust.relations)
    assert going_on.ask() == resumed.ask()


@pytest.mark.slow
def test_what_was_asked_before_does_not_change_the_suggestion_whatever_the_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        average, found = average_over(unrelated), []
        for look in ("nothing", "predict", "trust"):
            opt = told(Optimizer(SPACE, direction="maximize", seed=1, search=SearchConfig(model=average)), 33, seed=1)
            if look == "predict":
                opt.predict({"a": 0.1, "b": 0.2})
            if look == "trust":
                assert opt.trust
            found.append(opt.ask())
            assert torch.get_num_threads() == 2
        assert found[0] == found[1] == found[2]
    finally:
        torch.set_num_threads(before)
