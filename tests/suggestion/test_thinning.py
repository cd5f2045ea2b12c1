"""With very many results, models are fitted to some of them: the latest, the best, and others all over the space."""

import numpy as np
import pytest

from tunedprior import Optimizer
from tunedprior.goals.goals import Goals
from tunedprior.history.trials import Trial
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.suggestion import response_models
from tunedprior.suggestion.response_models import thin_trials

SPACE = Space.parse({"x": (0.0, 1.0), "y": (0.0, 1.0)})
BOX = Box.enclose(SPACE)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(response_models, "BLOCK", 20)


def trials(count: int) -> list[Trial]:
    random = np.random.default_rng(0)
    points = random.random((count, 2))
    return [Trial({"x": x, "y": y}, -((x - 0.3) ** 2) - y, id=k + 1) for k, (x, y) in enumerate(points.tolist())]


def test_few_are_kept_as_they_are() -> None:
    few = trials(59)
    assert thin_trials(few, Goals(), BOX) is few


def test_of_many_the_latest_and_the_best_stay() -> None:
    many = trials(333)
    found = thin_trials(many, Goals(), BOX)
    assert len(found) == 20 + 333 - 300
    assert list(found[20:]) == many[300:]
    best = sorted(many[:300], key=lambda trial: -trial.value)[:5]
    assert {trial.id for trial in best} <= {trial.id for trial in found[:20]}
    assert [trial.id for trial in found] == sorted(trial.id for trial in found)


def test_the_rest_is_spread_over_the_space() -> None:
    """No setting is far from one that is kept: nearer than half of what as many at random come to."""
    many = trials(400)
    found = thin_trials(many, Goals(), BOX)[:20]

    def furthest(some: list[Trial]) -> float:
        chosen = np.array([list(trial.setting.values()) for trial in some])
        every = np.array([list(trial.setting.values()) for trial in many[:380]])
        return float(np.linalg.norm(every[:, None] - chosen, axis=-1).min(1).max())

    assert furthest(list(found)) < furthest(many[:20])


def test_what_is_kept_changes_once_in_a_block() -> None:
    many = trials(140)
    first = [list(thin_trials(many[:count], Goals(), BOX)) for count in range(120, 140)]
    assert all(found[: len(first[0])] == first[0] for found in first)
    assert list(thin_trials(many, Goals(), BOX))[:20] != first[0][:20]


def test_failed_runs_are_kept_too_and_settings_may_repeat() -> None:
    same = [Trial({"x": 0.5, "y": 0.5}, float("nan"), id=k + 1) for k in range(70)]
    found = thin_trials(same, Goals(), BOX)
    assert len({trial.id for trial in found}) == len(found) == 50


@pytest.mark.usefixtures("short_search")
def test_an_optimiser_with_many_results_still_finds_the_best() -> None:
    opt = Optimizer({"x": (0.0, 1.0), "y": (0.0, 1.0)}, direction="maximize", seed=0)
    many = trials(150)
    opt.tell([trial.setting for trial in many], [trial.value for trial in many])
    setting = opt.ask()
    assert abs(setting["x"] - 0.3) < 0.1
    assert setting["y"] < 0.05
