"""A weight prior without the rows it was learnt from: g, distilled at points that anybody could list.

α and the anchors of a fit are the old rows, and for least squares their responses follow from them: y = (K_A + λI)α. So
are explicit weights, in disguise: ŵ_i/τ_i = Σ_j α_j ϑ_i(a_j) are the moments of a measure at the rows, which determine
it. What remains here is g alone, at no more precision than is of use, with half as many degrees of freedom as there
were rows: many data sets have the same file.
"""

from dataclasses import replace
from math import ceil, floor, log, log10
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.storage import get_kernel_arguments, make_kernel
from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.kernels.box_means import draw_box_sample
from tunedprior.machines.fit import AlphaFit
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.problem.box import Axis, Box

if TYPE_CHECKING:
    from tunedprior.algorithm1.weight_prior import WeightPrior

#: What such a prior names as its machine.
ANONYMOUS = "anonymous"
# Of fewer different settings nothing can be told without telling of them.
_FEWEST = 10
# Rows for each degree of freedom that is kept.
_ROWS_PER_DEGREE = 2
# Values of g are rounded to this part of the responses' standard deviation, and fitted with a ridge of that order.
_PRECISION, _RIDGE = 0.01, 1e-4
_DIGITS = 2  # of all other numbers
_EDGE = 1 / 20  # of a parameter's range: its ends are multiples of a round number of at least this size
# Points: so many for each parameter and one more, and not more than makes a suggestion slow.
_POINTS, _MOST_POINTS = 64, 200
_SAMPLE = 256  # further points, over which means are taken
_LAMBDAS = [float(f"{mantissa}e{power}") for power in range(-6, 2) for mantissa in (1.0, 1.5, 2.0, 3.0, 4.5, 7.0)]


def distil_prior(prior: "WeightPrior") -> dict[str, Any]:
    """The fields of the prior without rows."""
    count = len(prior.anchors)
    if count < _FEWEST:
        raise InputError(
            f"What was learnt from {count} different settings cannot be told without telling of them; it takes "
            f"{_FEWEST} or more. Save it as it is, or learn from more rows."
        )
    with isolate_computation(), torch.no_grad():
        box = Box(tuple(map(_round_axis, prior.box.axes)))
        scale = _round_digits(prior.response_scale)
        shift = round(prior.response_shift / scale, 1) * scale
        points = prior.reach * _draw_inputs(box, _count_points(box))
        sample = _draw_inputs(box, _SAMPLE, first=_count_points(box))
        g = _evaluate_fit(prior, prior.reach * _convert_between_boxes(points / prior.reach, box, prior.box))
        values = ((prior.response_shift - shift) / scale + prior.response_scale / scale * g) / _PRECISION
        kernel = _round_kernel(prior.base, prior.box, box)
        before = _convert_between_boxes(sample, box, prior.box).clamp(-1.0, 1.0)
        left_open = _compute_posterior_variance(prior, prior.reach * before) / scale**2
        degrees = count // _ROWS_PER_DEGREE
        fit = _fit_values(kernel, points, values.round() * _PRECISION, degrees, prior.reach * sample, left_open)
    return {
        "fit": fit,
        "anchors": points,
        "machine": ANONYMOUS,
        "error": _round_digits(prior.error),
        "box": box,
        "reach": prior.reach,
        "response_shift": shift,
        "response_scale": scale,
    }


def _count_points(box: Box) -> int:
    return min(_MOST_POINTS, _POINTS * (sum(axis.width > 0 for axis in box.axes) + 1))


def _fit_values(
    kernel: FreeKernel,
    points: Float[Tensor, "m d"],
    values: Float[Tensor, " m"],
    degrees: int,
    sample: Float[Tensor, "n d"],
    left_open: float,
) -> AlphaFit:
    """The fit of values at points in the span of the kernel's largest eigenvectors there, `degrees` of them.

    Its λ is the one for which as much is left open by it, on average over the sample, as by the fit of the old rows.
    """
    size, vectors = torch.linalg.eigh(kernel(points).to_dense().double())
    size = size.clamp_min(0.0)
    kept, own = vectors[:, -degrees:], size[-degrees:]
    alpha = kept @ ((kept.mT @ values) / (own + _RIDGE))
    projected = (kernel(sample, points).to_dense().double() @ vectors).square().mean(0)
    whole = float(kernel(sample, diag=True).mean())
    norm, length = float(alpha @ (vectors * size) @ (vectors.mT @ alpha)), float(alpha @ alpha)

    def compute_mismatch(lam: float) -> float:
        signal = (norm + lam * length) / len(points)
        return abs(log(max(signal * (whole - float((projected / (size + lam)).sum())), 1e-12) / left_open))

    return AlphaFit(kernel, points, alpha, min(_LAMBDAS, key=compute_mismatch))


