"""Where the space is not given, trials that failed say what there is to set, and old data helps after them."""

import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState

from integrations.optuna.conftest import SPACE, response
from tunedprior.integrations.optuna import TunedPriorSampler
from tunedprior.integrations.optuna.sampler import group_parameters

pytestmark = pytest.mark.usefixtures("short_search")


def suggested(trial: optuna.Trial) -> dict[str, object]:
    return {name: trial._suggest(name, one) for name, one in SPACE.items()}


@pytest.mark.parametrize("how", ["raises", "is no number", "is pruned"])
@pytest.mark.parametrize("count", [1, 2])
def test_after_failures_comes_what_old_data_expects_to_be_best(old: pd.DataFrame, how: str, count: int) -> None:
    def objective(trial: optuna.Trial) -> float:
        setting = suggested(trial)
        if trial.number >= count or how == "is no number":
            return response(setting) if trial.number >= count else float("nan")
        raise ValueError if how == "raises" else optuna.TrialPruned

    study = optuna.create_study(sampler=TunedPriorSampler(old, target="loss", seed=4))
    study.optimize(objective, count + 1, catch=ValueError)
    assert [trial.state == TrialState.COMPLETE for trial in study.trials] == [False] * count + [True]
    assert min(response(trial.params) for trial in study.trials[1:]) < 0.1
    told = study.sampler.optimizer(study).trials.told
    assert [trial.state for trial in told] == ["failed"] * count + ["complete"]


def test_an_optimizer_can_be_looked_at_after_a_failure(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=TunedPriorSampler(old, target="loss", seed=4))
    study.tell(study.ask(SPACE), state=TrialState.FAIL)
    assert set(study.sampler.optimizer(study).space.names) == set(SPACE)


def trial_of(names: str, state: TrialState) -> FrozenTrial:
    value = 1.0 if state == TrialState.COMPLETE else None
    distributions = dict.fromkeys(names, FloatDistribution(0.0, 1.0))
    return optuna.create_trial(state=state, value=value, params=dict.fromkeys(names, 0.5), distributions=distributions)


@pytest.mark.parametrize(
    ("complete", "failed", "groups"),
    [
        ("", "ab", "ab"),
        ("", "a ab", "ab"),  # one that stopped early
        ("ab", "a", "ab"),
        ("ab", "ac", "ab c"),  # what is complete stays together
        ("", "ab ac", "a b c"),  # two branches
    ],
)
def test_groups_with_failures(complete: str, failed: str, groups: str) -> None:
    trials = [trial_of(names, TrialState.FAIL) for names in failed.split()]
    trials += [trial_of(names, TrialState.COMPLETE) for names in complete.split()]
    assert group_parameters(trials, {}) == [tuple(names) for names in groups.split()]


@pytest.mark.filterwarnings("ignore:.*averaged over")
def test_what_failed_before_it_asked_for_all_that_is_given_is_not_suggested_again(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=TunedPriorSampler(old, target="loss", seed=4, search_space=SPACE))
    study.optimize(lambda trial: float("nan") * trial.suggest_float("heat", 20.0, 90.0), 7)
    assert len({round(trial.params["heat"], 1) for trial in study.trials}) == 7


def test_a_run_that_stopped_early_failed_at_what_was_chosen_for_it(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=TunedPriorSampler(old, target="loss", seed=4, search_space=SPACE))
    study.optimize(lambda trial: response(suggested(trial)), 1)
    study.optimize(lambda trial: float("nan") * trial.suggest_float("heat", 20.0, 90.0), 2)
    told = study.sampler.optimizer(study).trials.told
    assert [trial.state for trial in told] == ["complete", "failed", "failed"]
    assert [trial.setting["heat"] for trial in told] == [trial.params["heat"] for trial in study.trials]
    assert {tuple(trial.setting) for trial in told} == {tuple(sorted(SPACE))}


def test_failures_alone_split_what_is_given_and_a_result_joins_it_again() -> None:
    given = dict.fromkeys("ab", FloatDistribution(0.0, 1.0))
    failures = [trial_of("a", TrialState.FAIL)] * 3
    assert group_parameters(failures[:2], given) == [("a", "b")]
    assert group_parameters(failures, given) == [("a",), ("b",)]
    assert group_parameters([*failures, trial_of("ab", TrialState.COMPLETE)], given) == [("a", "b")]
