"""The default surrogate: an average over beliefs, each weighed by how well it predicts the observations.

It also estimates how the objective goes with each old response: by how much, which way, and what that explains.
"""

from dataclasses import dataclass, field
from typing import TypeGuard

import torch
from botorch.models.model import Model
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.beliefs import get_belief, list_beliefs
from tunedprior.goals.observations import Observations
from tunedprior.kernels.anchors import draw_box_sample
from tunedprior.kernels.sections import StackSection
from tunedprior.model_averaging.hypotheses import Hypotheses, Label, build_hypotheses
from tunedprior.model_averaging.mixture import MixtureOfProcesses
from tunedprior.model_averaging.weighing import (
    Cache,
    Slopes,
    WeightedHypotheses,
    apply_known_signs,
    compute_slopes,
    weigh_hypotheses,
)
from tunedprior.models.gaussian_process import LEAST_NOISE, warn_of_little_noise
from tunedprior.models.posterior import assign_members
from tunedprior.models.surrogate import CachingSurrogate
from tunedprior.numerics.isolation import LARGE, isolate_computation
from tunedprior.numerics.stationary import Axes
from tunedprior.space.encoding import Box
from tunedprior.weight_prior.sources import BEYOND, DOUBT, NOISE, OPEN, BeliefProbabilities, Relation, SourceData

_BOUND = 1e-6  # of the largest singular value of settings; a smaller one is that of an equation between them
_SETTINGS = 64  # of the search space, over which variances are taken; twice as many change trust by 0.003


def estimate_relation(
    old: SourceData, box: Box, weighed: WeightedHypotheses, observations: Observations, sign: float
) -> Relation:
    """Estimate the relation of the objective to an old data set, over the hypotheses that have a ρ.

    Args:
        old: The old data set, one of those that the hypotheses are about.
        box: The map from encoded settings to kernel inputs.
        weighed: The hypotheses with their posterior probabilities.
        observations: The observations D.
        sign: The sign by which the model's response is turned back into the objective.
    """
    among, y = weighed.hypotheses, observations.y
    if not bool((y != y[0]).any()):  # equal responses bear nothing out
        return Relation(slope=0.0, positive=0.5)
    x = box.to_kernel_inputs(observations.X)
    slopes = compute_slopes(old, weighed, x, y)
    rows = slopes.rows
    if len(rows) == 0:
        return Relation()
    sample = old.sample if _are_bound(old.sample, among.axes) else draw_space_sample(among.axes, x)
    which = torch.tensor(among.fit_indices)[rows]
    elsewhere = torch.stack([fit(sample) for fit in old.fits])[which]
    weight, positive = weighed.weights[rows], slopes.positive if sign > 0 else 1 - slopes.positive
    # Fits of doubtful data have units of their own.
    unit = sign * observations.scale / torch.tensor(old.units, dtype=torch.float64)[which]
    parts = _compute_variance_shares(weighed, slopes, slopes.mean[:, None] * elsewhere, x, sample)
    reliable = _compute_reliability(among, rows, elsewhere, sample)
    shares = parts[0] * reliable
    average_of = weight / weight.sum()
    rest = dict(zip((BEYOND, OPEN, NOISE), (parts[1:] @ average_of).tolist(), strict=True))
    rest[DOUBT] = float(average_of @ (parts[0] * (1 - reliable)))
    explained: dict[str, float] = {}
    for row, part in zip(rows.tolist(), (weight * shares).tolist(), strict=True):
        belief = among.labels[row].belief
        explained[belief] = explained.get(belief, 0.0) + part
    return Relation(
        explained, float(weight @ (unit * slopes.mean) / weight.sum()), float(weight @ positive / weight.sum()), rest
    )


