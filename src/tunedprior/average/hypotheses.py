"""Hypotheses: the Gaussian processes that the average is over, with their prior probabilities."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Any

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tunedprior.average.old_sets import OldSet
from tunedprior.average.processes import Processes
from tunedprior.beliefs.registry import Belief, Version
from tunedprior.beliefs.uninformed import REMAINDERS, UninformedBelief
from tunedprior.kernels.stack import KernelStack

# -- the prior, as probabilities and grids; docs/beliefs.md says how they were chosen -----------------
_PURE = 0.5  # the part of a belief's probability that has no remainder
_SHARES = (0.5, 0.9, 0.99)  # of the variance, for the belief, where there is a remainder
_NOISE = (1e-4, 5e-3, 0.1)  # variance, relative to the amplitude
_CONSTANT = 0.3  # variance of the constant mean, relative to the amplitude

Place = tuple[bool, int]  # whether the kernel is not squared exponential, and its number among those of its kind


@dataclass(frozen=True)
class Label:
    """The names of a hypothesis' belief and of its old data set, if any."""

    belief: str
    old: str = ""


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """Gaussian processes with a prior probability each.

    Attributes:
        processes: One process for each hypothesis.
        log_prior: The logarithms of their prior probabilities (up to a constant).
        labels: The belief and the old data set of each.
        slopes: The prior variance of ρ over the amplitude, for each, where the objective is ρ·ĝ + …; 0 without ρ.
        readings: The number of the reading (fit of old data) that is ĝ, for each; -1 for none.
        certainty: c of each amplitude's prior inverse gamma(c, c) (see `evidence.log_evidence`).
        fitted_row: The number of the squared exponential kernel whose length-scales are fitted to observations.
        only_fitted: Whether a hypothesis has that kernel alone.
        scale: The unit of length-scales that do not come from old data: for each input the search space's share of its
            range.
    """

    processes: Processes
    log_prior: Float[Tensor, " c"]
    labels: tuple[Label, ...]
    slopes: Float[Tensor, " c"]
    readings: tuple[int, ...]
    certainty: Float[Tensor, " c"]
    fitted_row: int
    only_fitted: Bool[Tensor, " c"]
    scale: Float[Tensor, " d"]

    def __len__(self) -> int:
        return len(self.log_prior)

    @property
    def uses_fitted(self) -> Bool[Tensor, " c"]:
        """Whether a hypothesis has a share in the kernel whose length-scales are fitted to observations."""
        return self.processes.shares[:, self.fitted_row] != 0

    def only(self, which: Int[Tensor, " k"]) -> "Hypotheses":
        """The subset `which` of the hypotheses."""
        rows = which.tolist()
        return Hypotheses(
            self.processes.only(which),
            self.log_prior[which],
            tuple(self.labels[row] for row in rows),
            self.slopes[which],
            tuple(self.readings[row] for row in rows),
            self.certainty[which],
            self.fitted_row,
            self.only_fitted[which],
            self.scale,
        )

    def with_noise(self, noise: Float[Tensor, " c"]) -> "Hypotheses":
        """The hypotheses with other noise variances, relative to the amplitudes."""
        return replace(self, processes=replace(self.processes, noise=noise))

    def with_known_noise(self) -> "Hypotheses":
        """The hypotheses once each, instead of at every noise variance: for one that is set afterwards."""
        return self.only((self.processes.noise == _NOISE[0]).nonzero().flatten())

    def fitted(self, lengthscale: Float[Tensor, " d"], count: int) -> "Hypotheses":
        """The hypotheses with these length-scales in `fitted_row`, which maximise the evidence of `count` observations.

        Maximising makes that evidence too high, so ½ log(count) is subtracted for each length-scale (Schwarz's
        criterion, BIC).
        """
        processes = replace(
            self.processes, kernels=self.processes.kernels.with_lengthscale(self.fitted_row, lengthscale)
        )
        penalty = len(lengthscale) * log(count) / 2
        return replace(self, processes=processes, log_prior=self.log_prior - penalty * self.only_fitted)


@dataclass(frozen=True)
class _Row:
    """One hypothesis: its shares of the kernels by their place in a `_Stack`, and its entries of `Hypotheses`."""

    shares: dict[Place, float]
    noise: float
    log_prior: float
    label: Label
    certainty: float
    slope: float = 0.0
    reading: int = -1


