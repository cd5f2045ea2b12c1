"""A campaign in a database is the campaign that it would be in memory, and open to several people at once."""

import logging
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest

from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig, Target
from tunedprior.errors import FileFormatError, InputError, OldDataWarning, StorageError
from tunedprior.storage.entry_log import DatabaseLog

pytestmark = pytest.mark.usefixtures("short_search")
SPACE = {"x": (0.0, 1.0), "level": [1.0, 2.5, 4.0], "n": (1, 5, 1), "kind": ["a", "b"]}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'campaign.db'}"


@pytest.fixture
def old() -> pd.DataFrame:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"x": random.random(25), "n": random.integers(1, 6, 25)})
    return table.assign(y=np.sin(3 * table["x"]) + 0.1 * table["n"])


def both(url: str, *arguments: object, **options: object) -> tuple[Optimizer, Optimizer]:
    """The same campaign in memory and in a database."""
    return make_optimizer(*arguments, **options), make_optimizer(*arguments, storage=url, **options)


def same(one: Optimizer, other: Optimizer) -> None:
    """All but the order in which trials were set aside."""
    assert (one.trials.told, one.trials.pending) == (other.trials.told, other.trials.pending)
    each = [opt.history.sort_values("trial", ignore_index=True) for opt in (one, other)]
    pd.testing.assert_frame_equal(*each)


@pytest.mark.slow
def test_it_is_the_campaign_that_it_would_be_in_memory(url: str, old: pd.DataFrame) -> None:
    def everything(opt: Optimizer) -> Optimizer:
        first = opt.ask()
        opt.tell(first, 0.5, note="a note", noise_std=0.1, cost=2.0)
        second, third = opt.ask(2)
        opt.tell(third | {"x": 0.123}, failed=True)
        opt.tell(pd.DataFrame([{"x": 0.9, "level": 2.5, "n": 4, "kind": "a", "who": "me"}]), [0.7])
        opt.tell({"x": 0.4, "level": 3.0, "n": 2.5, "kind": "b"}, 0.6)  # off the grid
        opt.cancel(second)
        opt.amend(1, 0.55, note="read again")
        opt.withdraw(4, "the wrong bottle")
        opt.ask()
        return opt

    with pytest.warns(OldDataWarning, match="has no column 'level'"):
        memory, stored = both(url, SPACE, old, seed=1)
    same(everything(memory), everything(stored))
    again = Optimizer.load(url)
    same(memory, again)
    assert again.ask()["x"] == pytest.approx(memory.ask()["x"])


@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")
def test_a_campaign_goes_on_without_its_old_data(url: str, old: pd.DataFrame, tmp_path: Path) -> None:
    old.to_csv(tmp_path / "old.csv", index=False)
    space = {"x": (0.0, 1.0), "n": (1, 5, 1)}
    memory, stored = both(url, space, tmp_path / "old.csv", seed=1, relation="same")
    for _ in range(3):
        for opt in (memory, stored):
            setting = opt.ask()
            opt.tell(setting, setting["x"])
    (tmp_path / "old.csv").unlink()
    for opened in (Optimizer.load(url), Optimizer(space, direction="maximize", storage=url, seed=1)):
        assert [one.name for one in opened.config.transfer.sources] == ["old data"]
        assert opened.trust.relations["trust"][0] == pytest.approx(memory.trust.relations["trust"][0])
        setting = opened.ask()
        opened.cancel(setting)
        assert setting["x"] == pytest.approx(memory.ask()["x"])
        memory.cancel(memory.pending[0])


def test_two_people_share_what_is_told_and_what_is_pending(url: str) -> None:
    one, other = (Optimizer(SPACE, direction="maximize", seed=2, storage=url) for _ in range(2))
    setting = one.ask()
    assert other.pending == [setting]
    other.tell(setting, 1.0)
    assert one.best.value == 1.0
    with pytest.raises(InputError, match=r"Trial 1 was told already.*dict"):
        one.tell(setting, 2.0)
    one.tell(dict(setting), 2.0)  # a second run of the same setting
    assert [trial.value for trial in other.trials.told] == [1.0, 2.0]


def between(one: Optimizer, monkeypatch: pytest.MonkeyPatch, theirs: Callable[[], object]) -> None:
    """Have somebody else act between the moment that a change is decided on and the one that it is written."""
    left, append = [theirs], DatabaseLog.append

    def late(log: DatabaseLog, last: int, texts: list[str]) -> None:
        if log is one._recorder.store._log and left:
            left.pop()()
        append(log, last, texts)

    monkeypatch.setattr("tunedprior.storage.entry_log.DatabaseLog.append", late)


