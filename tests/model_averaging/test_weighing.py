"""How probable each hypothesis is after observations: the likelihood, its pieces, and known noise."""

import math
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy.integrate import quad

from support import reference
from support.builders import (
    SPACE,
    average_over,
    flipped,
    observations_of,
    observed,
    standardised,
    told,
    unrelated,
    weighed_after,
    weighed_beforehand,
)
from tunedprior import Optimizer, SearchConfig
from tunedprior.beliefs.uninformed import CERTAINTY, CONSTANT, UninformedBelief, make_plain_prior
from tunedprior.goals.observations import Observations
from tunedprior.kernels.sections import KernelStack
from tunedprior.model_averaging import weighing
from tunedprior.model_averaging.hypotheses import Processes
from tunedprior.models.gaussian_process import LEAST_NOISE
from tunedprior.numerics.linalg import cholesky, compute_log_evidence
from tunedprior.space.search_space import Space


def covariance_of(row: int, among, x: torch.Tensor) -> list[list[float]]:
    """R_c, one entry after another, each kernel asked by itself."""
    stack, shares = among.processes.kernels, among.processes.shares[row].tolist()
    plain = [reference.stationary("matern 5/2", row) for row in stack.lengthscales.tolist()]
    learnt = [
        (kernel(x).to_dense() / size).tolist() if share else None
        for kernel, size, share in zip(stack.others, stack.sizes, shares[len(plain) :], strict=True)
    ]
    points, noise = x.tolist(), among.processes.noise[row].item()
    return [
        [
            among.processes.constant
            + sum(h * kernel(p, q) for kernel, h in zip(plain, shares, strict=False) if h)
            + sum(h * matrix[i][j] for matrix, h in zip(learnt, shares[len(plain) :], strict=True) if h)
            + (noise if i == j else 0.0)
            for j, q in enumerate(points)
        ]
        for i, p in enumerate(points)
    ]


