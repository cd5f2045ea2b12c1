"""The average over beliefs: each candidate is weighted by how well it foretells the observations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.box import Box
from tunedprior.candidates import Candidates, candidates
from tunedprior.evidence import amplitude, lengthscale_prior, log_evidence, most_probable
from tunedprior.growing import Factors, Growing, Seen
from tunedprior.knowledge import Knowledge
from tunedprior.mixture import MixtureOfProcesses, slots
from tunedprior.models import LEAST_NOISE
from tunedprior.surrogates import Observations

#: The beliefs that the average is over, beside `shape` and `uninformed`.
AVERAGED = ("aligned",)
# Where the search for the observations' own length-scales begins, and its priors: BoTorch's, for ℓ and η themselves
# (not their logarithms) to be most probable.
_START = (0.6, 0.007)
_NOISE_PRIOR = (-5.0, 1.0)
# Entries of covariance matrices held at once.
_ENTRIES = 2**24
_MOST_HELD = 2**26  # from one observation to the next
_NOISE_ITERATIONS = 3

_HELD = ("_growing", "_growing_gram")

PartOfFactors = tuple[Int[Tensor, " _"], Factors]  # of which candidates, and theirs


@dataclass(frozen=True, eq=False)
class Weighed:
    """Candidates after observations.

    Attributes:
        candidates: What was weighed.
        weights: The posterior probability of each.
        amplitude: What each one's amplitude is, after them.
        factors: Of the observations' covariance, for some of the candidates and for the others; none before the first
            observation, or where there are too many to hold.
    """

    candidates: Candidates
    weights: Float[Tensor, " c"]
    amplitude: Float[Tensor, " c"]
    factors: tuple[PartOfFactors, ...] = ()

    def factor(self, which: Int[Tensor, " k"]) -> Float[Tensor, "k n n"] | None:
        """L of some candidates, where it is held."""
        found = None
        for rows, factors in self.factors:
            wanted, place = (which[:, None] == rows).nonzero(as_tuple=True)
            dense = factors.dense(place)
            found = dense.new_zeros(len(which), *dense.shape[1:]) if found is None else found
            found[wanted] = dense
        return found


@dataclass(frozen=True, eq=False)
class Average:
    """p(f | D) = Σ_c p(c | D) GP_c(f | D), with p(c | D) ∝ p(c) p(D | c): a `Surrogate` that holds many beliefs.

    Attributes:
        box: Of the old data and the search space.
        known: Old data sets.
        beliefs: Which beliefs may be held.
        alone: Whether to hold them and nothing else.
    """

    box: Box
    known: tuple[Knowledge, ...]
    beliefs: tuple[str, ...] = AVERAGED
    alone: bool = False

    def __call__(self, observations: Observations) -> MixtureOfProcesses:
        """The mixture: one BoTorch ensemble, weights rounded to whole members."""
        weighed = self.weigh(observations)
        members = slots(weighed.weights)
        used, members = members.unique(return_inverse=True)
        return MixtureOfProcesses(
            weighed.candidates.processes.take(used),
            weighed.amplitude[used],
            members,
            self.box,
            observations.codes,
            observations.y,
            weighed.factor(used),
        )

    @property
    def unweighed(self) -> Weighed:
        """Before the first observation."""
        among = self._candidates
        return Weighed(among, among.log_prior.softmax(0), torch.ones_like(among.log_prior))

    def weigh(self, observations: Observations) -> Weighed:
        """p(D | c) = ∫ N(y; 0, a R_c) p(a) da, for every candidate, and what follows from it."""
        x, y, noise_std = self.box.inputs(observations.codes), observations.y, observations.noise_std
        among = self._candidates if noise_std is None else self._candidates.with_known_noise()
        hold = len(among.log_prior) * len(y) ** 2 <= _MOST_HELD
        if not hold:
            self._forget()
        seen = (self._growing if noise_std is None else self._growing_gram)(x) if hold else None
        if not self.alone:
            among = among.fitted(self._own_lengthscales(x, y), len(y))
        with torch.no_grad():
            gram = _gram(among, x, seen)
            if noise_std is not None:
                among = _with_noise(among, gram, y, max(noise_std**2, LEAST_NOISE))
            each = _factors(among, gram, None if seen is None else seen.factors)
            held = tuple(each) if hold else ()
            evidence, amplitudes = _evidence(among, held or each, y)
        return Weighed(among, (among.log_prior + evidence).softmax(0), amplitudes, held)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is held: it can be had again, and may be large."""
        return {name: value for name, value in vars(self).items() if name not in _HELD}

    def _forget(self) -> None:
        for name in _HELD:
            vars(self).pop(name, None)

    @staticmethod
    def _own_lengthscales(x: Float[Tensor, "n d"], y: Float[Tensor, "n 1"]) -> Float[Tensor, " d"]:
        """Those that explain the observations best, one for each input."""
        num_inputs = x.shape[1]
        middle, spread = lengthscale_prior(num_inputs)
        start = (_START[0] * sqrt(num_inputs / 2), _START[1])
        return most_probable(x, y.squeeze(-1), [start], (middle - spread**2, spread), _NOISE_PRIOR)

    @cached_property
    def _candidates(self) -> Candidates:
        return candidates(self.known, self.box.num_inputs, self.beliefs, self.alone)

    @cached_property
    def _growing(self) -> Growing:
        """Of all candidates that observations do not change, with factors."""
        return Growing(self._candidates.processes.only(~self._candidates.uses_fitted), factorised=True)

    @cached_property
    def _growing_gram(self) -> Growing:
        """Without factors: with known noise they change with the amplitudes."""
        return Growing(self._candidates.processes, factorised=False)