class _Stack:
    """A `KernelStack` in the making: squared exponential kernels will come first, then all others."""

    def __init__(self) -> None:
        self.lengthscales: list[Float[Tensor, " d"]] = []
        self.kernels: list[tuple[Kernel, float]] = []

    def place(self, version: Version, scale: float | Float[Tensor, " d"] = 1.0) -> Place:
        """Add the covariance of this version to the stack, length-scales in units of `scale`; its place is returned."""
        if isinstance(version.covariance, Kernel):
            self.kernels.append((version.covariance, version.size))
            return True, len(self.kernels) - 1
        self.lengthscales.append(scale * version.covariance)
        return False, len(self.lengthscales) - 1

    def row(self, place: Place) -> int:
        """The row of this place in the finished `KernelStack`."""
        other, number = place
        return len(self.lengthscales) + number if other else number

    def done(self) -> KernelStack:
        """The finished `KernelStack`."""
        kernels, sizes = zip(*self.kernels, strict=True) if self.kernels else ((), ())
        return KernelStack(torch.stack(self.lengthscales), tuple(kernels), tuple(sizes))


def all_hypotheses(
    known: Sequence[OldSet], scale: Float[Tensor, " d"], held: Sequence[Belief], alone: bool = False
) -> Hypotheses:
    """Every version of every belief about every old data set, with and without a remainder, at every noise variance.

    Args:
        known: The old data sets.
        scale: The unit of length-scales that do not come from old data (see `Hypotheses`).
        held: The beliefs to average over, besides uninformed.
        alone: Whether to use these beliefs alone: without uninformed and remainders, and whatever they cost.
    """
    stack, plain, believed = _Stack(), [], []
    uninformed, num_inputs = UninformedBelief(), len(scale)
    fitted: Place = (False, 0)
    for one in (uninformed, *(one for one in held if not one.of_old_data and one.name != uninformed.name)):
        for version in one.versions((), num_inputs):
            place = stack.place(version, scale)
            fitted = place if version.fitted else fitted
            plain += _noisy({place: 1.0}, version.log_prior, Label(one.name), one.certainty)
    remainders = {old.name: [(False, number) for number in REMAINDERS] for old in known}
    for one, old, version in _versions(known, num_inputs, [one for one in held if not one.has_remainder], alone):
        place = stack.place(version)
        remainders[old.name].append(place)
        prior = version.log_prior - log(len(known))
        believed += _noisy({place: 1.0}, prior, Label(one.name, old.name), one.certainty)
    with_remainder = list(_versions(known, num_inputs, [one for one in held if one.has_remainder], alone))
    for one, old, version in with_remainder:
        among = sum(other is old for _, other, _ in with_remainder)
        prior = version.log_prior - log(len(known) * among)
        label = Label(one.name, old.name) if version.counts else Label(uninformed.name)
        rest = [] if alone else remainders[old.name]
        for shares, log_prior, part in _parts(stack.place(version), prior, rest):
            slope = part * version.slope
            believed += _noisy(shares, log_prior, label, one.certainty, slope=slope, reading=version.reading)
    return _gathered(believed if alone else plain + believed, stack, fitted, scale)


def _versions(
    known: Sequence[OldSet], num_inputs: int, held: Sequence[Belief], whatever_the_cost: bool
) -> Iterator[tuple[Belief, OldSet, Version]]:
    """All versions of the beliefs that depend on old data, for each old data set."""
    for old in known:
        for one in held:
            if one.of_old_data:
                for version in one.versions(old.readings, num_inputs, whatever_the_cost):
                    yield one, old, version


def _parts(
    place: Place, log_prior: float, remainders: Sequence[Place]
) -> Iterator[tuple[dict[Place, float], float, float]]:
    """A belief without and with each remainder: shares of kernels, log prior probability, the belief's own share."""
    yield {place: 1.0}, log_prior + log(_PURE), 1.0
    rest = log_prior + log((1 - _PURE) / (len(_SHARES) * max(1, len(remainders))))
    for share in _SHARES:
        for remainder in remainders:
            yield {place: share, remainder: 1 - share}, rest, share


def _noisy(shares: dict[Place, float], log_prior: float, label: Label, certainty: float, **more: Any) -> list[_Row]:
    """One hypothesis at every noise variance, among which its prior probability is divided."""
    return [_Row(shares, noise, log_prior - log(len(_NOISE)), label, certainty, **more) for noise in _NOISE]


def _gathered(rows: Sequence[_Row], stack: _Stack, fitted: Place, scale: Float[Tensor, " d"]) -> Hypotheses:
    kernels = stack.done()
    shares = torch.zeros(len(rows), len(kernels), dtype=torch.float64)
    for position, row in enumerate(rows):
        for place, share in row.shares.items():
            shares[position, stack.row(place)] = share
    noise = torch.tensor([row.noise for row in rows], dtype=torch.float64)
    return Hypotheses(
        Processes(kernels, shares, noise, _CONSTANT),
        torch.tensor([row.log_prior for row in rows], dtype=torch.float64),
        tuple(row.label for row in rows),
        torch.tensor([row.slope for row in rows], dtype=torch.float64),
        tuple(row.reading for row in rows),
        torch.tensor([row.certainty for row in rows], dtype=torch.float64),
        stack.row(fitted),
        torch.tensor([row.shares == {fitted: 1.0} for row in rows]),
        scale,
    )
