"""Any number of threads and processes give what one after the other would, and leave nothing changed behind."""

import pickle
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest
import torch
from botorch.acquisition import qLogExpectedImprovement

from tunedprior import History, Optimizer, SearchConfig, Suggester, TransferConfig

SPACES = {
    "continuous": {"a": (-1.0, 1.0), "b": (-1.0, 1.0)},
    "mixed": {"a": (-1.0, 1.0), "b": [-1.0, -0.5, 0.0, 0.5, 1.0], "c": ["u", "v"]},
    "listed": {"a": [-1.0, 0.0, 1.0], "b": [-1.0, 0.0, 0.5, 1.0]},
}
CASES = [  # by hand and from a list; by BoTorch's routines; with its samplers
    pytest.param(space, prior, acquisition, id=f"{space}-{prior}-{name}")
    for space, prior, acquisition, name in (
        ("continuous", "average", "ei", "ei"),
        ("listed", "average", "ucb", "ucb"),
        ("continuous", "reweighted", "ei", "ei"),
        ("mixed", "uninformed", "ei", "ei"),
        ("continuous", "average", qLogExpectedImprovement, "qLogEI"),
    )
]


SHORT = (("optimisation._RAW_SAMPLES", 16), ("optimisation._RESTARTS", 2), ("functions._MC_SAMPLES", 8))


