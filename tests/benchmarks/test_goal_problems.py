"""Problems with several responses, constraints and shares of a whole: their optima are those that were published."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from botorch.utils.multi_objective.hypervolume import Hypervolume
from scipy.optimize import minimize

from benchmarks.problems import fibre
from benchmarks.problems.constrained import CONSTRAINED, Constrained
from benchmarks.problems.fronts import front, hypervolume
from benchmarks.problems.several_responses import FUNCTIONS, POOLS, TwoResponses, problem_named
from benchmarks.problems.simplex import mixture_of
from benchmarks.problems.variants import FACTORS, ROWS, old_variant


def on_the_front(name: str, count: int) -> np.ndarray:
    """Settings on the true front: ZDT1's has zeros after the first input, DTLZ2's has halves."""
    rest = {"ZDT1": 0.0, "DTLZ2": 0.5}[name]
    settings = np.full((count, 4), rest)
    settings[:, 0] = np.linspace(0, 1, count)
    return settings


def test_a_hypervolume_is_botorchs() -> None:
    values, reference = np.random.default_rng(0).uniform(size=(40, 2)), np.array([0.9, 0.8])
    by_botorch = Hypervolume(torch.tensor(-reference)).compute(torch.tensor(-front(values)))
    assert hypervolume(values, reference) == pytest.approx(by_botorch)
    assert hypervolume(values + 1, reference) == 0.0
    assert hypervolume(np.array([[0.5, 0.5]]), np.array([1.0, 2.0])) == pytest.approx(0.75)


def test_equal_settings_are_on_the_front_once() -> None:
    values = np.array([[1.0, 2.0], [1.0, 2.0], [1.0, 3.0], [2.0, 2.0], [2.0, 1.0]])
    assert front(values).tolist() == [[1.0, 2.0], [2.0, 1.0]]


def test_true_fronts_are_the_published_ones() -> None:
    zdt1 = problem_named("ZDT1").formula(on_the_front("ZDT1", 50))
    assert np.allclose(zdt1[:, 1], 1 - np.sqrt(zdt1[:, 0]))
    dtlz2 = problem_named("DTLZ2").formula(on_the_front("DTLZ2", 50))
    assert np.allclose((dtlz2**2).sum(axis=1), 1)


@pytest.mark.parametrize("name", ["ZDT1", "DTLZ2"])
def test_the_true_front_leaves_no_regret(name: str) -> None:
    problem = problem_named(name)
    found = problem.formula(on_the_front(name, 4000))
    assert 0 <= problem.regret(found) < 2e-3
    assert problem.regret(found[:1] + 5) == 1.0


def test_no_settings_of_a_box_dominate_more_than_the_front() -> None:
    settings = np.random.default_rng(1).uniform(size=(20000, 2))
    problem = problem_named("Branin-Currin")
    values = problem.formula(settings)
    assert 0.9 * problem.largest < hypervolume(values, problem.reference) < problem.largest


@pytest.mark.parametrize("name", FUNCTIONS)
def test_responses_and_first_settings_are_repeatable(name: str) -> None:
    problem = problem_named(name)
    first = problem.first_settings(300)
    assert first == problem.first_settings(300) != problem.first_settings(301)
    assert len(first) == len(problem.space) + 1
    assert list(problem.respond(first[0])) == ["f0", "f1"]
    pd.testing.assert_frame_equal(problem.old(300), problem.old(300))
    assert list(problem.old(300).columns) == [*problem.space, "f0", "f1"]


def test_old_variants_are_shifted_turned_and_stretched() -> None:
    table = old_variant({"a": (0.0, 10.0)}, lambda x: np.hstack([x, x]), ["p", "q"], seed=0)
    assert len(table) == ROWS
    moved = np.clip(table["a"] - 1, 0, 10)
    for response, factor in zip(("p", "q"), FACTORS, strict=True):
        assert np.corrcoef(moved, table[response])[0, 1] * np.sign(factor) > 0.999
        assert np.polyfit(moved, table[response], 1)[0] == pytest.approx(factor, rel=0.02)


@pytest.mark.parametrize("name", ["Gardner 1", "Gardner 2"])
def test_gardners_optima_are_found_on_a_grid(name: str) -> None:
    problem = CONSTRAINED[name]
    steps = np.linspace(0, 6, 1201)
    found = problem.formula(np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2))
    least = found[found[:, 1] <= 0, 0].min()
    assert problem.optimum - 1e-9 <= least < problem.optimum + 1e-2
    assert problem.regret(found) < 3e-3


def test_the_springs_optimum_is_the_published_one() -> None:
    problem = CONSTRAINED["spring"]
    published = np.array([[0.05169, 0.35674, 11.28897]])
    assert problem.formula(published)[0, 0] == pytest.approx(0.012665, abs=2e-6)
    limits = {"type": "ineq", "fun": lambda x: -problem.formula(x[None])[0, 1:]}
    start, bounds = np.array([0.06, 0.5, 8.0]), list(problem.space.values())
    options = {"ftol": 1e-12, "maxiter": 500}
    best = minimize(lambda x: problem.formula(x[None])[0, 0], start, bounds=bounds, constraints=limits, options=options)
    assert best.fun == pytest.approx(problem.optimum, abs=1e-7)
    assert (problem.formula(best.x[None])[0, 1:] <= 1e-6).all()


@pytest.mark.parametrize("problem", CONSTRAINED.values(), ids=lambda problem: problem.name)
def test_regret_is_whole_until_the_constraints_are_met(problem: Constrained) -> None:
    broken = np.array([[problem.optimum, *[1.0] * problem.num_constraints]])
    met = np.array([[problem.optimum, *[0.0] * problem.num_constraints]])
    assert problem.regret(broken) == 1.0
    assert problem.regret(np.concatenate([broken, met])) == pytest.approx(0, abs=1e-12)
    assert problem.worst > problem.optimum
    assert list(problem.respond(problem.first_settings(0)[0])) == list(problem.old(0).columns[len(problem.space) :])


def test_lengths_are_what_records_are_made_of() -> None:
    raw, squared = fibre.lengths("A", 20, seed=3), fibre.records("A", 20, seed=3)
    assert np.allclose(squared["y"], (raw["length"] - 500) ** 2)


def pair(folder: Path, name: str, inputs: list[str], categorical: list[str], **tables: pd.DataFrame) -> None:
    """Files of a measured pair."""
    (folder / name).mkdir()
    for file, table in tables.items():
        table.to_csv(folder / name / f"{file}.csv", index=False)
    facts = {"inputs": inputs, "categorical": categorical, "goal": "min", "origin": "here", "licence": "none"}
    (folder / name / "meta.json").write_text(json.dumps(facts))


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A folder with the pairs that pools and mixtures are made of, small ones."""
    rng = np.random.default_rng(0)
    storm = pd.DataFrame(
        {"Spout_wait": np.repeat([1, 10, 100], 4), "Spliters": np.tile([1, 2, 3, 4], 3), "Counters": range(12)}
    )
    inputs, latency = list(storm), storm.assign(y=rng.uniform(100, 900, 12))
    pair(tmp_path, "storm_c1_c3_lat", inputs, [], source=latency, target=latency.assign(y=3 * latency["y"]))
    throughput = storm.assign(y=1e6 / latency["y"])
    pair(tmp_path, "storm_c1thr_c3lat_flip", inputs, [], source=throughput, target=latency)
    laser = pd.DataFrame(
        {"power": range(12), "time": rng.integers(1, 99, 12), "pressure": range(12), "gas": ["Air", "Argon"] * 6}
    )
    drawn = {name: laser.assign(y=rng.uniform(size=12)) for name in ("PI", "GOPI", "GOQ")}
    inputs = list(laser)
    pair(tmp_path, "lig_PI_GOPI", inputs, ["gas"], source=drawn["PI"], target=drawn["GOPI"])
    pair(tmp_path, "lig_GOPI_GOQ", inputs, ["gas"], source=drawn["GOPI"], target=drawn["GOQ"].iloc[2:])
    shares = pd.DataFrame(rng.dirichlet(np.ones(4), 40), columns=[f"mat_{number}" for number in range(1, 5)])
    mixed = shares.assign(y=shares["mat_1"] + 2 * shares["mat_2"])
    pair(tmp_path, "photo_nodup", list(shares), [], source=mixed, target=mixed)
    return tmp_path


