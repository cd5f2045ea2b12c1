"""The sampler suggests what an `Optimizer` would, wherever its old data comes from and whoever else is at work."""

import copy
import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from integrations.optuna.conftest import SPACE, response
from support.optimizers import make_optimizer
from tunedprior import Optimizer, pretrain
from tunedprior.errors import InputError
from tunedprior.integrations.optuna import TunedPriorSampler

pytestmark = pytest.mark.usefixtures("short_search")


def asked(study: optuna.Study, count: int, space: dict = SPACE) -> list[dict]:
    """What the study suggests, one after the other, each told."""
    found = []
    for _ in range(count):
        trial = study.ask(space)
        study.tell(trial, response(trial.params))
        found.append(trial.params)
    return found


def asked_of(optimizer: Optimizer, count: int) -> list[dict]:
    found = []
    for _ in range(count):
        setting = optimizer.ask()
        optimizer.tell(setting, response(setting))
        found.append(dict(setting))
    return found


def minimizer(old: object, **options: object) -> Optimizer:
    return make_optimizer(SPACE, old, "minimize", seed=3, target="loss", **options)


def sampler(old: object = None, **options: object) -> TunedPriorSampler:
    return TunedPriorSampler(old, **{"target": "loss", "seed": 3, "search_space": SPACE} | options)


def test_suggests_what_an_optimizer_would(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=sampler(old, relation="same"))
    assert asked(study, 6) == asked_of(minimizer(old, relation="same"), 6)


def test_and_without_old_data() -> None:
    assert asked(optuna.create_study(sampler=sampler()), 6) == asked_of(minimizer(None), 6)


def old_study(old: pd.DataFrame, storage: str | None = None, name: str | None = None) -> optuna.Study:
    study = optuna.create_study(storage=storage, study_name=name)
    for row in old.to_dict("records"):
        params = {key: row[key] for key in SPACE}
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=row["loss"]))
    return study


@pytest.mark.parametrize("form", ["file", "study", "name", "url", "url with a name"])
def test_old_data_may_be_anything(old: pd.DataFrame, form: str, tmp_path: Path, database: Callable[[str], str]) -> None:
    expected = asked_of(minimizer(old), 3)
    new, previous = database("new"), database("new" if form == "name" else "old")
    if form == "file":
        old.to_csv(tmp_path / "old.csv", index=False)
        given: object = tmp_path / "old.csv"
    else:
        study = old_study(old, previous, "before")
        given = {"study": study, "name": "before", "url": previous, "url with a name": f"{previous}#before"}[form]
    assert asked(optuna.create_study(storage=new, sampler=sampler(given)), 3) == expected


def test_a_saved_prior_may_be_old_data(old: pd.DataFrame, tmp_path: Path) -> None:
    prior = pretrain(old, minimizer(None).space, target="loss")
    prior.save(tmp_path / "learnt.prior")
    expected = asked_of(minimizer(prior, prior="reweighted"), 4)
    study = optuna.create_study(sampler=sampler(tmp_path / "learnt.prior", prior="reweighted"))
    assert asked(study, 4) == expected


def test_several_old_data_sets_by_name(old: pd.DataFrame) -> None:
    sets = {"first": old[:20], "second": old[20:]}
    expected = asked_of(minimizer(sets, relation={"second": "same"}), 4)
    assert asked(optuna.create_study(sampler=sampler(sets, relation={"second": "same"})), 4) == expected


def test_a_worker_without_the_old_files_goes_on_with_what_was_learnt(
    old: pd.DataFrame, tmp_path: Path, database: Callable[[str], str]
) -> None:
    old.to_csv(tmp_path / "old.csv", index=False)
    url, expected = database("study"), asked_of(minimizer(old), 5)
    study = optuna.create_study(storage=url, study_name="s", sampler=sampler(tmp_path / "old.csv"))
    assert asked(study, 2) == expected[:2]
    (tmp_path / "old.csv").unlink()
    for number, given in enumerate((tmp_path / "old.csv", None), start=2):  # its name alone, or nothing at all
        other = optuna.load_study(study_name="s", storage=url, sampler=sampler(given))
        assert numbers_of(asked(other, 1)) == pytest.approx(numbers_of([expected[number]]), rel=1e-4)


def numbers_of(settings: Sequence[Mapping[str, Any]]) -> list[float]:
    """What a model that was stored and read again finds a little elsewhere."""
    return [setting[name] for setting in settings for name in ("heat", "speed")]


def test_old_data_that_is_nowhere_is_an_error() -> None:
    study = optuna.create_study(sampler=sampler("nowhere.csv"))
    with pytest.raises(InputError, match="neither a file nor a study in this storage"):
        study.ask(SPACE)


