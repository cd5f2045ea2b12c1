"""Old data of the sampler: tables and other studies, and the fitted source models that are stored with the study."""

import hashlib
import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
from optuna.exceptions import StorageInternalError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tunedprior.checks import format_list, format_value, hide_password
from tunedprior.errors import FileFormatError, InputError, TunedPriorError
from tunedprior.goals.goals import Goals
from tunedprior.models.surrogate import Surrogate
from tunedprior.source_data.matching import UNNAMED, OldTable
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space
from tunedprior.storage.blobs import (
    are_compatible,
    decode_surrogates,
    encode_surrogates,
    get_blob_description,
    has_blob,
    load_blob,
    save_blob,
)
from tunedprior.storage.databases import get_storage, open_storage
from tunedprior.storage.study_trials import CONSTRAINT, read_constraints
from tunedprior.suggestion.config import CampaignConfig, TransferConfig, describe_sources
from tunedprior.suggestion.priors import make_surrogates
from tunedprior.tables.content import FAILED, ReadTable, get_directions
from tunedprior.tables.names import is_same_name
from tunedprior.tables.reading import read_table
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.prior_archive import is_weight_prior
from tunedprior.weight_prior.sources import (
    LoadedSource,
    find_reversed_sources,
    name_sources,
    parse_relations,
    read_sources,
)


class OldDataNotFoundError(InputError):
    """Old data given by a path, a study's name or a URL that cannot be found here."""


def find_old_data(given: Any, study: Study) -> Any:
    """Resolve old data; text is a file's path, a storage's URL, or the name of a study in the same storage."""
    if not isinstance(given, str | PathLike):
        return given
    text = str(given)
    if "://" in text:
        return _load_study(text)
    if Path(text).is_file():
        return given
    try:
        names = optuna.get_all_study_names(get_storage(study))
    except StorageInternalError:
        names = []
    if text == study.study_name:
        raise InputError(
            f"Old data {format_value(text)} is this study itself: its trials would count twice. Name another study."
        )
    if text in names:
        return optuna.load_study(study_name=text, storage=get_storage(study))
    raise OldDataNotFoundError(
        f"Old data {format_value(text)} is neither a file nor a study in this storage (there are "
        f"{format_list(names)}). Give its "
        "path, its name, or the URL of its storage such as 'sqlite:///old.db#name'."
    )


def _load_study(url: str) -> Study:
    where, _, name = url.partition("#")
    file = where.removeprefix("sqlite:///")
    if where.startswith("sqlite:///") and not Path(file).is_file():  # which would be made
        shown_file = hide_password(where).removeprefix("sqlite:///")
        raise OldDataNotFoundError(f"Old data: there is no file {shown_file!r}. Give the URL of a storage that exists.")
    try:
        storage = open_storage(where)
        names = optuna.get_all_study_names(storage)
    except TunedPriorError as error:
        raise OldDataNotFoundError(f"Old data: {error}") from error
    except StorageInternalError as error:
        raise OldDataNotFoundError(f"Old data: {hide_password(where)!r} cannot be read now: {error}") from error
    if not name and len(names) == 1:
        name = names[0]
    if name not in names:
        raise OldDataNotFoundError(
            f"Old data: the storage has the studies {format_list(names)}; got {format_value(name)}. Name one "
            "after '#', as in "
            "'sqlite:///old.db#name'."
        )
    return optuna.load_study(study_name=name, storage=storage)


def refuse_missing_responses(responses: Sequence[str], data: Any, name: str) -> None:
    """Raise an `InputError` if an old data set has none of these responses."""
    if isinstance(data, Study):
        _refuse_other_objectives(data, responses)
    if isinstance(data, Study | WeightPrior) or (isinstance(data, str | PathLike) and is_weight_prior(data)):
        return
    if callable(getattr(data, "read", None)):  # an open file is read once
        return
    what = "Old data" if name == UNNAMED else f"Old data {name!r}"
    columns = [str(one) for one in read_table(data, responses, what).table.columns]
    # A response that is called like a parameter gets another name, and constraints are not known yet. Which of several
    # columns that are like a response it is, may depend on the parameters.
    stems = {*columns, *(one.rstrip("_") for one in columns)}
    is_there = any(is_same_name(stem, one) for stem in stems for one in responses)
    if not is_there and not any(one.startswith(CONSTRAINT) for one in columns):
        raise InputError(
            f"{what} must have the response as a column; {format_list(responses)} is missing (there are "
            f"{format_list(columns)}). "
            "Name the response with target=, or rename its column."
        )


