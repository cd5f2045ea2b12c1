"""What becomes of failed, pruned and constrained trials, of several objectives, and of spaces that come to an end."""

from pathlib import Path

import optuna
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from integrations.optuna.conftest import SPACE, response
from support.errors import raises
from tunedprior import Optimizer
from tunedprior.errors import InputError
from tunedprior.integrations.optuna import TunedPriorSampler

pytestmark = pytest.mark.usefixtures("short_search")
LINE = {"x": FloatDistribution(0.0, 1.0)}
needs_set_constraint = pytest.mark.skipif(not hasattr(optuna.Trial, "set_constraint"), reason="not in Optuna 4")


def told(study: optuna.Study) -> list[tuple[float, str]]:
    """What the model learns of each trial: the response and the state."""
    found = study.sampler.optimizer(study).trials.told
    return [(trial.value, trial.state) for trial in found]


def on_a_line(**options: object) -> optuna.Study:
    return optuna.create_study(sampler=TunedPriorSampler(seed=0, search_space=LINE, **options))


def test_a_failure_counts_if_it_was_told() -> None:
    study = on_a_line()
    study.tell(study.ask(LINE), 1.0)
    study.tell(study.ask(LINE), state=TrialState.FAIL)
    study.tell(study.ask(LINE), 2.0)
    assert [state for _, state in told(study)] == ["complete", "failed", "complete"]


def test_a_silent_worker_says_nothing_of_its_setting() -> None:
    study = on_a_line()
    study.tell(study.ask(LINE), 1.0)
    trial = study.ask(LINE)
    study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)  # as a heartbeat that stops does
    assert [state for _, state in told(study)] == ["complete"]


@pytest.mark.parametrize(("reported", "counts"), [([9.0, 7.0], 7.0), ([0.1], 2.0)])
def test_a_pruned_trial_counts_with_what_it_reported(reported: list[float], counts: float) -> None:
    """But with no better value than the median of those that were not pruned."""
    study = on_a_line()
    for value in (1.0, 2.0, 5.0):
        study.tell(study.ask(LINE), value)
    trial = study.ask(LINE)
    trial.suggest_float("x", 0.0, 1.0)
    for step, value in enumerate(reported):
        trial.report(value, step)
    study.tell(trial, state=TrialState.PRUNED)
    assert told(study)[-1] == (counts, "complete")


