"""The few things of Optuna that have no public name: a study's storage, and the identities in it."""

from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy import Engine


def get_storage(study: Study) -> BaseStorage:
    """Where the study is kept."""
    return study._storage


def get_engine(study: Study) -> Engine | None:
    """The database that the study is kept in; None for storages that are none."""
    storage = get_storage(study)
    database = getattr(storage, "_backend", storage)  # Optuna puts a cache before databases
    return database.engine if isinstance(database, RDBStorage) else None


def get_storage_id(one: Study | Trial | FrozenTrial) -> int:
    """By which the storage knows a study or a trial."""
    return one._study_id if isinstance(one, Study) else one._trial_id


def find_trial_id(study: Study, number: int) -> int:
    """By which the storage knows the trial with this number."""
    return int(get_storage(study).get_trial_id_from_study_id_trial_number(get_storage_id(study), number))


def set_trial_attribute(study: Study, trial: Trial | FrozenTrial, name: str, value: object) -> None:
    """Keep something with a trial that runs, out of sight of the user's own attributes."""
    get_storage(study).set_trial_system_attr(get_storage_id(trial), name, value)  # type: ignore[arg-type]  # any JSON


def requeue_trial(study: Study, trial: Trial | FrozenTrial) -> None:
    """Have a trial that was begun wait again: whoever asks next is given it."""
    get_storage(study).set_trial_state_values(get_storage_id(trial), TrialState.WAITING)


def get_study_attributes(study: Study) -> dict[str, object]:
    """What is kept with a study, out of sight of the user's own attributes."""
    return dict(get_storage(study).get_study_system_attrs(get_storage_id(study)))


def set_study_attribute(study: Study, name: str, value: object) -> None:
    """Keep something with a study, out of sight of the user's own attributes."""
    get_storage(study).set_study_system_attr(get_storage_id(study), name, value)  # type: ignore[arg-type]  # any JSON