@pytest.mark.parametrize("name", POOLS)
def test_pools_have_two_measured_responses(name: str, measured: Path) -> None:
    problem: TwoResponses = problem_named(name, str(measured))
    assert len(problem.pool) == {"laser graphene": 10, "storm": 12}[name]  # settings that both were measured at
    assert problem.regret(problem.measured) == 0.0
    setting = problem.pool.iloc[3].to_dict()
    assert list(problem.respond(setting).values()) == problem.measured[3].tolist()
    worst = problem.measured * problem.signs <= problem.reference * problem.signs
    assert worst.all()
    assert list(problem.old(1).columns) == [*problem.space, *problem.directions]


def test_storm_goes_fast_or_waits(measured: Path) -> None:
    problem = problem_named("storm", str(measured))
    assert problem.directions == {"throughput": "maximize", "log_latency": "minimize"}
    throughput, log_latency = problem.measured.T
    assert np.allclose(throughput, 1e6 / np.exp(log_latency))
    assert len(front(problem.measured * problem.signs)) == 1


def test_a_forest_answers_for_every_mixture(measured: Path) -> None:
    mixture = mixture_of(measured, "photo_nodup")
    assert mixture.constraint == "mat_1 + mat_2 + mat_3 + mat_4 == 1"
    between = dict.fromkeys(mixture.pair.space, 0.25)
    assert mixture.lowest <= mixture.respond(between)
    assert mixture.regret(mixture.lowest) == 0.0
    row = int(mixture.pair.responses.argmax())
    assert mixture.respond(mixture.pair.pool.iloc[row].to_dict()) == pytest.approx(mixture.pair.responses[row])