def test_who_is_slower_by_a_moment_is_told_so(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (Optimizer(SPACE, direction="maximize", seed=2, storage=url) for _ in range(2))
    setting = one.ask()
    between(one, monkeypatch, lambda: other.tell(dict(setting), 1.0, trial=1))
    with pytest.raises(InputError, match=r"Trial 1 was told already: .* complete 1>"):
        one.tell(setting, 2.0)
    assert [trial.value for trial in one.trials.told] == [1.0]
    assert [trial.values for trial in one.study.trials] == [[1.0]]


def test_who_asks_at_the_same_moment_gets_something_else(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = (Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=2, storage=url) for _ in range(2))
    theirs = []
    between(one, monkeypatch, lambda: theirs.append(other.ask()))
    ours = one.ask()
    assert abs(ours["x"] - theirs[0]["x"]) > 0.01
    assert {setting["x"] for setting in one.pending} == {ours["x"], theirs[0]["x"]}
    assert {theirs[0].trial, ours.trial} == {1, 2}


@pytest.mark.parametrize("moment", ["append", "update"])
def test_a_program_that_ends_while_it_tells(url: str, moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its entry is there nothing was told; afterwards all of it, whatever Optuna's own trials say."""
    opt = Optimizer(SPACE, direction="maximize", seed=2, storage=url)
    setting = opt.ask()

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    where = {
        "append": "tunedprior.storage.entry_log.DatabaseLog.append",
        "update": "optuna.storages._CachedStorage.set_trial_state_values",
    }
    with monkeypatch.context() as patch:
        patch.setattr(where[moment], killed)
        with pytest.raises(KeyboardInterrupt):
            opt.tell(setting | {"x": 0.777}, 1.0, trial=setting)
    again = Optimizer.load(url)
    if moment == "append":
        assert (len(again.trials), again.pending) == (0, [setting])
        again.tell(setting, 1.5)
        assert again.best.value == 1.5
    else:
        assert (again.best.value, again.best.setting["x"], again.pending) == (1.0, 0.777, [])
        assert again.study.trials[0].state.name == "RUNNING"
        again.ask()  # whoever writes next brings Optuna's trials up to date
        assert again.study.trials[0].values == [1.0]


def test_optuna_shows_it(url: str) -> None:
    opt = Optimizer(
        {"x": (0.0, 1.0), "kind": ["a", "b"]},
        objectives={"length": Target(500.0), "cost": "minimize"},
        requirements={"purity": ">= 0.9"},
        storage=url,
        name="fibres",
        seed=0,
    )
    opt.tell(opt.ask(), {"length": 480.0, "cost": 3.0, "purity": 0.95})
    opt.tell(opt.ask(), {"length": 530.0, "cost": 1.0, "purity": 0.5})
    opt.tell(opt.ask(), {"length": 510.0})
    opt.tell(opt.ask(), failed=True)
    study = optuna.load_study(study_name="fibres", storage=url)
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "COMPLETE", "PRUNED", "FAIL"]
    assert [trial.values for trial in study.trials[:2]] == [[20.0, 3.0], [30.0, 1.0]]
    assert study.trials[0].user_attrs == {"length": 480.0, "cost": 3.0, "purity": 0.95}
    # The other does not meet what is required, and Optuna heeds constraints that have names from version 5 on.
    assert [trial.number for trial in study.best_trials] == ([0] if optuna.__version__ >= "5" else [0, 1])
    same(opt, Optimizer.load(url, name="fibres"))


def test_trials_of_optunas_own_are_read(url: str) -> None:
    opt = Optimizer({"x": (0.0, 1.0), "n": (1, 5, 1)}, direction="minimize", storage=url, seed=0)
    study = optuna.load_study(study_name="campaign", storage=url, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0) + trial.suggest_int("n", 1, 5), 3)
    study.tell(opt.ask().trial - 1, 0.25)
    assert [trial.value for trial in opt.trials.told] == [trial.value for trial in study.trials]
    assert opt.best.value == 0.25


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"space": {"x": (0.0, 2.0)}}, "another search space"),
        ({"direction": "minimize"}, "another responses or goals"),
        ({"target": "yield"}, "another responses or goals"),
    ],
)
def test_another_campaign_needs_another_name(url: str, change: dict[str, object], said: str) -> None:
    Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=url, seed=0)
    with pytest.raises(InputError, match=said):
        make_optimizer(**{"space": {"x": (0.0, 1.0)}, "storage": url} | change)
    make_optimizer(**{"space": {"x": (0.0, 1.0)}, "storage": url, "name": "another"} | change)
    with pytest.raises(InputError, match="of which there are 'campaign', 'another'"):
        Optimizer.load(url)