def test_what_was_learnt_may_be_in_an_artifact_store(
    old: pd.DataFrame, tmp_path: Path, database: Callable[[str], str]
) -> None:
    (tmp_path / "artifacts").mkdir()
    store = optuna.artifacts.FileSystemArtifactStore(tmp_path / "artifacts")
    url, expected = database("study"), asked_of(minimizer(old), 3)
    study = optuna.create_study(storage=url, study_name="s", sampler=sampler(old, artifact_store=store))
    assert asked(study, 2) == expected[:2]
    assert not any("piece" in name for name in study._storage.get_study_system_attrs(study._study_id))
    other = optuna.load_study(study_name="s", storage=url, sampler=sampler(artifact_store=store))
    assert numbers_of(asked(other, 1)) == pytest.approx(numbers_of(expected[2:]), rel=1e-4)


def test_new_old_data_is_learnt_from(old: pd.DataFrame, database: Callable[[str], str]) -> None:
    url = database("study")
    flipped = old.assign(loss=-old["loss"])
    study = optuna.create_study(storage=url, study_name="s", sampler=sampler(old))
    asked(study, 1)
    other = optuna.load_study(study_name="s", storage=url, sampler=sampler(flipped))
    again = Optimizer(SPACE, flipped, "minimize", seed=3, target="loss")
    first = study.trials[0].params
    again.ask()
    again.tell(again.pending[0] | first, response(first), trial=1)
    assert asked(other, 1) == [dict(again.ask())]


def test_what_runs_is_accounted_for(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=sampler(old))
    asked(study, 5)
    optimizer = minimizer(old)
    asked_of(optimizer, 5)
    assert [study.ask(SPACE).params for _ in range(3)] == [dict(one) for one in optimizer.ask(3)]


def test_workers_with_one_seed_do_not_repeat_each_other(old: pd.DataFrame, database: Callable[[str], str]) -> None:
    url = database("shared")
    optuna.create_study(storage=url, study_name="s")
    workers = [optuna.load_study(study_name="s", storage=url, sampler=sampler(old)) for _ in range(3)]
    for _ in range(5):
        trials = [worker.ask(SPACE) for worker in workers]
        for worker, trial in zip(workers, trials, strict=True):
            worker.tell(trial, response(trial.params))
    settings = [tuple(trial.params.values()) for trial in workers[0].trials]
    assert len(set(settings)) == len(settings) == 15


def test_threads_do_not_repeat_each_other(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=sampler(old))
    study.optimize(lambda trial: response({n: trial._suggest(n, d) for n, d in SPACE.items()}), 12, n_jobs=4)
    settings = {tuple(sorted(trial.params.items())) for trial in study.trials}
    assert len(settings) == len(study.trials) == 12


def test_the_first_trial_is_random_where_the_space_is_unknown(old: pd.DataFrame) -> None:
    firsts = [
        asked(optuna.create_study(sampler=sampler(old, seed=seed, search_space=None)), 1)[0] for seed in (1, 1, 2, None)
    ]
    assert firsts[0] == firsts[1] != firsts[2] != firsts[3]


def test_settings_from_elsewhere_leave_the_opening_and_stand_for_the_design(old: pd.DataFrame) -> None:
    """A first trial at random, or one of which a part was fixed: then where old data expects the best, then as ever."""
    opening, *others = asked_of(Optimizer(SPACE, old, "minimize", seed=4, target="loss"), 4)
    spaces = None, SPACE
    unknown, fixed = (optuna.create_study(sampler=sampler(old, search_space=one, seed=4)) for one in spaces)
    fixed.enqueue_trial({"gas": "air"})
    for study in (unknown, fixed):
        first, second, _, fourth = asked(study, 4)
        assert response(first) > 0.4  # far from the opening, which keeps away from what is known
        assert (second, fourth) == (opening, others[2])  # the design's second setting has its usual place
        optimizer = study.sampler.optimizer(study)
        assert [optimizer.explain(number).origin for number in (1, 2, 3, 4)] == ["", "old data", "model", "design"]


def test_settings_from_elsewhere_that_are_still_running_leave_the_opening(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=sampler(old, search_space=None, seed=4))
    drawn = [study.ask(SPACE) for _ in range(3)]
    study.tell(drawn[0], response(drawn[0].params))
    assert response(study.ask(SPACE).params) < 0.01
    assert response(study.ask(SPACE).params) > 0.01  # it is not given twice


def test_results_that_nobody_asked_for_replace_opening_and_design(old: pd.DataFrame) -> None:
    study, optimizer = optuna.create_study(sampler=sampler(old)), minimizer(old)
    for setting in asked_of(minimizer(None), 2):
        study.add_trial(optuna.create_trial(params=setting, distributions=SPACE, value=response(setting)))
        optimizer.tell(setting, response(setting))
    assert asked(study, 3) == asked_of(optimizer, 3)


def test_sampler_can_be_copied_and_sent_elsewhere(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=sampler(old))
    expected = asked(study, 4)
    for other in (copy.deepcopy(study.sampler), pickle.loads(pickle.dumps(study.sampler))):
        assert asked(optuna.create_study(sampler=other), 4) == expected


