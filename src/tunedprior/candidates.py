"""Everything that the objective might be, before the first observation: the processes that the average is over."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Bool, Float
from torch import Tensor

from tunedprior.kernels.features import RhoTimesG
from tunedprior.kernels.stack import KernelStack
from tunedprior.knowledge import Knowledge
from tunedprior.mixture import Processes
from tunedprior.models import sample_of_box

UNINFORMED = "uninformed"
SHAPE = "shape"

# -- the prior, as probabilities and grids; docs/beliefs.md says how they were chosen -----------------
_PLAIN = 0.35  # nothing in the old data is true of the objective
_SHAPED = 0.15  # only this: which inputs matter, and how smooth it is along them
_FITTED = 0.1  # not even that: observations say themselves which inputs matter
_PURE = 0.5  # of a belief: it is the whole truth, with no remainder
_BELIEF_SHARES = (0.5, 0.9, 0.99)  # of the variance, where there is a remainder
_NOISE = (1e-4, 5e-3, 0.1)  # relative to the amplitude
_CONSTANT = 0.3
# A plain process that may swell as it likes sees chances wherever it has not looked yet.
_PLAIN_CERTAINTY = 30.0
_BELIEF_CERTAINTY = 10.0
# Length-scales of the uninformed process for two inputs; distances grow with √d, and so do they.
_LENGTHSCALES = np.geomspace(0.15, 10, 12)
_LIKELY_LENGTHSCALE = (1.0, 0.7)  # the median, and the standard deviation of its logarithm
_REMAINDER = (2, 5, 8)  # which of them a belief's remainder may have
_SHAPE_FACTORS = (0.5, 1.0, 2.0)
_SHAPE_BOUNDS = (0.1, 60.0)

_LEAST_SIZE = 1e-12
_LEAST_SAID = 0.05  # of a belief's variance: what ĝ itself makes up
# More features than this take longer than all other beliefs together.
_MOST_FEATURES = 2048


@dataclass(frozen=True)
class Label:
    """What a candidate believes, and of which old data."""

    belief: str
    old: str = ""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Processes with a prior probability each.

    Attributes:
        processes: What the objective might be.
        log_prior: How probable each is beforehand.
        labels: What each believes.
        slopes: For each, the share of the prior variance of ρ, where the objective is ρ·ĝ + …; 0 where there is no ρ.
        readings: For each, which of the old data's readings ĝ comes from; -1 for none.
        certainty: How sure each is of its amplitude (see `evidence.log_evidence`).
        fitted_row: Which squared exponential kernel takes the length-scales that observations ask for.
        only_fitted: Whether a candidate has that kernel alone.
    """

    processes: Processes
    log_prior: Float[Tensor, " c"]
    labels: tuple[Label, ...]
    slopes: Float[Tensor, " c"]
    readings: tuple[int, ...]
    certainty: Float[Tensor, " c"]
    fitted_row: int
    only_fitted: Bool[Tensor, " c"]

    @property
    def uses_fitted(self) -> Bool[Tensor, " c"]:
        """Whether a candidate has a share in that kernel."""
        return self.processes.shares[:, self.fitted_row] != 0

    def with_noise(self, noise: Float[Tensor, " c"]) -> "Candidates":
        """With other noise, relative to the amplitudes."""
        return replace(self, processes=replace(self.processes, noise=noise))

    def with_known_noise(self) -> "Candidates":
        """Once each, instead of with every amount of noise: for noise that is set afterwards."""
        once = (self.processes.noise == _NOISE[0]).nonzero().flatten()
        return Candidates(
            self.processes.only(once),
            self.log_prior[once],
            tuple(self.labels[row] for row in once.tolist()),
            self.slopes[once],
            tuple(self.readings[row] for row in once.tolist()),
            self.certainty[once],
            self.fitted_row,
            self.only_fitted[once],
        )

    def fitted(self, lengthscale: Float[Tensor, " d"], count: int) -> "Candidates":
        """With the length-scales that explain `count` observations best in the row kept for them.

        Having been fitted, they explain more than they foretold: half a logarithm of `count` for each of them
        (Schwarz's criterion) is taken off.
        """
        processes = replace(
            self.processes, kernels=self.processes.kernels.with_lengthscale(self.fitted_row, lengthscale)
        )
        penalty = len(lengthscale) * log(count) / 2
        return replace(self, processes=processes, log_prior=self.log_prior - penalty * self.only_fitted)


@dataclass(frozen=True)
class _Row:
    """One candidate: its shares of the kernels by their place in the stack, and the rest as in `Candidates`."""

    shares: dict[int, float]
    noise: float
    log_prior: float
    label: Label
    certainty: float
    slope: float = 0.0
    reading: int = -1


@dataclass(frozen=True, eq=False)
class _Held:
    """A belief of one reading of an old data set, as a kernel; `size` is its mean variance over the box."""

    old: str
    reading: int
    kernel: Kernel
    size: float
    label: Label
    log_prior: float = 0.0


