"""What plain optimisation would have suggested instead."""

import math

import pandas as pd
import pytest

from support.builders import SPACE, average_over, old_data, smooth, told
from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig, TransferConfig
from tunedprior.errors import InputError
from tunedprior.space.search_space import Space

POOL = Space.parse(SPACE).sobol(60, seed=3)


@pytest.mark.parametrize("candidates", [POOL, None], ids=["pool", "anywhere"])
@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
def test_a_shadow_is_what_plain_optimisation_asks(candidates: list | None, acquisition: str) -> None:
    options = {"direction": "minimize", "acquisition": acquisition, "seed": 7, "noise_std": 0.01, "beta": 2.0}
    opt = told(make_optimizer(SPACE, search=SearchConfig(model=average_over()), **options), 4)
    plain = told(make_optimizer(SPACE, old_data(rows=20), transfer=TransferConfig(prior="uninformed"), **options), 4)
    assert plain.surrogate.sources == ()
    first = opt.ask(candidates=candidates)
    shadow = opt.shadow(first, candidates)
    assert shadow.setting == plain.ask(candidates=candidates)
    assert (shadow.setting != first) or acquisition == "ucb"
    width = [2.0, 5.0]
    apart = [(first[name] - shadow.setting[name]) / side for name, side in zip(SPACE, width, strict=True)]
    assert shadow.distance == pytest.approx(math.sqrt(sum(d * d for d in apart) / 2))
    assert (shadow.distance == 0) == (shadow.setting == first)
    assert opt.pending == [first]
    assert opt.shadow(first, candidates) == shadow


def test_a_shadow_knows_what_else_is_pending() -> None:
    opt = told(Optimizer(SPACE, direction="maximize", seed=7, search=SearchConfig(model=average_over())), 4)
    plain = told(Optimizer(SPACE, direction="maximize", seed=7), 4)
    first, second = opt.ask(n=2, candidates=POOL)
    plain.ask(candidates=[first])
    shadow = opt.shadow(second, POOL)
    assert shadow.setting == plain.ask(candidates=POOL)
    assert shadow.setting != first
    assert opt.pending == [first, second]
    before = opt.history
    opt.shadow(first, POOL)
    pd.testing.assert_frame_equal(opt.history, before)


def test_a_shadow_changes_no_later_suggestion() -> None:
    runs = []
    for look in (False, True):
        opt = told(Optimizer(SPACE, direction="maximize", seed=7, search=SearchConfig(model=average_over())), 3)
        for _ in range(2):
            setting = opt.ask(candidates=POOL)
            if look:
                opt.shadow(setting, POOL)
            opt.tell(setting, smooth(setting))
        runs.append(opt.history)
    pd.testing.assert_frame_equal(*runs)


def test_where_both_agree_the_distance_is_zero() -> None:
    designed = Optimizer(SPACE, direction="maximize", seed=2, search=SearchConfig(design="sobol", model=average_over()))
    setting = designed.ask()  # that design is the same with and without old data
    assert designed.shadow(setting).setting == setting
    assert designed.shadow(setting).distance == 0
    plain = told(Optimizer(SPACE, direction="maximize", seed=2), 4)
    setting = plain.ask(candidates=POOL)
    assert plain.shadow(setting, POOL).distance == 0


def test_from_corner_to_corner_the_distance_is_one() -> None:
    opt = told(Optimizer(SPACE, direction="maximize", seed=2), 4)
    ends = [{"a": -1.0, "b": 0.0}, {"a": 1.0, "b": 5.0}]
    assert opt.ask(candidates=ends[:1]) == ends[0]
    assert opt.shadow(ends[0], ends[1:]).distance == pytest.approx(1.0)


def test_categories_are_as_far_apart_as_they_can_be_and_no_further() -> None:
    space = {"gas": ["air", "argon", "helium"], "x": (0.0, 1.0)}
    opt = Optimizer(space, direction="maximize", seed=2)
    for setting in opt.space.sobol(4, seed=5):
        opt.tell(setting, setting["x"])
    ends = [{"gas": "air", "x": 0.0}, {"gas": "argon", "x": 0.0}, {"gas": "helium", "x": 1.0}]
    assert opt.ask(candidates=ends[:1]) == ends[0]
    near, far = (opt.shadow(ends[0], [other]).distance for other in ends[1:])
    assert 0 < near < far <= 1


def test_only_a_pending_setting_has_a_shadow() -> None:
    opt = told(Optimizer(SPACE, direction="maximize", seed=7, search=SearchConfig(model=average_over())), 3)
    with pytest.raises(InputError, match="A shadow is that of a pending setting"):
        opt.shadow({"a": 0.0, "b": 1.0})
    setting = opt.ask(candidates=POOL)
    opt.tell(setting, 1.0)
    with pytest.raises(InputError, match="is not among"):
        opt.shadow(setting)
