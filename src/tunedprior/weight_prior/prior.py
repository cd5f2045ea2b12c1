"""`WeightPrior`: what Algorithm 1 learns from old data, as a value to inspect, save, and turn into a kernel.

It can be saved without the rows that it was learnt from. α and the anchors of a fit are the old rows, and for least
squares their responses follow from them: y = (K_A + λI)α. Explicit weights reveal the rows as well: ŵ_i/τ_i = Σ_j α_j
ϑ_i(a_j) are the moments of a measure at the rows, which determine it. So without rows only g is kept, rounded, with
half as many degrees of freedom as there were rows, at points that do not depend on the old data: many data sets have
the same file.
"""

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, floor, log, log10
from os import PathLike
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.checks import check_flag
from tunedprior.errors import InputError
from tunedprior.explain.influential_rows import WITHHELD
from tunedprior.explain.sensitivity import Domain
from tunedprior.explain.source_explanation import (
    LARGE_DEAD_SHARE,
    PriorExplanation,
    describe_dead_share,
    summarise_weight_prior,
)
from tunedprior.kernels import FreeKernel, SquaredExponential, StationarySquaredExponential, WithBias
from tunedprior.kernels.anchors import draw_box_sample
from tunedprior.kernels.registry import get_kernel_arguments, make_kernel
from tunedprior.machines.machine import AlphaFit, Fit
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.space.encoding import Axis, Box
from tunedprior.tables import write_atomically
from tunedprior.weight_prior import prior_archive

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
    """The fields of the prior without its rows."""
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
    """Fit values at points in the span of the kernel's `degrees` largest eigenvectors there.

    λ is chosen so that the fit leaves the same posterior variance, on average over the sample, as the fit of the old
    rows.
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
    """Evaluate g also a little beyond the edge of its box, as a kink there would reveal the edge.

    The squared exponential kernel is the same on another scale, the stationary one is defined there. Other fits have
    the values at the edge beyond it.
    """
    fit, far = prior.fit, max(1.0, float(inputs.abs().max()))
    if far > 1 and isinstance(fit, AlphaFit) and isinstance(prior.base, SquaredExponential):
        lengthscale = prior.base.lengthscale.detach().flatten().double() / far
        fit = replace(fit, kernel=SquaredExponential(lengthscale).requires_grad_(False), anchors=fit.anchors / far)
        return fit(inputs / far).double()
    if isinstance(fit, AlphaFit) and isinstance(prior.base, StationarySquaredExponential):
        return fit(inputs).double()
    return fit(inputs.clamp(-prior.reach, prior.reach)).double()


def _compute_posterior_variance(prior: "WeightPrior", sample: Float[Tensor, "n d"]) -> float:
    """The mean over a sample of g's posterior variance given the old rows, in units of the response."""
    kernel = AlignedBelief().make_kernel(prior.fit)
    variance = kernel(sample, diag=True).mean() - prior.fit(sample).square().mean()
    return max(float(variance), 1e-6) * prior.response_scale**2


def _draw_inputs(box: Box, count: int, first: int = 0) -> Float[Tensor, "m d"]:
    """Draw kernel inputs of different settings all over the box, the same for all data in such a box."""
    varying = [axis for axis in box.axes if axis.width]
    columns = iter((draw_box_sample(len(varying), count=first + count)[first:].T + 1) / 2)
    X = []
    for axis in box.axes:
        share = next(columns) if axis.width else torch.zeros(count, dtype=torch.float64)
        choices = axis.width if axis.choices is not None else 0
        X.append((share * choices).floor().clamp(0, choices - 1) if choices else 2 * share - 1)
    different: Tensor = torch.unique(box.to_kernel_inputs(torch.stack(X, dim=1)), dim=0)
    return different


def _convert_between_boxes(inputs: Float[Tensor, "m d"], box: Box, before: Box) -> Float[Tensor, "m d"]:
    """Convert settings to kernel inputs of the box before it was rounded; some lie beyond its edge."""
    moved, column = inputs.clone(), 0
    for now, then in zip(box.axes, before.axes, strict=True):
        if then.width and then.choices is None:
            value = (now.low + now.high + inputs[:, column] * (now.high - now.low)) / 2
            moved[:, column] = (2 * value - then.low - then.high) / (then.high - then.low)
        column += then.width
    return moved


