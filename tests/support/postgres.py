"""A real PostgreSQL server for the tests that need one; they are skipped where it is not installed."""

from collections.abc import Iterator

import pytest

from benchmarks.studies.workers.server import Server, missing, running_server

needs_postgres = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """One for all tests of a process: `new_database` gives each its own; whoever restarts it leaves it running."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    with running_server() as server:
        yield server