def select_for_group(data: Any, names: Sequence[str], goals: Goals, constraints: Mapping[str, str]) -> Any | None:
    """Select the columns of an old data set for a group of parameters; None if it has none of them.

    Args:
        data: What `find_old_data` gave.
        names: The parameters.
        goals: What the study is after.
        constraints: What the response of each constraint is called.
    """
    if isinstance(data, Study):
        return _make_study_table(data, names, goals, constraints)
    if isinstance(data, str | PathLike) and is_weight_prior(data):
        data = WeightPrior.load(data)
    if isinstance(data, WeightPrior):
        return data if set(data.box.names) == set(names) else None
    responses = [one.name for one in goals.responses]
    columns = read_table(data, [*names, *responses], "Old data").table.columns
    return data if any(name in columns for name in names) else None


def _make_study_table(
    old: Study, names: Sequence[str], goals: Goals, constraints: Mapping[str, str]
) -> ReadTable | None:
    """A row for each trial that has all of the parameters that the old study knows; None if it knows none of them."""
    targets = [one.name for one in goals.objectives]
    _refuse_other_objectives(old, targets)
    trials = old.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL))
    known = {name for trial in trials for name in trial.params}
    wanted = [name for name in names if name in known]
    if not wanted:
        return None
    used = [trial for trial in trials if all(one in trial.params for one in wanted)]
    rows = [_make_row(trial, wanted, targets, constraints) for trial in used]
    columns = dict.fromkeys([*wanted, *(column for row in rows for column in row)])
    table = pd.DataFrame(rows, columns=list(columns), dtype=object)
    numbers = [trial.number for trial in used]
    return ReadTable(table, f"the study {old.study_name!r}", (), numbers, "trial", get_directions(old, targets))


def _refuse_other_objectives(old: Study, targets: Sequence[str]) -> None:
    if len(old.directions) != len(targets):
        raise InputError(
            f"The old study {old.study_name!r} has {len(old.directions)} objectives, and this one has {len(targets)} "
            f"({format_list(targets)}). Pass a table of its trials with a column for each of these that it has."
        )


def _make_row(
    trial: FrozenTrial, names: Sequence[str], targets: Sequence[str], constraints: Mapping[str, str]
) -> dict[str, Any]:
    values = [FAILED] * len(targets) if trial.state == TrialState.FAIL else trial.values
    required = {constraints[key]: one for key, one in read_constraints(trial).items() if key in constraints}
    return {name: trial.params[name] for name in names} | dict(zip(targets, values, strict=True)) | required


_log = logging.getLogger(__name__)
_LEARNT = "learnt:"  # what is kept begins with this


