"""The tables of pruning in docs/algorithm1.md, computed from the stored results without the code that wrote them."""

import numpy as np

from support.cells import marked_agrees, tables, time_agrees
from support.stored import LEAST, STANDARD, Estimate, curves

PAGE = "docs/algorithm1.md"
EACH = "α for each row"
FIRST = 3  # settings that all share


def parse(cell: str) -> tuple[str, int]:
    """ "Hartmann-6, 5,000" as the problem and the number of old rows."""
    problem, rows = cell.split(", ")
    return problem, int(rows.replace(",", ""))


def median(problem: str, rows: int, method: str, step: int) -> float:
    found = curves("pruning")
    of_it = (found["problem"] == problem) & (found["rows"] == rows) & (found["method"] == method)
    values = found.loc[of_it & (found["step"] == step), "value"]
    return float(values.median())


def test_errors() -> None:
    head, rows = tables(PAGE)["pruning"]
    assert len(rows) == 8
    assert set(head[1:]) == set(curves("pruning")["method"]) - {EACH}
    for name, *cells in rows:
        for method, cell in zip(head[1:], cells, strict=True):
            error, variances = (median(*parse(name), method, step) for step in (1, 2))
            assert cell == f"{error:.2f} ({variances:.2g})", (name, method)
        assert median(*parse(name), EACH, 1) == 1


def test_what_is_said_of_errors() -> None:
    cases = set(curves("pruning")[["problem", "rows"]].itertuples(index=False, name=None))
    others = set(curves("pruning")["method"]) - {EACH}
    for problem, rows in cases:
        assert min(others, key=lambda method: median(problem, rows, method, 2)) == "features"
        if problem == "eggholder":
            assert min(others, key=lambda method: median(problem, rows, method, 1)) == "pruned to 200"


def test_times() -> None:
    head, rows = tables(PAGE)["pruning times"]
    assert set(head[1:]) == set(curves("pruning")["method"])
    for name, *cells in rows:
        for method, cell in zip(head[1:], cells, strict=True):
            for printed, step in zip(cell.split(", "), (3, 4), strict=True):
                seconds = median(*parse(name), method, step)
                assert time_agrees(printed, None if np.isnan(seconds) else seconds), (name, method)


def test_regrets() -> None:
    head, rows = tables(PAGE)["pruning campaigns"]
    found = curves("pruning_campaigns")
    draws = np.random.default_rng(3).integers(8, size=(20_000, 8))
    for name, *cells in rows:
        problem, count = parse(name)
        later = found[(found["problem"] == problem) & (found["step"] > FIRST)]
        base = later[later["method"] == STANDARD].groupby("seed")["value"].mean().to_numpy()
        for method, cell in zip(head[1:], cells, strict=True):
            own = (
                later[(later["method"] == method) & (later["rows"] == count)].groupby("seed")["value"].mean().to_numpy()
            )
            assert len(own) == len(base) == 8
            means = [np.maximum(each[draws].mean(axis=1), LEAST) for each in (own, base)]
            middle = max(own.mean(), LEAST) / max(base.mean(), LEAST)
            assert marked_agrees(cell, Estimate(middle, means[0] / means[1])), (name, method, cell)


def test_what_is_said_of_campaigns() -> None:
    found = curves("pruning_campaigns")
    later = found[(found["rows"] > 0) & (found["step"] > FIRST)]
    means = later.groupby(["rows", "method"])["value"].mean().unstack("method")
    assert (means.max(axis=1) / means.min(axis=1)).max() < 1.1
    assert means.loc[5000, "features"] < means.loc[5000, "pruned to 200"]
