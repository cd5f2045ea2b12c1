"""The share of the response's variance that old data accounts for: by hand, and where the answer is known."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch

from support.builders import (
    SPACE,
    Response,
    average_over,
    flipped,
    observations_of,
    old_data,
    smooth,
    told,
    unrelated,
    weighed_after,
)
from tunedprior import Optimizer, beliefs
from tunedprior.machines import AlphaFit
from tunedprior.model_averaging import weighing
from tunedprior.model_averaging.average import draw_space_sample

ROWS = 40
RESULTS = 8


def random_numbers(seed: int) -> Response:
    """Responses that have nothing to do with the setting."""
    draw = np.random.default_rng(seed)
    return lambda setting: float(draw.normal())  # noqa: ARG005  # that is the point


def trust_after(old: pd.DataFrame, response: Response = smooth, count: int = RESULTS, seed: int = 5) -> float:
    return (
        told(Optimizer(SPACE, old, direction="maximize", seed=0), count, response, seed).trust.relations["trust"].item()
    )


def noise(seed: int) -> pd.DataFrame:
    """Old data in which there is nothing to learn."""
    return old_data(random_numbers(seed), ROWS)


def reliability(fit: AlphaFit, sample: torch.Tensor) -> torch.Tensor:
    """var ĝ / (var ĝ + E[var(g | A)]), the latter from the kernel of the aligned belief less ĝ²."""
    learnt = fit(sample)
    left = beliefs.get_belief("aligned").make_kernel(fit).forward(sample, sample, diag=True) - learnt.square()
    return learnt.var(correction=0) / (learnt.var(correction=0) + left.mean())


@pytest.mark.slow
def test_trust_is_the_share_of_the_variance_that_old_data_accounts_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each hypothesis by hand, with an inverse instead of factors."""
    monkeypatch.setattr(weighing, "_LEAST_SHARE", 0.0)
    opt = told(
        Optimizer(SPACE, {"lab": old_data(rows=15), "plant": old_data(unrelated, rows=15)}, "minimize", seed=0), 4
    )
    observations, average = observations_of(opt), opt.surrogate
    weighed, x = weighed_after(average, observations), average.box.to_kernel_inputs(observations.X)
    among, sample = weighed.hypotheses, draw_space_sample(average.hypotheses.axes, x)
    inverse = torch.linalg.inv(among.processes.add_noise_(among.processes.compute_covariance(x, x)))
    cross, variance = among.processes.compute_covariance(sample, x), among.processes.compute_variance(sample)
    expected = dict.fromkeys(((label.old, label.belief) for label in among.labels), 0.0)
    relied_on = {old.name: [reliability(one, sample) for one in old.fits] for old in average.sources}
    for row, label in enumerate(among.labels):
        if among.slopes[row] > 0:
            fit = next(old for old in average.sources if old.name == label.old).fits[among.fit_indices[row]]
            alpha = inverse[row] @ observations.y[:, 0]
            by_old = among.slopes[row] * (fit(x) @ alpha) * fit(sample)
            left = variance[row].mean() - torch.einsum("mi,ij,mj->", cross[row], inverse[row], cross[row]) / len(sample)
            rest = (cross[row] @ alpha - by_old).var(correction=0)
            rest += weighed.amplitude[row] * (left + among.processes.noise[row])
            part = by_old.var(correction=0)
            share = part / (part + rest) * relied_on[label.old][among.fit_indices[row]]
            expected[label.old, label.belief] += (weighed.weights[row] * share).item()
    trust = opt.trust
    for old, belief, found in trust.beliefs[["old data", "belief", "trust"]].itertuples(index=False):
        assert found == pytest.approx(expected[old, belief], rel=1e-4, abs=1e-9)
    by_set = trust.beliefs.groupby("old data")["trust"].sum()
    np.testing.assert_allclose(trust.relations.set_index("old data")["trust"], by_set[["lab", "plant"]])
    assert 0 < by_set.sum() < 1


@pytest.mark.parametrize("response", [smooth, flipped])
def test_faithful_old_data_explains_nearly_all(response: Response) -> None:
    assert 0.8 < trust_after(old_data(response, ROWS)) <= 1


@pytest.mark.slow
def test_old_data_of_pure_noise_explains_little() -> None:
    found = [trust_after(noise(seed)) for seed in range(4)]
    assert np.mean(found) < 0.15
    assert max(found) < 0.4  # a few numbers go with the response by chance