def _round_kernel(base: FreeKernel, before: Box, box: Box) -> FreeKernel:
    """Round the kernel's parameters, with length-scales in units of the rounded box."""
    if isinstance(base, WithBias):
        return WithBias(_round_kernel(base.base, before, box))
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
    for parameter in ("scale", "offset", base.tuned_parameter):
        if parameter in arguments and parameter != "lengthscale":
            arguments[parameter] = [_round_digits(one) for one in arguments[parameter]]
    kernel: FreeKernel = make_kernel(name, arguments)
    kernel.requires_grad_(False)
    return kernel


def _round_axis(axis: Axis) -> Axis:
    """Round the ends of an axis outwards, as the ends may be values of old rows."""
    if axis.choices is not None or axis.width == 0:
        return axis
    if axis.log:
        low, high = _round_outward(axis.decode(-1.0), floor), _round_outward(axis.decode(1.0), ceil)
        return replace(axis, low=min(axis.low, log(low)), high=max(axis.high, log(high)))
    step = _choose_grid_step((axis.high - axis.low) * _EDGE)
    return replace(axis, low=_round_to_grid(axis.low, step, floor), high=_round_to_grid(axis.high, step, ceil))


def _choose_grid_step(least: float) -> float:
    """The least of 1, 2, 5, 10, … that is at least this."""
    power = 10.0 ** floor(log10(least))
    return next(float(f"{step * power:.1g}") for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _round_outward(value: float, towards: Any) -> float:
    return _round_to_grid(value, 10.0 ** (floor(log10(value)) - 1), towards)


def _round_to_grid(value: float, step: float, towards: Any) -> float:
    """The next multiple of a step in one direction; the value itself if it is a multiple up to rounding."""
    steps = value / step
    if abs(steps - round(steps)) < 1e-9 * max(1.0, abs(steps)):
        return value
    return float(f"{towards(steps) * step:.12g}")


def _round_digits(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


#: A kernel whose mean variance at the old settings is below this counts as zero.
_VANISHING = 1e-12
# A variance is dead below this share of its mean over the box.
_DEAD = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class WeightPrior:
    """K^A₂(x, x') = Σ_jk α_j α_k K₄(a_j, a_k, x, x'), with all that is needed to use it on new settings.

    Attributes:
        fit: g, with a coefficient for each old setting or for each feature.
        anchors: Old settings as kernel inputs in [-1, 1], `a x d`; a subset, where there are too many for α.
        machine: The name of the machine that learnt it.
        error: Its leave-one-out error on the old data, in the units of the scaled response.
        box: The map from settings to kernel inputs.
        reach: The box is scaled onto [-reach, reach]; below 1 for kernels undefined at ±1.
        response_shift: The number subtracted from the old responses before training.
        response_scale: The divisor of the old responses, after the shift.
        places: The places of the rows of each anchor in their source; empty if that is not known, as after `load`.
    """

    fit: Fit
    anchors: Float[Tensor, "a d"]
    machine: str
    error: float
    box: Box
    reach: float = 1.0
    response_shift: float = 0.0
    response_scale: float = 1.0
    places: tuple[str, ...] = ()

    def __repr__(self) -> str:
        kernel = type(self.base).__name__
        names = ", ".join(self.box.names)
        vanishing = ", which vanishes" if self.vanishes else ""
        rows = "old rows that were left out" if self.is_anonymous else f"{len(self.anchors)} old settings"
        return (
            f"<WeightPrior for {names}: {kernel} re-weighted by {rows}{vanishing}; "
            f"{self.machine}, λ = {self.lam:.3g}, leave-one-out error {self.error:.3g}>"
        )

    @property
    def base(self) -> FreeKernel:
        """The free kernel K_m, its parameters chosen."""
        kernel = self.fit.kernel
        assert isinstance(kernel, FreeKernel)  # `select` saw to it
        return kernel

    @property
    def alpha(self) -> Float[Tensor, " _"]:
        """α, one for each anchor; empty where g has a coefficient for each feature instead."""
        return self.fit.alpha if isinstance(self.fit, AlphaFit) else self.anchors.new_zeros(0)

    @property
    def lam(self) -> float:
        """The regularisation λ that g was learnt with."""
        return self.fit.lam

    def make_kernel(self) -> Kernel:
        """The re-weighted kernel K^A₂, a GPyTorch kernel on `inputs` without learnable parameters."""
        return deepcopy(self._kernel)  # a copy: moving it to a GPU leaves the prior where it is

    @cached_property
    def _kernel(self) -> Kernel:
        return ReweightedBelief().make_kernel(self.fit)

    def to_kernel_inputs(self, X: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch d"]:
        """Kernel inputs in [-reach, reach], from encoded settings."""
        return self.reach * self.box.to_kernel_inputs(X)

    def predict_response(self, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """g at encoded settings, in units of the old response (or of its logarithm)."""
        return self.response_shift + self.response_scale * self.fit(self.to_kernel_inputs(X)).double()

    @cached_property
    def vanishes(self) -> bool:
        """Whether the kernel is numerically zero at the old settings, as it is if g is constant."""
        with torch.no_grad():
            return float(self.make_kernel()(self.anchors, diag=True).mean()) < _VANISHING

    @cached_property
    def dead_share(self) -> float:
        """The share of the box in which K^A₂(x, x) is below a thousandth of its mean over the box.

        The process hardly varies there, whatever the results: so it is far from the origin with kernels of Table 1 and
        short length-scales, and far from old data that varies with `StationarySquaredExponential`.
        """
        with torch.no_grad():
            variance = self._kernel(self.to_kernel_inputs(Domain.from_box(self.box).sample), diag=True)
        return float((variance <= _DEAD * variance.mean()).double().mean())

    @property
    def dead_warning(self) -> str:
        """A warning that K^A₂ has next to no variance in a large part of the box; empty where it has."""
        if self.dead_share < LARGE_DEAD_SHARE:
            return ""
        return (
            f"{describe_dead_share(self.dead_share)[0]} StationarySquaredExponential as the kernel, or the default "
            "prior='average', suffers less from that."
        )

    @property
    def is_anonymous(self) -> bool:
        """Whether it is without the rows that it was learnt from: its anchors do not depend on the old data."""
        return self.machine == ANONYMOUS

    @property
    def row_places(self) -> tuple[str, ...]:
        """`places`; for a prior without its rows, whose anchors are no rows, `WITHHELD` for each."""
        return (WITHHELD,) * len(self.alpha) if self.is_anonymous else self.places

    def explain(self) -> PriorExplanation:
        """Explain what was learnt: the effects of inputs, interactions, features, and the most influential rows.

        Shares are over the whole box, uniform on the scale of each parameter. See docs/explaining.md.
        """
        return PriorExplanation.from_summaries([summarise_weight_prior(self, Domain.from_box(self.box))])

    def drop_rows(self) -> "WeightPrior":
        """The prior without the rows it was learnt from; docs/howto/sharing.md says what it still reveals.

        g is learnt again from its own rounded values at points that do not depend on the old data, with fewer degrees
        of freedom than there were rows, and all other numbers are rounded.
        """
        return self if self.is_anonymous else WeightPrior(**distil_prior(self))

    def save(self, path: str | PathLike[str], anonymous: bool = False) -> None:
        """Write the prior into one file: a zip archive of plain arrays and a JSON header.

        A crash leaves the previous file or the new one.

        Args:
            path: The path of the file.
            anonymous: Whether to save it without its rows (`drop_rows`), for people who may not see the old data.
        """
        prior = self.drop_rows() if check_flag(anonymous, "anonymous") else self
        write_atomically(path, prior_archive.encode_prior(prior))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "WeightPrior":
        """Load the prior that `save` wrote; a `FileFormatError` if the file holds none that can be used."""
        prior = cls(**prior_archive.read(path))
        prior_archive.refuse_unusable(prior, path)
        return prior
