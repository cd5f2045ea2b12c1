"""`Average`: the average over beliefs as a `Surrogate`, the default prior."""

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.beliefs import get_belief, list_beliefs
from tunedprior.goals.observations import Observations
from tunedprior.model_averaging.hypotheses import Hypotheses, build_hypotheses
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.model_averaging.weighing import Cache, WeightedHypotheses, apply_known_signs, weigh_hypotheses
from tunedprior.models.gaussian_process import LEAST_NOISE, warn_of_little_noise
from tunedprior.models.posterior import assign_members
from tunedprior.models.surrogate import CachingSurrogate
from tunedprior.numerics.isolation import LARGE, isolate_computation
from tunedprior.numerics.stationary import Axes
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.sources import SourceData


@dataclass(frozen=True, eq=False)
class Average(CachingSurrogate):
    """p(f | D) = Σ_h p(h | D) GP_h(f | D), with p(h | D) ∝ p(h) p(D | h), over hypotheses h.

    Attributes:
        box: The box of the old data and the search space.
        sources: The old data sets, with what was fitted to each.
        beliefs: The names of the beliefs to average over; all with `Belief.in_default_average`, when left out.
        alone: Whether to use these beliefs alone, without uninformed and remainders.
        axes: The parameters, and the units of length-scales that do not come from old data; each kernel input in its
            own unit, when left out.
        hypotheses: The hypotheses h that these beliefs and old data sets make up.
    """

    box: Box
    sources: tuple[SourceData, ...]
    beliefs: tuple[str, ...] = ()
    alone: bool = False
    axes: Axes | None = None
    hypotheses: Hypotheses = field(init=False, repr=False)

    @classmethod
    def make_plain(cls, space: Space) -> "Average":
        """The process without old data, in the box of the search space."""
        box = Box.enclose(space)
        return cls(box, (), axes=box.make_kernel_axes(space))

    def __post_init__(self) -> None:
        names = self.beliefs or tuple(one.name for one in list_beliefs() if one.in_default_average)
        held = [get_belief(name) for name in names]
        axes = Axes.make_numeric(self.box.num_inputs) if self.axes is None else self.axes
        with isolate_computation():
            made = build_hypotheses(self.sources, axes, held, self.alone)
        object.__setattr__(self, "beliefs", names)
        object.__setattr__(self, "hypotheses", made)

    def fit(self, observations: Observations, cache: Cache | None = None) -> tuple[MixtureOfProcesses, Cache]:
        """Fit the mixture as a BoTorch ensemble, weights rounded to whole members; return it with a cache."""
        weighed, cache = self.weigh(observations, cache)
        with isolate_computation(len(observations.y) >= LARGE):
            members = assign_members(weighed.weights)
            used, members = members.unique(return_inverse=True)
            mixture = MixtureOfProcesses(
                weighed.hypotheses.processes.take(used),
                weighed.amplitude[used],
                members,
                self.box,
                observations.X,
                observations.y,
                weighed.build_dense_factors(used),
            )
        return mixture, cache

    def evaluate_opening(self, X: Float[Tensor, "n k"]) -> Float[Tensor, "m n"]:
        """±ĝ at settings, a row for each old data set: largest where the response is best if the sign is as presumed.

        The setting with the smallest value is left to the model. It would tell most about the sign, but if the sign is
        as presumed that trial is lost, and a result elsewhere tells nearly as much.
        """
        if not self.sources:
            return X.new_zeros(0, len(X))
        with isolate_computation():
            expected = torch.stack([one.predict(self.box.to_kernel_inputs(X)) for one in self.sources])
        signs = torch.tensor([[one.sign or one.presumed_sign] for one in self.sources])
        return (signs * expected)[: len(self.box.axes) + 1]

    def evaluate_opening_for_target(self, X: Float[Tensor, "n k"], low: float, high: float) -> Float[Tensor, "m n"]:
        """Minus the distance of the old response to the target from `low` to `high`, a row for each old data set."""
        if not self.sources:
            return X.new_zeros(0, len(X))
        with isolate_computation():
            x = self.box.to_kernel_inputs(X)
            expected = torch.stack([one.middle + one.units[0] * one.predict(x) for one in self.sources])
        return -torch.maximum(low - expected, expected - high).clamp_min(0.0)[: len(self.box.axes) + 1]

    def compute_prior_variance(self, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """Σ_h p(h) var_h(f(x)), for amplitude 1: the prior variance of the response at a setting.

        The constant mean, which is not known yet, is left out.
        """
        weights, processes = (
            WeightedHypotheses.from_prior_probabilities(self.hypotheses).weights,
            self.hypotheses.processes,
        )
        return weights @ (processes.compute_variance(self.box.to_kernel_inputs(X)) - processes.constant)

    def weigh(self, observations: Observations, cache: Cache | None = None) -> tuple[WeightedHypotheses, Cache]:
        """The posterior probability of each hypothesis given these observations, and a cache for the next call."""
        noise_std = observations.noise_std
        variance = None if noise_std is None else max(noise_std**2, LEAST_NOISE)
        if noise_std and noise_std**2 < LEAST_NOISE:
            warn_of_little_noise()
        x = self.box.to_kernel_inputs(observations.X)
        with isolate_computation(len(x) >= LARGE):
            weighed, cache = weigh_hypotheses(
                self.hypotheses, x, observations.y, variance, not self.alone, cache, observations.relative_noise
            )
            if any(one.sign for one in self.sources):
                weighed = apply_known_signs(weighed, self.sources, x, observations.y)
            return weighed, cache
