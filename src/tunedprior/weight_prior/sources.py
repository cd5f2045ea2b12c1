"""Old data sets (source tasks): by name, read for each response, and what was learnt from each."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import torch
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.goals.goal import Goal, Target
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.goals.observations import Observations
from tunedprior.machines.machine import Fit
from tunedprior.source_data.matching import UNNAMED, OldTable, read_old_data
from tunedprior.source_data.rows import OldDataReport, SourceReport
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.tables.reading import read_table
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.prior_archive import is_weight_prior

#: What users may give as one old data set: whatever `tables.read_table` reads, a `WeightPrior`, or its file's path.
OldData = Any
#: An old data set that was read.
LoadedSource = OldTable | WeightPrior
#: What the user may know of an old response: nothing, that it rises with the new one, or that it falls.
UNKNOWN, SAME, OPPOSITE = RELATIONS = ("unknown", "same", "opposite")
_NOTHING = float("nan")
#: What makes up the rest of the variance of a response, where a relation to old data is held.
BEYOND, OPEN, NOISE, DOUBT = ("beyond", "open", "noise", "doubt")
_COLUMNS = (list, tuple, range, np.ndarray, pd.Series, Tensor)


@dataclass(frozen=True, eq=False)
class SourceData:
    """One old data set (source task) and the functions that were fitted to it.

    Attributes:
        name: What the user calls it; "old data" if there is one and it has no name.
        fits: The fitted functions ĝ, the most probable first.
        units: For each fit, the standard deviation of the responses, by which they were divided for it.
        shift: The mean of the responses, which was subtracted for the first fit.
        fit_probabilities: The prior probability of each fit; equal probabilities, when left out.
        sign: +1 or -1 if the user knows that the response to be maximised rises or falls with the old one; 0 if not.
        presumed_sign: +1 or -1: the sign of that relation if better old responses mean better new ones.
        sample: Some of its settings, as kernel inputs; None if they are not at hand.
        places: Where the rows of each setting of the last fit stand in their source; empty if that is not known.
        span: The least and the largest response, doubtful ones aside; None for labels, or if that is not known.
    """

    name: str
    fits: tuple[Fit, ...]
    units: tuple[float, ...]
    shift: float = 0.0
    fit_probabilities: tuple[float, ...] = ()
    sign: int = 0
    presumed_sign: int = 1
    sample: Float[Tensor, "m d"] | None = None
    places: tuple[str, ...] = ()
    span: tuple[float, float] | None = None

    def get_fit_weight(self, fit_index: int) -> float:
        """The prior probability of a fit, up to a factor; the mean of all fits for -1, which stands for no fit."""
        if self.fit_probabilities and fit_index >= 0:
            return self.fit_probabilities[fit_index]
        return 1 / max(1, len(self.fits))

    def predict(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """ĝ at kernel inputs, in standard deviations of the old response: the average of all fits."""
        weights = torch.tensor([self.get_fit_weight(number) for number in range(len(self.fits))]).to(x)
        return weights @ torch.stack([fit(x) for fit in self.fits]) / weights.sum()

    def predict_response(self, box: Box, X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
        """g at encoded settings, in units of the old response (or of its logarithm)."""
        return self.shift + self.units[0] * self.predict(box.to_kernel_inputs(X))


@dataclass(frozen=True)
class Relation:
    """The posterior of the relation ρ·ĝ(x) + … of the objective to one old data set with the function ĝ.

    Attributes:
        explained: By belief, the share of the variance of a response that ρ·ĝ makes up, as far as old data determines
            ĝ; times the belief's probability. 0 for beliefs that are not there.
        slope: E[ρ | D], in the units of the objective over those of the old response; nan where no hypothesis has a ρ.
        positive: P(ρ > 0 | D); nan likewise.
        rest: The other shares of a response's variance if one of these beliefs holds: variation that the old response
            does not have (`BEYOND`), what is still `OPEN`, `NOISE`, and what old data itself leaves open (`DOUBT`).
    """

    explained: Mapping[str, float] = field(default_factory=dict)
    slope: float = _NOTHING
    positive: float = _NOTHING
    rest: Mapping[str, float] = field(default_factory=dict)

    @property
    def trust(self) -> float:
        """The share of the variance of a response that old data explains."""
        return sum(self.explained.values())


#: The probability of each belief, by the names of the old data set (empty for none) and of the belief.
BeliefProbabilities = Mapping[tuple[str, str], float]


@runtime_checkable
class SourceSurrogate(Protocol):
    """A surrogate that learnt functions from old data sets."""

    @property
    def sources(self) -> tuple[SourceData, ...]:
        """The old data sets, with the functions that were fitted to each; none, where nothing was learnt."""
        ...


@runtime_checkable
class BeliefWeighingSurrogate(SourceSurrogate, Protocol):
    """A surrogate that weighs several beliefs about each old data set by the observations."""

    @property
    def box(self) -> Box:
        """How settings are encoded."""
        ...

    @property
    def weighs_beliefs(self) -> bool:
        """Whether there are several beliefs to weigh: there is old data, and no belief is held alone."""
        ...

    def estimate_relations(
        self, observations: Observations | None, sign: float, cache: Any = None
    ) -> tuple[BeliefProbabilities, dict[str, Relation], Any]:
        """The posterior probability of each belief, the relation to each old data set, and a cache for the next call.

        Args:
            observations: D; None before the first result.
            sign: The objective's, by which slopes on old responses are turned back.
            cache: From a call with fewer of the observations; it affects the time, and nothing else.
        """
        ...

    def predict_by_belief(
        self, model: Model, observations: Observations, X: Float[Tensor, "1 k"], cache: Any = None
    ) -> dict[tuple[str, str], float]:
        """The prediction of each belief at a setting, in units of the observations, without improbable beliefs.

        Args:
            model: The surrogate's own model of the observations.
            observations: D.
            X: The setting, encoded.
            cache: As the surrogate gave it with the model.
        """
        ...


def name_sources(old_data: Any) -> dict[str, OldData]:
    """Old data sets by name, from a single one, a list of them, or a dict.

    A list of dicts is one table, row by row, and a dict of columns is one too.
    """
    if old_data is None:
        return {}
    if isinstance(old_data, Mapping):
        if not all(isinstance(name, str) and name for name in old_data):
            raise InputError(
                "Old data sets need names, as text, to tell them apart; got "
                f"{format_list(map(format_value, old_data))}."
            )
        if any(map(_is_number, old_data.values())):  # no data set is a number: it is one row of a table
            return {UNNAMED: [old_data]}
        if old_data and all(
            isinstance(one, Mapping) and not any(map(_is_column, one.values())) for one in old_data.values()
        ):
            raise InputError(
                "Old data must be a dict of lists; got one of dicts, as table.to_dict() gives. Pass the table itself, "
                "or table.to_dict('list')."
            )
        columns = [_is_column(one) for one in old_data.values()]
        if old_data and all(columns):
            return {UNNAMED: old_data}
        if any(columns):
            raise InputError(
                "A dict is either the columns of one table or old data sets by name; got both "
                f"({format_list(f'{name}: {type(one).__name__}' for name, one in old_data.items())})."
            )
        return dict(old_data)
    if not isinstance(old_data, list | tuple) or _are_records(old_data):
        return {UNNAMED: old_data}
    if any(isinstance(one, int | float) for one in old_data):
        raise InputError(
            "Old data must be a table, or several of them; got a list with a number "
            f"({format_list(map(format_value, old_data))})."
        )
    return {f"{UNNAMED} {position}": one for position, one in enumerate(old_data, start=1)}


def _is_number(one: Any) -> bool:
    return isinstance(one, int | float | np.number)


def _is_column(one: Any) -> bool:
    return isinstance(one, _COLUMNS) and not _are_records(one)


def _are_records(data: Any) -> bool:
    return isinstance(data, list | tuple) and len(data) > 0 and all(isinstance(row, Mapping) for row in data)


def read_sources(old_data: Mapping[str, OldData], space: Space, goals: Goals) -> dict[str, dict[str, LoadedSource]]:
    """Read old data for each response: every old data set that has the response, matched to the space.

    All findings of one set are in one warning. With several responses, an old data set must have at least one of them;
    with a single response, it must have that.
    """
    found: dict[str, dict[str, LoadedSource]] = {one.name: {} for one in goals.responses}
    for name, data in old_data.items():
        for response in _find_responses(data, space, goals, name):
            others = [one for one in found if one != response.name]
            found[response.name][name] = _read_source(data, space, response, name, others)
    return found


def _find_responses(data: OldData, space: Space, goals: Goals, name: str) -> list[Objective]:
    """The responses that an old data set has; with a single response, that one."""
    if len(goals.responses) == 1:
        return [goals.main]
    names = [one.name for one in goals.responses]
    if isinstance(data, WeightPrior) or (isinstance(data, str | PathLike) and is_weight_prior(data)):
        raise InputError(f"A WeightPrior is of one response; there are {format_list(names)}. Give the table instead.")
    columns = list(read_table(data, [*space.names, *names], f"Old data {name!r}").table.columns)
    there = [one for one in goals.responses if one.name in columns]
    if not there:
        raise InputError(
            f"Old data {name!r} must have one of the responses {format_list(names)} as a column; there are "
            f"{format_list(map(format_value, columns))}. Rename it."
        )
    return there


def _read_source(one: OldData, space: Space, response: Objective, name: str, others: Collection[str]) -> LoadedSource:
    if isinstance(one, WeightPrior):
        return one
    if isinstance(one, str | PathLike) and is_weight_prior(one):
        return WeightPrior.load(one)
    return read_old_data(one, space, response.name, response.direction, name, others=others, log=response.log)


def make_common_box(old_data: Iterable[Mapping[str, LoadedSource]], space: Space) -> Box:
    """The box around the space and the settings of all old data, of whichever response."""
    tables = [one for sets in old_data for one in sets.values() if isinstance(one, OldTable) and len(one)]
    return Box.enclose(space, pd.concat([one.settings for one in tables], ignore_index=True) if tables else None)


def make_report(old_data: Iterable[Mapping[str, LoadedSource]]) -> OldDataReport:
    """The findings of reading, for each response."""
    return OldDataReport(
        tuple(
            one.report
            if isinstance(one, OldTable)
            else SourceReport(name, "a weight prior", len(one.anchors), len(one.anchors), "what was learnt before")
            for sets in old_data
            for name, one in sets.items()
        )
    )


def parse_relations(relation: Any, names: Collection[str]) -> dict[str, str]:
    """The user's knowledge of each old data set, from one word for all of them or a dict by name."""
    by_name = dict(relation) if isinstance(relation, Mapping) else dict.fromkeys(names, relation)
    unknown = [name for name in by_name if name not in names]
    if unknown:
        there = format_list(map(repr, names)) if names else "none"
        raise InputError(
            f"relation names {format_list(map(format_value, unknown))}, and the old data sets are {there}."
        )
    wrong = [word for word in (by_name.values() if names else [relation]) if word not in RELATIONS]
    if wrong and not isinstance(relation, Mapping):
        raise InputError(
            f"relation must be one of {format_list(RELATIONS)}, or a dict of these by the names of old data sets; got "
            f"{format_value(relation)}."
        )
    if wrong:
        raise InputError(
            f"A relation must be one of {format_list(RELATIONS)}; got {format_list(map(format_value, wrong))}."
        )
    if not names and relation != UNKNOWN and not isinstance(relation, Mapping):
        raise InputError(
            f"relation={format_value(relation)} says how the response goes with old data, and there is none. "
            "Give old_data, "
            "or leave relation out."
        )
    return {name: by_name.get(name, UNKNOWN) for name in names}


def find_reversed_sources(old_data: Mapping[str, LoadedSource], direction: Goal) -> tuple[str, ...]:
    """The sets in which less was better where more is wanted now, or the reverse; labels say which is good."""
    tables = {name: one for name, one in old_data.items() if isinstance(one, OldTable) and not one.labels}
    if isinstance(direction, Target):
        return ()
    return tuple(name for name, one in tables.items() if one.source_direction not in ("", direction))
