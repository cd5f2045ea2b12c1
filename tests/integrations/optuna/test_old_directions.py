"""Old studies say which way was better in them, and what was good there is hoped to be good in the new study."""

from collections.abc import Callable

import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from integrations.optuna.conftest import SPACE, response
from tunedprior import Optimizer, TransferConfig
from tunedprior.integrations.optuna import TunedPriorSampler
from tunedprior.kernels import SquaredExponential
from tunedprior.source_data.matching import read_old_data
from tunedprior.space.search_space import Space

pytestmark = pytest.mark.usefixtures("short_search")
LINE = {"x": FloatDistribution(0.0, 1.0)}


def scores(old: pd.DataFrame, storage: str | None = None, name: str | None = None) -> optuna.Study:
    """A study of the same settings that maximised minus the loss."""
    study = optuna.create_study(direction="maximize", storage=storage, study_name=name)
    for row in old.to_dict("records"):
        params = {key: row[key] for key in SPACE}
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=-row["loss"]))
    return study


def first_of(sampler: TunedPriorSampler, **study: object) -> dict[str, object]:
    return optuna.create_study(sampler=sampler, **study).ask(SPACE).params


@pytest.mark.parametrize("form", ["study", "name", "url", "by name"])
def test_the_best_of_a_study_that_maximised_opens_one_that_minimises(
    old: pd.DataFrame, form: str, database: Callable[[str], str]
) -> None:
    new, previous = database("new"), database("new" if form == "name" else "old")
    before = scores(old, previous, "before")
    given = {"study": before, "name": "before", "url": previous, "by name": {"last year": before}}[form]
    sampler = TunedPriorSampler(given, target="loss", seed=3, search_space=SPACE)
    assert response(first_of(sampler, storage=new)) < 0.1


def test_and_of_one_that_minimised_one_that_maximises(old: pd.DataFrame) -> None:
    before = optuna.create_study()
    for row in old.to_dict("records"):
        params = {key: row[key] for key in SPACE}
        before.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=row["loss"]))
    assert response(first_of(TunedPriorSampler(before, seed=3, search_space=SPACE), direction="maximize")) < 0.1


@pytest.mark.parametrize(("relation", "is_good"), [("opposite", True), ("same", False)])
def test_the_user_knows_better(old: pd.DataFrame, relation: str, is_good: bool) -> None:
    """The loss falls with the old score, or is said to rise with it."""
    sampler = TunedPriorSampler(scores(old), relation=relation, seed=3, search_space=SPACE)
    assert (response(first_of(sampler)) < 0.1) == is_good


def test_an_optimizer_heeds_it_and_says_that_the_loss_falls_with_the_score(old: pd.DataFrame) -> None:
    optimizer = Optimizer(SPACE, scores(old), "minimize", seed=3)
    for number in range(5):
        setting = optimizer.ask()
        assert number or response(setting) < 0.1
        optimizer.tell(setting, response(setting))
    assert optimizer.trust.relations["slope"][0] < 0
    assert optimizer.trust.relations["positive"][0] < 0.1
    assert optimizer.old_data_report.sets[0].response.endswith("of which more was better")


def test_a_kernel_of_ones_own_changes_nothing_about_that(old: pd.DataFrame) -> None:
    optimizer = Optimizer(SPACE, scores(old), "minimize", seed=3, transfer=TransferConfig(kernel=SquaredExponential()))
    assert response(optimizer.ask()) < 0.2


def test_of_several_objectives_each_has_its_direction(old: pd.DataFrame) -> None:
    before = optuna.create_study(directions=["minimize", "maximize"])
    for row in old.to_dict("records"):
        params = {key: row[key] for key in SPACE}
        values = [row["loss"], -row["loss"]]
        before.add_trial(optuna.create_trial(params=params, distributions=SPACE, values=values))
    sampler = TunedPriorSampler(before, seed=3, search_space=SPACE)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    assert response(study.ask(SPACE).params) < 0.1
    suggester = sampler.optimizer(study).suggester
    hoped = [model.sources[0].presumed_sign for model in (suggester.surrogate, *suggester.other_surrogates.values())]
    assert hoped == [-1, 1]


def on_a_line(direction: str, values: list[float | None]) -> optuna.Study:
    """A study with these values along a line; None for a failure."""
    study = optuna.create_study(direction=direction)
    for number, value in enumerate(values):
        state = TrialState.FAIL if value is None else TrialState.COMPLETE
        params = {"x": number / 10}
        study.add_trial(optuna.create_trial(params=params, distributions=LINE, value=value, state=state))
    return study


def test_a_failure_is_the_worst_by_the_old_direction() -> None:
    read = read_old_data(on_a_line("maximize", [3.0, 7.0, None, 5.0]), Space.parse(LINE), direction="minimize")
    assert read.response.tolist() == [3.0, 7.0, 3.0, 5.0]


def test_a_study_that_minimised_0_and_1_wanted_0() -> None:
    passed = {}
    for direction in ("minimize", "maximize"):
        read = read_old_data(on_a_line(direction, [0.0, 1.0, None, 0.0]), Space.parse(LINE))
        passed[direction] = (read.response > 0).tolist()
    assert passed == {"minimize": [True, False, False, True], "maximize": [False, True, False, False]}


def test_what_was_learnt_the_other_way_round_is_learnt_again(old: pd.DataFrame, database: Callable[[str], str]) -> None:
    """The same numbers, once from a table, of which no direction is known, and once from a study."""
    table = old.assign(loss=-old["loss"])
    options = {"target": "loss", "seed": 3, "search_space": SPACE}
    study = optuna.create_study(storage=database("new"), study_name="s", sampler=TunedPriorSampler(table, **options))
    assert response(study.ask(SPACE).params) > 0.1
    sampler = TunedPriorSampler(scores(old), **options)
    again = optuna.load_study(storage=database("new"), study_name="s", sampler=sampler)
    again.ask(SPACE)
    assert sampler.optimizer(again).suggester.surrogate.sources[0].presumed_sign == 1