@pytest.mark.parametrize("storage", ["campaign.db", "sqlite:////nowhere/at/all/x.db", "nonsense://x"])
def test_what_is_no_storage_is_refused(storage: str) -> None:
    with pytest.raises((InputError, ImportError), match=r"storage must be|cannot be opened|driver|is no URL"):
        Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=storage, seed=0)


def test_a_damaged_trial_is_named(url: str) -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=url, seed=0)
    setting = opt.ask()
    template = optuna.trial.create_trial(state=optuna.trial.TrialState.RUNNING, system_attrs={"tunedprior:trial": "{}"})
    opt.study.add_trial(template)
    with pytest.raises(FileFormatError, match="Trial 2 of the study is damaged"):
        Optimizer.load(url).tell(setting, 1.0)


def test_categories_may_be_tuples(url: str) -> None:
    memory, stored = both(url, {"x": (0.0, 1.0), "size": [(1, 2), (3, 4)]}, seed=1)
    for opt in (memory, stored):
        opt.tell(opt.ask(), 0.5)
        opt.ask()
    same(memory, Optimizer.load(url))


def test_a_campaign_can_move(url: str, tmp_path: Path) -> None:
    memory = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=3)
    for value in (0.1, 0.2):
        memory.tell(memory.ask(), value)
    stored = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=3, storage=url).resume(memory.history)
    same(memory, stored)
    stored.save(tmp_path / "campaign.json")
    same(memory, Optimizer.load(tmp_path / "campaign.json"))


def test_a_history_is_taken_over_with_its_numbers(url: str) -> None:
    """So that a sheet that was printed before still fits; a number that is missing stays free."""
    memory = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=3, search=SearchConfig(initial=50))
    settings = memory.ask(6)
    for number in (5, 1, 3):
        memory.tell(settings[number], float(number))
    memory.withdraw(2)
    stored = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=3, storage=url, search=SearchConfig(initial=50))
    stored.resume(memory.history[memory.history["trial"] != 3])
    assert [[one.id for one in group] for group in (stored.trials.told, stored.trials.pending)] == [[6, 4], [1, 5]]
    assert stored.trials.set_aside[0].id == 2
    assert stored.ask().trial == 7
    assert Optimizer.load(url).trials == stored.trials


def test_a_campaign_in_a_database_can_be_copied_to_another_process(url: str) -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=url, seed=0)
    opt.tell({"x": 0.1}, 1.0)
    other = pickle.loads(pickle.dumps(opt))
    other.tell({"x": 0.2}, 2.0)
    assert [one.value for one in opt.trials.told] == [1.0, 2.0]


def test_a_campaign_that_was_deleted_meanwhile(url: str) -> None:
    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=url, seed=0)
    opt.tell({"x": 0.1}, 1.0)
    optuna.delete_study(study_name=opt.study.study_name, storage=url)
    for act in (lambda: opt.trials, lambda: opt.tell({"x": 0.2}, 2.0), opt.ask):
        with pytest.raises(StorageError, match="'campaign' is no longer in its storage"):
            act()


@pytest.mark.slow
def test_many_make_one_database_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new.db"
    with ThreadPoolExecutor(6) as pool:
        made = list(
            pool.map(lambda _: Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=url, seed=0), range(6))
        )
    for opt in made:
        opt.tell({"x": 0.5}, 1.0)
    assert len(Optimizer.load(url).trials) == 6
    assert [one.name for one in tmp_path.iterdir()] == ["new.db"]


def test_optuna_says_nothing_of_its_own_and_goes_on_saying_what_users_asked_for(url: str, tmp_path: Path) -> None:
    said: list[str] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    listening = Listening()
    optuna.logging.set_verbosity(optuna.logging.INFO)
    logging.getLogger("optuna").addHandler(listening)
    try:
        Optimizer(SPACE, direction="maximize", storage=url, seed=0)
        assert said == []
        optuna.create_study(study_name="mine", storage=f"sqlite:///{tmp_path / 'mine.db'}")
        assert any("mine" in one for one in said)
    finally:
        logging.getLogger("optuna").removeHandler(listening)
