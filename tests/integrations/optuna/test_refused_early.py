"""Old data that will not do is refused before a trial is run, also where nobody knows yet what there is to set."""

from pathlib import Path

import optuna
import pandas as pd
import pytest

from integrations.optuna.conftest import SPACE, response
from support.errors import raises
from tunedprior.errors import InputError, OldDataWarning
from tunedprior.integrations.optuna import TunedPriorSampler

pytestmark = pytest.mark.usefixtures("short_search")


def several() -> optuna.Study:
    return optuna.create_study(directions=["minimize", "minimize"])


@pytest.mark.parametrize(
    ("form", "options", "facts"),
    [
        ("table", {"target": "los"}, ("los is missing", "gas, heat, speed, loss")),
        ("table", {}, ("response", "y is missing")),
        ("file", {"target": "los"}, ("los is missing",)),
        ("by name", {"target": "los"}, ("'last year'", "response")),
        ("nowhere.csv", {}, ("nowhere.csv", "neither a file nor a study")),
        ("sqlite:///nowhere.db#last", {}, ("no file", "'nowhere.db'")),
        ("several", {}, ("2 objectives", "1")),
    ],
)
def test_before_the_first_trial(
    old: pd.DataFrame, form: str, options: dict[str, str], facts: tuple[str, ...], tmp_path: Path
) -> None:
    old.to_csv(tmp_path / "old.csv", index=False)
    forms = {"table": old, "file": tmp_path / "old.csv", "by name": {"last year": old}, "several": several()}
    study = optuna.create_study(sampler=TunedPriorSampler(forms.get(form, form), seed=0, **options))
    run = []
    with raises(InputError, *facts):
        study.optimize(run.append, 1)
    assert not run


def test_where_errors_of_trials_are_caught(old: pd.DataFrame) -> None:
    """It would be an error of every trial."""
    study = optuna.create_study(sampler=TunedPriorSampler(old, seed=0, target="los", search_space=SPACE))
    with pytest.raises(InputError, match="los is missing"):
        study.optimize(lambda trial: trial.suggest_float("heat", 20.0, 90.0), 3, catch=(Exception,))
    assert [one.state.name for one in study.trials] == ["WAITING"]


@pytest.mark.parametrize("storage", [None, "sqlite"])
def test_what_was_queued_waits_until_old_data_will_do(old: pd.DataFrame, storage: str | None, tmp_path: Path) -> None:
    url = storage and f"sqlite:///{tmp_path / 'study.db'}"
    study = optuna.create_study(storage=url, sampler=TunedPriorSampler(old, seed=0, target="los"))
    first, second = ({"heat": heat, "gas": "argon", "speed": 1.0} for heat in (30.0, 60.0))
    study.enqueue_trial(first)
    study.enqueue_trial(second)
    for _ in range(2):
        with pytest.raises(InputError, match="los is missing"):
            study.ask(SPACE)
    assert [one.state.name for one in study.trials] == ["WAITING", "WAITING"]
    study.sampler = TunedPriorSampler(old, seed=0, target="loss")
    assert [study.ask(SPACE).params for _ in range(2)] == [first, second]


def test_a_parameter_that_is_like_the_response_is_no_fault_of_old_data() -> None:
    table = pd.DataFrame({"X": [0.0, 0.5, 1.0], "Y": [0.0, 1.0, 0.5], "y [mV]": [1.0, 2.0, 3.0]})
    study = optuna.create_study(sampler=TunedPriorSampler(table, seed=0))
    with pytest.warns(OldDataWarning, match=r"Column 'y \[mV\]' is taken for 'y'"):  # once both parameters are known
        study.optimize(lambda trial: trial.suggest_float("X", 0, 1) + trial.suggest_float("Y", 0, 1), 2)
    assert [one.state.name for one in study.trials] == ["COMPLETE", "COMPLETE"]


def test_a_response_that_has_a_parameters_name_is_not_missing(old: pd.DataFrame) -> None:
    """It is called y_ then."""
    table = old.rename(columns={"heat": "y", "loss": "y_"})
    study = optuna.create_study(sampler=TunedPriorSampler(table, seed=4))
    space = {"y": SPACE["heat"], "gas": SPACE["gas"], "speed": SPACE["speed"]}
    for _ in range(2):
        trial = study.ask(space)
        loss = response({**trial.params, "heat": trial.params["y"]})
        study.tell(trial, loss)
    assert loss < 0.1


def test_what_others_learnt_need_not_be_here(old: pd.DataFrame, tmp_path: Path) -> None:
    """One of several workers has the file and knows the space; its first trial is still running."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    has_it = TunedPriorSampler(old, target="loss", seed=0, search_space=SPACE)
    optuna.create_study(storage=url, study_name="s", sampler=has_it).ask(SPACE)
    lacks_it = TunedPriorSampler(tmp_path / "old.csv", target="loss", seed=0)
    assert optuna.load_study(storage=url, study_name="s", sampler=lacks_it).ask(SPACE).params


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        ({"acquisition": "ucbb"}, ("acquisition", "'ucbb'")),
        ({"noise_std": -1.0}, ("noise_std", "-1.0")),
        ({"noise_std": {"loss": -1.0}}, ("noise_std", "-1.0")),
        ({"prior": "avarage"}, ("prior", "'avarage'")),
    ],
)
def test_when_it_is_made(options: dict, facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        TunedPriorSampler(seed=0, **options)


def test_a_study_is_not_old_data_of_itself() -> None:
    study = optuna.create_study(study_name="me", sampler=TunedPriorSampler("me", seed=0))
    with raises(InputError, "'me'", "itself"):
        study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=1)


def misnamed(old: pd.DataFrame) -> pd.DataFrame:
    return old.rename(columns={"gas": "a", "heat": "b", "speed": "c"})


@pytest.mark.parametrize("caught", [(), (Exception,)])
def test_old_data_without_any_parameter_is_refused_before_the_first_trial(old: pd.DataFrame, caught: tuple) -> None:
    sampler = TunedPriorSampler(misnamed(old), target="loss", seed=0, search_space=SPACE)
    study, run = optuna.create_study(sampler=sampler), []
    with raises(InputError, "columns", "heat", "'b'"):
        study.optimize(run.append, 3, catch=caught)
    assert not run
    assert [one.state.name for one in study.trials] == ["WAITING"]


def test_without_a_space_the_first_trial_is_warned_and_the_second_is_refused(
    old: pd.DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []

    def objective(trial: optuna.Trial) -> float:
        heat, speed = trial.suggest_float("heat", 20.0, 90.0), trial.suggest_float("speed", 0.5, 5.0)
        said.extend(caplog.messages)  # what is known before the work begins
        return heat + speed

    study = optuna.create_study(sampler=TunedPriorSampler(misnamed(old), target="loss", seed=0))
    with caplog.at_level("WARNING", logger="tunedprior"), raises(InputError, "columns", "heat", "'b'"):
        study.optimize(objective, 3, catch=(Exception,))
    assert len(said) == 1
    assert all(fact in said[0] for fact in ("no column for heat", "a, b, c", "search_space="))
    assert [one.state.name for one in study.trials] == ["COMPLETE", "WAITING"]


def test_old_data_that_has_the_parameters_is_no_reason_to_warn(
    old: pd.DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    study = optuna.create_study(sampler=TunedPriorSampler(old, target="loss", seed=0))
    with caplog.at_level("WARNING", logger="tunedprior"):
        study.optimize(lambda trial: response({name: trial._suggest(name, one) for name, one in SPACE.items()}), 2)
    assert not caplog.messages
