"""What a mistake costs and how batches spread: the studies in small, and their tables against stored results."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.results import RESULTS
from benchmarks.site_tables import read_filled
from benchmarks.studies import batches, diverging, dual, flat, mistakes, readers, slips
from benchmarks.tables import DOCS
from support import reference

PAGE = read_filled(DOCS / "reliability.md")


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


@pytest.mark.parametrize("kind", dual.KERNELS)
@pytest.mark.parametrize("lam", [1e-8, 1e-2])
def test_the_reference_in_long_double_is_the_dual_in_fifty_digits(kind: str, lam: float) -> None:
    rng = np.random.default_rng(1)
    anchors = rng.uniform(-0.9, 0.9, (12, 2))
    y = np.sin(2 * anchors[:, 0]) * anchors[:, 1] ** 2 + 0.3 * anchors[:, 0]
    x = rng.uniform(-0.9, 0.9, (2, 2))
    pairs, parameter = np.stack([[x[0], x[1], x[0]], [x[0], x[1], x[1]]], axis=1), None if kind == "log ratio" else 0.7
    exact = np.array(reference.exact_reweighted(kind, parameter, anchors, y, lam, pairs))
    found = dual.extended(kind, parameter, anchors, y, lam, pairs)
    error = np.abs(found.values - exact).max() / exact[:2].mean()
    assert error <= found.error + 1e-14  # values are kept as float64
    assert found.error < 1e-9


@pytest.mark.parametrize(("case", "by_alpha"), [(0, False), (14, True)])
def test_many_rows_as_printed_are_the_exact_dual(case: int, by_alpha: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dual, "_POINTS", 2)
    refused, lam, alphas, features, error, reference_error = dual.compare(dual.CASES[case])
    assert refused == 0
    assert lam < 1e-7
    assert (alphas, features > 0) == ((501, False) if by_alpha else (0, True))
    assert error + reference_error < 1e-6


def test_a_factor_in_long_double_solves_what_double_cannot() -> None:
    values = np.geomspace(1.0, 1e-17, 80)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((80, 80)))[0].astype(dual.Wide)
    matrix = (basis * values) @ basis.T + 1e-17 * np.eye(80)
    right = matrix @ np.ones(80, dtype=dual.Wide)
    assert np.abs(dual._wide_solver(matrix)(right) - 1).max() < 0.1


def test_the_table_of_many_rows_is_that_of_the_stored_results() -> None:
    results, rows = stored("dual"), rows_of("dual")
    assert len(rows) == len(dual.CASES) == 20
    within = 0
    for case, job in zip(rows.values(), dual.CASES, strict=True):
        own = results[
            (results["problem"] == job.problem)
            & (results["rows"] == job.rows)
            & (results["kernel"] == job.kernel)
            & (results["noise"] == job.noise)
        ].sort_values("step")["value"]
        assert case[:5] == [
            job.problem, str(dual.inputs_of(job.problem)), f"{job.rows:,}", job.kernel, f"{job.noise:g}"
        ]  # fmt: skip
        if own.iloc[0] == 1:
            assert case[5:] == ["", "refused", "", ""]
            continue
        _, lam, alphas, features, error, bound = own
        assert float(case[5]) == pytest.approx(lam, rel=0.06)
        assert case[6] == (f"{alphas:,.0f} α" if alphas else f"{features:,.0f} features")
        assert [float(case[7]), float(case[8])] == pytest.approx([error, bound], rel=0.5)
        assert error < 1e-6  # what is promised: right, or refused
        within += 1
    assert within == 19
    assert "Nineteen cases are within it, and one is refused." in PAGE


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


@pytest.mark.parametrize(("method", "old"), diverging.METHODS)
@pytest.mark.usefixtures("short_search")
def test_a_campaign_on_a_loss_that_diverges(method: str, old: str) -> None:
    curve = diverging.regret(diverging.DivergingJob("ramp", method, old, seed=0, trials=3))
    assert len(curve) == 3
    assert curve == sorted(curve, reverse=True)
    assert min(curve) >= 0
    assert diverging.loss(diverging.RAMP, {"x0": 0.5}) == 1e30
    assert diverging.loss(diverging.RAMP, {"x0": 0.0}) == pytest.approx(0.0)


def test_a_diverging_loss_costs_no_more_than_gp_sampler() -> None:
    results = stored("diverging")
    last = results[results["step"] == results["trials"]]
    final = last.set_index(["problem", "method", "old", "seed"])["value"].unstack("seed")
    assert list(final.columns) == list(range(10))
    for row, cells in rows_of("diverging").items():
        method, _, old = row.partition(", ")
        for problem, cell in zip(diverging.PROBLEMS, cells, strict=True):
            own = final.loc[(problem, method, old or diverging.WITHOUT)]
            base = final.loc[(problem, diverging.GAUSSIAN, diverging.WITHOUT)]
            mean, *interval = map(
                float, cell.replace("(", " ").replace(")", " ").replace(",", " ").replace("to", " ").split()
            )
            assert mean == pytest.approx(own.mean(), rel=0.06)
            if interval:
                by, low, high = interval
                assert by == pytest.approx((own - base).mean(), rel=0.06)
                half = 2.262 * (own - base).std() / np.sqrt(10)  # Student's t with nine degrees of freedom
                assert [low, high] == pytest.approx([by - half, by + half], rel=0.06, abs=1e-3)
                assert by <= (high - low) / 2  # what is promised: not above by more than the interval


def test_what_ordinary_results_would_be_taken_for_is_counted(tmp_path: Path) -> None:
    (tmp_path / "line").mkdir()
    about = {"inputs": ["x", "kind"], "categorical": ["kind"], "goal": "min"}
    (tmp_path / "line" / "meta.json").write_text(json.dumps(about), encoding="utf-8")
    rows = pd.DataFrame({"x": np.arange(40.0), "kind": ["a", "b"] * 20, "y": np.arange(40.0)})
    job = diverging.OrdinaryJob("line", 0, 3)
    for worst, found in ((39.0, 0.0), (1e30, 3.0)):
        rows.loc[30:, "y"] = worst
        rows.to_csv(tmp_path / "line" / "target.csv", index=False)
        assert diverging.taken_as_far_worse(job, tmp_path) == [found, 3.0]


def test_the_table_of_ordinary_results_is_that_of_the_stored_counts() -> None:
    results = stored("ordinary")
    counts = results.pivot(index="problem", columns="step", values="value")
    pairs = counts[~counts.index.str.contains("__")].sum()
    assert rows_of("ordinary")[diverging.PAIRS][0].startswith(f"{pairs[1]:.0f} of {pairs[2]:,.0f}")
    assert pairs[1] == 0  # ordinary results are left as they are
    for family, (cell,) in rows_of("ordinary").items():
        own = counts[counts.index.str.startswith(f"{family}__")].sum() if family != diverging.PAIRS else pairs
        assert cell == f"{own[1]:,.0f} of {own[2]:,.0f} ({100 * own[1] / own[2]:.1f} %)"
