"""What old data taught: how the old response goes along each input, and which inputs it depends on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.tuned_prior import TunedPrior
from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.average.old_sets import OldSet
from tunedprior.average.surrogate import Average
from tunedprior.campaign.suggester import Suggester
from tunedprior.errors import InputError
from tunedprior.lessons.domains import Domain
from tunedprior.lessons.sensitivity import sensitivity_of
from tunedprior.numerics.isolation import computing
from tunedprior.plots.along_inputs import is_points, places, room_for, scale_of, values_along
from tunedprior.plots.pictures import BLUE, PURPLE, SKY, Band, Bars, Curve, Dots, Layer, Panel, Picture, Scale
from tunedprior.plots.standing import Standing
from tunedprior.problem.box import Box
from tunedprior.problem.objective import Objective, codes_of_run
from tunedprior.problem.parameters import Parameter
from tunedprior.problem.space import Setting, Space

_AVERAGED = 48  # settings all over the space, for curves
_FINE = 31  # values along a continuous input
_MOST = (0.1, 0.9)  # quantiles between which most settings lie
_SEED = 0
_NAME = 24  # letters of an input's name
_READING = (
    "Shares are those of the old response's variance that is lost if an input is not known; with interactions they may "
    "add up to more than 1.",
    "Curves are averages over all other inputs; the stripe holds the old response of 80 % of settings.",
)
#: How many of the picture's sentences, the last ones, say how to read it.
HOW_TO_READ = len(_READING)


@dataclass(frozen=True, eq=False)
class Lesson:
    """What one old data set taught of a response.

    Attributes:
        name: The old data set's.
        response: The response's.
        log: Whether the response is modelled by its logarithm.
        box: How settings become codes.
        learnt: g at codes, in units of the old response (or of its logarithm).
    """

    name: str
    response: str
    log: bool
    box: Box
    learnt: Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]

    def at(self, settings: Sequence[Setting]) -> Any:
        """g at settings."""
        with computing(), torch.no_grad():
            return self.learnt(codes_of_run(settings, self.box)).numpy()


def lessons_of(suggester: Suggester) -> list[Lesson]:
    """Everything that old data taught, by response and old data set."""
    found = []
    for response in suggester.aims.responses:
        model = suggester.others.get(response.target, suggester.surrogate)
        if response.is_main:
            model = suggester.surrogate
        if isinstance(model, Average):
            found += [_of_set(one, response, model.box) for one in model.known]
        elif isinstance(model, TunedPrior):
            found.append(_of_prior(model.prior, response))
    return found


def _of_set(old: OldSet, response: Objective, box: Box) -> Lesson:
    def learnt(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return old.middle + old.units[0] * old.expected(box.inputs(codes))

    return Lesson(old.name, response.target, response.log, box, learnt)


def _of_prior(prior: WeightPrior, response: Objective) -> Lesson:
    def learnt(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return prior.response_shift + prior.response_scale * prior.fit(prior.inputs(codes))

    return Lesson("old data", response.target, response.log, prior.box, learnt)


def importance(lesson: Lesson, space: Space) -> dict[str, float]:
    """For each input, the share of g's variance over the space that is lost if the input is not known.

    Total Sobol indices, as `opt.explain()` has them: with its part in interactions, so shares may add up to more than
    1. They are those of the box, as an input that constraints bind to others could not be left out by itself.
    """
    free = Space(space.parameters)
    with computing():
        found = sensitivity_of(lesson.learnt, Domain.of_space(free, lesson.box))
    shares = dict(zip((side.name for side in found.domain.sides), found.total.tolist(), strict=True))
    return {one.name: shares.get(one.name, 0.0) for one in space.parameters}


def learnt_picture(standing: Standing) -> Picture:
    """For each old data set: how much each input matters, then the old response along each of them."""
    lessons = lessons_of(standing.suggester)
    if not lessons:
        raise InputError("This campaign has no old data that is used, so there is nothing that it taught.")
    panels, said = [], []
    for lesson in lessons:
        shares = {name: one for name, one in importance(lesson, standing.space).items() if name in _names(standing)}
        panels.append(_shares_panel(lesson, shares))
        drawn = [_along(lesson, standing.space, one) for one in standing.varying]
        seen = [height for _, heights in drawn for height in heights]
        y = Scale(f"old {lesson.response}", lesson.log, ends=room_for(seen, lesson.log))
        for parameter, (layers, _) in zip(standing.varying, drawn, strict=True):
            panels.append(Panel(scale_of(parameter), y, tuple(layers), lesson.name))
        most = sorted(shares, key=lambda name: -shares[name])
        said.append(_in_words(lesson, [(name, shares[name]) for name in most]))
    said += _READING
    columns = 1 + len(standing.varying) if len(standing.varying) <= 3 else 3
    return Picture("What the old data taught", tuple(panels), columns, tuple(said))


def _names(standing: Standing) -> set[str]:
    return {one.name for one in standing.varying}


def _in_words(lesson: Lesson, shares: list[tuple[str, float]]) -> str:
    about = f"{lesson.name}, {lesson.response}"
    if all(share == 0 for _, share in shares):
        return f"{about}: the old response is the same everywhere."
    first = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in shares[:3] if share >= 0.005)
    return f"{about}: the old response depends most on {first}."


def _shares_panel(lesson: Lesson, shares: dict[str, float]) -> Panel:
    names = tuple(reversed(shares))  # the first on top
    x = Scale("share of variance", ends=(0.0, 1.05 * max(1.0, *shares.values())))
    y = Scale("", choices=names, ends=(-0.6, len(names) - 0.4), room=_NAME)
    return Panel(x, y, (Bars("importance", tuple(shares[name] for name in names), PURPLE),), lesson.name)


def _along(lesson: Lesson, space: Space, parameter: Parameter) -> tuple[list[Layer], list[float]]:
    """What is in the panel of one input, and all heights in it."""
    values = values_along(parameter, _FINE)
    others = space.sobol(_AVERAGED, _SEED)
    g = lesson.at([{**one, parameter.name: value} for value in values for one in others])
    g = (np.exp(g) if lesson.log else g).reshape(len(values), len(others))
    at, mean = places(parameter, values), tuple(g.mean(1).tolist())
    low, high = (tuple(np.quantile(g, one, axis=1).tolist()) for one in _MOST)
    if is_points(parameter):
        layers: list[Layer] = [Dots("average, with 80 % of settings", at, mean, BLUE, low=low, high=high)]
    else:
        layers = [Band("80 % of settings", at, low, high, SKY), Curve("average", at, mean, BLUE)]
    return layers, [*mean, *low, *high]
