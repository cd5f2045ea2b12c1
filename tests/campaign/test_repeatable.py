"""The same campaign again: after a break, with the same seed, and in other units."""

import math

import pandas as pd
import pytest
import torch

from benchmarks.results import EVERY_DIGIT
from support.builders import MIXED, SPACE, average_over, mixed, old_data, scaled, told_what_it_asked
from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig
from tunedprior.errors import InputError


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("with_old", [False, True])
@pytest.mark.parametrize("space", [SPACE, MIXED], ids=["continuous", "mixed"])
def test_a_campaign_rebuilt_at_any_step_goes_on_the_same(space: dict, with_old: bool, tmp_path) -> None:
    old = old_data(scaled(mixed, -1.0), space=space, rows=15) if with_old else None
    opt = Optimizer(space, old, direction="maximize", seed=4, search=SearchConfig(initial=2))
    torch.manual_seed(0)
    for step in range(5):
        opt.history.to_csv(tmp_path / "history.csv", index=False)
        expected = opt.ask()
        if step != 3:  # in the design, at the first step of the model, and after a failure
            torch.manual_seed(step + 1)  # nothing may depend on it
            saved = pd.read_csv(tmp_path / "history.csv", **EVERY_DIGIT)
            # What was learnt from old data is the same at every step: it is learnt again at the first of the model.
            made = {"old_data": old} if step == 2 else {"model": opt.surrogate}
            again = make_optimizer(space, seed=4, search=SearchConfig(initial=2), **made).resume(saved)
            assert again.pending == []
            assert again.ask() == expected
        opt.tell(expected, math.nan if step == 3 else mixed(expected))


@pytest.mark.usefixtures("short_search")
def test_a_campaign_with_pending_settings_goes_on_the_same() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=2)
    told_what_it_asked(opt, 3, mixed)
    batch = opt.ask(n=3)
    opt.tell(batch[0], mixed(batch[0]))
    again = Optimizer(SPACE, direction="maximize", seed=2).resume(opt.history)
    pd.testing.assert_frame_equal(again.history, opt.history)
    assert again.pending == batch[1:]
    assert again.ask() == opt.ask()
    with pytest.raises(InputError, match="told nothing yet"):
        opt.resume(opt.history)
    with pytest.raises(InputError, match="state is missing"):
        Optimizer(SPACE, direction="maximize", seed=0).resume(opt.history.drop(columns="state"))


@pytest.mark.parametrize(("factor", "offset"), [(1e-12, 0.0), (1e9, 0.0), (1e250, 0.0), (1.0, 1000.0)])
@pytest.mark.parametrize("with_old", [False, True])
def test_the_units_of_the_response_do_not_matter(factor: float, offset: float, with_old: bool) -> None:
    model = average_over(scaled(mixed, -1.0), rows=30) if with_old else None
    options = {"seed": 1, "model": model, "design": "sobol"}
    plain, other = (make_optimizer(SPACE, noise_std=0.01 * unit, **options) for unit in (1.0, factor))
    for setting in plain.ask(n=4):
        plain.tell(setting, mixed(setting))
        other.tell(setting, factor * mixed(setting) + offset)
    there, here = other.predict({"a": 0.5, "b": 3.0}), plain.predict({"a": 0.5, "b": 3.0})
    assert there["mean"].item() == pytest.approx(factor * here["mean"].item() + offset, rel=1e-3)
    assert there["std"].item() == pytest.approx(factor * here["std"].item(), rel=0.05)
    assert other.ask()["a"] == pytest.approx(plain.ask()["a"], abs=0.02)


@pytest.mark.usefixtures("short_search")
def test_same_seed_same_suggestions_and_no_global_state() -> None:
    state = torch.get_rng_state()
    runs = []
    for _ in range(2):
        opt = Optimizer(SPACE, direction="maximize", seed=7)
        for _ in range(5):
            setting = opt.ask()
            opt.tell(setting, mixed(setting))
        runs.append(opt.history)
    pd.testing.assert_frame_equal(*runs)
    assert torch.equal(torch.get_rng_state(), state)
    assert Optimizer(SPACE, direction="maximize", seed=8).ask() != Optimizer(SPACE, direction="maximize", seed=7).ask()
