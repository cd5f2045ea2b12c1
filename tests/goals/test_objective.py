"""What is wanted of the response: which way is better, failed runs, and units that models can take."""

import math

import pytest
import torch

from support.builders import SPACE, box_of
from tunedprior.errors import InputError
from tunedprior.goals.objective import Objective
from tunedprior.goals.observations import Observations
from tunedprior.history.trials import Trial
from tunedprior.space.search_space import Space


def trials(*values: float) -> list[Trial]:
    settings = Space.parse(SPACE).sobol(len(values), seed=1)
    return [Trial(setting, value) for setting, value in zip(settings, values, strict=True)]


@pytest.mark.parametrize(("direction", "best"), [("maximize", 5.0), ("minimize", -2.0)])
def test_the_best_is_the_one_that_was_wanted(direction: str, best: float) -> None:
    objective = Objective(direction=direction)
    assert objective.find_best(trials(1.0, 5.0, math.nan, -2.0)).value == best
    assert objective.find_best(trials(math.nan)) is None
    assert objective.find_best([]) is None


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_observations_are_standardised_and_say_how(sign: float) -> None:
    objective, values = Objective(direction="maximize" if sign > 0 else "minimize", noise_std=0.5), (1.0, 5.0, -2.0)
    told = objective.make_observations(trials(*values), box_of(SPACE))
    assert told.y.mean().item() == pytest.approx(0.0, abs=1e-12)
    assert told.y.std(correction=0).item() == pytest.approx(1.0)
    back = sign * (told.shift + told.scale * told.y[:, 0])
    torch.testing.assert_close(back, torch.tensor(values, dtype=torch.float64))
    assert told.noise_std == pytest.approx(0.5 / told.scale)


def test_a_failed_run_is_a_little_worse_than_the_worst() -> None:
    for direction, sign in (("maximize", 1), ("minimize", -1)):
        told = Objective(direction=direction).make_observations(
            trials(0.0, math.nan, 10.0), box_of(SPACE), failures=True
        )
        first, failed, last = (sign * (told.shift + told.scale * told.y[:, 0])).tolist()
        assert [first, last] == pytest.approx([0.0, 10.0])
        assert failed == pytest.approx(-2.0 if direction == "maximize" else 12.0)


@pytest.mark.parametrize("values", [(3.0, 3.0), (math.nan, math.nan), (1e-300, -1e-300), (1e300, -1e300), (7.0,)])
def test_any_values_become_finite_ones(values: tuple[float, ...]) -> None:
    told = Objective().make_observations(trials(*values), box_of(SPACE), failures=True)
    assert torch.isfinite(told.y).all()
    assert told.y.abs().max() < 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"direction": "up"}, "'maximize' or 'minimize'; got 'up'"),
        ({"noise_std": -1.0}, "noise_std must be a finite number, 0 or more"),
        ({"noise_std": math.inf}, "noise_std must be a finite number, 0 or more"),
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Objective(**options)


def test_observations_are_in_their_own_units_unless_it_is_said() -> None:
    told = Observations(torch.zeros(2, 1).double(), torch.ones(2, 1).double())
    assert (told.shift, told.scale, told.noise_std) == (0.0, 1.0, None)
    more = told.append_observations(torch.ones(1, 1).double(), torch.zeros(1, 1).double())
    assert more.X.flatten().tolist() == [0.0, 0.0, 1.0]
    assert more.y.flatten().tolist() == [1.0, 1.0, 0.0]
