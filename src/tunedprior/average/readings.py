"""Readings of old data: least-squares fits at its most probable length-scales, and at several fixed ones."""

from math import sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.kernels import SquaredExponential
from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.machines.streamed import FeatureFit, FeatureMap
from tunedprior.numerics.evidence import lengthscale_prior, most_probable
from tunedprior.problem.training_set import MOST_ROWS_WITH_ALPHA, TrainingSet, average_replicates, random_rows

_STARTS = tuple((lengthscale, noise) for lengthscale in (0.3, 0.8, 2.0) for noise in (0.007, 0.4))
# A smooth response with some noise and a rough one without are told apart by the likelihood, not by the prior.
_NOISE_PRIOR = (-4.0, 3.0)  # mean and standard deviation of its logarithm
_ROWS_FOR_LENGTHSCALES = 300
# Upper bound on explicit features: a prediction then costs about as much as with the most rows that have an α.
_MOST_FEATURES = 512
_MOST_MISSING = 0.25  # of the kernel's variance at old settings; a short length-scale in many inputs has more features
#: Fixed length-scales for two inputs; for d inputs they grow with √d, as distances in the box do.
FIXED_LENGTHSCALES = (0.3, 0.6, 1.2)


def several_fits(training: TrainingSet, seed: int = 0, scale: float | Float[Tensor, " d"] = 1.0) -> list[Fit]:
    """The most probable fit with a length-scale for each input, and one at each of the fixed length-scales.

    The fixed ones are in units of `scale`: of the search space, however far old data reaches beyond it.

    Length-scales chosen on old data alone are brittle: they may smooth everything away, or fit what the objective does
    not share. So there are several fits, and the evidence of the observations weighs them. The most probable
    length-scales are those of a subset of the rows.
    """
    points, y = training.points, training.response
    some = random_rows(len(y), _ROWS_FOR_LENGTHSCALES, seed)
    lengthscale = most_probable(points[some], y[some], _STARTS, lengthscale_prior(points.shape[1]), _NOISE_PRIOR)
    spread = sqrt(points.shape[1] / 2)
    fixed = [spread * length * scale * torch.ones_like(lengthscale) for length in FIXED_LENGTHSCALES]
    tried = [lengthscale, *fixed]
    return [_fit(training, one, seed) for one in tried]


def _fit(training: TrainingSet, lengthscale: Float[Tensor, " d"], seed: int) -> Fit:
    """A fit with an α for each row; with too many rows, in features; if these miss too much, with α for a subset."""
    points, y = training.points, training.response
    if len(y) <= MOST_ROWS_WITH_ALPHA:
        return AlphaFit.by_evidence(points, y, lengthscale)
    kernel = SquaredExponential(lengthscale.double()).requires_grad_(False)
    features = FeatureMap.of(kernel, points, _MOST_FEATURES)
    if features.missing <= _MOST_MISSING:
        return FeatureFit.by_evidence(features, points, y)
    # Standardised responses are numbers, whatever the old ones were: repeated settings are averaged.
    some = random_rows(len(y), MOST_ROWS_WITH_ALPHA, seed)
    return AlphaFit.by_evidence(*average_replicates(points[some], y[some]), lengthscale)
