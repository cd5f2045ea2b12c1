"""Readings of old data: least-squares fits at its most probable length-scales, and at several fixed ones."""

from collections.abc import Collection
from math import log, sqrt

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.kernels import SquaredExponential
from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.machines.streamed import FeatureFit, FeatureMap
from tunedprior.numerics.axes import Axes
from tunedprior.numerics.hyperparameters import HyperPrior
from tunedprior.problem.training_set import MOST_ROWS_WITH_ALPHA, TrainingSet, average_replicates, draw_row_numbers

_STARTS = tuple((lengthscale, noise) for lengthscale in (0.3, 0.8, 2.0) for noise in (0.007, 0.4))
_ITERATIONS = 50
_ROWS_FOR_LENGTHSCALES = 300
# Shorter length-scales do not interpolate between old settings.
_LEAST_LENGTHSCALE = 0.1
# Upper bound on explicit features: a prediction then costs about as much as with the most rows that have an α.
_MOST_FEATURES = 512
_MOST_MISSING = 0.25  # of the kernel's variance at old settings; a short length-scale in many inputs has more features
#: Fixed length-scales for two parameters; for g of them they grow with √g, as distances in the box do.
FIXED_LENGTHSCALES = (0.3, 0.6, 1.2)
#: The prior probabilities of the readings: the most probable one, then each at a fixed length-scale.
LIKELY = (0.7, 0.1, 0.1, 0.1)
# A length-scale along which nothing changes.
_WITHOUT_END = 1e3


def fit_training_set(
    training: TrainingSet, seed: int = 0, axes: Axes | None = None, absent: Collection[int] = ()
) -> list[Fit]:
    """The most probable fit with a length-scale for each parameter, and one at each of the fixed length-scales.

    Length-scales chosen on old data alone are brittle: they may smooth everything away, or fit what the objective does
    not share. So there are several fits, and the evidence of the observations weighs them. The most probable
    length-scales are those of a subset of the rows.

    Args:
        training: Old data as points and standardised responses.
        seed: Of the choice of rows.
        axes: The parameters, and the units of fixed length-scales: of the search space, however far old data reaches
            beyond it. Each input is a parameter, when left out.
        absent: The numbers of parameters that old data knows nothing of: the fits do not depend on them.
    """
    points, y = training.points, training.response
    axes = Axes.make_numeric(points.shape[1]) if axes is None else axes
    some, count = draw_row_numbers(len(y), _ROWS_FOR_LENGTHSCALES, seed), len(axes)
    spread = sqrt(count / 2)
    # A smooth response with some noise and a rough one without are told apart by the likelihood, not by the prior.
    prior = HyperPrior.from_axis_count(
        count,
        median=2.0,
        shared=1.0,
        own=1.3,
        noise=(-4.0, 3.0),
        constant=0.0,
        certainty=1.0,
        smooth=True,
    )
    starts = [
        torch.tensor([log(spread * length)] * count + [log(noise)], dtype=torch.float64) for length, noise in _STARTS
    ]
    squares = axes.compute_squared_distances(points[some], points[some])
    found = prior.find_most_probable(squares, y[some], starts, _ITERATIONS, _LEAST_LENGTHSCALE)[:-1].exp()
    matters = torch.tensor([number not in absent for number in range(count)])
    tried = [found, *(torch.full_like(found, spread * length) for length in FIXED_LENGTHSCALES)]
    return [
        _fit_at_lengthscale(training, axes.expand_lengthscales(lengths.where(matters, _WITHOUT_END)), seed)
        for lengths in tried
    ]


def _fit_at_lengthscale(training: TrainingSet, lengthscale: Float[Tensor, " d"], seed: int) -> Fit:
    """A fit with an α for each row; with too many rows, in features; if these miss too much, with α for a subset."""
    points, y = training.points, training.response
    if len(y) <= MOST_ROWS_WITH_ALPHA:
        return AlphaFit.fit_by_evidence(points, y, lengthscale)
    kernel = SquaredExponential(lengthscale.double()).requires_grad_(False)
    features = FeatureMap.from_largest_features(kernel, points, _MOST_FEATURES)
    if features.missing <= _MOST_MISSING:
        return FeatureFit.fit_by_evidence(features, points, y)
    # Standardised responses are numbers, whatever the old ones were: repeated settings are averaged.
    some = draw_row_numbers(len(y), MOST_ROWS_WITH_ALPHA, seed)
    return AlphaFit.fit_by_evidence(*average_replicates(points[some], y[some]), lengthscale)
