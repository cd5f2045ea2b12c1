"""Gram matrices and factors that grow a row at a time: as exact as direct ones, and the same whenever rows came."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from cases import table
from tunedprior import Optimizer
from tunedprior import average as average_module
from tunedprior.errors import JitterWarning
from tunedprior.growing import Factors, Growing, Seen
from tunedprior.kernels import Aligned, Matched, SquaredExponential
from tunedprior.kernels.stack import KernelStack
from tunedprior.linalg import cholesky
from tunedprior.mixture import Processes
from tunedprior.space import Space
from tunedprior.threads import threads_for

LENGTHS = [1, 2, 7, 31, 32, 33, 40, 63, 64, 65, 80, 100]


def processes(noise: float = 1e-3) -> Processes:
    base = SquaredExponential(torch.tensor([0.8, 0.8]).double())
    anchors, alpha = table(4, 2, seed=5), table(4, seed=6)
    learnt = (
        Aligned(base, anchors, alpha, 0.1),
        Aligned(SquaredExponential(torch.tensor(0.5).double()), anchors, 2 * alpha, 0.3),
        Matched(base, anchors, alpha, by_features=True, tolerance=1e-9),
    )
    stack = KernelStack(torch.tensor([[0.5, 0.9], [1.5, 1.2]]).double(), learnt, (0.7, 0.9, 1.3))
    shares = torch.tensor([[1.0, 0, 0, 0, 0], [0, 0.3, 0.7, 0, 0], [0, 0.5, 0, 0.5, 0], [0, 0, 0, 0, 1.0]]).double()
    return Processes(stack, shares, torch.tensor([1.0, 2.0, 3.0, 4.0]).double() * noise, 0.3)


def points(count: int = 100) -> torch.Tensor:
    return table(count, 2, seed=1, low=-1.0, high=1.0)


def assert_equal_to_the_last_digit(found: Seen, expected: Seen) -> None:
    assert torch.equal(found.x, expected.x)
    assert torch.equal(found.gram, expected.gram)
    everyone = torch.arange(len(processes()))
    assert torch.equal(found.factors.dense(everyone), expected.factors.dense(everyone))


def fresh(x: torch.Tensor, noise: float = 1e-3) -> Seen:
    return Growing(processes(noise), factorised=True)(x)


@pytest.mark.parametrize("count", LENGTHS)
def test_what_has_grown_is_what_is_computed_directly(count: int) -> None:
    x, held = points(count), processes()
    seen = fresh(x)
    torch.testing.assert_close(seen.gram, held.kernels.matrices(x, x), rtol=1e-12, atol=1e-13)
    covariance = held.with_noise(held.covariance(x, x))
    factor, right = seen.factors.dense(torch.tensor([2, 0])), table(4, count, 3, seed=9)
    direct = cholesky(covariance)
    torch.testing.assert_close(factor, direct[[2, 0]], rtol=1e-9, atol=1e-10)
    solved = torch.linalg.solve_triangular(direct, right, upper=False)
    torch.testing.assert_close(seen.factors.solve(right), solved, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(seen.factors.diagonal(), direct.diagonal(dim1=-2, dim2=-1), rtol=1e-9, atol=1e-10)
    without = Growing(held, factorised=False)(x)
    assert without.factors is None
    assert torch.equal(without.gram, seen.gram)


@pytest.mark.parametrize("steps", [[1] * 70, [40, 30], [33, 1, 1, 35], [69, 1]], ids=len)
def test_it_does_not_matter_when_points_came(steps: list[int]) -> None:
    growing, count = Growing(processes(), factorised=True), 0
    for step in steps:
        count += step
        seen = growing(points(70)[:count])
        if count in (1, 31, 32, 33, 40, 64, 70):
            assert_equal_to_the_last_digit(seen, fresh(points(70)[:count]))


def test_it_does_not_matter_what_else_was_shown() -> None:
    growing, x = Growing(processes(), factorised=True), points()
    other = x.clone()
    other[50:] = -x[50:]
    for shown in (x[:90], x[:40], x[:90], other, x[:3], x[:0], x, other[:70], x.flip(0), x):
        assert_equal_to_the_last_digit(growing(shown), fresh(shown)) if len(shown) else growing(shown)


def test_pivots_lost_to_rounding_are_had_by_jitter() -> None:
    x = points(70)
    x[36], x[50] = x[3], x[4]
    growing = Growing(processes(noise=0.0), factorised=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for shown in (x[:30], x[:45], x[:60], x, x[:40], x[:20]):
            assert_equal_to_the_last_digit(growing(shown), fresh(shown, noise=0.0))
            factor = growing(shown).factors.dense(torch.arange(4))
            covariance = processes().covariance(shown, shown)
            torch.testing.assert_close(factor @ factor.mT, covariance, rtol=1e-5, atol=1e-5)
    assert {w.category for w in caught} == {JitterWarning}


def test_factors_of_whole_matrices_can_be_in_blocks() -> None:
    root = table(3, 9, 9)
    covariance = root @ root.mT + torch.eye(9).double()
    in_blocks, in_one = Factors.whole(covariance, [4, 9]), Factors.whole(covariance)
    assert in_blocks.ends == [4, 9]
    assert len(in_one) == 9
    assert torch.equal(in_blocks.dense(torch.arange(3)), in_one.dense(torch.arange(3)))


# -- in the average ------------------------------------------------------------------------------------

SPACE = {"a": (-1.0, 1.0), "b": (0.0, 5.0)}


def response(setting: dict) -> float:
    return math.sin(3 * setting["a"]) * math.cos(setting["b"]) + 0.1 * setting["b"]


def optimizer(**options) -> Optimizer:
    old = pd.DataFrame(Space.parse(SPACE).sobol(25, seed=9))
    return Optimizer(SPACE, old.assign(y=[-response(row) for row in old.to_dict("records")]), seed=3, **options)


@pytest.mark.parametrize("options", [{}, {"noise_std": 0.1}, {"acquisition": "ucb"}], ids=str)
def test_a_resumed_run_goes_on_with_exactly_the_same_suggestions(options: dict) -> None:
    going_on = optimizer(**options)
    for setting in going_on.space.sobol(29, seed=1):  # so that a block of rows is completed on the way
        going_on.tell(setting, response(setting))
    for step in range(5):
        resumed = optimizer(**options).resume(going_on.history)
        pool = going_on.space.sobol(20, seed=step)
        assert np.array_equal(resumed.predict(pool), going_on.predict(pool))
        suggestion = going_on.ask()
        assert resumed.ask() == suggestion
        if step == 1:
            assert going_on.trust.history.iloc[-1].equals(resumed.trust.history.iloc[-1])
        going_on.tell(suggestion, response(suggestion))


@pytest.mark.parametrize("noise_std", [None, 0.1])
def test_too_many_to_hold_are_weighed_all_the_same(noise_std: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    opt = optimizer(noise_std=noise_std)
    for setting in opt.space.sobol(40, seed=1):
        opt.tell(setting, response(setting))
    observations, pool = opt._observations(), opt.space.sobol(20, seed=2)
    held, predicted, trust = opt.surrogate.weigh(observations), opt.predict(pool), opt.trust
    monkeypatch.setattr(average_module, "_MOST_HELD", 0)
    monkeypatch.setattr(average_module, "_ENTRIES", 7 * 40**2)
    opt._model = None
    found = opt.surrogate.weigh(observations)
    assert held.factor(torch.tensor([0])) is not None
    assert found.factor(torch.tensor([0])) is None
    torch.testing.assert_close(found.weights, held.weights, rtol=1e-7, atol=1e-10)
    torch.testing.assert_close(found.amplitude, held.amplitude, rtol=1e-6, atol=0)
    pd.testing.assert_frame_equal(opt.predict(pool), predicted, rtol=1e-8)
    pd.testing.assert_frame_equal(opt.trust.relations, trust.relations, rtol=1e-7)


def test_what_was_asked_before_does_not_change_the_suggestion_whatever_the_threads() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        found = []
        for look in ("nothing", "predict", "trust"):
            random = np.random.default_rng(0)
            old = pd.DataFrame(random.uniform(-1, 1, (40, 2)), columns=["a", "b"])
            opt = Optimizer({"a": (-1.0, 1.0), "b": (-1.0, 1.0)}, old.assign(y=old["a"] * old["b"]), seed=1)
            for a, b in random.uniform(-1, 1, (40, 2)):
                opt.tell({"a": a, "b": b}, a * b + 0.1 * np.sin(9 * a))
            if look == "predict":
                opt.predict({"a": 0.1, "b": 0.2})
            if look == "trust":
                assert opt.trust
            found.append(opt.ask())
            assert torch.get_num_threads() == 2
        assert found[0] == found[1] == found[2]
        with pytest.raises(ZeroDivisionError), threads_for(10):
            1 / (torch.get_num_threads() - 1)
        assert torch.get_num_threads() == 2
        with threads_for(1000):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_what_is_held_is_given_up_when_it_grows_too_large_and_is_not_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    old = pd.DataFrame(random.uniform(-1, 1, (20, 1)), columns=["a"])
    opt = Optimizer({"a": (-1.0, 1.0)}, old.assign(y=old["a"] ** 2), seed=1)
    for a in random.uniform(-1, 1, 5):
        opt.tell({"a": a}, a**2)
    first = opt.ask()
    assert "_growing" in vars(opt.surrogate)
    assert "_growing" not in vars(pickle.loads(pickle.dumps(opt.surrogate)))
    opt.tell(first, 0.1)
    monkeypatch.setattr(average_module, "_MOST_HELD", 100)
    opt.ask()
    assert "_growing" not in vars(opt.surrogate)
