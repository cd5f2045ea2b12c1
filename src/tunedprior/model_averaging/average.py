"""`Average`: the average over beliefs as a `Surrogate`, the default prior."""

from dataclasses import dataclass, field

import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from tunedprior.beliefs import get_belief, list_beliefs
from tunedprior.goals.observations import Observations
from tunedprior.model_averaging.hypotheses import Hypotheses, build_hypotheses
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.model_averaging.relations import estimate_relation, sum_probabilities
from tunedprior.model_averaging.weighing import Cache, WeightedHypotheses, apply_known_signs, weigh_hypotheses
from tunedprior.models.gaussian_process import LEAST_NOISE, warn_of_little_noise
from tunedprior.models.posterior import assign_members
from tunedprior.models.surrogate import CachingSurrogate
from tunedprior.numerics.isolation import LARGE, isolate_computation
from tunedprior.numerics.stationary import Axes
from tunedprior.space.encoding import Box
from tunedprior.weight_prior.sources import BeliefProbabilities, Relation, SourceData


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

    def __post_init__(self) -> None:
        names = self.beliefs or tuple(one.name for one in list_beliefs() if one.in_default_average)
        beliefs = [get_belief(name) for name in names]
        axes = Axes.make_numeric(self.box.num_inputs) if self.axes is None else self.axes
        with isolate_computation():
            made = build_hypotheses(self.sources, axes, beliefs, self.alone)
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

    def evaluate_opening(
        self, X: Float[Tensor, "n k"], target: tuple[float, float] | None = None
    ) -> Float[Tensor, "m n"]:
        """Score settings by ±ĝ, a row for each old data set: where the response is best if the relation has that sign.

        The other end of what old data predicts is left to the model: it would say most about the sign, but where the
        sign is as presumed it is a lost trial, and a result elsewhere says nearly as much. With a target, settings are
        scored by how near to it the old response is.
        """
        if not self.sources:
            return X.new_zeros(0, len(X))
        with isolate_computation():
            x = self.box.to_kernel_inputs(X)
            if target is None:
                signs = torch.tensor([[one.sign or one.presumed_sign] for one in self.sources])
                scores = signs * torch.stack([one.predict(x) for one in self.sources])
            else:
                low, high = target
                expected = torch.stack([one.shift + one.units[0] * one.predict(x) for one in self.sources])
                scores = -torch.maximum(low - expected, expected - high).clamp_min(0.0)
        return scores[: len(self.box.axes) + 1]

    def predict_prior(self, X: Float[Tensor, "n k"]) -> tuple[float, Float[Tensor, " n"]] | None:
        """Mean and standard deviation of the response before the first result, in the units of the (first) old one.

        The mean is the same everywhere, as the sign of the relation is not known yet. The variance is Σ_h p(h)
        var_h(f(x)) for amplitude 1, without the constant mean. None without old data.
        """
        if not self.sources:
            return None
        with isolate_computation(), torch.no_grad():
            weights = WeightedHypotheses.from_prior_probabilities(self.hypotheses).weights
            processes, x = self.hypotheses.processes, self.box.to_kernel_inputs(X)
            variance = weights @ (processes.compute_variance(x) - processes.constant)
        return self.sources[0].shift, self.sources[0].units[0] * variance.sqrt()

    @property
    def weighs_beliefs(self) -> bool:
        """Whether there are several beliefs to weigh: there is old data, and no belief is held alone."""
        return bool(self.sources) and not self.alone

    def estimate_relations(
        self, observations: Observations | None, sign: float, cache: Cache | None = None
    ) -> tuple[BeliefProbabilities, dict[str, Relation], Cache | None]:
        """The posterior probability of each belief, the relation to each old data set, and a cache for the next call.

        Args:
            observations: The observations D; None before the first result.
            sign: The sign by which the model's response is turned back into the objective.
            cache: The cache of a call with fewer of the observations.
        """
        if observations is None:
            weighed = WeightedHypotheses.from_prior_probabilities(self.hypotheses)
            return sum_probabilities(weighed), {old.name: Relation() for old in self.sources}, cache
        weighed, cache = self.weigh(observations, cache)
        with isolate_computation(), torch.no_grad():
            relations = {
                old.name: estimate_relation(old, self.box, weighed, observations, sign) for old in self.sources
            }
        return sum_probabilities(weighed), relations, cache

    def predict_by_belief(
        self, model: Model, observations: Observations, X: Float[Tensor, "1 k"], cache: Cache | None = None
    ) -> dict[tuple[str, str], float]:
        """The prediction of each belief at a setting, by old data set and name, in units of the observations.

        Beliefs that are too improbable for a member of the mixture are absent.

        Args:
            model: The mixture that `fit` gave for the observations.
            observations: The observations D.
            X: The setting, encoded.
            cache: The cache that `fit` gave with it.
        """
        if not isinstance(model, MixtureOfProcesses):
            return {}
        weighed, _ = self.weigh(observations, cache)
        used = assign_members(weighed.weights)
        with torch.no_grad():
            means = model.predict_means(X)[:, 0].flatten()
        found: dict[tuple[str, str], list[float]] = {}
        for row, mean in zip(used.tolist(), means.tolist(), strict=True):
            label = weighed.hypotheses.labels[row]
            found.setdefault((label.old, label.belief), []).append(mean)
        return {key: sum(values) / len(values) for key, values in found.items()}

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
