"""How the multi-task rival with a free sign looks for its parameters."""

import pytest
import torch

from benchmarks.methods.rivals import MultiTask, multi_task
from benchmarks.methods.rivals.source import Source
from tunedprior.goals.observations import Observations

# linear_operator builds sparse tensors for task indices, and torch warns whoever does so.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")


@pytest.mark.parametrize("better", [0, 1])
def test_multi_task_goes_on_with_the_better_start(
    source: Source, observations: Observations, monkeypatch: pytest.MonkeyPatch, better: int
) -> None:
    begun = []

    def judged(model) -> float:
        begun.append(model)
        return 1.0 if len(begun) - 1 == better else 0.0

    monkeypatch.setattr(multi_task, "_log_posterior", judged)
    chosen = MultiTask(source, free_sign=True)(observations).inner
    assert chosen is begun[better]


def test_the_log_posterior_is_what_a_fit_maximises(source: Source, observations: Observations) -> None:
    model = MultiTask(source, free_sign=True)(observations).inner
    best = multi_task._log_posterior(model)
    kernel = model.covar_module.kernels[1]
    for step in (-0.3, 0.3):
        with torch.no_grad():
            kernel.amplitude += step
            assert multi_task._log_posterior(model) < best
            kernel.amplitude -= step
