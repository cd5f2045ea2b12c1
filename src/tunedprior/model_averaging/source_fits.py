"""Fit functions ĝ to old data sets: kernel ridge regression at the most probable length-scales and at fixed ones.

Each old data set (source task) gets several fits, each with a prior probability, as a `SourceData`.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import log, sqrt

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import warn
from tunedprior.errors import InputError, NothingToLearnError, OldDataWarning
from tunedprior.goals.goal import Goal
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import AlphaFit, FeatureFit, Fit
from tunedprior.machines.feature_ridge import FeatureMap
from tunedprior.numerics.hyperparameters import HyperPrior
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.numerics.stationary import Axes
from tunedprior.source_data.matching import OldTable
from tunedprior.source_data.training_set import MOST_ROWS_WITH_ALPHA, TrainingSet, average_replicates, draw_row_numbers
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.pretraining import check_weight_prior
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.sources import OPPOSITE, SAME, UNKNOWN, LoadedSource, SourceData

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
#: The prior probabilities of the fits: the most probable one, then each at a fixed length-scale.
FIT_PROBABILITIES = (0.7, 0.1, 0.1, 0.1)
# A length-scale along which nothing changes.
_WITHOUT_END = 1e3


def fit_training_set(
    training: TrainingSet, seed: int = 0, axes: Axes | None = None, absent: Collection[int] = ()
) -> list[Fit]:
    """Fit old data at the most probable length-scales, one for each parameter, and at each of the fixed length-scales.

    Length-scales chosen on old data alone are brittle: they may smooth everything away, or fit what the objective does
    not share. So there are several fits, and the evidence of the observations weighs them. The most probable
    length-scales are those of a subset of the rows.

    Args:
        training: Old data as points and standardised responses.
        seed: The seed of the choice of rows.
        axes: The parameters, and the units of fixed length-scales: of the search space, however far old data reaches
            beyond it. Each input is a parameter, when left out.
        absent: The numbers of parameters that old data does not have: the fits do not depend on them.
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
    """Fit ĝ at the given length-scale, in the form that the number of rows allows.

    Up to `MOST_ROWS_WITH_ALPHA` rows have an α each. For more rows ĝ is a weighted sum of the kernel's largest
    features. If these miss more than `_MOST_MISSING` of the kernel's variance, a random subset of the rows has an α
    each.
    """
    points, y = training.points, training.response
    if len(y) <= MOST_ROWS_WITH_ALPHA:
        return AlphaFit.fit_by_evidence(points, y, lengthscale)
    kernel = SquaredExponential(lengthscale.double()).requires_grad_(False)
    features = FeatureMap.from_largest_features(kernel, points, _MOST_FEATURES)
    if features.missing <= _MOST_MISSING:
        return FeatureFit.fit_by_evidence(features, points, y)
    # Responses at repeated settings are averaged as numbers, also where they were labels before standardisation.
    some = draw_row_numbers(len(y), MOST_ROWS_WITH_ALPHA, seed)
    return AlphaFit.fit_by_evidence(*average_replicates(points[some], y[some]), lengthscale)


#: Fixed length-scales are in units of the search space, or of this part of the box where it is smaller.
_LEAST_SHARE = 1 / 3
_SOME = 64  # settings that stand for all


