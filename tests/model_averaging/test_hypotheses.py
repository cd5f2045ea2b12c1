"""The prior: how probability is shared out before the first observation."""

from collections import Counter

import numpy as np
import pytest
import torch

from support.builders import (
    SPACE,
    _learnt_from,
    average_of,
    average_over,
    box_of,
    noise_data,
    old_data,
    probabilities,
    smooth,
    unrelated,
    weighed_beforehand,
)
from support.cases import table
from tunedprior.beliefs import get_belief
from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.beliefs.uninformed import UninformedBelief
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.hypotheses import build_hypotheses
from tunedprior.numerics.stationary import Axes


def test_prior_probabilities_are_shared_out_evenly_among_old_data() -> None:
    nothing = probabilities(weighed_beforehand(Average(box_of(SPACE), ())))
    assert nothing == {("", "uninformed"): pytest.approx(1.0)}
    one = probabilities(weighed_beforehand(average_over()))["", "uninformed"]
    tables = [old_data(rows=15), old_data(unrelated, rows=15), noise_data()]
    for count in (1, 2, 3):
        average = average_of(*tables[:count])
        found = probabilities(weighed_beforehand(average))
        assert weighed_beforehand(average).hypotheses.log_prior.exp().sum().item() == pytest.approx(1.0)
        assert found.pop(("", "uninformed")) == pytest.approx(one)
        by_old: Counter = Counter()
        for (name, _), mass in found.items():
            by_old[name] += mass
        assert by_old == {f"old data {k + 1}": pytest.approx((1 - one) / count) for k in range(count)}


@pytest.mark.parametrize("name", ["aligned", "matched", "uncertain"])
def test_a_belief_alone_is_all_there_is(name: str) -> None:
    found = probabilities(weighed_beforehand(average_over(smooth, unrelated, beliefs=(name,), alone=True)))
    assert found == {(f"old data {k}", name): pytest.approx(0.5) for k in (1, 2)}


def test_every_kernel_has_mean_variance_one() -> None:
    stack = average_over(beliefs=("aligned", "matched", "uncertain")).hypotheses.processes.kernels
    box = table(4000, 2, low=-1.0, high=1.0)
    means = stack.evaluate_variances(box).mean(-1)
    assert len(means) > 12
    torch.testing.assert_close(means, torch.ones_like(means), rtol=0.1, atol=0)


def test_plain_length_scales_are_drawn_and_grow_with_the_diagonal_of_the_box() -> None:
    plain, wide = (
        torch.stack(
            [version.covariance for version in UninformedBelief().make_prior_covariances((), Axes.make_numeric(inputs))]
        ).log()
        for inputs in (2, 8)
    )
    assert (wide.mean() - plain.mean()).item() == pytest.approx(np.log(2), abs=0.15)
    assert plain.std(0).min() > 0.8  # from a small part of the box to without end
    assert (plain[:, 0] - plain[:, 1]).std() > 0.8  # each input has its own
    noise = [version.noise for version in UninformedBelief().make_prior_covariances((), Axes.make_numeric(2))]
    assert min(noise) < 1e-3
    assert max(noise) > 1


def test_a_belief_that_old_data_gives_no_mean_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AlignedBelief, "is_informative", lambda *_: False)
    known = _learnt_from((smooth,), 20)[1]
    found = build_hypotheses(known, Axes.make_numeric(2), [get_belief("aligned")])
    assert {label.belief for label in found.labels} == {"uninformed"}
    assert len(found) > 2 * 96  # they are there beside the plain ones, under another name


def test_shares_and_prior_probabilities_sum_to_one() -> None:
    found = average_over().hypotheses
    torch.testing.assert_close(found.processes.shares.sum(1), torch.ones(len(found)).double())
    assert found.log_prior.exp().sum().item() == pytest.approx(1.0)