@pytest.mark.slow
def test_evidence_is_the_likelihood_with_the_amplitude_integrated_out() -> None:
    held = ("uninformed", "shape", "aligned", "matched", "uncertain")
    average, observations = average_over(rows=8, beliefs=held), observed(4)
    weighed = weighed_after(average, observations)
    x, y = average.box.to_kernel_inputs(observations.X), observations.y[:, 0].tolist()
    found = weighed.weights.log() - weighed.hypotheses.log_prior
    steps = max(1, len(found) // 130)  # some of all kinds
    chosen = sorted({*range(0, len(found), steps), len(found) - 1})
    expected = []
    for row in chosen:
        covariance = covariance_of(row, weighed.hypotheses, x)

        c = weighed.hypotheses.certainty[row].item()

        def joint(log_a: float, power: float = 0.0, covariance=covariance, c=c) -> float:
            """p(y | a) p(a) a^power, over log a; a ~ inverse gamma(c, c)."""
            a = math.exp(log_a)
            scaled = [[a * entry for entry in row] for row in covariance]
            log_prior = c * math.log(c) - math.lgamma(c) - c * log_a - c / a
            return math.exp(reference.log_density(scaled, y) + log_prior + power * log_a)

        middle = max(np.linspace(-6, 6, 400), key=lambda log_a, p=joint: p(log_a, -1.0))
        evidence = quad(joint, -8, 12, epsabs=0, epsrel=1e-9, points=[middle])[0]
        expected.append(math.log(evidence))
        # Which point estimate of a is a matter of taste, so long as it lies between its mode and its mean.
        mean = quad(joint, -8, 20, args=(1.0,), epsabs=0, epsrel=1e-9, points=[middle])[0] / evidence
        assert 0.98 * math.exp(middle) <= weighed.amplitude[row] <= 1.001 * mean
    assert {weighed.hypotheses.labels[row].belief for row in chosen} == set(held)
    differences = torch.tensor(expected, dtype=torch.float64) - expected[0]
    torch.testing.assert_close(found[chosen] - found[0], differences, rtol=0, atol=1e-6)
    assert differences.abs().max() > 0.5


def test_weights_are_probabilities_that_change_with_every_observation() -> None:
    average = average_over(flipped)
    before = weighed_beforehand(average).weights
    torch.testing.assert_close(weighed_after(average, observed(1)).weights, before)  # one is as good as none
    for count in (2, 3, 6):
        weights = weighed_after(average, observed(count)).weights
        assert weights.sum().item() == pytest.approx(1.0)
        assert (weights >= 0).all()
        assert (weights - before).abs().max() > 1e-3
        before = weights


def test_the_order_of_observations_does_not_matter() -> None:
    average, observations = average_over(unrelated), observed(7)
    turned = replace(observations, X=observations.X.flip(0), y=observations.y.flip(0))
    torch.testing.assert_close(
        weighed_after(average, turned).weights, weighed_after(average, observations).weights, rtol=0, atol=1e-4
    )


def test_working_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    average, observations = average_over(), observed(6)
    whole = weighed_after(average, observations)
    monkeypatch.setattr(weighing, "_AT_ONCE", 7 * 6**2)
    pieces = weighed_after(average, observations)
    torch.testing.assert_close(pieces.weights, whole.weights)
    torch.testing.assert_close(pieces.amplitude, whole.amplitude)


def test_a_known_noise_is_the_noise_of_every_hypothesis() -> None:
    average = average_over()
    assert len(weighed_after(average, observed(5)).hypotheses.processes.noise.unique()) > 1
    for noise_std, variance in ((0.3, 0.09), (0.0, LEAST_NOISE)):
        weighed = weighed_after(average, observed(5, noise_std=noise_std))
        noise = weighed.amplitude * weighed.hypotheses.processes.noise
        torch.testing.assert_close(
            noise, torch.full_like(noise, variance), rtol=0.1, atol=0.0
        )  # it is found by iteration
        shares = weighed.hypotheses.processes.shares
        assert len(shares.unique(dim=0)) == len(shares)  # no hypothesis twice


def test_known_noise_decides_how_closely_observations_are_followed() -> None:
    errors = []
    for noise_std in (0.01, 1.0):
        opt = told(
            Optimizer(
                SPACE,
                direction="maximize",
                noise_std=noise_std,
                search=SearchConfig(model=average_over(unrelated)),
                seed=0,
            ),
            8,
        )
        errors.append((opt.predict(opt.history)["mean"] - opt.history["y"]).abs().mean())
    assert errors[0] < 0.1 * errors[1]


def test_observations_draw_length_scales_of_their_own() -> None:
    average, settings = average_over(unrelated), Space.parse(SPACE).sobol(12, seed=5)
    y = torch.tensor([math.sin(3 * setting["a"]) for setting in settings], dtype=torch.float64)[:, None]
    observations = Observations(average.box.encode(settings), (y - y.mean()) / y.std(correction=0))
    before, after = weighed_beforehand(average).hypotheses, weighed_after(average, observations).hypotheses
    first, second = after.processes.kernels.lengthscales[after.fitted_rows[-1]].tolist()
    assert first < 0.5 * second  # the second input does not matter
    first, second = after.processes.kernels.lengthscales[after.fitted_rows[:-1]].log().mean(0).tolist()
    assert first < second - 0.5
    kept = torch.ones(len(before.processes.kernels.lengthscales), dtype=torch.bool)
    kept[before.fitted_rows] = False
    torch.testing.assert_close(
        after.processes.kernels.lengthscales[kept], before.processes.kernels.lengthscales[kept], rtol=0, atol=0
    )
    others = ~(before.from_prior | before.near_top)
    torch.testing.assert_close(after.log_prior[others], before.log_prior[others], rtol=0, atol=0)


def test_draws_near_the_top_are_no_advantage() -> None:
    """Σ w_i p(D | θ_i) over all draws is the evidence that many draws from the prior alone give."""
    average, observations = average_over(unrelated), observed(10)
    weighed = weighed_after(average, observations)
    among, x, y = weighed.hypotheses, average.box.to_kernel_inputs(observations.X), observations.y
    plain = among.from_prior | among.near_top
    seen = weighed.weights.log() - among.log_prior  # log p(D | h), up to the constant that the first one has
    found = (among.log_prior + seen)[plain].logsumexp(0) - seen[0]

    def evidence(theta: torch.Tensor) -> torch.Tensor:
        lengths = among.axes.expand_lengthscales(theta[:, :-1].exp())
        processes = Processes(
            KernelStack(lengths), torch.eye(len(theta)).double(),
            theta[:, -1].exp(), CONSTANT,
        )  # fmt: skip
        factor = cholesky(processes.add_noise_(processes.compute_covariance(x, x)))
        white = torch.linalg.solve_triangular(factor, y.expand(len(theta), *y.shape), upper=False)
        return compute_log_evidence(factor.diagonal(dim1=-2, dim2=-1), white, CERTAINTY)

    prior = make_plain_prior(2)
    one = evidence(prior.sample(48))[0]  # the first hypothesis is the first draw
    many = evidence(prior.sample(4096)).logsumexp(0) - math.log(4096)
    assert (found - math.log(UninformedBelief.mass)).item() == pytest.approx((many - one).item(), abs=0.35)


# -- too many to weigh all of them to the end ----------------------------------------------------------


@pytest.mark.parametrize("noise_std", [None, 0.1])
def test_with_a_budget_the_probable_ones_are_weighed_all_the_same(
    noise_std: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opt, again = (
        told(
            Optimizer(
                SPACE,
                direction="maximize",
                noise_std=noise_std,
                search=SearchConfig(model=average_over(flipped)),
                seed=0,
            ),
            16,
        )
        for _ in range(2)
    )
    observations, pool = observations_of(opt), opt.space.sobol(20, seed=2)
    every, predicted, trust = weighed_after(opt.surrogate, observations), opt.predict(pool), opt.trust
    among = len(every.weights)
    monkeypatch.setattr(weighing, "_BUDGET", 8**2 * among)  # all of them with half of the observations
    found = weighed_after(opt.surrogate, observations)
    kept = found.weights > 0
    assert weighing._FEWEST <= kept.sum() < among / 2
    assert every.weights[~kept].sum() < 0.05
    torch.testing.assert_close(
        found.weights[kept], every.weights[kept] / every.weights[kept].sum(), rtol=1e-7, atol=1e-10
    )
    torch.testing.assert_close(found.amplitude[kept], every.amplitude[kept], rtol=1e-6, atol=0)
    rows = kept.nonzero().flatten()
    torch.testing.assert_close(found.build_dense_factors(rows), every.build_dense_factors(rows), rtol=1e-7, atol=1e-9)
    assert (again.predict(pool)["mean"] - predicted["mean"]).abs().max() < 0.1 * predicted["std"].max()
    np.testing.assert_allclose(again.trust.relations["slope"], trust.relations["slope"], rtol=0.01)


def test_stages_double_and_fit_into_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "_BUDGET", 10_000)
    assert weighing._list_stages(10, 100) == [10]
    assert weighing._list_stages(11, 100) == [6, 11]
    assert weighing._list_stages(100, 100) == [7, 13, 25, 50, 100]
    for count in range(1, 60):
        stages = weighing._list_stages(count, 100)
        assert stages[-1] == count
        assert stages[0] ** 2 * 100 <= 10_000
        assert all(2 * before >= after > before for before, after in pairwise(stages))


# -- what is kept for the next time --------------------------------------------------------------------


def test_a_cache_changes_nothing_and_stays_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    average, observations = average_over(), observed(40)
    first = replace(observations, X=observations.X[:33], y=observations.y[:33])
    _, cache = average.weigh(first)
    assert len(cache) == 33
    with_cache, after = average.weigh(observations, cache)
    without = weighed_after(average, observations)
    assert torch.equal(with_cache.weights, without.weights)
    assert torch.equal(with_cache.amplitude, without.amplitude)
    assert len(cache) == 33  # it is a value
    assert len(after) == 40
    among = len(average.hypotheses)
    monkeypatch.setattr(weighing, "_BUDGET", 20**2 * among)
    assert len(average.weigh(observations, after)[1]) ** 2 * among <= weighing._BUDGET
    assert torch.equal(average.weigh(observations, after)[0].weights, weighed_after(average, observations).weights)


def test_a_cache_of_another_average_is_not_used() -> None:
    average, other, observations = average_over(), average_over(unrelated), observed(8)
    for cache in (other.weigh(observations)[1], average.weigh(observed(8, noise_std=0.1))[1]):
        found, _ = average.weigh(observations, cache)
        assert torch.equal(found.weights, weighed_after(average, observations).weights)


def test_the_average_keeps_nothing_and_is_the_same_after_a_file() -> None:
    opt = told(Optimizer(SPACE, direction="maximize", seed=1, search=SearchConfig(model=average_over())), 5)
    before = dict(vars(opt.surrogate))
    suggestion = opt.ask()
    assert vars(opt.surrogate) == before  # the same objects: nothing was added, nothing exchanged
    loaded = pickle.loads(pickle.dumps(opt.surrogate))
    assert (
        told(Optimizer(SPACE, direction="maximize", seed=1, search=SearchConfig(model=loaded)), 5).ask() == suggestion
    )


@pytest.mark.slow
def test_length_scales_settle_with_many_observations_whoever_remembers_them() -> None:
    """They are fitted anew once in a while, and a cache that has them already changes nothing, to the last digit."""
    average, every = average_over(), observed(131)
    kernels, cache = [], None
    for count in (100, 101, 127, 128, 131):
        observations = Observations(every.X[:count], standardised(every.y[:count]))
        weighed, cache = average.weigh(observations, cache)
        afresh = average.weigh(observations)[0]
        assert torch.equal(weighed.weights, afresh.weights)
        assert torch.equal(weighed.hypotheses.processes.kernels.lengthscales, kernels_of(afresh))
        kernels.append(kernels_of(weighed))
    assert torch.equal(kernels[0], kernels[2])
    assert not torch.equal(kernels[2], kernels[3])
    assert torch.equal(kernels[3], kernels[4])


def test_length_scales_that_have_settled_are_nearly_those_of_all_observations(monkeypatch: pytest.MonkeyPatch) -> None:
    average, observations = average_over(), observed(127)
    weighed = average.weigh(observations)[0]
    monkeypatch.setattr("tunedprior.model_averaging.incremental._OFTEN", 1000)
    afresh = average.weigh(observations)[0]
    fitted = weighed.hypotheses.fitted_rows
    assert (kernels_of(weighed)[fitted] / kernels_of(afresh)[fitted]).log().abs().mean() < 0.3


def kernels_of(weighed: weighing.WeightedHypotheses) -> torch.Tensor:
    return weighed.hypotheses.processes.kernels.lengthscales