def fit_sources(
    old_data: Mapping[str, LoadedSource],
    space: Space,
    seed: int,
    relations: Mapping[str, str] | None = None,
    direction: Goal = "maximize",
    within: Box | None = None,
    reversed_sources: Collection[str] = (),
) -> tuple[Box, tuple[SourceData, ...]]:
    """Fit each old data set, in a box around the space and all old settings.

    Sets without anything to learn from are left out, with a warning. A `WeightPrior` is a single fit, in the box that
    it was learnt in, so it cannot be joined with other sets.

    Args:
        old_data: Old data sets by name, as they were read.
        space: The search space.
        seed: Determines which rows are drawn where there are too many.
        relations: What the user knows of old data sets, by name: "same", "opposite" or "unknown".
        direction: What is wanted of the response now.
        within: The box to use in place of the one around the settings.
        reversed_sources: The names of sets that had the opposite direction (see `find_reversed_sources`).
    """
    relations = relations or {}
    if any(isinstance(one, WeightPrior) for one in old_data.values()):
        its_box, learnt = _convert_weight_prior(old_data, space)
        return its_box, tuple(
            _apply_relation(one, relations, direction, False, one.name in reversed_sources) for one in learnt
        )
    tables = {name: one for name, one in old_data.items() if isinstance(one, OldTable)}
    useful: dict[str, tuple[Box, TrainingSet]] = {}
    for name, table in tables.items():
        own = Box.enclose(space, table.settings if len(table) else None)
        try:
            useful[name] = own, TrainingSet.from_old_table(table, own).standardise()
        except NothingToLearnError as error:  # before it can stretch the box that all share
            warn(f"{error} Going on without {name}.", OldDataWarning)
    if not useful:
        return within or Box.enclose(space), ()
    box = within or Box.enclose(space, pd.concat([tables[name].settings for name in useful], ignore_index=True))
    # However far old data reaches beyond the space, a length-scale is not to be shorter than it resolves.
    axes = box.make_kernel_axes(space).clamp_units(_LEAST_SHARE)
    known = []
    with isolate_computation():
        for name, (own, ready) in useful.items():
            sets = [ready if own == box else TrainingSet.from_old_table(tables[name], box).standardise()]
            sets = _drop_doubtful(tables[name], box) + sets
            varying = [axis.name for axis in box.axes if axis.width]
            absent = [number for number, column in enumerate(varying) if column in tables[name].absent]
            fitted = [(fit, one.scale) for one in sets for fit in fit_training_set(one, seed, axes, absent)]
            fits, units = zip(*fitted, strict=True)
            sample = sets[-1].points[draw_row_numbers(len(sets[-1].points), _SOME, seed)]
            found = SourceData(
                name, fits, units, sets[0].shift, FIT_PROBABILITIES * len(sets),
                sample=sample, places=sets[-1].places, span=tables[name].span,
            )  # fmt: skip
            known.append(_apply_relation(found, relations, direction, tables[name].labels, name in reversed_sources))
    return box, tuple(known)


def _apply_relation(
    one: SourceData, relations: Mapping[str, str], direction: Goal, labels: bool, was_reversed: bool
) -> SourceData:
    """The set with the sign of its relation: negative for numbers to be minimised; "pass" is good."""
    rises = -1 if direction == "minimize" and not labels else 1
    sign = {SAME: rises, OPPOSITE: -rises}.get(relations.get(one.name, UNKNOWN), 0)
    return replace(one, sign=sign, presumed_sign=-rises if was_reversed else rises)


def _drop_doubtful(table: OldTable, box: Box) -> list[TrainingSet]:
    """The rows without doubtful responses, if there are doubtful ones and the rest can be fitted; else none."""
    if not table.doubtful.any():
        return []
    try:
        return [TrainingSet.from_old_table(table.select_rows(~table.doubtful), box).standardise()]
    except NothingToLearnError:
        return []


def _convert_weight_prior(old_data: Mapping[str, LoadedSource], space: Space) -> tuple[Box, tuple[SourceData, ...]]:
    if len(old_data) > 1:
        raise InputError(
            f"A WeightPrior brings its own box, so it must be the only old data; got {len(old_data)} sets. "
            "Give the tables they were learnt from instead."
        )
    ((name, prior),) = old_data.items()
    assert isinstance(prior, WeightPrior)
    usable = check_weight_prior(prior, space)
    if usable is None:
        return Box.enclose(space), ()
    if usable.reach != 1:
        raise InputError(
            f"The average needs a kernel that is defined on all of [-1, 1]; {type(usable.base).__name__} is not. "
            "Use prior='reweighted', or another kernel."
        )
    return usable.box, (
        SourceData(name, (usable.fit,), (usable.response_scale,), usable.response_shift, places=usable.row_places),
    )
