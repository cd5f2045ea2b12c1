"""The prior: how probability is shared out before the first observation."""

from collections import Counter

import pytest
import torch

from support.builders import (
    SPACE,
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
from tunedprior.average.surrogate import Average


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
    means = stack.variances(box).mean(-1)
    assert len(means) > 12
    torch.testing.assert_close(means, torch.ones_like(means), rtol=0.1, atol=0)
