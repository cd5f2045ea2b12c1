"""The few things of Optuna that have no public name: a study's storage, and the identities in it."""

from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy import Engine


def storage_of(study: Study) -> BaseStorage:
    """Where the study is kept."""
    return study._storage


def engine_of(study: Study) -> Engine | None:
    """The database that the study is kept in; None for storages that are none."""
    storage = storage_of(study)
    database = getattr(storage, "_backend", storage)  # Optuna puts a cache before databases
    return database.engine if isinstance(database, RDBStorage) else None


def id_of(one: Study | Trial | FrozenTrial) -> int:
    """By which the storage knows a study or a trial."""
    return one._study_id if isinstance(one, Study) else one._trial_id


def id_of_number(study: Study, number: int) -> int:
    """By which the storage knows the trial with this number."""
    return int(storage_of(study).get_trial_id_from_study_id_trial_number(id_of(study), number))


def set_attribute(study: Study, trial: Trial | FrozenTrial, name: str, value: object) -> None:
    """Keep something with a trial that runs, out of sight of the user's own attributes."""
    storage_of(study).set_trial_system_attr(id_of(trial), name, value)  # type: ignore[arg-type]  # any JSON


def put_back(study: Study, trial: Trial | FrozenTrial) -> None:
    """Have a trial that was begun wait again: whoever asks next is given it."""
    storage_of(study).set_trial_state_values(id_of(trial), TrialState.WAITING)


def study_attributes(study: Study) -> dict[str, object]:
    """What is kept with a study, out of sight of the user's own attributes."""
    return dict(storage_of(study).get_study_system_attrs(id_of(study)))


def set_study_attribute(study: Study, name: str, value: object) -> None:
    """Keep something with a study, out of sight of the user's own attributes."""
    storage_of(study).set_study_system_attr(id_of(study), name, value)  # type: ignore[arg-type]  # any JSON