def _gram(among: Candidates, x: Float[Tensor, "n d"], seen: Seen | None) -> Float[Tensor, "r n n"]:
    """K_r(D, D); all but that of the fitted length-scales may have been seen before."""
    kernels = among.processes.kernels
    if seen is None:
        return kernels.matrices(x, x)
    gram, row = seen.gram.clone(), among.fitted_row
    gram[row : row + 1] = kernels.take(torch.tensor([row])).matrices(x, x)
    return gram


def _with_noise(
    among: Candidates, gram: Float[Tensor, "r n n"], y: Float[Tensor, "n 1"], variance: float
) -> Candidates:
    """With noise of this variance: candidates have it relative to their amplitude, which depends on it in turn."""
    amplitudes = torch.ones_like(among.log_prior)
    for _ in range(_NOISE_ITERATIONS):
        among = among.with_noise(variance / amplitudes)
        _, amplitudes = _evidence(among, _factors(among, gram, None), y)
    return among.with_noise(variance / amplitudes)


def _factors(among: Candidates, gram: Float[Tensor, "r n n"], known: Factors | None) -> Iterator[PartOfFactors]:
    """Of the observations' covariance, some candidates at a time; those that no observation changes may be known."""
    left = torch.ones_like(among.uses_fitted)
    if known is not None:
        left = among.uses_fitted
        yield (~left).nonzero().flatten(), known
    for some in left.nonzero().flatten().split(max(1, _ENTRIES // gram.shape[-1] ** 2)):
        part = among.processes.only(some)
        yield some, Factors.whole(part.with_noise(part.mixed(gram, dims=2)))


def _evidence(
    among: Candidates, factors: Iterable[PartOfFactors], y: Float[Tensor, "n 1"]
) -> tuple[Float[Tensor, " c"], Float[Tensor, " c"]]:
    """log p(D | c) but for a constant, and a, of every candidate."""
    evidence, amplitudes = torch.empty_like(among.log_prior), torch.empty_like(among.log_prior)
    for some, part in factors:
        white, certainty = part.solve(y.expand(len(some), *y.shape)), among.certainty[some]
        evidence[some], amplitudes[some] = log_evidence(part.diagonal(), white, certainty), amplitude(white, certainty)
    return evidence, amplitudes