def draw_space_sample(axes: Axes, x: Float[Tensor, "n d"]) -> Float[Tensor, "m d"]:
    """Draw points over the search space, as kernel inputs: the box, or a part of it that holds the observed points x.

    Old data may reach far beyond the space. The axes know the width of the space; its place is inferred from x:
    exactly if it is the whole box, and the better the further x are apart.
    """
    sample = axes.to_kernel_inputs(draw_box_sample(len(axes), count=_SETTINGS))
    width = axes.unit.clamp_max(1.0).where(axes.is_number, 1.0)
    centre = ((x.amin(0) + x.amax(0)) / 2).clamp(width - 1, 1 - width)
    return centre + width * sample


def _are_bound(some: Float[Tensor, "m d"] | None, axes: Axes) -> TypeGuard[Float[Tensor, "m d"]]:
    """Whether settings satisfy a linear equation, such as parts that add up to 1, and so fill little of the box."""
    if some is None:
        return False
    numbers = some[:, axes.is_number]
    varying = numbers[:, numbers.std(0, correction=0) > 0]
    if varying.shape[1] < 2 or len(varying) <= varying.shape[1]:
        return False
    sizes = torch.linalg.svdvals(varying - varying.mean(0))
    return bool(sizes[-1] < _BOUND * sizes[0])


def _compute_variance_shares(
    weighed: WeightedHypotheses,
    slopes: Slopes,
    by_old: Float[Tensor, "k m"],
    x: Float[Tensor, "n d"],
    sample: Float[Tensor, "m d"],
) -> Float[Tensor, "4 k"]:
    """var b, var(m - b), v and noise over their sum, for each h: the first is the share of b = E[ρ | D]·ĝ.

    b and m - b, the rest of the posterior mean, vary over the sample. The posterior variance v, on average over the
    sample, and noise add to the variance of a response. Without v, two observations would count as explained by any
    curve through them.
    """
    processes = weighed.hypotheses.processes.take(slopes.rows)
    kernels = StackSection.from_stack(processes.kernels, x).evaluate(sample)
    cross = processes.mix_kernels(kernels.cross, dims=2)
    known = torch.linalg.solve_triangular(slopes.factor, cross.mT, upper=False).square().sum(-2)
    left = (processes.mix_kernels(kernels.variance, dims=1) - known).clamp_min(0.0).mean(-1)
    rest = ((cross @ slopes.solved).squeeze(-1) - by_old).var(-1, correction=0)
    part, amplitude = by_old.var(-1, correction=0), weighed.amplitude[slopes.rows]
    parts = torch.stack([part, rest, amplitude * left, amplitude * processes.noise])
    return parts / parts.sum(0)


def _compute_reliability(
    among: Hypotheses, rows: Int[Tensor, " k"], learnt: Float[Tensor, "k m"], sample: Float[Tensor, "m d"]
) -> Float[Tensor, " k"]:
    """var ĝ / (var ĝ + u) over the sample, for each h: the share of g that old data determines; u is its uncertainty.

    With a large u, ĝ may be chance, and smooth functions easily correlate by chance. The prior variance of the
    hypothesis that has the least beside ρ·g is constant + s (ĝ² + u), which gives u.
    """
    kinds = list(zip(among.labels, among.fit_indices, strict=True))
    slopes, purest = among.slopes.tolist(), dict[tuple[Label, int], int]()
    for row, kind in enumerate(kinds):
        if slopes[row] > slopes[purest.setdefault(kind, row)]:
            purest[kind] = row
    distinct, place = torch.tensor([purest[kinds[row]] for row in rows.tolist()]).unique(return_inverse=True)
    processes = among.processes.take(distinct)
    total = (processes.compute_variance(sample) - processes.constant) / among.slopes[distinct, None]
    left = (total[place] - learnt.square()).mean(-1).clamp_min(0.0)
    varies: Tensor = learnt.var(-1, correction=0)
    return varies / (varies + left).clamp_min(1e-300)


def sum_probabilities(weighed: WeightedHypotheses) -> dict[tuple[str, str], float]:
    """The probability of each belief, by old data set and belief."""
    found: dict[tuple[str, str], float] = {}
    for label, weight in zip(weighed.hypotheses.labels, weighed.weights.tolist(), strict=True):
        found[label.old, label.belief] = found.get((label.old, label.belief), 0.0) + weight
    return found


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
