"""A database that several workers share: Optuna's storage, set up so that none of them can spoil another's trials."""

import warnings
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import RDBStorage

from tunedprior.errors import InputError
from tunedprior.studies.opening import open_database, parse_address

# Optuna 4.9 gave both another name, and warns of the old one.
_RETRY = getattr(optuna.storages, "RetryHeartbeatStaleTrialCallback", None) or optuna.storages.RetryFailedTrialCallback
_ON_STALE = (
    "heartbeat_stale_trial_callback"
    if hasattr(optuna.storages, "RetryHeartbeatStaleTrialCallback")
    else "failed_trial_callback"
)


def open_shared_storage(
    url: str,
    *,
    heartbeat_interval: int = 60,
    grace_period: int | None = None,
    max_retry: int | None = 3,
    busy_timeout: float = 60.0,
) -> RDBStorage:
    """Optuna's `RDBStorage` for `run_worker` (or `study.optimize`) in many processes at once.

    A worker's trial that shows no sign of life for the grace period is failed by the others and queued once more.
    `studies.opening.database` has what is done beyond that.

    Args:
        url: As SQLAlchemy writes it: `sqlite:///study.db`, `postgresql+psycopg2://user:password@host/database`.
        heartbeat_interval: Seconds between signs of life.
        grace_period: Seconds without one after which a trial is failed; twice the interval unless told.
        max_retry: How often a trial whose worker died is queued again; None: until it is completed.
        busy_timeout: Seconds that a worker waits for another one's lock on an SQLite file.
    """
    address = parse_address(url)
    on_file = address.get_backend_name() == "sqlite"
    if on_file and address.database in (None, "", ":memory:"):
        raise InputError("Workers cannot share SQLite's memory: name a file, as in sqlite:///study.db.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # heartbeats are, to Optuna
        on_stale: dict[str, Any] = {_ON_STALE: _RETRY(max_retry=max_retry)}
        return open_database(
            url, busy_timeout, heartbeat_interval=heartbeat_interval, grace_period=grace_period, **on_stale
        )