def candidates(known: Sequence[Knowledge], num_inputs: int, beliefs: Sequence[str], alone: bool = False) -> Candidates:
    """Plain processes, processes of the old data's shape, and every belief of every reading, pure and with a remainder.

    Args:
        known: Old data sets.
        num_inputs: How many inputs the kernels have.
        beliefs: Names of the beliefs to hold.
        alone: Whether to hold these and nothing else: no plain process, no remainder, whatever they cost.
    """
    spread = sqrt(num_inputs / 2)
    lengthscales = [torch.full((num_inputs,), spread * length, dtype=torch.float64) for length in _LENGTHSCALES]
    fitted = len(lengthscales)
    lengthscales.append(torch.ones(num_inputs, dtype=torch.float64))  # the observations' own come here
    rows = _plain(fitted)
    remainders = {old.name: [*_REMAINDER, fitted] for old in known}
    for old in known:
        for lengthscale in _shapes(old, num_inputs):
            remainders[old.name].append(len(lengthscales))
            prior = log(_SHAPED / (len(known) * len(_SHAPE_FACTORS)))
            rows += _noisy({len(lengthscales): 1.0}, prior, Label(SHAPE, old.name), _PLAIN_CERTAINTY)
            lengthscales.append(lengthscale)
    held = [one for old in known for one in _held(old, len(known), num_inputs, beliefs, alone)]
    believed: list[_Row] = []
    for place, one in enumerate(held, start=len(lengthscales)):
        believed += _believed(one, place, [] if alone else remainders[one.old])
    stack = KernelStack(torch.stack(lengthscales), tuple(one.kernel for one in held), tuple(one.size for one in held))
    return _gathered(believed if alone else rows + believed, stack, fitted)


def _noisy(shares: dict[int, float], log_prior: float, label: Label, certainty: float, **more: Any) -> list[_Row]:
    """The same candidate with every amount of noise."""
    return [_Row(shares, noise, log_prior - log(len(_NOISE)), label, certainty, **more) for noise in _NOISE]


def _plain(fitted: int) -> list[_Row]:
    """Processes that know nothing of old data: one length-scale for all inputs, or those that observations ask for."""
    median, deviation = _LIKELY_LENGTHSCALE
    likely = -(np.log(_LENGTHSCALES / median) ** 2) / (2 * deviation**2)
    likely = log(_PLAIN) + likely - np.logaddexp.reduce(likely)
    priors = [*enumerate(likely.tolist()), (fitted, log(_FITTED))]
    return [row for place, prior in priors for row in _noisy({place: 1.0}, prior, Label(UNINFORMED), _PLAIN_CERTAINTY)]


def _shapes(old: Knowledge, num_inputs: int) -> list[Float[Tensor, " d"]]:
    """The old data's own length-scales and multiples of them; none if its kernel has no length-scale."""
    lengthscale = old.readings[0].lengthscale(num_inputs)
    if lengthscale is None:
        return []
    return [(factor * lengthscale).clamp(*_SHAPE_BOUNDS) for factor in _SHAPE_FACTORS]


def _held(old: Knowledge, num_sets: int, num_inputs: int, beliefs: Sequence[str], alone: bool) -> list[_Held]:
    """All that can be held of an old data set at a bearable cost.

    A reading that took the old responses for noise says nothing of the objective, whatever the belief: what is left is
    a plain process, and trust in it is no trust in old data.
    """
    sample = sample_of_box(num_inputs)
    found = []
    for belief in beliefs:
        for position, reading in enumerate(old.readings):
            kernel = reading.belief(belief)
            if not alone and not _is_cheap(kernel):
                continue
            with torch.no_grad():
                size = float(kernel.forward(sample, sample, diag=True).mean())
            if size <= _LEAST_SIZE:
                continue
            says = belief != "aligned" or float(reading.expected(sample).square().mean()) > _LEAST_SAID * size
            label = Label(belief, old.name) if says else Label(UNINFORMED)
            found.append(_Held(old.name, position, kernel, size, label))
    prior = log((1 - _PLAIN - _FITTED - _SHAPED) / (num_sets * max(1, len(found))))
    return [replace(one, log_prior=prior) for one in found]


def _believed(held: _Held, place: int, remainders: Sequence[int]) -> list[_Row]:
    """The belief as the whole truth, and as parts of it."""
    slope = 1 / held.size if held.label.belief == "aligned" else 0.0
    rest = held.log_prior + log((1 - _PURE) / (len(_BELIEF_SHARES) * max(1, len(remainders))))
    ways = [({place: 1.0}, held.log_prior + log(_PURE), slope)] + [
        ({place: share, remainder: 1 - share}, rest, share * slope)
        for share in _BELIEF_SHARES
        for remainder in remainders
    ]
    return [
        row
        for shares, log_prior, one in ways
        for row in _noisy(shares, log_prior, held.label, _BELIEF_CERTAINTY, slope=one, reading=held.reading)
    ]


def _is_cheap(kernel: Kernel) -> bool:
    """Whether an entry costs less than a sum over all pairs of old settings."""
    if isinstance(kernel, RhoTimesG):
        return True
    features: int | None = getattr(kernel, "num_features", None)
    return features is not None and features <= _MOST_FEATURES


def _gathered(rows: Sequence[_Row], stack: KernelStack, fitted: int) -> Candidates:
    shares = torch.zeros(len(rows), len(stack), dtype=torch.float64)
    for position, row in enumerate(rows):
        for place, share in row.shares.items():
            shares[position, place] = share
    noise = torch.tensor([row.noise for row in rows], dtype=torch.float64)
    return Candidates(
        Processes(stack, shares, noise, _CONSTANT),
        torch.tensor([row.log_prior for row in rows], dtype=torch.float64),
        tuple(row.label for row in rows),
        torch.tensor([row.slope for row in rows], dtype=torch.float64),
        tuple(row.reading for row in rows),
        torch.tensor([row.certainty for row in rows], dtype=torch.float64),
        fitted,
        torch.tensor([row.shares == {fitted: 1.0} for row in rows]),
    )
