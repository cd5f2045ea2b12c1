"""What the acquisition function of each suggestion is given, and where it is not looked for."""

from typing import Any

import pandas as pd
import pytest
import torch

from support.builders import MIXED, SMALL, SPACE, mixed, old_data, scaled, told, told_what_it_asked
from tunedprior import Optimizer, SearchConfig, TransferConfig
from tunedprior.kernels import SquaredExponential
from tunedprior.suggestion import suggester as suggester_module


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The context of each suggestion by the model, and what the search for it avoids."""
    found: list[dict[str, Any]] = []
    make, search = suggester_module.make_acquisition, suggester_module.maximize

    def made(choice: Any, model: Any, context: Any, beta: Any) -> Any:
        found.append({"context": context})
        return make(choice, model, context, beta)

    def searched(acquisition: Any, encoded_space: Any, avoid: torch.Tensor, seed: int, *more: Any) -> torch.Tensor:
        found[-1].setdefault("avoid", avoid)
        found[-1].setdefault("seed", seed)
        return search(acquisition, encoded_space, avoid, seed, *more)

    monkeypatch.setattr(suggester_module, "make_acquisition", made)
    monkeypatch.setattr(suggester_module, "maximize", searched)
    return found


@pytest.mark.usefixtures("short_search")
def test_each_of_a_batch_has_a_seed_of_its_own(seen: list[dict[str, Any]]) -> None:
    opt = told_what_it_asked(Optimizer(SPACE, direction="maximize", seed=3), 4, mixed)
    for setting in opt.ask(n=3):
        opt.cancel(setting)
    opt.tell({"a": 0.1, "b": 2.0}, 1.0)
    opt.ask()
    seeds = [one["context"].seed for one in seen]
    assert len(set(seeds)) == len(seeds) == 4
    assert seeds == [one["seed"] for one in seen]


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("recorded", [0, 2, 5])
def test_as_printed_t_counts_what_the_loop_suggested(seen: list[dict[str, Any]], recorded: int) -> None:
    """Algorithm 1 has t = 0 for its first suggestion, whatever is in D_0; schedules begin with 1."""
    old = old_data(scaled(mixed, -1.0), space=SPACE)
    for prior in ("as printed", "reweighted"):
        seen.clear()
        one_kernel = TransferConfig(prior, kernel=SquaredExponential())
        opt = Optimizer(SPACE, old, "maximize", transfer=one_kernel, search=SearchConfig("ucb", initial=3), seed=1)
        told(opt, recorded, mixed)
        for _ in range(2 if recorded else 5):
            told_what_it_asked(opt, 1, mixed)
        opt.ask()
        first = 1 if prior == "as printed" else 1 + (recorded or 3)
        assert [one["context"].step for one in seen] == [first, first + 1, first + 2]


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("space", [SPACE, MIXED], ids=["continuous", "mixed"])
def test_the_context_is_that_of_the_next_trial(space: dict, seen: list[dict[str, Any]]) -> None:
    opt = told(Optimizer(space, direction="minimize", seed=3), 5, mixed)
    opt.ask(n=2)
    values = torch.tensor(opt.history["y"].iloc[:5].to_numpy())
    best = float((values.mean() - values.min()) / values.std(correction=0))
    for pending, one in enumerate(each["context"] for each in seen):
        assert one.step == 6
        assert one.num_inputs == len(space)
        if pending:
            assert (one.best >= best - 1e-6).all()  # or what a pending one promises, to each member
        else:
            assert one.best == pytest.approx(best)
        assert one.X.shape == (5 + pending, len(space))
        assert one.bounds.shape == (2, len(space))
        assert one.num_choices is None


@pytest.mark.parametrize(
    ("pool", "count"), [(None, 6), ([{"speed": 63, "gas": "air"}, {"speed": 48, "gas": "air"}], 2)]
)
def test_choices_are_those_of_the_pool_or_of_the_space(pool: Any, count: int, seen: list[dict[str, Any]]) -> None:
    told(Optimizer(SMALL, direction="maximize", seed=3), 3, mixed).ask(candidates=pool)
    assert [one["context"].num_choices for one in seen] == [count]


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize(("noise_std", "known"), [(None, 3), (0.0, 3), (0.2, 0)])
def test_settings_are_repeated_only_where_there_is_known_noise(
    noise_std: float | None, known: int, seen: list[dict[str, Any]]
) -> None:
    opt = told(Optimizer(SPACE, direction="maximize", seed=3, noise_std=noise_std), 3, mixed)
    opt.ask(n=2)
    assert [len(one["avoid"]) for one in seen] == [known, known + 1]  # the first of the batch is never repeated


def test_a_suggestion_run_with_fewer_digits_is_not_made_again() -> None:
    """Of candidates in thirds, told as 0.333, each is suggested once."""
    pool = pd.DataFrame({"a": [1 / 3, 2 / 3, -1 / 3, -2 / 3], "b": [1 / 3, 5 / 3, 10 / 3, 14 / 3]})
    opt = Optimizer({"a": (-1.0, 1.0), "b": (0.0, 5.0)}, direction="maximize", seed=0)
    asked = []
    for _ in range(len(pool)):
        setting = opt.ask(candidates=pool)
        asked.append(tuple(setting.values()))
        opt.tell({name: round(value, 3) for name, value in setting.items()}, sum(setting.values()))
    assert len(set(asked)) == len(pool)
