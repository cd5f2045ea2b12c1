"""The study of models and goals: its campaigns with few trials, its losses, and its quick size."""

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.results import Run, long_table
from benchmarks.studies import models
from benchmarks.studies.models import GOALS, MODELS, ModelJob
from tunedprior.goals.observations import Observations
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space

BRANIN = models.process_named("Branin")


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("goal", [models.FRONT, models.PENDING, models.CANDIDATES])
def test_losses_never_grow_and_begin_alike(goal: str, model: str) -> None:
    losses = models.compute_losses(ModelJob("Branin", goal, model, 1, 6))
    assert len(losses) == 6
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] >= 0
    # Random search averages many continuations, with the rounding of a mean.
    assert losses[:4] == pytest.approx(models.compute_losses(ModelJob("Branin", goal, models.AVERAGE, 1, 4))[:4])


def test_settings_under_way_are_told_in_the_order_they_were_asked_in(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Counting:
        asked = 0

        def ask(self, n: int, candidates: object) -> list[dict[str, float]]:
            assert candidates is None
            said.append(f"ask {n}")
            self.asked += n
            return [{"x0": k / 100, "x1": 0.0} for k in range(self.asked - n, self.asked)]

        def tell(self, setting: dict[str, float], _value: float) -> None:
            said.append(f"tell {round(100 * setting['x0'])}")

    monkeypatch.setattr(models, "_open", lambda *_arguments: Counting())
    losses = models.compute_losses(ModelJob("Branin", models.PENDING, models.AVERAGE, 0, 6))
    assert len(losses) == 6
    assert said == [*["ask 1"] * 4, "tell 0", "ask 1", "tell 1", "ask 1", *(f"tell {k}" for k in (2, 3, 4, 5))]
    said.clear()
    models.compute_losses(ModelJob("Branin", models.BATCH, models.AVERAGE, 0, 6))
    assert [one for one in said if one.startswith("ask")] == ["ask 4", "ask 2"]


@pytest.mark.parametrize("name", models.PROCESSES)
def test_the_best_setting_of_all_meets_the_requirement(name: str) -> None:
    process = models.process_named(name)
    found = process.evaluate(process.function.best_settings)
    assert found[:, 0] == pytest.approx(1, abs=1e-5)
    assert found[:, 1].max() >= models.PURE
    assert process.largest > 0
    assert process.compute_hypervolume(process.evaluate(np.array([process.centre]))) < process.largest


@pytest.mark.parametrize(("goal", "loss"), [(models.TARGET, 0.1), (models.REQUIREMENT, 1.0), (models.COST, 0.4)])
def test_each_goal_has_its_loss(goal: str, loss: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models.Process, "evaluate", lambda _self, x: np.array([[0.6, 0.7]]).repeat(len(x), axis=0))
    job = ModelJob("Branin", goal, models.AVERAGE, 0, 3)  # a budget of 4
    settings = [{"x0": 0.0, "x1": 0.0}] * 3
    kept = models._measure_losses(BRANIN, job, settings)
    assert kept == pytest.approx([loss] * (2 if goal == models.COST else 3))


def test_moments_of_the_model_of_ones_own_are_those_of_its_samples() -> None:
    space = Space.parse(BRANIN.function.space)
    box = Box.enclose(space)
    settings = space.sobol(12, seed=3)
    y = torch.as_tensor(BRANIN.evaluate(np.array([list(one.values()) for one in settings]))[:, :1])
    model = models.HeavyTailedSurrogate(box)(Observations(box.encode(settings), (y - y.mean()) / y.std()))
    posterior = model.posterior(box.encode(space.sobol(4, seed=8)))
    torch.manual_seed(0)
    samples = posterior.rsample(torch.Size([200_000]))
    torch.testing.assert_close(samples.mean(0), posterior.mean, rtol=0.03, atol=0.01)
    torch.testing.assert_close(samples.var(0), posterior.variance, rtol=0.1, atol=0.01)


def test_the_tables_have_the_mean_at_the_end_and_its_ratio_to_random_search() -> None:
    ends = dict(zip(MODELS, (0.1, 0.2, 0.4, 0.8, 0.4), strict=True))
    runs = [
        Run(ModelJob(problem, goal, model, seed, 2), (0.9, ends[model]), 1.0)
        for problem in models.PROCESSES
        for goal in GOALS
        for model in MODELS
        for seed in range(2)
    ]
    found = models.tables(long_table(runs))
    losses, ratios = (pd.Series(found[name].splitlines()) for name in ("models losses", "models ratios"))
    assert losses.iloc[0] == f"| goal | {' | '.join(MODELS)} |"
    assert len(losses) == 2 + len(GOALS)
    assert losses.iloc[2].startswith("| target | 0.100 (0.100–0.100) | 0.200")
    assert ratios.iloc[-1].startswith(f"| {models.TOGETHER} | 0.25 (0.25–0.25) | 0.50")
    assert "random search" not in ratios.iloc[0]


@pytest.mark.usefixtures("short_search")
def test_the_study_has_a_quick_size(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "GOALS", (models.COST, models.BATCH))
    monkeypatch.setattr(models, "MODELS", (models.AVERAGE, models.RANDOM))
    main(["models", "--smoke", "--workers", "1"])
    assert "| cost |" in capsys.readouterr().out