@pytest.fixture(autouse=True)
def a_short_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few starts: what is compared does not depend on how good the suggestions are."""
    search_shortly(monkeypatch)


def search_shortly(patch: pytest.MonkeyPatch | None = None) -> None:
    """In another process, for as long as that lasts."""
    for name, count in SHORT:
        (patch or pytest.MonkeyPatch()).setattr(f"tunedprior.acquisition.{name}", count)


def response(setting: dict) -> float:
    return float(np.sin(3 * setting["a"]) * setting["b"] + (setting.get("c") == "v"))


def old_table(space: dict, rows: int = 24) -> pd.DataFrame:
    random = np.random.default_rng(5)
    columns = {
        name: random.uniform(*described, rows) if isinstance(described, tuple) else random.choice(described, rows)
        for name, described in space.items()
    }
    table = pd.DataFrame(columns)
    return table.assign(y=[-response(row) for row in table.to_dict("records")])


def suggester(space: str, prior: str, acquisition="ei") -> Suggester:
    return Optimizer(
        SPACES[space],
        old_table(SPACES[space]),
        direction="maximize",
        search=SearchConfig(acquisition=acquisition),
        transfer=TransferConfig(prior=prior),
        seed=0,
    ).suggester


def history(suggester: Suggester, seed: int, results: int = 5) -> History:
    found = History()
    for setting in suggester.space.sobol(results, seed):
        found = found.append_pending(setting).append_result(setting, response(setting))
    return found


def suggested(suggester: Suggester, seed: int) -> list[dict]:
    """Two settings in a row, the first of them under way when the second is asked for."""
    told = history(suggester, seed)
    first = suggester.suggest(told, seed=seed)
    return [first, suggester.suggest(told, pending=[first], seed=seed)]


def global_state() -> tuple:
    return (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.get_rng_state().tolist(),
        np.random.get_state()[1].tolist(),  # noqa: NPY002  # to see that it is left alone
        list(warnings.filters),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("space", "prior", "acquisition"), CASES)
def test_threads_that_share_a_suggester(space: str, prior: str, acquisition) -> None:
    shared = suggester(space, prior, acquisition)
    seeds = range(4 if (space, prior, acquisition) == ("continuous", "average", "ei") else 2)
    one_by_one = [suggested(shared, seed) for seed in seeds]
    torch.manual_seed(11)
    before = global_state()
    with ThreadPoolExecutor(4) as pool:
        at_once = list(pool.map(lambda seed: suggested(shared, seed), seeds))
    assert at_once == one_by_one
    assert global_state() == before


def in_a_process(pickled: bytes, seed: int) -> list[dict]:
    return suggested(pickle.loads(pickled), seed)


@pytest.mark.slow
def test_a_process_that_shares_a_suggester() -> None:
    shared = suggester("continuous", "average")
    pickled = pickle.dumps(shared)
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=search_shortly) as pool:
        elsewhere = [pool.submit(in_a_process, pickled, seed) for seed in range(2)]
        here = [suggested(shared, seed) for seed in range(2)]
    for found, expected in zip([one.result() for one in elsewhere], here, strict=True):
        assert found == [pytest.approx(setting, rel=1e-9) for setting in expected]  # memory may lie otherwise there


def test_optimisers_in_threads() -> None:
    def campaign(seed: int) -> list[dict]:
        opt = Optimizer(SPACES["continuous"], old_table(SPACES["continuous"]), direction="maximize", seed=seed)
        for _ in range(6):
            setting = opt.ask()
            opt.tell(setting, response(setting))
        return [dict(trial.setting) for trial in opt.trials.told]

    one_by_one = [campaign(seed) for seed in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(campaign, (1, 2))) == one_by_one


def test_suggestions_do_not_depend_on_a_cache_or_on_what_was_asked_before() -> None:
    shared = suggester("continuous", "average")
    told = history(shared, 3, results=40)
    fresh = shared.suggest(told, seed=3)
    grown = None
    for count in (7, 33, 40):
        grown = shared.fit(told.keep_first(count), seed=3, previous=grown)
    assert shared.suggest(told, seed=3, fitted=grown) == fresh
    shared.suggest(history(shared, 8, results=12), seed=1)
    assert shared.suggest(told, seed=3) == fresh


# -- nothing is left changed ---------------------------------------------------------------------------------


class Interrupting:
    """A surrogate that is interrupted in the midst of its work."""

    def __init__(self, surrogate, error: BaseException) -> None:
        self.box, self.surrogate, self.error = surrogate.box, surrogate, error

    def __call__(self, observations):
        self.surrogate(observations)
        torch.rand(3)
        raise self.error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("broken")])
def test_errors_and_interrupts_leave_the_global_state_as_it_was(error: BaseException) -> None:
    surrogate = suggester("continuous", "uninformed").surrogate
    opt = Optimizer(
        SPACES["continuous"], direction="maximize", search=SearchConfig(model=Interrupting(surrogate, error)), seed=0
    )
    opt.tell({"a": 0.1, "b": 0.2}, 1.0)
    before, told = global_state(), opt.history
    with pytest.raises(type(error)):
        opt.ask()
    assert global_state() == before
    assert opt.history.equals(told)


def test_a_thread_that_starts_meanwhile_keeps_its_number_of_threads() -> None:
    seen, asking, looked = [], threading.Event(), threading.Event()

    class Waiting:
        box = suggester("continuous", "uninformed").surrogate.box

        def __call__(self, _observations):
            asking.set()
            assert looked.wait(60)
            raise ValueError("enough")

    def look() -> None:
        assert asking.wait(60)
        seen.append(torch.get_num_threads())
        looked.set()

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        other = threading.Thread(target=look)
        other.start()
        opt = Optimizer(SPACES["continuous"], direction="maximize", search=SearchConfig(model=Waiting()), seed=0)
        opt.tell({"a": 0.1, "b": 0.2}, 1.0)
        with pytest.raises(ValueError, match="enough"):
            opt.ask()
        other.join()
        assert seen == [2]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("prior", ["average", "reweighted", "uninformed"])
def test_suggestions_are_the_same_without_gradients(mode, prior: str) -> None:
    shared = suggester("continuous", prior)
    expected = suggested(shared, 0)
    with mode():
        assert suggested(shared, 0) == expected


def test_no_thread_count_changes_a_suggestion() -> None:
    before = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(suggested(suggester("continuous", "average"), 0))
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1]