def test_a_pruned_trial_is_no_result(old: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the best of all nor of those that the design chose, whatever it reported."""
    monkeypatch.chdir(tmp_path)
    table = old.rename(columns={"heat": "x"}).assign(x=lambda rows: (rows["x"] - 20) / 70)[["x", "loss"]]
    study = on_a_line(old_data=table, target="loss")
    study.tell(study.ask(LINE), 1.0)
    trial = study.ask(LINE)
    trial.report(-50.0, 0)
    study.tell(trial, state=TrialState.PRUNED)
    study.tell(study.ask(LINE), 1.0)
    optimizer = study.sampler.optimizer(study)
    assert optimizer.best.value == 1.0
    assert not optimizer.best.stopped_early
    assert "Of 2 results" in optimizer.trust.where_from
    assert "trial 1 (Optuna's 0)" in optimizer.trust.where_from
    assert "<Trial 1 (Optuna's 0): " in repr(optimizer.best)
    optimizer.save("study.json")
    assert Optimizer.load("study.json", suggester=optimizer.suggester).trials.told == optimizer.trials.told
    only = on_a_line()
    trial = only.ask(LINE)
    trial.report(-50.0, 0)
    only.tell(trial, state=TrialState.PRUNED)
    assert only.sampler.optimizer(only).best is None


def test_a_pruned_trial_without_reports_failed() -> None:
    study = on_a_line()
    study.tell(study.ask(LINE), 1.0)
    study.tell(study.ask(LINE), state=TrialState.PRUNED)
    assert [state for _, state in told(study)] == ["complete", "failed"]


def test_an_infinite_loss_is_a_failure() -> None:
    study = on_a_line()
    study.tell(study.ask(LINE), 1.0)
    study.tell(study.ask(LINE), float("inf"))
    assert [state for _, state in told(study)] == ["complete", "failed"]


def constrained(how: str, count: int) -> optuna.Study:
    """Less of x is better, and x must be 0.5 at least."""

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if how == "set_constraint":
            trial.set_constraint("enough", 0.5 - x)
        return x

    by_function = {"constraints_func": lambda trial: (0.5 - trial.params["x"],)} if how == "constraints_func" else {}
    study = on_a_line(**by_function)
    study.optimize(objective, count)
    return study


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("how", ["constraints_func", pytest.param("set_constraint", marks=needs_set_constraint)])
def test_constraints_are_learnt(how: str) -> None:
    study = constrained(how, 12)
    feasible = [trial.params["x"] for trial in study.trials if trial.params["x"] >= 0.5]
    assert min(feasible) == pytest.approx(0.5, abs=0.02)
    assert len(feasible) >= 6
    assert study.sampler.optimizer(study).best.value == min(feasible)


def test_constraints_that_are_no_numbers_are_refused() -> None:
    study = on_a_line(constraints_func=lambda _: (float("nan"),))
    with pytest.raises(InputError, match="must give numbers; got NaN"):
        study.tell(study.ask(LINE), 1.0)


def test_several_objectives_as_an_optimizer_has_them(old: pd.DataFrame) -> None:
    table = old.assign(heat_cost=old["heat"] / 90)
    goals = {"loss": "minimize", "heat_cost": "minimize"}
    optimizer = Optimizer(SPACE, table, objectives=goals, seed=3)
    names = TunedPriorSampler(table, target=["loss", "heat_cost"], seed=3, search_space=SPACE)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=names)
    for _ in range(6):
        trial, setting = study.ask(SPACE), optimizer.ask()
        assert trial.params == dict(setting)
        values = [response(trial.params), trial.params["heat"] / 90]
        study.tell(trial, values)
        optimizer.tell(setting, dict(zip(goals, values, strict=True)))


def test_metric_names_are_the_responses_of_old_data(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=TunedPriorSampler(old, seed=3, search_space=SPACE))
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.set_metric_names(["loss"])
    expected = Optimizer(SPACE, old, "minimize", seed=3, target="loss").ask()
    assert study.ask(SPACE).params == dict(expected)


SMALL = {"n": IntDistribution(1, 3), "kind": CategoricalDistribution(["a", "b"])}


def tried(**options: object) -> optuna.Study:
    study = optuna.create_study(sampler=TunedPriorSampler(seed=0, search_space=SMALL, **options))
    study.optimize(lambda trial: trial.suggest_int("n", 1, 3) + len(trial.suggest_categorical("kind", ["a", "b"])), 9)
    return study


def test_every_setting_is_tried_before_one_repeats(caplog: pytest.LogCaptureFixture) -> None:
    study = tried()
    assert len({tuple(sorted(trial.params.items())) for trial in study.trials[:6]}) == 6
    assert len(study.trials) == 9
    assert caplog.text.count("Every setting of the search space was tried") == 1


def test_a_study_may_stop_when_all_was_tried() -> None:
    assert len(tried(stop_when_exhausted=True).trials) == 6


def test_the_names_of_objectives_must_be_those_of_the_study() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=TunedPriorSampler(target="loss"))
    with pytest.raises(InputError, match="target names 1 objective"):
        study.ask(LINE)


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"prior": "nonsense"}, ("prior", "one of", "nonsense")),
        ({"relation": "same"}, ("relation", "none")),
        ({"target": ["a", "a"]}, ("target", "different names")),
        ({"seed": -1}, ("seed", "-1")),
    ],
)
def test_arguments_that_mean_nothing_are_refused(options: dict[str, object], facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        TunedPriorSampler(**options)


@needs_set_constraint
def test_old_studies_teach_constraints_too() -> None:
    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        trial.set_constraint("enough", 0.5 - x)
        return x

    before = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    before.optimize(objective, 20)
    study = optuna.create_study(sampler=TunedPriorSampler(before, seed=0, search_space=LINE))
    study.optimize(objective, 6)
    late = [trial.params["x"] for trial in study.trials[3:]]
    assert min(late) > 0.3
    assert set(study.sampler.optimizer(study).trust) == {"y", "constraint enough"}


def test_a_loss_that_diverges_on_half_of_the_box_is_said_once_and_minimised(caplog: pytest.LogCaptureFixture) -> None:
    def loss(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        return 1e30 if x > 0.5 else -x

    study = on_a_line()
    with caplog.at_level("WARNING", logger="tunedprior"):
        study.optimize(loss, n_trials=12)
    said = [record.getMessage() for record in caplog.records if "merely worse" in record.getMessage()]
    diverged = [trial.number for trial in study.trials if trial.value > 1]
    assert len(said) == 1
    assert f"(trial {diverged[0]})" in said[0]
    assert study.best_value < -0.4
