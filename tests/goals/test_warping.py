"""Results that are far worse than all others count as merely worse; all others stay as they are, to the digit."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from support.builders import box_of
from tunedprior.goals.goal import Target
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.goals.observations import WorseDirection, warp_far_worse
from tunedprior.history.trials import Trial
from tunedprior.space.search_space import Space

SPACE = {"x": (0.0, 1.0)}
BOX = box_of(SPACE)


def spread_out(count: int) -> torch.Tensor:
    return torch.linspace(-1, 1, count, dtype=torch.float64)[:, None]


def warped(values: list[float], inputs: torch.Tensor | None = None) -> tuple[list[float], list[int]]:
    found = warp_far_worse(np.array(values), spread_out(len(values)) if inputs is None else inputs, 1, WorseDirection())
    return found.y.tolist(), np.flatnonzero(found.far).tolist()


def told(*values: float, **more: list[float]) -> list[Trial]:
    settings = Space.parse(SPACE).sobol(len(values), seed=1)
    each = [{name: column[k] for name, column in more.items()} for k in range(len(values))]
    return [Trial(one, value, id=k, more=each[k]) for k, (one, value) in enumerate(zip(settings, values, strict=True))]


def test_far_worse_is_the_worst_of_the_others_and_one_reach_of_the_better_half() -> None:
    # From the best, 0.5, the better half (3 of 5) reaches to 0.2; the worst of the others is 0.1.
    y, far = warped([0.5, 0.4, 0.2, 0.1, -1e30])
    assert y == pytest.approx([0.5, 0.4, 0.2, 0.1, 0.1 - 0.3])
    assert far == [4]


def test_only_the_order_of_what_is_far_worse_counts_and_it_is_kept() -> None:
    y, far = warped([0.5, 0.4, 0.2, 0.1, 0.3, 0.35, -1e30, -1e12, -1e12])
    assert far == [6, 7, 8]
    assert y[7] == y[8]
    assert y[6] < y[7] < 0.1
    assert y[6] > 0.1 - 1.0


@pytest.mark.parametrize("best", [10.0, 1e9, 1e300])
def test_what_is_far_better_is_never_touched(best: float) -> None:
    values = [best, 0.4, 0.2, 0.1, 0.3, 0.35, 0.2]
    assert warped(values) == (values, [])


@given(st.lists(st.floats(-1.0, 1.0).map(lambda value: round(value, 3)), min_size=1, max_size=30))
def test_what_lies_within_a_few_reaches_is_the_same_to_the_last_digit(values: list[float]) -> None:
    levels = sorted(set(values))
    if len(levels) > 3 and levels[-1] - levels[-3] > 0.01:
        assert warped(values) == (values, [])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_order_is_kept_whatever_the_numbers(values: list[float]) -> None:
    y, _ = warped(values)
    assert np.isfinite(y).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(np.array(y)[order]) >= 0).all()


def test_a_search_that_has_converged_is_no_reason_to_warp() -> None:
    # Twelve results near the optimum, which differ by 1e-7, and four elsewhere.
    inputs = torch.tensor([[-1.0], [-0.3], [0.4], [1.0], *([0.1 + 1e-4 * k] for k in range(12))], dtype=torch.float64)
    values = [-3.0, -0.5, -0.2, -2.0, *(-1e-8 * k for k in range(12))]
    assert warped(values, inputs=inputs) == (values, [])
    assert warped([*values[:3], -1e30, *values[4:]], inputs=inputs)[1] == [3]


def test_a_few_good_results_in_a_box_that_diverges_nearly_everywhere_are_told_apart() -> None:
    y, far = warped([-1e30] * 15 + [0.3, 0.1, 0.2])
    assert far == list(range(15))
    assert y[-3:] == [0.3, 0.1, 0.2]
    assert min(y) > -1


def test_equal_good_results_leave_everything_as_it_is() -> None:
    values = [1.0, 1.0, 1.0, 1.0, -5.0, -1e30]
    assert warped(values) == (values, [])


def test_failed_runs_stay_failed_and_count_below_what_is_far_worse() -> None:
    y, far = warped([0.5, 0.4, 0.2, 0.1, -1e30, float("nan")])
    assert far == [4]
    assert np.isnan(y[-1])
    own = Objective().make_observations(told(0.5, 0.4, 0.2, 0.1, -1e30, float("nan")), BOX, failures=True)
    assert own.y[-1, 0] < own.y[-2, 0] < own.y[:4].min()
    assert own.y.abs().max() < 3


def test_away_from_a_target_both_sides_are_worse() -> None:
    target = Objective(direction=Target(480.0, 520.0))
    values = (490.0, 505.0, 470.0, 530.0, 1e30, -1e25)
    seen = target.make_observations(told(*values), BOX)
    back = (seen.shift + seen.scale * seen.y[:, 0]).tolist()
    assert back[:4] == pytest.approx(values[:4])
    assert 530 < back[4] < 700
    assert 300 < back[5] < 470


@pytest.mark.parametrize(("required", "bad"), [(">= 0.95", -1e20), ("<= 0.95", 1e20)])
def test_a_requirement_is_met_in_the_model_where_it_is_in_the_results(required: str, bad: float) -> None:
    goals = Goals.parse("maximize", target="y", requirements={"purity": required})
    purity = [0.99, 0.97, 0.93, 0.9, 0.96, 1e15, -1e15, bad]
    seen = goals.make_observations(goals.get_response("purity"), told(*range(8), purity=purity), BOX)
    back = (seen.shift + seen.scale * seen.y[:, 0]).numpy()
    assert ((back >= 0.95) == (np.array(purity) >= 0.95)).all()
    assert np.ptp(back) < 1
    assert set(goals.find_far_worse(told(*range(8), purity=purity), BOX)) == {"purity"}


def test_a_limit_far_from_all_results_stays_beyond_those_that_meet_it() -> None:
    goals = Goals.parse("maximize", target="y", requirements={"y": ">= -1000"})
    values = (0.5, 0.4, 0.2, 0.1, 0.3, -1e30)
    seen = goals.make_observations(goals.main, told(*values), BOX)
    back = seen.shift + seen.scale * seen.y[:, 0]
    assert back[:5].tolist() == pytest.approx(values[:5], abs=1e-9)
    assert back[5] < -1000


def test_by_a_preference_what_is_far_worse_is_not_made_up_for() -> None:
    goals = Goals.parse(objectives={"y": "maximize", "cost": "minimize"}, preference={"y": 1.0, "cost": 1.0})
    cost = [50.0, 40.0, 60.0, 45.0, 55.0, 0.0]
    seen = goals.make_observations(goals.main, told(0.5, 0.4, 0.2, 0.1, 0.3, -1e30, cost=cost), BOX)
    back = (seen.shift + seen.scale * seen.y[:, 0]).numpy()
    worth = back - np.array(cost)
    assert worth[5] < np.median(worth)


def test_without_requirements_the_campaign_and_the_response_agree() -> None:
    trials = told(0.5, 0.4, 0.2, 0.1, 0.3, -1e30)
    assert torch.equal(
        Goals().make_observations(Objective(), trials, BOX).y, Objective().make_observations(trials, BOX).y
    )
    assert [one.id for one in Goals().find_far_worse(trials, BOX)["y"]] == [5]


@pytest.mark.parametrize("scale", [1e-320, 1e-310, 1e-300, 1e300, 1.7e308])
def test_responses_at_the_ends_of_all_numbers_become_ordinary_ones(scale: float) -> None:
    values = [scale * part for part in (0.1, -0.7, 1.0, 0.3, -1.0)]
    seen = Objective(noise_std=0.1).make_observations(told(*values), BOX)
    assert torch.isfinite(seen.y).all()
    assert seen.y.abs().max() < 3
    assert np.isfinite([seen.shift, seen.scale, seen.noise_std, seen.noise_std**2]).all()
    assert seen.scale > 0
