"""What a mistake costs and how batches spread: the studies in small, and their tables against stored results."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.results import RESULTS
from benchmarks.studies import batches, flat, mistakes, readers, slips
from benchmarks.tables import DOCS

PAGE = (DOCS / "reliability.md").read_text(encoding="utf-8")


def rows_of(table: str) -> dict[str, list[str]]:
    """The cells of a table of the page, by their row's head."""
    text = PAGE.split(f"<!-- table: {table} -->")[1].split("<!-- end -->")[0].strip()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    return {row[0]: row[1:] for row in cells[2:]}


def stored(study: str) -> pd.DataFrame:
    runs, values = pd.read_csv(RESULTS / f"{study}_runs.csv"), pd.read_csv(RESULTS / f"{study}.csv")
    return values.merge(runs, on="run")


@pytest.mark.parametrize("mistake", [mistakes.NO_OLD_DATA, mistakes.GOOD, *mistakes.MISTAKES])
@pytest.mark.usefixtures("short_search")
def test_a_campaign_with_a_mistake(mistake: str) -> None:
    job = mistakes.MistakeJob("Branin", mistake, seed=0, trials=2)
    curve = mistakes.regret(job)
    assert len(curve) == 2
    assert 0 <= curve[1] <= curve[0] <= 1
    if mistake in mistakes.MISTAKES:
        assert mistakes.is_warned_of(job)


def test_the_table_of_mistakes_is_that_of_the_stored_results() -> None:
    results = stored("mistakes")
    last = results[results["step"] == results["step"].max()]
    assert sorted(last["seed"].unique()) == list(range(20))
    assert (last.groupby(["mistake", "problem"]).size() == 20).all()
    means = last.groupby(["mistake", "problem"])["value"].mean().clip(lower=1e-3).unstack("problem")
    for mistake, cells in rows_of("mistakes").items():
        ratios = means.loc[mistake] / means.loc[mistakes.NO_OLD_DATA]
        shown = [float(cell.strip("*").split("*")[0].split()[0]) for cell in cells[:4]]
        expected = [*(ratios[name] for name in mistakes.NAMES), float(np.exp(np.log(ratios).mean()))]
        assert shown == pytest.approx(expected, abs=0.006)
        assert max(shown) <= 1.1  # what is promised
        assert cells[4] == ("0 of 60" if mistake == mistakes.GOOD else "60 of 60")


@pytest.mark.parametrize("prior", flat.PRIORS)
@pytest.mark.parametrize(("seed", "noticed"), [(4, 1.0), (68, 0.0)])
def test_flat_old_data_is_noticed(prior: str, seed: int, noticed: float) -> None:
    spread, found = flat.notice(flat.FlatJob(prior, seed))
    assert found == noticed
    assert (spread <= 1e-12) == bool(noticed)


def test_the_table_of_flat_old_data_is_that_of_the_stored_results() -> None:
    results = stored("flat")
    for prior, cells in rows_of("flat").items():
        own = results[results["prior"] == prior].pivot(index="seed", columns="step", values="value")
        assert list(own.index) == list(range(flat.SEEDS))
        is_flat = own[1] <= 1e-12
        assert cells == [f"{is_flat.sum()} of {is_flat.sum()}", f"{(~is_flat).sum()} of {(~is_flat).sum()}"]
        assert (own.loc[is_flat, 2] == 1).all()  # what is promised
        assert (own.loc[~is_flat, 2] == 0).all()
        assert is_flat.sum() >= 100


def test_settings_of_batches_are_apart() -> None:
    results = stored("batches")
    for kind, (count, near, least, median) in rows_of("batches").items():
        values = results.loc[results["kind"] == kind, "value"]
        assert int(count) == len(values) == 200
        assert int(near) == (values < 0.01).sum() == 0
        assert float(least) == pytest.approx(values.min(), abs=6e-4)
        assert float(median) == pytest.approx(values.median(), abs=6e-4)


@pytest.mark.parametrize("kind", ["continuous, old data", "mixed, old data"])
@pytest.mark.usefixtures("short_search")
def test_a_campaign_in_batches(kind: str) -> None:
    (found,) = batches.nearest(batches.BatchJob(kind, seed=0, batches=1))
    assert batches.NEAR < found <= 1


@pytest.mark.parametrize(
    ("slip", "with_old", "without"), [(slips.SOUND, 0, 0), ("× 10", 17, 0), ("a minus sign", 17, 0), ("-9999", 17, 17)]
)
def test_notes_of_slips_are_counted(tmp_path: Path, slip: str, with_old: int, without: int) -> None:
    """Responses from 50 to 100: ten times that is far beyond, and less than thirty ranges away."""
    name, rng = "reizman_3_4", np.random.default_rng(0)
    (tmp_path / name).mkdir()
    for table in ("source", "target"):
        x = rng.permutation(40) / 39
        pd.DataFrame({"x": x, "y": 50 + 50 * x}).to_csv(tmp_path / name / f"{table}.csv", index=False)
    facts = {"inputs": ["x"], "categorical": [], "goal": "max", "origin": "invented here", "licence": "none"}
    (tmp_path / name / "meta.json").write_text(json.dumps(facts), encoding="utf-8")
    for old, notes in ((slips.OLD_DATA, with_old), (slips.NO_OLD_DATA, without)):
        assert slips.noted(slips.SlipJob(name, old, slip, seed=0), tmp_path) == [notes, 17.0]


def test_the_table_of_slips_is_that_of_the_stored_results() -> None:
    results = stored("slips")
    assert sorted(results["seed"].unique()) == list(range(400, 410))
    assert results["problem"].nunique() == 23
    for slip, cells in rows_of("slips").items():
        for old, cell in zip((slips.OLD_DATA, slips.NO_OLD_DATA), cells, strict=True):
            of_kind = results[(results["slip"] == slip) & (results["old"] == old)].sort_values(["run", "step"])
            notes, count = of_kind["value"].to_numpy().reshape(-1, 2).sum(0)
            assert cell == f"{notes:,.0f} of {count:,.0f} ({100 * notes / count:.1f} %)"
    assert rows_of("slips")[slips.SOUND][0].startswith("0 of")  # what is promised


def test_results_are_recorded_among_readers() -> None:
    told = readers.recording_among_readers(readers.ReaderJob(0, readers=6, rounds=1))
    idle, among, answered, refused = told
    assert idle > 0
    assert among > 0
    assert answered + refused == 6


def test_the_table_of_readers_is_that_of_the_stored_results() -> None:
    results = stored("readers")
    assert (results["readers"] == 200).all()
    rounds = results.sort_values(["run", "step"])["value"].to_numpy().reshape(-1, 4)
    idle, among, answered, refused = rounds.T
    assert (answered + refused == 200).all()
    (cells,) = rows_of("readers").values()
    within = int((among <= 2 * idle + 1).sum())
    assert cells == [
        str(len(rounds)),
        f"{np.median(idle):.2f} s (at most {idle.max():.2f} s)",
        f"{np.median(among):.2f} s (at most {among.max():.2f} s)",
        f"{within} of {len(rounds)}",
        f"{answered.sum():.0f}",
        f"{refused.sum():.0f}",
    ]
