"""Studies that have trials already: random settings of a test function, with noise."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import optuna
import sqlalchemy
from optuna.distributions import BaseDistribution, FloatDistribution, distribution_to_json
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage, InMemoryStorage, RDBStorage
from optuna.trial import FrozenTrial

from benchmarks.problems.functions import Function
from benchmarks.studies.speed.data import observations
from benchmarks.studies.workers.server import Server, running_server

MEMORY, SQLITE, POSTGRESQL = "memory", "SQLite", "PostgreSQL"


@contextmanager
def database(kind: str) -> Iterator[tuple[str, Server | None]]:
    """The address of a new database, and the server where there is one."""
    if kind == POSTGRESQL:
        with running_server() as server:
            yield server.url, server
    else:
        with TemporaryDirectory(prefix="tunedprior-study-") as folder:
            yield f"sqlite:///{Path(folder) / 'study.db'}", None


@contextmanager
def storage_of(kind: str) -> Iterator[BaseStorage]:
    """As people make it who have one process."""
    if kind == MEMORY:
        yield InMemoryStorage()
        return
    with database(kind) as (url, _):
        storage = RDBStorage(url)
        try:
            yield storage
        finally:
            storage.engine.dispose()


def distributions_of(function: Function) -> dict[str, BaseDistribution]:
    """The function's box."""
    return {name: FloatDistribution(*ends) for name, ends in function.space.items()}


def trials_of(function: Function, count: int, seed: int) -> list[FrozenTrial]:
    """So many that are completed."""
    space = distributions_of(function)
    return [
        optuna.create_trial(params=dict(setting), distributions=space, value=response)
        for setting, response in observations(function, count, seed)
    ]


def study_with(storage: BaseStorage, name: str, sampler: BaseSampler, trials: list[FrozenTrial]) -> optuna.Study:
    """A study that is maximised, with these trials."""
    study = optuna.create_study(storage=storage, study_name=name, sampler=sampler, direction="maximize")
    if isinstance(storage, RDBStorage):
        insert(storage, name, trials)
    else:
        study.add_trials(trials)
    return study


def insert(storage: RDBStorage, name: str, trials: list[FrozenTrial]) -> None:
    """What `study.add_trials` does to a study without trials, in one transaction: 10,000 would take minutes."""
    tables = sqlalchemy.MetaData()
    tables.reflect(storage.engine, only=["studies", "trials", "trial_params", "trial_values"])
    studies, kept = tables.tables["studies"], tables.tables["trials"]
    with storage.engine.begin() as connection:
        found = sqlalchemy.select(studies.c.study_id).where(studies.c.study_name == name)
        study_id = connection.execute(found).scalar_one()
        rows = [
            {"number": number, "study_id": study_id, "state": one.state.name, "datetime_start": _at(one.datetime_start)}
            | {"datetime_complete": _at(one.datetime_complete)}
            for number, one in enumerate(trials)
        ]
        connection.execute(kept.insert(), rows)
        numbered = sqlalchemy.select(kept.c.number, kept.c.trial_id).where(kept.c.study_id == study_id)
        ids: Mapping[int, int] = dict(connection.execute(numbered).all())
        params = [
            {
                "trial_id": ids[number],
                "param_name": param,
                "param_value": one.distributions[param].to_internal_repr(value),
                "distribution_json": distribution_to_json(one.distributions[param]),
            }
            for number, one in enumerate(trials)
            for param, value in one.params.items()
        ]
        connection.execute(tables.tables["trial_params"].insert(), params)
        values = [
            {"trial_id": ids[number], "objective": 0, "value": one.value, "value_type": "FINITE"}
            for number, one in enumerate(trials)
        ]
        connection.execute(tables.tables["trial_values"].insert(), values)


def _at(moment: datetime | None) -> datetime | None:
    """As Optuna stores it: in universal time, without saying so."""
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None)