@dataclass(frozen=True, eq=False)
class SourceLearner:
    """Old data and how to learn from it.

    Attributes:
        old_data: As for `Optimizer`, or other studies.
        prior: As for `Optimizer`.
        relation: As for `Optimizer`.
        seed: Of random choices of old rows.
        artifact_store: Where to keep what was learnt; with the study, when left out.
    """

    old_data: Any
    prior: str
    relation: str | Mapping[str, str]
    seed: int
    artifact_store: Any = None

    def check_old_data(self, study: Study, responses: Sequence[str]) -> None:
        """Raise an error for old data that is missing or lacks the responses.

        What is not here may have been learnt from by others, and is kept with the study then.

        Args:
            study: The study.
            responses: What its values are called.
        """
        for name, one in name_sources(self.old_data).items():
            try:
                data = find_old_data(one, study)
            except OldDataNotFoundError:
                if not has_blob(study, _LEARNT):
                    raise
            else:
                refuse_missing_responses(responses, data, name)

    def find_other_columns(self, study: Study, names: Sequence[str]) -> list[str] | None:
        """The columns of old data, if it has none for these parameters; None if it has, or that is not known."""
        columns: list[str] = []
        for one in name_sources(self.old_data).values():
            try:
                data = find_old_data(one, study)
            except OldDataNotFoundError:
                return None
            found = _list_columns(data, names)
            if found is None or any(name in found for name in names):
                return None
            columns += found
        return list(dict.fromkeys(columns)) or None

    def learn_surrogates(
        self,
        study: Study,
        space: Space,
        goals: Goals,
        constraints: Mapping[str, str],
        outside: Sequence[Setting],
        is_only_group: bool,
    ) -> dict[str, Surrogate]:
        """Return a surrogate for each response, learnt from old data or loaded from the study.

        Old data that is here and new is learnt from and kept with the study. What is kept already, or of old data that
        is not here, is taken from there.

        Args:
            study: The study.
            space: The parameters of the group.
            goals: What the study is after.
            constraints: What the response of each constraint is called.
            outside: Settings of results outside the space, whose ranges have changed.
            is_only_group: Whether all parameters are in this group.
        """
        name = f"{_LEARNT}{_hash_parameters(space, goals)}"
        stored = get_blob_description(study, name)
        try:
            old = self._read_old_data(study, space, goals, constraints, is_only_group)
        except OldDataNotFoundError as error:
            if stored is None:
                raise
            _log.info(f"{error} Going on with what the study learnt from it.")
            old = None
        if old is None and stored is not None:
            return self._load_surrogates(study, name, space, goals) or self._fit_surrogates({}, space, goals, outside)
        if not old:
            return self._fit_surrogates({}, space, goals, outside)
        sets, read = old
        fingerprints = {one.name: one.fingerprint for one in describe_sources(sets, read)}
        about = {"prior": self.prior, "relation": repr(self.relation), "sources": fingerprints}
        reversed_sources = {one.name: find_reversed_sources(read[one.name], one.direction) for one in goals.responses}
        if any(reversed_sources.values()):
            about["turned"] = {name: list(sets) for name, sets in reversed_sources.items()}
        if stored == about and not outside:
            found = self._load_surrogates(study, name, space, goals)
            if found is not None:
                return found
        found = self._fit_surrogates(read, space, goals, outside, sets)
        save_blob(study, name, encode_surrogates(found), about, self.artifact_store)
        return found

    def _read_old_data(
        self, study: Study, space: Space, goals: Goals, constraints: Mapping[str, str], is_only_group: bool
    ) -> tuple[dict[str, Any], dict[str, dict[str, LoadedSource]]] | None:
        """Old data sets by name, and as they were read for each response; None if none was given for these."""
        given = {name: find_old_data(one, study) for name, one in name_sources(self.old_data).items()}
        sets = {name: select_for_group(one, space.names, goals, constraints) for name, one in given.items()}
        # With other groups of parameters there may be some that old data has nothing of; without, that is a mistake.
        sets = {name: given[name] if one is None and is_only_group else one for name, one in sets.items()}
        sets = {name: one for name, one in sets.items() if one is not None}
        return (sets, read_sources(sets, space, goals)) if sets else None

    def _fit_surrogates(
        self,
        read: Mapping[str, Mapping[str, LoadedSource]],
        space: Space,
        goals: Goals,
        outside: Sequence[Setting],
        sets: Collection[str] = (),
    ) -> dict[str, Surrogate]:
        by_response = {one.name: read.get(one.name, {}) for one in goals.responses}
        known = parse_relations(self.relation, name_sources(self.old_data)) if sets else {}
        relations = {name: one for name, one in known.items() if name in sets}
        within = _make_wider_box(space, by_response, outside)
        config = CampaignConfig(space, goals, TransferConfig(self.prior, relations=relations), seed=self.seed)
        return make_surrogates(config, by_response, within)

    def _load_surrogates(self, study: Study, name: str, space: Space, goals: Goals) -> dict[str, Surrogate] | None:
        """Load the surrogates stored with the study, if they fit this space."""
        try:
            data = load_blob(study, name, self.artifact_store)
            found = None if data is None else decode_surrogates(data)
        except (FileFormatError, InputError) as error:
            _log.warning(f"What was learnt from old data cannot be read from the study, and is left aside: {error}")
            return None
        if found is not None and are_compatible(found, space, goals):
            return found
        _log.warning("What the study learnt from old data is of another search space, and is left aside.")
        return None


def _list_columns(data: Any, names: Sequence[str]) -> list[str] | None:
    """The columns of an old data set, called as the parameters where they are like them; None for an open file."""
    if isinstance(data, Study):
        trials = data.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL))
        return list(dict.fromkeys(name for trial in trials for name in trial.params))
    if isinstance(data, str | PathLike) and is_weight_prior(data):
        data = WeightPrior.load(data)
    if isinstance(data, WeightPrior):
        return list(data.box.names)
    if callable(getattr(data, "read", None)):
        return None
    return [str(one) for one in read_table(data, names, "Old data").table.columns]


def _hash_parameters(space: Space, goals: Goals) -> str:
    """The parameters and the responses, in few characters."""
    responses = [(one.name, str(one.direction)) for one in goals.responses]
    return hashlib.sha256(json.dumps([space.names, responses]).encode()).hexdigest()[:16]


def _make_wider_box(
    space: Space, old: Mapping[str, Mapping[str, LoadedSource]], outside: Sequence[Setting]
) -> Box | None:
    """The box around everything, where results lie outside of the space; None for that of the space and old data."""
    if not outside:
        return None
    tables = [one.settings for sets in old.values() for one in sets.values() if isinstance(one, OldTable) and len(one)]
    return Box.enclose(space, pd.concat([*tables, pd.DataFrame(list(outside))], ignore_index=True))