def _evaluate_fit(prior: "WeightPrior", inputs: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """g, a little beyond the edge of its box too: a kink there would tell where the edge was.

    The squared exponential kernel is the same on another scale; of other fits, values at the edge stand for those
    beyond.
    """
    fit, far = prior.fit, max(1.0, float(inputs.abs().max()))
    if far > 1 and isinstance(fit, AlphaFit) and isinstance(prior.base, SquaredExponential):
        lengthscale = prior.base.lengthscale.detach().flatten().double() / far
        fit = replace(fit, kernel=SquaredExponential(lengthscale).requires_grad_(False), anchors=fit.anchors / far)
        return fit(inputs / far).double()
    return fit(inputs.clamp(-prior.reach, prior.reach)).double()


def _compute_posterior_variance(prior: "WeightPrior", sample: Float[Tensor, "n d"]) -> float:
    """The mean over a sample of g's posterior variance, given the old rows, in units of the response."""
    kernel = AlignedBelief().make_kernel(prior.fit)
    variance = kernel(sample, diag=True).mean() - prior.fit(sample).square().mean()
    return max(float(variance), 1e-6) * prior.response_scale**2


def _draw_inputs(box: Box, count: int, first: int = 0) -> Float[Tensor, "m d"]:
    """Kernel inputs of different settings all over the box, the same for all that learn in such a box."""
    varying = [axis for axis in box.axes if axis.width]
    columns = iter((draw_box_sample(len(varying), count=first + count)[first:].T + 1) / 2)
    codes = []
    for axis in box.axes:
        share = next(columns) if axis.width else torch.zeros(count, dtype=torch.float64)
        choices = axis.width if axis.choices is not None else 0
        codes.append((share * choices).floor().clamp(0, choices - 1) if choices else 2 * share - 1)
    different: Tensor = torch.unique(box.to_kernel_inputs(torch.stack(codes, dim=1)), dim=0)
    return different


def _convert_between_boxes(inputs: Float[Tensor, "m d"], box: Box, before: Box) -> Float[Tensor, "m d"]:
    """The same settings as kernel inputs of the box before it was rounded; some lie beyond its edge."""
    moved, column = inputs.clone(), 0
    for now, then in zip(box.axes, before.axes, strict=True):
        if then.width and then.choices is None:
            value = (now.low + now.high + inputs[:, column] * (now.high - now.low)) / 2
            moved[:, column] = (2 * value - then.low - then.high) / (then.high - then.low)
        column += then.width
    return moved


def _round_kernel(base: FreeKernel, before: Box, box: Box) -> FreeKernel:
    """The kernel with rounded parameters, and length-scales in units of the rounded box."""
    name, arguments = type(base).__name__, get_kernel_arguments(base)
    if "lengthscale" in arguments:
        wider = []
        for now, then in zip(box.axes, before.axes, strict=True):
            is_number = then.choices is None and then.width == 1
            wider += [(then.high - then.low) / (now.high - now.low) if is_number else 1.0] * then.width
        lengths = torch.tensor(arguments["lengthscale"], dtype=torch.float64)
        if len(lengths) == 1 and all(part == 1.0 for part in wider):
            wider = [1.0]
        arguments["lengthscale"] = [
            _round_digits(float(one)) for one in lengths * torch.tensor(wider, dtype=torch.float64)
        ]
    for parameter in ("scale", "offset"):
        if parameter in arguments:
            arguments[parameter] = [_round_digits(one) for one in arguments[parameter]]
    kernel = make_kernel(name, arguments)
    kernel.requires_grad_(False)
    return kernel


def _round_axis(axis: Axis) -> Axis:
    """The axis with ends that are round numbers, no nearer than before: old rows may be what lies at the ends."""
    if axis.choices is not None or axis.width == 0:
        return axis
    if axis.log:
        return replace(
            axis, low=log(_round_outward(axis.decode(-1.0), floor)), high=log(_round_outward(axis.decode(1.0), ceil))
        )
    step = _choose_grid_step((axis.high - axis.low) * _EDGE)
    return replace(axis, low=_round_to_grid(axis.low, step, floor), high=_round_to_grid(axis.high, step, ceil))


def _choose_grid_step(least: float) -> float:
    """The least of 1, 2, 5, 10, … that is no less."""
    power = 10.0 ** floor(log10(least))
    return next(float(f"{step * power:.1g}") for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _round_outward(value: float, towards: Any) -> float:
    return _round_to_grid(value, 10.0 ** (floor(log10(value)) - 1), towards)


def _round_to_grid(value: float, step: float, towards: Any) -> float:
    """The next multiple of a step in one direction, or the value itself if it is one but for rounding."""
    steps = value / step
    if abs(steps - round(steps)) < 1e-9 * max(1.0, abs(steps)):
        return value
    return float(f"{towards(steps) * step:.12g}")


def _round_digits(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
