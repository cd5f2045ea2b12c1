"""The relation of the objective to one old data set: its strength, its sign, and the variance that it explains."""

from typing import TypeGuard

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.goals.observations import Observations
from tunedprior.kernels.anchors import draw_box_sample
from tunedprior.kernels.sections import StackSection
from tunedprior.model_averaging.hypotheses import Hypotheses, Label
from tunedprior.model_averaging.weighing import Slopes, WeightedHypotheses, compute_slopes
from tunedprior.numerics.stationary import Axes
from tunedprior.space.encoding import Box
from tunedprior.weight_prior.sources import BEYOND, DOUBT, NOISE, OPEN, Relation, SourceData

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
    shares: Tensor = parts / (part + rest + amplitude * (left + processes.noise))
    return shares


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
    varies = learnt.var(-1, correction=0)
    found: Tensor = varies / (varies + left).clamp_min(1e-300)
    return found


def sum_probabilities(weighed: WeightedHypotheses) -> dict[tuple[str, str], float]:
    """The probability of each belief, by old data set and belief."""
    found: dict[tuple[str, str], float] = {}
    for label, weight in zip(weighed.hypotheses.labels, weighed.weights.tolist(), strict=True):
        found[label.old, label.belief] = found.get((label.old, label.belief), 0.0) + weight
    return found
