"""What sharing costs, and whether rows are found in it: the studies in small, and their tables as stored."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.problems.attacks import ATTACKS
from benchmarks.results import RESULTS
from benchmarks.site_tables import read_filled
from benchmarks.studies import recovery, sharing
from benchmarks.tables import DOCS
from support.cells import unmarked_agrees
from support.stored import over_problems

PAGE = read_filled(DOCS / "tables_sharing.md")
PAIR = "storm_coloc_wc_rs"


def rows_of(table: str) -> dict[str, list[str]]:
    """The cells of a table of the page, by their row's head."""
    text = PAGE.split(f"<!-- table: {table} -->")[1].split("<!-- end -->")[0].strip()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells[2:]}


def stored(study: str) -> pd.DataFrame:
    runs, values = pd.read_csv(RESULTS / f"{study}_runs.csv"), pd.read_csv(RESULTS / f"{study}.csv")
    return values.merge(runs, on="run")


def write_pair(folder: Path) -> None:
    """Two tables of the same invented response."""
    random = np.random.default_rng(0)
    (folder / PAIR).mkdir()
    for name, rows in (("source", 30), ("target", 20)):
        table = pd.DataFrame({"a": random.uniform(0, 1, rows), "b": random.uniform(0, 1, rows)})
        table.assign(y=np.sin(3 * table["a"]) + table["b"]).to_csv(folder / PAIR / f"{name}.csv", index=False)
    facts = {"inputs": ["a", "b"], "categorical": [], "goal": "max", "origin": "invented here", "licence": "none"}
    (folder / PAIR / "meta.json").write_text(json.dumps(facts))


@pytest.mark.parametrize("shared", sharing.SHARED)
@pytest.mark.usefixtures("short_search")
def test_a_campaign_with_what_is_shared(tmp_path: Path, shared: str) -> None:
    write_pair(tmp_path)
    curve = sharing.regret(tmp_path, sharing.SharingJob(PAIR, shared, "average", seed=0, trials=3))
    assert len(curve) == 3
    assert 0 <= curve[-1] <= curve[0] <= 1


def test_attacks_on_one_data_set() -> None:
    found = recovery.chances(recovery.RecoveryJob("rough", 2, 20, 0))
    full, anonymous = found[: len(ATTACKS)], found[len(ATTACKS) :]
    assert max(full) <= recovery.LUCKY
    assert min(anonymous) > recovery.LUCKY / 10


def test_the_table_of_costs_is_that_of_the_stored_results() -> None:
    results = stored("sharing")
    mean = results.groupby(["prior", "shared", "problem"])["value"].mean().clip(lower=1e-3)
    for prior in sharing.PRIORS:
        cells = rows_of("sharing")[f"`prior={prior!r}`"]
        for number, shared in enumerate((sharing.ANONYMOUS, sharing.NOTHING)):
            full = mean[prior, sharing.FULL]
            other = mean["average" if shared == sharing.NOTHING else prior, shared][full.index]
            ratios = other / full
            assert unmarked_agrees(cells[2 * number], over_problems(ratios.to_list())), (prior, shared)
            assert float(cells[2 * number + 1]) == pytest.approx(ratios.max(), abs=0.006)
    assert float(rows_of("sharing")["`prior='average'`"][0].split()[0]) < 1.15  # what is promised


def test_the_table_of_attacks_is_that_of_the_stored_results() -> None:
    results = stored("recovery")
    assert results["run"].nunique() == 90
    steps = results["step"] - results["step"].min()
    for number, (attack, cells) in enumerate(rows_of("recovery").items()):
        assert attack == list(ATTACKS)[number]
        for file, cell in enumerate(cells):
            share = (results.loc[steps == file * len(ATTACKS) + number, "value"] <= 0.05).mean()
            assert float(cell.split()[0]) == pytest.approx(100 * share, abs=0.51)
    assert all(float(cells[1].split()[0]) <= 12 < float(cells[0].split()[0]) for cells in rows_of("recovery").values())