@pytest.mark.slow
def test_results_of_pure_noise_are_hardly_explained() -> None:
    found = [trust_after(old_data(rows=ROWS), random_numbers(seed)) for seed in range(3)]
    assert max(found) < 0.3


def test_old_data_about_something_else_explains_little() -> None:
    assert trust_after(old_data(unrelated, ROWS)) < 0.15


def test_the_more_noise_in_old_data_the_less_it_explains() -> None:
    draws = np.random.default_rng(0).standard_normal(ROWS)
    found = [trust_after(old_data(rows=ROWS).assign(y=lambda old: old["y"] + size * draws)) for size in (0.0, 0.3, 1.5)]  # noqa: B023  # called at once
    assert found == sorted(found, reverse=True)
    assert found[0] - found[-1] > 0.2


@pytest.mark.filterwarnings("ignore:.*far from all others")
@pytest.mark.parametrize("wrong", [3, 17])
def test_one_wrong_old_row_changes_trust_little(wrong: int) -> None:
    right = old_data(rows=ROWS)
    mistyped = right.assign(y=right["y"].where(right.index != wrong, 10 * right["y"]))
    assert trust_after(mistyped) == pytest.approx(trust_after(right), abs=0.15)


@pytest.mark.parametrize("old", [old_data(rows=ROWS), noise(1)], ids=["faithful", "noise"])
def test_a_slightly_other_result_changes_trust_little(old: pd.DataFrame) -> None:
    def nearly(setting: dict) -> float:
        return smooth(setting) + (0.02 if setting == first else 0.0)

    first = Optimizer(SPACE, direction="maximize", seed=0).space.sobol(RESULTS, seed=5)[0]
    assert trust_after(old, nearly) == pytest.approx(trust_after(old), abs=0.15)


@pytest.mark.parametrize("make", [lambda: old_data(rows=ROWS), lambda: noise(2)], ids=["faithful", "noise"])
def test_trust_is_a_share_after_any_number_of_results(make: Callable[[], pd.DataFrame]) -> None:
    opt = told(Optimizer(SPACE, {"one": make(), "other": old_data(flipped, 15)}, direction="maximize", seed=0), 5)
    history = opt.trust.history[["one: trust", "other: trust"]]
    assert (history >= 0).all(axis=None)
    assert (history.sum(axis=1) <= 1).all()
    assert not history.loc[[0, 1]].any(axis=None)  # one result says nothing yet


def test_variances_are_those_over_the_search_space_however_far_old_data_reaches() -> None:
    wide = {"a": (-1.0, 7.0), "b": (0.0, 5.0)}
    opt = told(Optimizer(SPACE, old_data(rows=ROWS, space=wide), direction="maximize", seed=0), 6)
    box = opt.surrogate.box
    sample = draw_space_sample(opt.surrogate.hypotheses.axes, box.to_kernel_inputs(observations_of(opt).X))
    low, high = box.encode([{"a": -1.0, "b": 0.0}, {"a": 1.0, "b": 5.0}])
    assert ((low - 0.1 <= sample) & (sample <= high + 0.1)).all()
    assert ((sample.amax(0) - sample.amin(0)) / (high - low)).tolist() == pytest.approx([1.0, 1.0], abs=0.1)


def test_without_a_scale_the_search_space_is_the_box() -> None:
    sample = draw_space_sample(average_over().hypotheses.axes, torch.tensor([[0.9, 0.2]], dtype=torch.float64))
    assert sample.abs().amax(0).tolist() == pytest.approx([1.0, 1.0], abs=0.05)


@pytest.mark.slow
def test_where_parts_add_up_to_one_variances_are_those_over_such_settings() -> None:
    """Most of the box is like none of them: what old data does not know there says nothing of what it explains."""
    generator = np.random.default_rng(0)
    parts = pd.DataFrame(generator.dirichlet([1.0] * 4, 120), columns=list("abcd"))
    response = np.sin(9 * parts.a) + np.cos(7 * parts.b) * parts.c
    space = dict.fromkeys(parts, (0.0, 1.0))
    trusts = []
    for old in (response, pd.Series(generator.normal(size=len(parts)))):
        opt = Optimizer(space, parts.assign(y=old)[20:], direction="maximize", seed=0)
        for setting, value in zip(parts[:12].to_dict("records"), response, strict=False):
            opt.tell(setting, value)
        trusts.append(opt.trust.relations["trust"].item())
    assert trusts[0] > 0.8
    assert trusts[1] < 0.2
