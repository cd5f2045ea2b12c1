"""The evidence of variants of the average: densities, arms, gathered results, and a quick run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.problems.pairs import Pair, read_any_pair
from benchmarks.results import RESULTS, read_results
from benchmarks.studies import evidence
from benchmarks.studies.evidence import (
    ARMS,
    DEFAULT,
    Group,
    VaryingKernel,
    gather_results,
    group_hypotheses,
    weigh_groups,
    weigh_pair,
)
from support import reference
from support.cases import table
from tunedprior import Optimizer
from tunedprior.beliefs import list_beliefs
from tunedprior.goals.observations import Observations
from tunedprior.machines import AlphaFit
from tunedprior.model_averaging.average import Average


def write_pair(folder: Path, rows: int = 60) -> Pair:
    """A pair whose new response is the old one, turned over and bent."""
    rng = np.random.default_rng(0)
    settings = [pd.DataFrame(rng.uniform(-1, 1, (rows, 2)), columns=["a", "b"]) for _ in range(2)]
    old, new = (one.assign(y=np.sin(2 * one["a"]) + one["b"] ** 2) for one in settings)
    path = folder / "lig__invented"
    path.mkdir()
    old.to_csv(path / "source.csv", index=False)
    new.assign(y=-np.exp(new["y"])).to_csv(path / "target.csv", index=False)
    facts = {"inputs": ["a", "b"], "categorical": [], "goal": "max"}
    (path / "meta.json").write_text(json.dumps(facts))
    return read_any_pair(folder, path.name)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return write_pair(tmp_path)


def average_of(pair: Pair) -> Average:
    average = Optimizer(pair.space, pair.old, direction=pair.direction, seed=0).surrogate
    assert isinstance(average, Average)
    return average


@pytest.mark.slow
def test_the_default_arm_weighs_as_the_package_does(pair: Pair) -> None:
    average = average_of(pair)
    X = average.box.encode(pair.pool)
    x, y = average.box.to_kernel_inputs(X), torch.tensor(pair.responses)
    groups, some = group_hypotheses(average.hypotheses), torch.arange(12)
    found, _ = weigh_groups(average.hypotheses, list(groups.values()), x, y, some, torch.arange(12, 14))
    posterior = (torch.as_tensor(ARMS[DEFAULT].compute_log_masses(list(groups))) + found).softmax(0)
    standardised = (y[:12] - y[:12].mean()) / y[:12].std()
    weighed, _ = average.weigh(Observations(X[:12], standardised[:, None]))
    expected = torch.stack([weighed.weights[rows].sum() for rows in groups.values()])
    torch.testing.assert_close(posterior, expected, rtol=1e-9, atol=1e-12)


def test_the_default_arm_has_the_defaults_masses(pair: Pair) -> None:
    hypotheses = average_of(pair).hypotheses
    groups = group_hypotheses(hypotheses)
    expected = torch.stack([hypotheses.log_prior.softmax(0)[rows].sum() for rows in groups.values()])
    masses = ARMS[DEFAULT].compute_log_masses(list(groups))
    assert np.exp(masses).tolist() == pytest.approx(expected.tolist())
    averaged = {one.name: one.mass for one in list_beliefs() if one.in_default_average}
    assert ARMS[DEFAULT].masses == averaged


@pytest.mark.slow
def test_densities_of_another_result_integrate_to_one(pair: Pair) -> None:
    average, grid = average_of(pair), torch.linspace(-100, 100, 8001, dtype=torch.float64)
    x, y = average.box.to_kernel_inputs(average.box.encode(pair.pool)), torch.tensor(pair.responses)
    # One setting with each response of a grid, in units of standardised results.
    x = torch.cat([x[:8], x[20:21].expand(len(grid), -1)])
    y = torch.cat([y[:8], y[:8].mean() + y[:8].std() * grid])
    groups = group_hypotheses(average.hypotheses)
    found, joint = weigh_groups(
        average.hypotheses, list(groups.values()), x, y, torch.arange(8), torch.arange(8, len(x))
    )
    total = torch.trapezoid((joint - found[:, None]).exp(), grid)
    torch.testing.assert_close(total, torch.ones_like(total), rtol=2e-3, atol=0)


@pytest.mark.parametrize("name", ARMS)
def test_the_masses_of_an_arm_add_up_to_one(name: str) -> None:
    arm, groups = ARMS[name], [Group("shape"), Group("uninformed")]
    for belief in ("aligned", evidence.PlacesBelief.name, evidence.VaryingBelief.name):
        groups.append(Group(belief))
        groups += [Group(belief, share, kind) for share in _every_share() for kind in evidence.ALL_REMAINDERS]
    masses, of_belief = np.exp(arm.compute_log_masses(groups)), dict.fromkeys(arm.masses, 0.0)
    assert sum(arm.masses.values()) == pytest.approx(1.0)
    for mass, group in zip(masses.tolist(), groups, strict=True):
        if mass:
            of_belief[group.belief] += mass
    assert of_belief == pytest.approx(dict(arm.masses))
    pure = sum(mass for mass, group in zip(masses, groups, strict=True) if group == Group("aligned"))
    assert pure == pytest.approx(arm.masses.get("aligned", 0.0) * arm.shares.pure)


def _every_share() -> set[float]:
    return {share for arm in ARMS.values() for share in arm.shares.shares}


def test_a_campaign_gathers_the_best_settings(pair: Pair) -> None:
    average = average_of(pair)
    x, y = average.box.to_kernel_inputs(average.box.encode(pair.pool)), torch.tensor(pair.responses)
    first = torch.arange(6)
    seen = gather_results(average.hypotheses, x, y, first, 40)
    assert seen[:6].tolist() == first.tolist()
    assert len(set(seen.tolist())) == len(seen) == 30  # half the pool
    assert int(y.argmax()) in seen.tolist()


def test_a_slope_that_varies_equals_loops() -> None:
    old, x = table(6, 2, seed=1), table(3, 2, seed=2)
    fit = AlphaFit.fit_by_evidence(old, old[:, 0].sin() + old[:, 1], torch.tensor([0.7, 1.3], dtype=torch.float64))
    lengthscales, alpha = [0.7, 1.3], fit.alpha.tolist()

    def k2(points: list[list[float]]) -> float:
        return reference.squared_exponential(points, lengthscales)

    def learnt(point: list[float]) -> float:
        return sum(a * k2([anchor, point]) for a, anchor in zip(alpha, old.tolist(), strict=True))

    varying = VaryingKernel(fit)
    wide = reference.stationary("matern 5/2", [2 * one for one in lengthscales])
    for i, left in enumerate(x.tolist()):
        for j, right in enumerate(x.tolist()):
            whole = reference.aligned(k2, [left, right], old.tolist(), alpha, fit.lam)
            expected = whole - (1 - wide(left, right)) * learnt(left) * learnt(right)
            assert varying.forward(x, x)[i, j].item() == pytest.approx(expected, rel=1e-8, abs=1e-10)
    torch.testing.assert_close(
        varying.forward(x, x, diag=True), varying.forward(x, x).diagonal(), rtol=1e-9, atol=1e-10
    )


@pytest.mark.slow
def test_what_is_kept_gives_the_same(tmp_path: Path, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    job = evidence.EvidenceJob("lig__invented", 0, DEFAULT)
    groups, sets = weigh_pair(pair, 0)
    monkeypatch.setattr(evidence, "weigh_pair", lambda *_: (groups, sets))
    kept = str(tmp_path / "kept")
    first = evidence.compute_measures(str(tmp_path), kept, job)
    monkeypatch.delattr(evidence, "weigh_pair")
    evidence._weigh_kept.cache_clear()
    assert evidence.compute_measures(str(tmp_path), kept, job) == first
    assert len(first) == len(evidence.RESULT_SETS) * len(evidence.MEASURES)
    assert np.isfinite(first).all()
    log_masses = ARMS[DEFAULT].compute_log_masses(groups)
    none = replace(sets[0], joint=sets[0].joint[:, :5], best=sets[0].best[:5])
    assert np.isnan(none.measure(log_masses)).all()  # too few to say anything


@pytest.mark.slow
def test_the_study_has_a_quick_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_pair(tmp_path)
    main(["evidence", "--corpus", str(tmp_path), "--smoke", "--workers", "1"])
    told = capsys.readouterr().out
    assert "| lig" in told
    assert f"{evidence.PLACES}; chosen on" in told
    with pytest.raises(SystemExit, match="no folder FAMILY__NAME"):
        main(["evidence", "--corpus", str(tmp_path), "--families", "storm"])


def test_stored_results_are_of_all_arms_on_the_families_that_check() -> None:
    table = evidence.arrange(read_results("evidence", RESULTS))
    families = set(table.index.get_level_values("family"))
    assert families == {*evidence.CHECKED_ON, *evidence.CHOSEN_ON}
    assert families == {family for group in evidence.GROUPS.values() for family in group}
    assert set(table.columns.get_level_values("arm")) == set(ARMS)
