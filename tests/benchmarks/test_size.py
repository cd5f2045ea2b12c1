"""What is counted of the package's own source."""

import pandas as pd

from benchmarks.studies.size import ROOT, count_source, is_function_of_package, make_campaign, trace_ask
from support.cells import tables
from support.stored import RESULTS


def test_the_table_is_that_of_the_stored_counts() -> None:
    shown = {name: int(value.replace(",", "")) for name, value in tables("docs/flow.md")["size"][1]}
    assert shown == dict(pd.read_csv(RESULTS / "size.csv").itertuples(index=False))


def test_the_package_stays_small() -> None:
    counts = count_source()
    assert counts["modules"] <= 200
    assert counts["imports of model averaging elsewhere"] <= 6, "ask for a protocol instead"


def test_an_ask_passes_functions_of_the_package_only() -> None:
    opt = make_campaign(results=5)
    called = trace_ask(opt)
    names = {code.co_qualname for code in called}
    assert {"Optimizer.ask", "Suggester.suggest", "Average.fit", "cholesky"} <= names
    assert all(is_function_of_package(code) for code in called)
    assert len({code.co_filename for code in called}) <= 36
    assert all(code.co_filename.startswith(str(ROOT)) for code in called)
    assert len(opt.pending) == 1
