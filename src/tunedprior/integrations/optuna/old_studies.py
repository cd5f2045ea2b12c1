"""Old data of a sampler: whatever an `Optimizer` takes, and other studies, by their names or URLs."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
from optuna.exceptions import StorageInternalError
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from tunedprior.algorithm1.storage import is_weight_prior
from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.checks import format_list, format_value, hide_password
from tunedprior.errors import InputError, TunedPriorError
from tunedprior.files.content import ReadTable
from tunedprior.files.names import is_same_name
from tunedprior.files.study import FAILED, get_directions
from tunedprior.files.tables import read_table
from tunedprior.problem.aims import Goals
from tunedprior.problem.old_data import UNNAMED
from tunedprior.studies.access import get_storage
from tunedprior.studies.histories import CONSTRAINT, read_constraints
from tunedprior.studies.opening import open_storage


class OldDataNotFoundError(InputError):
    """Old data that is named by a path, a study's name or a URL, and is not to be found from here."""


def find_old_data(given: Any, study: Study) -> Any:
    """The old data set itself: text is the path of a file, the URL of a storage, or the name of a study in this one."""
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
    """An `InputError` if an old data set has none of these responses, whatever the parameters will turn out to be."""
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


def select_for_group(data: Any, names: Sequence[str], aims: Goals, constraints: Mapping[str, str]) -> Any | None:
    """An old data set as `read_sources` takes it for these parameters; None if it has none of them.

    Args:
        data: What `find_old_data` gave.
        names: The parameters.
        aims: What the study is after.
        constraints: What the response of each constraint is called.
    """
    if isinstance(data, Study):
        return _make_study_table(data, names, aims, constraints)
    if isinstance(data, str | PathLike) and is_weight_prior(data):
        data = WeightPrior.load(data)
    if isinstance(data, WeightPrior):
        return data if set(data.box.names) == set(names) else None
    responses = [one.name for one in aims.responses]
    columns = read_table(data, [*names, *responses], "Old data").table.columns
    return data if any(name in columns for name in names) else None


def _make_study_table(
    old: Study, names: Sequence[str], aims: Goals, constraints: Mapping[str, str]
) -> ReadTable | None:
    """A row for each trial that has all of the parameters that the old study knows; None if it knows none of them."""
    targets = [one.name for one in aims.objectives]
    _refuse_other_objectives(old, targets)
    trials = old.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.FAIL))
    known = {name for trial in trials for name in trial.params}
    wanted = [name for name in names if name in known]
    if not wanted:
        return None
    used = [trial for trial in trials if all(one in trial.params for one in wanted)]
    rows = [_make_row(trial, wanted, targets, constraints) for trial in used]
    table = pd.DataFrame(rows, columns=[*wanted, *_list_responses(rows, wanted)], dtype=object)
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


def _list_responses(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row if column not in names))
