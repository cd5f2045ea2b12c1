"""The average over beliefs as a `Surrogate`: the default prior."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.average.hypotheses import Hypotheses, all_hypotheses
from tunedprior.average.incremental import Seen
from tunedprior.average.mixture import MixtureOfProcesses, slots
from tunedprior.average.old_sets import OldSet
from tunedprior.average.weighing import Weighed, weigh
from tunedprior.beliefs import belief, beliefs
from tunedprior.models.fitting import LEAST_NOISE
from tunedprior.models.surrogate import CachingSurrogate
from tunedprior.numerics.isolation import LARGE, computing
from tunedprior.problem.box import Box
from tunedprior.problem.observations import Observations


@dataclass(frozen=True, eq=False)
class Average(CachingSurrogate):
    """p(f | D) = Σ_h p(h | D) GP_h(f | D), with p(h | D) ∝ p(h) p(D | h), over hypotheses h.

    Attributes:
        box: The box of the old data and the search space.
        known: The old data sets.
        beliefs: The names of the beliefs to average over; all with `Belief.averaged`, when left out.
        alone: Whether to use these beliefs alone, without uninformed and remainders.
        scale: The unit of length-scales that do not come from old data: for each kernel input, the search space's share
            of its range; 1 when left out.
        hypotheses: The hypotheses h that these beliefs and old data sets make up.
    """

    box: Box
    known: tuple[OldSet, ...]
    beliefs: tuple[str, ...] = ()
    alone: bool = False
    scale: Float[Tensor, " d"] | None = None
    hypotheses: Hypotheses = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = self.beliefs or tuple(one.name for one in beliefs() if one.averaged)
        held = [belief(name) for name in names]
        scale = torch.ones(self.box.num_inputs, dtype=torch.float64) if self.scale is None else self.scale
        with computing():
            made = all_hypotheses(self.known, scale, held, self.alone)
        object.__setattr__(self, "beliefs", names)
        object.__setattr__(self, "hypotheses", made)

    def fit(self, observations: Observations, cache: Seen | None = None) -> tuple[MixtureOfProcesses, Seen]:
        """The mixture as a BoTorch ensemble, weights rounded to whole members, and a cache for the next call."""
        weighed, cache = self.weigh(observations, cache)
        with computing(len(observations.y) >= LARGE):
            members = slots(weighed.weights)
            used, members = members.unique(return_inverse=True)
            mixture = MixtureOfProcesses(
                weighed.hypotheses.processes.take(used),
                weighed.amplitude[used],
                members,
                self.box,
                observations.codes,
                observations.y,
                weighed.factor(used),
            )
        return mixture, cache

    def variance_beforehand(self, codes: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Σ_h p(h) var_h(f(x)), for amplitude 1: how much the response may vary at a setting, before observations."""
        weights = Weighed.beforehand(self.hypotheses).weights
        return weights @ self.hypotheses.processes.variance(self.box.inputs(codes))

    def weigh(self, observations: Observations, cache: Seen | None = None) -> tuple[Weighed, Seen]:
        """The posterior probability of each hypothesis given these observations, and a cache for the next call."""
        noise_std = observations.noise_std
        variance = None if noise_std is None else max(noise_std**2, LEAST_NOISE)
        x = self.box.inputs(observations.codes)
        with computing(len(x) >= LARGE):
            return weigh(self.hypotheses, x, observations.y, variance, not self.alone, cache)
