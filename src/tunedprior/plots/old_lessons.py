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
from tunedprior.average.old_sets import SourceData
from tunedprior.average.surrogate import Average
from tunedprior.campaign.suggester import Suggester
from tunedprior.errors import InputError
from tunedprior.lessons.domains import Domain
from tunedprior.lessons.sensitivity import compute_sensitivity
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.plots.along_inputs import (
    compute_axis_range,
    has_few_values,
    list_axis_values,
    locate_on_axis,
    make_axis_scale,
)
from tunedprior.plots.pictures import BLUE, PURPLE, SKY, Band, Bars, Curve, Dots, Layer, Panel, Picture, Scale
from tunedprior.plots.standing import Snapshot
from tunedprior.problem.box import Box
from tunedprior.problem.objective import Objective, encode_run_settings
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
class SourceResponse:
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
    response_function: Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]

    def evaluate(self, settings: Sequence[Setting]) -> Any:
        """g at settings."""
        with isolate_computation(), torch.no_grad():
            return self.response_function(encode_run_settings(settings, self.box)).numpy()


def list_source_responses(suggester: Suggester) -> list[SourceResponse]:
    """Everything that old data taught, by response and old data set."""
    found = []
    for response in suggester.goals.responses:
        model = suggester.other_surrogates.get(response.name, suggester.surrogate)
        if response.is_main:
            model = suggester.surrogate
        if isinstance(model, Average):
            found += [_make_from_set(one, response, model.box) for one in model.sources]
        elif isinstance(model, TunedPrior):
            found.append(_make_from_prior(model.prior, response))
    return found


def _make_from_set(old: SourceData, response: Objective, box: Box) -> SourceResponse:
    def evaluate_mean(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return old.middle + old.units[0] * old.predict(box.to_kernel_inputs(codes))

    return SourceResponse(old.name, response.name, response.log, box, evaluate_mean)


def _make_from_prior(prior: WeightPrior, response: Objective) -> SourceResponse:
    def evaluate_mean(codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        return prior.response_shift + prior.response_scale * prior.fit(prior.to_kernel_inputs(codes))

    return SourceResponse("old data", response.name, response.log, prior.box, evaluate_mean)


def compute_importance(lesson: SourceResponse, space: Space) -> dict[str, float]:
    """For each input, the share of g's variance over the space that is lost if the input is not known.

    Total Sobol indices, as `opt.explain()` has them: with its part in interactions, so shares may add up to more than
    1. They are those of the box, as an input that constraints bind to others could not be left out by itself.
    """
    free = Space(space.parameters)
    with isolate_computation():
        found = compute_sensitivity(lesson.response_function, Domain.from_space(free, lesson.box))
    shares = dict(zip((side.name for side in found.domain.sides), found.total.tolist(), strict=True))
    return {one.name: shares.get(one.name, 0.0) for one in space.parameters}


def build_old_data_picture(standing: Snapshot) -> Picture:
    """For each old data set: how much each input matters, then the old response along each of them."""
    lessons = list_source_responses(standing.suggester)
    if not lessons:
        raise InputError("This campaign has no old data that is used, so there is nothing that it taught.")
    panels, said = [], []
    for lesson in lessons:
        shares = {
            name: one
            for name, one in compute_importance(lesson, standing.space).items()
            if name in _list_varying_names(standing)
        }
        panels.append(_build_importance_panel(lesson, shares))
        drawn = [_build_input_layers(lesson, standing.space, one) for one in standing.varying]
        seen = [height for _, heights in drawn for height in heights]
        y = Scale(f"old {lesson.response}", lesson.log, ends=compute_axis_range(seen, lesson.log))
        for parameter, (layers, _) in zip(standing.varying, drawn, strict=True):
            panels.append(Panel(make_axis_scale(parameter), y, tuple(layers), lesson.name))
        most = sorted(shares, key=lambda name: -shares[name])
        said.append(_describe_importance(lesson, [(name, shares[name]) for name in most]))
    said += _READING
    columns = 1 + len(standing.varying) if len(standing.varying) <= 3 else 3
    return Picture("What the old data taught", tuple(panels), columns, tuple(said))


def _list_varying_names(standing: Snapshot) -> set[str]:
    return {one.name for one in standing.varying}


def _describe_importance(lesson: SourceResponse, shares: list[tuple[str, float]]) -> str:
    about = f"{lesson.name}, {lesson.response}"
    if all(share == 0 for _, share in shares):
        return f"{about}: the old response is the same everywhere."
    first = ", ".join(f"{name} ({100 * share:.0f} %)" for name, share in shares[:3] if share >= 0.005)
    return f"{about}: the old response depends most on {first}."


def _build_importance_panel(lesson: SourceResponse, shares: dict[str, float]) -> Panel:
    names = tuple(reversed(shares))  # the first on top
    x = Scale("share of variance", ends=(0.0, 1.05 * max(1.0, *shares.values())))
    y = Scale("", choices=names, ends=(-0.6, len(names) - 0.4), room=_NAME)
    return Panel(x, y, (Bars("importance", tuple(shares[name] for name in names), PURPLE),), lesson.name)


def _build_input_layers(lesson: SourceResponse, space: Space, parameter: Parameter) -> tuple[list[Layer], list[float]]:
    """What is in the panel of one input, and all heights in it."""
    values = list_axis_values(parameter, _FINE)
    others = space.sobol(_AVERAGED, _SEED)
    g = lesson.evaluate([{**one, parameter.name: value} for value in values for one in others])
    g = (np.exp(g) if lesson.log else g).reshape(len(values), len(others))
    at, mean = locate_on_axis(parameter, values), tuple(g.mean(1).tolist())
    low, high = (tuple(np.quantile(g, one, axis=1).tolist()) for one in _MOST)
    if has_few_values(parameter):
        layers: list[Layer] = [Dots("average, with 80 % of settings", at, mean, BLUE, low=low, high=high)]
    else:
        layers = [Band("80 % of settings", at, low, high, SKY), Curve("average", at, mean, BLUE)]
    return layers, [*mean, *low, *high]