def test_a_sampler_may_serve_one_study_after_another(old: pd.DataFrame) -> None:
    """With as many trials, of the same parameters, and other values."""
    shared = sampler(old)
    first, second = (optuna.create_study(sampler=shared) for _ in range(2))
    for study, sign in ((first, 1.0), (second, -1.0)):
        for _ in range(5):
            trial = study.ask(SPACE)
            study.tell(trial, sign * response(trial.params))
    expected = optuna.create_study(sampler=sampler(old))
    for trial in second.trials:
        again = expected.ask(SPACE)
        assert again.params == trial.params
        expected.tell(again, trial.value)


def test_what_is_random_differs_between_parameters_with_similar_names() -> None:
    study = optuna.create_study(sampler=TunedPriorSampler(seed=0))
    trial = study.ask({f"learning_rate_{letter}": FloatDistribution(0.0, 1.0) for letter in "abc"})
    assert len(set(trial.params.values())) == 3


def test_an_optimizer_shows_what_the_study_knows(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=sampler(old))
    asked(study, 6)
    optimizer = study.sampler.optimizer(study)
    assert optimizer.best.value == study.best_value
    assert optimizer.trust.relations["trust"][0] > 0.5
    assert set(optimizer.predict([study.best_params]).columns) >= {"mean", "std"}


def test_pruners_that_divide_a_study(old: pd.DataFrame) -> None:
    study = optuna.create_study(sampler=sampler(old), pruner=optuna.pruners.HyperbandPruner())

    def objective(trial: optuna.Trial) -> float:
        loss = response({name: trial._suggest(name, one) for name, one in SPACE.items()})
        for step in range(4):
            trial.report(loss + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return loss

    study.optimize(objective, 8)
    assert {trial.state for trial in study.trials} <= {TrialState.COMPLETE, TrialState.PRUNED}


@pytest.mark.filterwarnings("ignore:.*the value never changes")  # of "kind", while one branch is known alone
def test_branches_with_old_data_for_each() -> None:
    """Old data of both branches helps each of them, and what the branches share."""
    rows = [{"kind": "a", "x": x / 10, "loss": (x / 10 - 0.3) ** 2} for x in range(11)]
    rows += [{"kind": "b", "z": z, "loss": 1 + (z - 4) ** 2} for z in range(11)]
    distributions = {
        "kind": CategoricalDistribution(["a", "b"]),
        "x": FloatDistribution(0.0, 1.0),
        "z": IntDistribution(0, 10),
    }
    before = optuna.create_study()
    for row in rows:
        params = {name: value for name, value in row.items() if name != "loss"}
        known = {name: distributions[name] for name in params}
        before.add_trial(optuna.create_trial(params=params, distributions=known, value=row["loss"]))

    def objective(trial: optuna.Trial) -> float:
        if trial.suggest_categorical("kind", ["a", "b"]) == "a":
            return (trial.suggest_float("x", 0.0, 1.0) - 0.3) ** 2
        return 1.0 + (trial.suggest_int("z", 0, 10) - 4) ** 2

    study = optuna.create_study(sampler=TunedPriorSampler(before, seed=0))
    study.optimize(objective, 12)
    assert study.best_params == {"kind": "a", "x": pytest.approx(0.3, abs=0.03)}
    for _ in range(4):
        study.enqueue_trial({"kind": "b"})  # which it has no reason to try
    study.optimize(objective, 4)
    assert min(abs(trial.params["z"] - 4) for trial in study.trials[-4:]) <= 1


@pytest.mark.filterwarnings("ignore:.*the value never changes")  # of "kind", while one branch is known alone
def test_each_branch_has_its_opening() -> None:
    """Its first trial is at random, and the second where old data expects the best."""
    before = optuna.create_study()
    branches = {"a": ("x", 0.3), "b": ("z", 0.8)}
    kind = CategoricalDistribution(list(branches))
    for value, (name, best) in branches.items():
        for number in range(11):
            params = {"kind": value, name: number / 10}
            known = {"kind": kind, name: FloatDistribution(0.0, 1.0)}
            loss = (number / 10 - best) ** 2
            before.add_trial(optuna.create_trial(params=params, distributions=known, value=loss))

    def objective(trial: optuna.Trial) -> float:
        name, best = branches[trial.suggest_categorical("kind", list(branches))]
        return (trial.suggest_float(name, 0.0, 1.0) - best) ** 2

    study = optuna.create_study(sampler=TunedPriorSampler(before, seed=3))
    for value in ("a", "b", "a", "b"):
        study.enqueue_trial({"kind": value})
    study.optimize(objective, 4)
    assert all(trial.value > 0.02 for trial in study.trials[:2])
    assert all(trial.value < 0.001 for trial in study.trials[2:])


def test_ranges_may_change(old: pd.DataFrame) -> None:
    """What was told outside of the new range still counts."""
    study = optuna.create_study(sampler=sampler(old, search_space=None))
    asked(study, 4, SPACE | {"heat": FloatDistribution(20.0, 50.0)})
    asked(study, 6)
    assert study.best_params["heat"] > 50
    narrow = SPACE | {"heat": FloatDistribution(55.0, 65.0)}
    asked(study, 3, narrow)
    assert all(55 <= trial.params["heat"] <= 65 for trial in study.trials[-2:])
    assert len(study.sampler.optimizer(study).trials.told) == 13
