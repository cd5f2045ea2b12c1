"""The average over beliefs: what each is worth given observations, and what that is good for."""

import math
import warnings
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from optuna.distributions import IntDistribution
from scipy.integrate import quad

import reference
from cases import table
from tunedprior import Optimizer, pretrain
from tunedprior import average as average_module
from tunedprior.average import Average, Weighed
from tunedprior.box import Box
from tunedprior.errors import AuxiliaryDataWarning, InputError
from tunedprior.evidence import most_probable
from tunedprior.kernels import (
    Aligned,
    Linear,
    LogRatio,
    Matched,
    Polynomial,
    Reweighted,
    ReweightedBelief,
    SquaredExponential,
    Uncertain,
)
from tunedprior.kernels.stack import KernelStack
from tunedprior.knowledge import Knowledge, learn, named
from tunedprior.models import LEAST_NOISE
from tunedprior.old_fits import BELIEFS, OldFit, fits
from tunedprior.priors import PRIORS
from tunedprior.space import Space
from tunedprior.surrogates import Observations, Standard, TunedPrior

SPACE = {"a": (-1.0, 1.0), "b": (0.0, 5.0)}
POOL = Space.parse(SPACE).sobol(200, seed=3)


def smooth(setting: dict) -> float:
    x, z = setting["a"], setting["b"] / 2.5 - 1
    return math.sin(3 * x + 0.5) * math.cos(2 * z) + 0.5 * z


def unrelated(setting: dict) -> float:
    x, z = setting["a"], setting["b"] / 2.5 - 1
    return math.cos(4 * x * z - 1) + x * x * z


def old_data(function=smooth, factor: float = 1.0, rows: int = 30, seed: int = 99) -> pd.DataFrame:
    old = pd.DataFrame(Space.parse(SPACE).sobol(rows, seed=seed))
    return old.assign(y=[factor * function(row) for row in old.to_dict("records")])


def told(opt: Optimizer, count: int, function=smooth, seed: int = 5) -> Optimizer:
    for setting in opt.space.sobol(count, seed=seed):
        opt.tell(setting, function(setting))
    return opt


def observed(count: int, seed: int = 5, noise_std: float | None = None) -> Observations:
    settings = Space.parse(SPACE).sobol(count, seed=seed)
    y = torch.tensor([smooth(setting) for setting in settings], dtype=torch.float64)[:, None]
    codes = Box.around(Space.parse(SPACE)).codes(settings)
    return Observations(codes, (y - y.mean()) / (y.std(correction=0) if count > 1 else 1.0), noise_std)


def average_of(*tables: pd.DataFrame, **options) -> Average:
    return Average(*learn(named(list(tables)), Space.parse(SPACE), "y", "maximize", 0), **options)


def normal_noise(rows: int = 30) -> pd.DataFrame:
    return old_data(rows=rows).assign(y=np.random.default_rng(0).standard_normal(rows))


# -- evidence ------------------------------------------------------------------------------------------


def covariance_of(candidate: int, among, x: torch.Tensor) -> list[list[float]]:
    """R_c, one entry after another, each kernel asked by itself."""
    stack, shares = among.processes.kernels, among.processes.shares[candidate].tolist()
    plain = [reference.stationary("squared exponential", row) for row in stack.lengthscales.tolist()]
    learnt = [
        (kernel(x).to_dense() / size).tolist() if share else None
        for kernel, size, share in zip(stack.others, stack.sizes, shares[len(plain) :], strict=True)
    ]
    points, noise = x.tolist(), among.processes.noise[candidate].item()
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


