"""The average over beliefs: each candidate is weighted by how well it foretells the observations."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.box import Box
from tunedprior.candidates import Candidates, candidates
from tunedprior.knowledge import Knowledge
from tunedprior.linalg import cholesky
from tunedprior.mixture import MixtureOfProcesses, slots
from tunedprior.models import LEAST_NOISE
from tunedprior.old_fits import amplitude, lengthscale_prior, log_evidence, most_probable
from tunedprior.surrogates import Observations

#: The beliefs that the average is over, beside `shape` and `uninformed`.
AVERAGED = ("aligned",)
# Where the search for the observations' own length-scales begins, and its priors: BoTorch's, for ℓ and η themselves
# (not their logarithms) to be most probable.
_START = (0.6, 0.007)
_NOISE_PRIOR = (-5.0, 1.0)
# Entries of covariance matrices held at once.
_ENTRIES = 2**24
_NOISE_ITERATIONS = 4


@dataclass(frozen=True, eq=False)
class Weighed:
    """Candidates after observations.

    Attributes:
        candidates: What was weighed.
        weights: The posterior probability of each.
        amplitude: What each one's amplitude is, after them.
    """

    candidates: Candidates
    weights: Float[Tensor, " c"]
    amplitude: Float[Tensor, " c"]


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
        )

    @property
    def unweighed(self) -> Weighed:
        """Before the first observation."""
        among = self._candidates
        return Weighed(among, among.log_prior.softmax(0), torch.ones_like(among.log_prior))

    def weigh(self, observations: Observations) -> Weighed:
        """p(D | c) = ∫ N(y; 0, a R_c) p(a) da, for every candidate, and what follows from it."""
        x, y = self.box.inputs(observations.codes), observations.y
        among = self._candidates if observations.noise_std is None else self._candidates.with_known_noise()
        if not self.alone:
            among = among.fitted(self._own_lengthscales(x, y), len(y))
        with torch.no_grad():
            gram = among.processes.kernels.matrices(x, x)
            if observations.noise_std is not None:
                # Candidates have noise relative to their amplitude, which depends on the noise in turn.
                variance, amplitudes = max(observations.noise_std**2, LEAST_NOISE), torch.ones_like(among.log_prior)
                for _ in range(_NOISE_ITERATIONS):
                    among = among.with_noise(variance / amplitudes)
                    _, amplitudes = self._evidence(among, gram, y)
            evidence, amplitudes = self._evidence(among, gram, y)
        return Weighed(among, (among.log_prior + evidence).softmax(0), amplitudes)

    @staticmethod
    def _own_lengthscales(x: Float[Tensor, "n d"], y: Float[Tensor, "n 1"]) -> Float[Tensor, " d"]:
        """Those that explain the observations best, one for each input."""
        num_inputs = x.shape[1]
        middle, spread = lengthscale_prior(num_inputs)
        start = (_START[0] * sqrt(num_inputs / 2), _START[1])
        with torch.enable_grad():
            return most_probable(x, y.squeeze(-1), [start], (middle - spread**2, spread), _NOISE_PRIOR)

    @staticmethod
    def _evidence(
        among: Candidates, gram: Float[Tensor, "r n n"], y: Float[Tensor, "n 1"]
    ) -> tuple[Float[Tensor, " c"], Float[Tensor, " c"]]:
        """log p(D | c) but for a constant, and a, of every candidate."""
        processes, found = among.processes, []
        at_once = max(1, _ENTRIES // len(y) ** 2)
        for start in range(0, len(processes), at_once):
            some = slice(start, start + at_once)
            part = replace(processes, shares=processes.shares[some], noise=processes.noise[some])
            factor = cholesky(part.with_noise(part.mixed(gram, dims=2)))
            white = torch.linalg.solve_triangular(factor, y.expand(len(factor), *y.shape), upper=False)
            certainty = among.certainty[some]
            found.append((log_evidence(factor, white, certainty), amplitude(white, certainty)))
        evidence, amplitudes = (torch.cat(column) for column in zip(*found, strict=True))
        return evidence, amplitudes

    @cached_property
    def _candidates(self) -> Candidates:
        return candidates(self.known, self.box.num_inputs, self.beliefs, self.alone)
