"""Batches spread, nothing that was cancelled comes again, and a space that is exhausted is said to be."""

import itertools

import numpy as np
import pytest

from support.builders import old_data, scaled, smooth
from tunedprior import Optimizer, SearchConfig, TransferConfig
from tunedprior.errors import ExhaustedWarning
from tunedprior.space.search_space import Setting

CONTINUOUS = {"a": (-1.0, 1.0), "b": (0.0, 5.0)}
MIXED = CONTINUOUS | {"gas": ["air", "argon"]}


def peak(setting: Setting) -> float:
    hill = float(np.exp(-3 * (setting["a"] - 0.2) ** 2 - (setting["b"] - 2.0) ** 2))
    return hill + 0.1 * (setting.get("gas") == "air")


def nearly_equal(one: Setting, other: Setting, space: dict) -> bool:
    return all(
        abs(one[name] - other[name]) <= 0.01 * (given[1] - given[0])
        if isinstance(given, tuple)
        else one[name] == other[name]
        for name, given in space.items()
    )


@pytest.mark.slow
@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
@pytest.mark.parametrize(
    ("space", "old", "prior"),
    [
        (CONTINUOUS, False, "average"),
        (CONTINUOUS, True, "average"),
        (CONTINUOUS, True, "reweighted"),
        (MIXED, False, "average"),
    ],
    ids=["plain", "old data", "reweighted", "mixed"],
)
@pytest.mark.usefixtures("short_search")
def test_settings_of_a_batch_differ(space: dict, old: bool, prior: str, acquisition: str) -> None:
    data = old_data(scaled(peak, -1.0), space=CONTINUOUS) if old else None
    opt = Optimizer(
        space,
        data,
        direction="maximize",
        seed=3,
        search=SearchConfig(acquisition=acquisition),
        transfer=TransferConfig(prior=prior),
    )
    for _ in range(3):
        batch = opt.ask(n=4)
        assert not any(nearly_equal(one, other, space) for one, other in itertools.combinations(batch, 2))
        opt.tell(batch, [peak(setting) for setting in batch])


def test_a_pending_setting_raises_what_is_to_be_improved_on() -> None:
    """Where the model expects more than the best so far, a second setting there would gain nothing over the first."""
    opt = Optimizer(CONTINUOUS, old_data(peak, space=CONTINUOUS), direction="maximize", seed=1)
    for setting in opt.space.sobol(8, seed=5):
        opt.tell(setting, peak(setting))
    first, second = opt.ask(n=2)
    expected = opt.predict([first, second])["mean"]
    assert expected[0] > opt.best.value  # an improvement is expected of the first
    assert not nearly_equal(first, second, CONTINUOUS)


@pytest.mark.parametrize("told", [0, 6], ids=["design", "model"])
def test_what_was_cancelled_does_not_come_again_nor_does_what_is_pending(told: int) -> None:
    opt = Optimizer({"n": [1, 2, 3, 4, 5, 6, 7, 8, 9]}, direction="maximize", seed=2)
    for _ in range(told):
        setting = opt.ask()
        opt.tell(setting, float(setting["n"]))
    first, second = opt.ask(n=2)
    opt.cancel(first)
    third = opt.ask()
    assert third not in (first, second)


def test_an_exhausted_space_is_said_to_be() -> None:
    opt = Optimizer({"n": [1, 2, 3]}, direction="maximize", seed=1)
    batch = opt.ask(n=3)
    assert sorted(setting["n"] for setting in batch) == [1, 2, 3]
    with pytest.warns(ExhaustedWarning, match="All 3 settings of the search space"):
        opt.ask()
    opt.tell(batch, [1.0, 2.0, 3.0])
    with pytest.warns(ExhaustedWarning, match="All 3 settings"):
        opt.ask()


def test_where_the_noise_is_known_repeating_is_no_surprise() -> None:
    opt = Optimizer({"n": [1, 2, 3]}, direction="maximize", seed=1, noise_std=0.1)
    for setting in opt.ask(n=3):
        opt.tell(setting, float(setting["n"]))
    assert opt.ask()["n"] in (1, 2, 3)


def test_candidates_count_once_and_may_be_exhausted() -> None:
    opt = Optimizer(CONTINUOUS, direction="maximize", seed=1)
    pool = [{"a": 0.5, "b": 1.0}] * 3 + [{"a": -0.5, "b": 2.0}]
    first, second = opt.ask(n=2, candidates=pool)
    assert first != second
    with pytest.warns(ExhaustedWarning, match="All 2 candidates"):
        opt.ask(candidates=pool)


def test_candidates_may_be_a_file(tmp_path) -> None:
    path = tmp_path / "grid.csv"
    path.write_text("a;b\n0,5;1\n-0,5;2\n", encoding="utf-8")
    opt = Optimizer(CONTINUOUS, direction="maximize", seed=1)
    assert dict(opt.ask(candidates=path)) in ({"a": 0.5, "b": 1.0}, {"a": -0.5, "b": 2.0})


@pytest.mark.slow
@pytest.mark.parametrize("noise_std", [0.0, 0.05])
@pytest.mark.filterwarnings("ignore::tunedprior.errors.JitterWarning")
@pytest.mark.usefixtures("short_search")
def test_batches_with_known_noise_on_a_rough_response(noise_std: float) -> None:
    """Two conditioned on neighbours leave a tiny Schur complement: jitter is relative to the prior, not to that."""
    opt = Optimizer(CONTINUOUS, old_data(smooth, space=CONTINUOUS), direction="maximize", seed=1, noise_std=noise_std)
    opt.tell({"a": 0.0, "b": 1.0}, 1.0)
    for _ in range(5):
        batch = opt.ask(n=4)
        opt.tell(batch, [float(np.sin(40 * setting["a"]) + np.cos(17 * setting["b"])) for setting in batch])
    assert len(opt.trials) == 21