def test_evidence_is_the_likelihood_with_the_amplitude_integrated_out() -> None:
    average, observations = average_of(old_data(rows=8), beliefs=("aligned", "matched", "uncertain")), observed(4)
    weighed = average.weigh(observations)
    x, y = average.box.inputs(observations.codes), observations.y[:, 0].tolist()
    found = weighed.weights.log() - weighed.candidates.log_prior
    steps = max(1, len(found) // 60)  # some of all kinds
    chosen = sorted({*range(0, len(found), steps), len(found) - 1})
    expected = []
    for candidate in chosen:
        covariance = covariance_of(candidate, weighed.candidates, x)

        c = weighed.candidates.certainty[candidate].item()

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
        assert 0.98 * math.exp(middle) <= weighed.amplitude[candidate] <= 1.001 * mean
    assert {weighed.candidates.labels[candidate].belief for candidate in chosen} >= {
        "uninformed", "shape", "aligned", "matched", "uncertain"
    }  # fmt: skip
    differences = torch.tensor(expected, dtype=torch.float64) - expected[0]
    torch.testing.assert_close(found[chosen] - found[0], differences, rtol=0, atol=1e-6)
    assert differences.abs().max() > 0.5


def test_weights_are_probabilities_that_change_with_every_observation() -> None:
    average = average_of(old_data(factor=-1.0))
    before = average.unweighed.weights
    for count in (1, 2, 3, 6):
        weights = average.weigh(observed(count)).weights
        assert weights.sum().item() == pytest.approx(1.0)
        assert (weights >= 0).all()
        assert (weights - before).abs().max() > 1e-3
        before = weights


def test_the_order_of_observations_does_not_matter() -> None:
    average, observations = average_of(old_data(unrelated)), observed(7)
    turned = replace(observations, codes=observations.codes.flip(0), y=observations.y.flip(0))
    torch.testing.assert_close(average.weigh(turned).weights, average.weigh(observations).weights, rtol=0, atol=1e-4)


def test_working_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    average, observations = average_of(old_data()), observed(6)
    whole = average.weigh(observations)
    monkeypatch.setattr(average_module, "_ENTRIES", 7 * 6**2)
    pieces = average.weigh(observations)
    torch.testing.assert_close(pieces.weights, whole.weights)
    torch.testing.assert_close(pieces.amplitude, whole.amplitude)


def test_a_known_noise_is_the_noise_of_every_candidate() -> None:
    average = average_of(old_data())
    assert len(average.weigh(observed(5)).candidates.processes.noise.unique()) > 1
    for noise_std, variance in ((0.3, 0.09), (0.0, LEAST_NOISE)):
        weighed = average.weigh(observed(5, noise_std=noise_std))
        noise = weighed.amplitude * weighed.candidates.processes.noise
        torch.testing.assert_close(
            noise, torch.full_like(noise, variance), rtol=0.1, atol=0.0
        )  # it is found by iteration
        shares = weighed.candidates.processes.shares
        assert len(shares.unique(dim=0)) == len(shares)  # no candidate twice


def test_known_noise_decides_how_closely_observations_are_followed() -> None:
    errors = []
    for noise_std in (0.01, 1.0):
        opt = told(Optimizer(SPACE, old_data(unrelated), noise_std=noise_std), 8)
        errors.append((opt.predict(opt.history)["mean"] - opt.history["y"]).abs().mean())
    assert errors[0] < 0.1 * errors[1]


# -- the prior -----------------------------------------------------------------------------------------


def masses(weighed: Weighed) -> Counter:
    """The probability of each belief, by old data set and belief."""
    found: Counter = Counter()
    for label, weight in zip(weighed.candidates.labels, weighed.weights.tolist(), strict=True):
        found[label.old, label.belief] += weight
    return found


def test_prior_probabilities_are_shared_out_evenly_among_old_data() -> None:
    nothing = masses(Average(Box.around(Space.parse(SPACE)), ()).unweighed)
    assert nothing == {("", "uninformed"): pytest.approx(1.0)}
    one = masses(average_of(old_data()).unweighed)["", "uninformed"]
    tables = [old_data(), old_data(unrelated), normal_noise()]
    for count in (1, 2, 3):
        average = average_of(*tables[:count])
        found = masses(average.unweighed)
        assert average.unweighed.candidates.log_prior.exp().sum().item() == pytest.approx(1.0)
        assert found.pop(("", "uninformed")) == pytest.approx(one)
        by_old: Counter = Counter()
        for (name, _), mass in found.items():
            by_old[name] += mass
        assert by_old == {f"old data {k + 1}": pytest.approx((1 - one) / count) for k in range(count)}


@pytest.mark.parametrize("belief", [belief for belief in BELIEFS if belief != "reweighted"])
def test_a_belief_alone_is_all_there_is(belief: str) -> None:
    found = masses(average_of(old_data(), old_data(unrelated), beliefs=(belief,), alone=True).unweighed)
    assert found == {(f"old data {k}", belief): pytest.approx(0.5) for k in (1, 2)}


def test_every_kernel_has_mean_variance_one() -> None:
    stack = average_of(old_data(), beliefs=("aligned", "matched", "uncertain")).unweighed.candidates.processes.kernels
    box = table(4000, 2, low=-1.0, high=1.0)
    means = stack.variances(box).mean(-1)
    assert len(means) > 12
    torch.testing.assert_close(means, torch.ones_like(means), rtol=0.1, atol=0)


def test_observations_choose_length_scales_of_their_own_and_pay_for_them() -> None:
    average, settings = average_of(old_data(unrelated)), Space.parse(SPACE).sobol(12, seed=5)
    y = torch.tensor([math.sin(3 * setting["a"]) for setting in settings], dtype=torch.float64)[:, None]
    observations = Observations(average.box.codes(settings), (y - y.mean()) / y.std(correction=0))
    before, after = average.unweighed.candidates, average.weigh(observations).candidates
    first, second = after.processes.kernels.lengthscales[after.fitted_row].tolist()
    assert first < 0.5 * second  # the second input does not matter
    kept = torch.arange(len(before.processes.kernels.lengthscales)) != before.fitted_row
    torch.testing.assert_close(
        after.processes.kernels.lengthscales[kept], before.processes.kernels.lengthscales[kept], rtol=0, atol=0
    )
    paid = before.log_prior - after.log_prior
    only = (before.processes.shares[:, before.fitted_row] == 1).double()
    assert 0 < only.sum() < len(only)
    torch.testing.assert_close(paid, only * 2 * math.log(12) / 2)  # two of them, half a logarithm each


# -- what it is good for -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_flipped_old_data_leads_to_the_best_setting_soon(seed: int) -> None:
    best = max(map(smooth, POOL))
    regrets = []
    for old in (old_data(factor=-1.0, rows=40), None):
        opt = Optimizer(SPACE, old, seed=seed, initial=2)
        for _ in range(6):
            setting = opt.ask(candidates=POOL)
            opt.tell(setting, smooth(setting))
        regrets.append(best - opt.best.value)
    assert regrets[0] < 0.03
    assert regrets[1] > 0.1


def test_unrelated_old_data_loses_its_trust() -> None:
    average = average_of(old_data(unrelated))
    before, after = masses(average.unweighed), masses(average.weigh(observed(10)))
    assert after["old data 1", "aligned"] < 0.3 * before["old data 1", "aligned"]


@pytest.mark.parametrize("old", [old_data(unrelated), normal_noise()], ids=["unrelated", "noise"])
def test_useless_old_data_leaves_predictions_as_good_as_plain_ones(old: pd.DataFrame) -> None:
    truth = [smooth(setting) for setting in POOL]
    informed, plain = (
        told(Optimizer(SPACE, auxiliary), 14).predict(POOL)["mean"].sub(truth).pow(2).mean() ** 0.5
        for auxiliary in (old, None)
    )
    assert informed < 1.3 * plain
    helped = told(Optimizer(SPACE, old_data()), 14).predict(POOL)["mean"].sub(truth).pow(2).mean() ** 0.5
    assert helped < 0.3 * plain


def test_of_several_old_data_sets_the_good_one_is_trusted() -> None:
    tables = {"bad": old_data(unrelated), "good": old_data(factor=-3.0)}
    opt = told(Optimizer(SPACE, tables), 5)
    found = masses(opt.surrogate.weigh(opt._observations()))
    assert {name for name, _ in found} == {"", "bad", "good"}
    assert found["good", "aligned"] > 0.9
    assert found["bad", "aligned"] + found["bad", "shape"] < 0.1
    listed = told(Optimizer(SPACE, list(tables.values())), 5)
    assert [old.name for old in listed.surrogate.known] == ["old data 1", "old data 2"]
    pd.testing.assert_frame_equal(listed.predict(POOL), opt.predict(POOL))
    assert opt.ask(candidates=POOL) in POOL


# -- what may be asked for -----------------------------------------------------------------------------


@pytest.mark.parametrize("prior", PRIORS)
def test_every_prior_suggests(prior: str) -> None:
    opt = told(Optimizer(SPACE, old_data(factor=-1.0, rows=15), prior=prior, seed=1), 4)
    kinds = {"average": Average, "uninformed": Standard, "reweighted": TunedPrior}
    assert isinstance(opt.surrogate, kinds.get(prior, Average))
    if prior not in kinds:
        assert {label.belief for label in opt.surrogate.unweighed.candidates.labels} == {prior}
    setting = opt.ask(candidates=POOL)
    assert setting in POOL
    assert np.isfinite(opt.predict(POOL)).all(axis=None)
    assert isinstance(Optimizer(SPACE, prior=prior).surrogate, Standard)


def test_an_unknown_prior_is_refused() -> None:
    for old in (None, old_data(rows=5)):
        with pytest.raises(InputError, match=f"prior must be one of {', '.join(PRIORS)}; got 'averaged'"):
            Optimizer(SPACE, old, prior="averaged")


def test_a_weight_prior_is_one_reading() -> None:
    learnt = pretrain(old_data(factor=-2.0), SPACE)
    opt = told(Optimizer(SPACE, learnt), 6)
    (known,) = opt.surrogate.known
    (reading,) = known.readings
    assert reading.kernel is learnt.base
    torch.testing.assert_close(reading.alpha, learnt.alpha)
    assert opt.trust.relations["slope"].item() == pytest.approx(-0.5, rel=0.1)
    assert opt.ask(candidates=POOL) in POOL
    with pytest.raises(InputError, match="must be the only old data; got 2 sets"):
        Optimizer(SPACE, [learnt, old_data()])


def test_a_kernel_of_ones_own_learns() -> None:
    def bowl(setting: dict) -> float:
        return (setting["a"] - 0.3) ** 2 + (setting["b"] / 5 - 0.6) ** 2

    opt = told(Optimizer(SPACE, old_data(bowl, rows=20), kernel=Polynomial(2)), 6, bowl)
    assert isinstance(opt.surrogate, Average)
    assert isinstance(opt.surrogate.known[0].readings[0].kernel, Polynomial)
    trust = opt.trust
    assert "shape" not in trust.history  # it has no length-scales to share
    assert trust.relations["slope"].item() == pytest.approx(1.0, abs=0.1)
    assert opt.predict(POOL)["mean"].sub([bowl(setting) for setting in POOL]).abs().max() < 0.1
    with pytest.raises(InputError, match="LogRatio is not"):
        Optimizer(SPACE, old_data(rows=10), kernel=LogRatio())
    for options in ({"kernel": Linear()}, {"prior": "reweighted"}):
        with pytest.raises(InputError, match=r"learns from one old data set; got 2 \(old data 1, old data 2\)"):
            Optimizer(SPACE, [old_data(rows=10), old_data(unrelated, rows=10)], **options)


def test_categories_and_whole_numbers_can_be_averaged_over() -> None:
    space = {"x": (0.0, 1.0), "n": IntDistribution(1, 7, step=2), "gas": ["air", "argon", "helium"]}
    bonus = {"air": 0.0, "argon": 1.0, "helium": 0.3}

    def response(setting: dict) -> float:
        return math.sin(3 * setting["x"]) * bonus[setting["gas"]] - (setting["n"] / 7 - 0.6) ** 2

    old = pd.DataFrame(Space.parse(space).sobol(60, seed=9))
    old["y"] = [-response(row) for row in old.to_dict("records")]
    pool = Space.parse(space).sobol(100, seed=4)
    opt = Optimizer(space, old, seed=1, initial=3)
    for _ in range(6):
        setting = opt.ask(candidates=pool)
        assert isinstance(setting["n"], int)
        opt.tell(setting, response(setting))
    assert opt.best.setting["gas"] == "argon"
    assert opt.best.value >= sorted(map(response, pool))[-5]
    free = opt.ask()
    assert 0 <= free["x"] <= 1
    assert free["n"] in (1, 3, 5, 7)


def test_labels_say_which_way_is_up() -> None:
    old = old_data()
    old["y"] = np.where(old["y"] > 0, "pass", "fail")
    opt = told(Optimizer(SPACE, old), 4)
    assert isinstance(opt.surrogate, Average)
    assert opt.trust.relations["positive"].item() > 0.9
    assert opt.ask(candidates=POOL) in POOL


def test_sets_that_say_nothing_are_left_out_and_the_others_kept() -> None:
    sets = {
        "good": old_data(),
        "flat": (10 * old_data()).assign(y=2.0),  # far out, and may not stretch the box of the others
        "none": old_data().iloc[:0],
        "single": old_data().iloc[:1],
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        opt = Optimizer(SPACE, sets)
    messages = [str(w.message) for w in caught if w.category is AuxiliaryDataWarning]
    for name, reason in {"flat": "never varies", "none": "is empty", "single": "it has 1"}.items():
        assert sum(reason in message and f"Going on without {name}." in message for message in messages) == 1
    assert [old.name for old in opt.surrogate.known] == ["good"]
    alone = told(Optimizer(SPACE, {"good": old_data()}), 4)
    pd.testing.assert_frame_equal(told(opt, 4).predict(POOL), alone.predict(POOL))


# -- readings of old data ------------------------------------------------------------------------------


@pytest.mark.parametrize("num_inputs", [1, 2])
def test_the_most_probable_length_scales_are_those_of_a_grid(num_inputs: int) -> None:
    x = table(8, num_inputs, seed=3)
    y = torch.sin(4 * x[:, 0]) + 0.1 * table(8, seed=4)
    y = (y - y.mean()) / y.std(correction=0)
    lengthscales, noises = (0.5, 1.0), (-3.0, 1.5)
    starts = [(length, noise) for length in (0.3, 1.0, 3.0) for noise in (0.01, 0.3)]
    found = most_probable(x, y, starts, lengthscales, noises)
    assert found.shape == (num_inputs,)

    def log_posterior(log_lengthscale: np.ndarray, log_noise: np.ndarray) -> np.ndarray:
        """At every row; the amplitude's integral in closed form, as the evidence above has it."""
        squares = ((x[:, None] - x).numpy() / np.exp(log_lengthscale)[:, None, None, :]) ** 2
        covariance = np.exp(-squares.sum(-1) / 2) + np.exp(log_noise)[:, None, None] * np.eye(8)
        quadratic = (np.linalg.solve(covariance, y.numpy()[:, None])[..., 0] * y.numpy()).sum(-1)
        evidence = -np.linalg.slogdet(covariance)[1] / 2 - (1 + 8 / 2) * np.log(1 + quadratic / 2)
        log_prior = -(((log_lengthscale - lengthscales[0]) / lengthscales[1]) ** 2).sum(-1) / 2
        return evidence + log_prior - ((log_noise - noises[0]) / noises[1]) ** 2 / 2

    axes = [np.linspace(np.log(0.15), np.log(20), 30)] * num_inputs + [np.linspace(-9, 1, 30)]
    grid = np.stack(np.meshgrid(*axes), -1).reshape(-1, num_inputs + 1)
    best = log_posterior(grid[:, :-1], grid[:, -1]).max()
    finely = np.linspace(-11, 1, 400)
    reached = log_posterior(np.tile(found.log().numpy(), (400, 1)), finely).max()
    assert reached > best - 1e-3
    away = log_posterior(np.tile(found.log().numpy() + 0.3, (400, 1)), finely).max()
    assert away < reached - 1e-3


def test_a_reading_is_a_ridge_fit_of_all_old_data() -> None:
    x = table(12, 2, seed=3)
    y = torch.sin(3 * x[:, 0]) + 0.5 * x[:, 1]
    y = (y - y.mean()) / y.std(correction=0)
    readings = fits(x, y)
    assert len({tuple(reading.lengthscale(2).tolist()) for reading in readings}) == len(readings) > 1
    for reading in readings:
        kernel = reference.stationary("squared exponential", reading.lengthscale(2).tolist())
        points = x.tolist()
        gram = [[kernel(p, q) for q in points] for p in points]
        expected = reference.ridge(gram, y.tolist(), reading.lam)
        np.testing.assert_allclose(reading.alpha, expected, rtol=1e-5, atol=1e-6)
        new = table(3, 2, seed=8)
        predicted = [sum(a * kernel(p, q) for a, p in zip(expected, points, strict=True)) for q in new.tolist()]
        np.testing.assert_allclose(reading.expected(new), predicted, rtol=1e-5, atol=1e-6)
    # The first one sees that the second input matters less.
    first, second = readings[0].lengthscale(2).tolist()
    assert first < 0.5 * second


def test_pure_noise_is_read_as_noise() -> None:
    for seed in range(3):
        x = table(40, 2, seed=seed, low=-1.0, high=1.0)
        y = torch.as_tensor(np.random.default_rng(seed).standard_normal(40))
        y = (y - y.mean()) / y.std(correction=0)
        signal = torch.sin(3 * x[:, 0])
        signal = (signal - signal.mean()) / signal.std(correction=0)
        assert fits(x, y)[0].expected(x).std() < 0.5
        assert (fits(x, signal)[0].expected(x) - signal).std() < 0.1


def test_more_old_rows_than_length_scales_need_are_all_fitted() -> None:
    x = table(350, 2, seed=3)
    y = torch.sin(3 * x[:, 0])
    y = (y - y.mean()) / y.std(correction=0)
    readings = fits(x, y)
    assert all(len(reading.alpha) == 350 for reading in readings)
    again = fits(x, y)
    torch.testing.assert_close(again[0].alpha, readings[0].alpha, rtol=0, atol=0)


def test_a_reading_has_every_belief() -> None:
    kernel = SquaredExponential(torch.tensor([0.8], dtype=torch.float64))
    reading = OldFit(kernel, table(6, 2), table(6, seed=1), 0.1)
    kinds = dict(zip(BELIEFS, (Aligned, Matched, Uncertain, ReweightedBelief), strict=True))
    x = table(5, 2, seed=2)
    anchors, alpha = reading.anchors, reading.alpha
    exact = {
        "aligned": Aligned(kernel, anchors, alpha, 0.1),
        "matched": Matched(kernel, anchors, alpha, by_features=False),
        "uncertain": Uncertain(kernel, anchors, alpha, 0.1, by_features=False),
        "reweighted": Reweighted(kernel, anchors, alpha),
    }
    for name, kind in kinds.items():
        belief = reading.belief(name)
        assert isinstance(belief, kind)
        torch.testing.assert_close(belief(x).to_dense(), exact[name](x).to_dense(), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(reading.lengthscale(2), torch.full((2,), 0.8).double(), rtol=1e-6, atol=0)
    assert OldFit(Polynomial(2), anchors, alpha, 0.1).lengthscale(2) is None
    # Too many features to list them: the sum over pairs of old settings does.
    rough = OldFit(SquaredExponential(torch.tensor([0.1] * 3).double()), table(4, 3), table(4, seed=1), 0.1)
    assert rough.belief("matched").num_features is None


def test_an_average_of_settings_that_cannot_be_told_apart_is_no_trouble() -> None:
    """Old rows at the same setting are one; the unit is that of the means."""
    twice = pd.concat([old_data(rows=10), old_data(rows=10).assign(y=lambda t: t["y"] + 0.2)])
    (known,) = average_of(twice).known
    assert len(known.readings[0].anchors) == 10
    assert known.unit == pytest.approx(old_data(rows=10)["y"].std(ddof=0))
    assert isinstance(known, Knowledge)


# -- kernels side by side ------------------------------------------------------------------------------


def stack() -> KernelStack:
    base = SquaredExponential(torch.tensor([0.8], dtype=torch.float64))
    anchors, alpha = table(5, 2, seed=1), table(5, seed=2)
    others = (Aligned(base, anchors, alpha, 0.1), Matched(base, anchors, alpha, by_features=True))
    return KernelStack(torch.tensor([[0.5, 2.0], [1.0, 1.0], [3.0, 0.7]], dtype=torch.float64), others, (0.4, 2.5))


@pytest.mark.parametrize(("left", "right"), [((4,), (3,)), ((6, 4), (6, 3)), ((4,), (6, 3)), ((2, 1, 4), (6, 3))])
def test_a_stack_is_its_kernels_side_by_side(left: tuple, right: tuple) -> None:
    x, z = table(*left, 2, seed=5), table(*right, 2, seed=6)
    kernels = stack()
    found = kernels.matrices(x, z)
    batch = torch.broadcast_shapes(left[:-1], right[:-1])
    assert found.shape == (5, *batch, left[-1], right[-1])
    wide, deep = x.expand(*batch, left[-1], 2), z.expand(*batch, right[-1], 2)
    for row, lengthscale in enumerate(kernels.lengthscales):
        torch.testing.assert_close(found[row], SquaredExponential(lengthscale)(wide, deep).to_dense())
    for row, (kernel, size) in enumerate(zip(kernels.others, kernels.sizes, strict=True), start=3):
        torch.testing.assert_close(found[row], kernel(wide, deep).to_dense() / size)
    torch.testing.assert_close(kernels.variances(x), kernels.matrices(x, x).diagonal(dim1=-2, dim2=-1))


@pytest.mark.parametrize("rows", [[0, 2, 4], [3, 4], [1], [0, 1, 2, 3, 4]], ids=str)
def test_taking_some_kernels_keeps_them_as_they_are(rows: list[int]) -> None:
    x = table(4, 2, seed=5)
    few = stack().take(torch.tensor(rows))
    assert len(few) == len(rows)
    torch.testing.assert_close(few.matrices(x, x), stack().matrices(x, x)[rows])
    torch.testing.assert_close(few.variances(x), stack().variances(x)[rows])


def test_many_settings_are_predicted_point_by_point() -> None:
    opt = told(Optimizer(SPACE, old_data()), 4)
    predicted = opt.predict(POOL * 20)  # jointly, 64 matrices of 4000 x 4000
    pd.testing.assert_frame_equal(predicted.iloc[: len(POOL)], opt.predict(POOL))


def test_columns_are_not_taken_for_old_data_sets() -> None:
    with pytest.raises(InputError, match=r"pandas\.DataFrame"):
        named({name: column.tolist() for name, column in old_data().items()})
    with pytest.raises(InputError, match="need names"):
        Optimizer(SPACE, {"": old_data()})
