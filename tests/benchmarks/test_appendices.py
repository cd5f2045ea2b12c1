"""The tables of the appendices are those of the stored results."""

from collections.abc import Callable, Mapping

import pytest

from benchmarks.results import RESULTS, read_results
from benchmarks.studies.audits import command as audits
from benchmarks.studies.audits.tables import audit_tables
from benchmarks.studies.goals import command as goals
from benchmarks.studies.goals.tables import goal_tables
from benchmarks.studies.storing import stored_parts
from benchmarks.studies.workers import command as workers
from benchmarks.studies.workers.tables import worker_tables
from benchmarks.tables import DOCS

APPENDICES: dict[str, Callable[[], Mapping[str, str]]] = {
    "tables_goals.md": lambda: goal_tables(*goals.stored_parts(RESULTS)),
    "tables_workers.md": lambda: worker_tables(stored_parts(workers.STUDIES, RESULTS)),
    "tables_audit.md": lambda: audit_tables(*(read_results(one, RESULTS) for one in (audits.CLEAN, audits.SPOILED))),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", APPENDICES)
def test_an_appendix_has_the_tables_of_the_stored_results(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    found = APPENDICES[page]()
    assert found
    assert [name for name, table in found.items() if f"<!-- table: {name} -->\n{table}\n<!-- end -->" not in text] == []
