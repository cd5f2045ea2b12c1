"""The paper's experiments: every method and function once, the quick command, documents that tell what is stored."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.methods.by_name import METHODS
from benchmarks.problems import fibre
from benchmarks.problems.functions import FUNCTIONS
from benchmarks.problems.kinds import KINDS
from benchmarks.results import jobs_of, read_runs
from benchmarks.runner import run_all
from benchmarks.studies import paper
from benchmarks.studies.paper import FULL, SIMULATED, SMOKE, FibreJob, FunctionJob, fibre_jobs, function_jobs

EXPERIMENTS = Path(__file__).parents[2] / "docs" / "experiments.md"
CHEAP = "DT-MKL-EI"


@pytest.mark.usefixtures("short_search")
def test_every_method_function_and_kind_can_be_run() -> None:
    """All methods on one function, cheap ones on every function and with every kind of old data."""
    jobs = [FunctionJob("Himmelblau", "flipped", method, 0, 4, 32) for method in METHODS]
    jobs += [FunctionJob(name, "flipped", "EI", 1, 4, 32) for name in FUNCTIONS]
    jobs += [FunctionJob("Ackley (shifted)", kind, CHEAP, 2, 4, 32) for kind in KINDS]
    table = run_all(paper.ON_FUNCTIONS, jobs, None)
    assert (table["failed_fits"] == 0).all()
    assert table["value"].between(0, 1).all()
    assert table.groupby("run")["value"].apply(lambda curve: curve.is_monotonic_decreasing).all()


@pytest.mark.usefixtures("short_search")
def test_models_can_be_run_on_fibres(tmp_path: Path) -> None:
    """On small tables that were "measured", and one on those that the seed makes."""
    for device in "AB":
        table = fibre.records(device, 24, seed=0).drop(columns="y")
        lengths = [fibre.fibre_length(setting, device) for setting in table.to_dict("records")]
        table.assign(length_um=lengths).to_csv(tmp_path / f"device_{device.lower()}.csv", index=False)
    slow = ("MTGP", "ARD")  # and no different here from any other rival that reads old data
    names = [name for name, method in METHODS.items() if method.acquisition == "ei" and not name.startswith(slow)]
    jobs = [FibreJob(name, 0, 7, str(tmp_path)) for name in names] + [FibreJob(CHEAP, 0, 7, SIMULATED)]
    table = run_all(paper.ON_FIBRES, jobs, None)
    assert (table["failed_fits"] == 0).all()
    assert table.groupby("run")["value"].apply(lambda curve: curve.is_monotonic_decreasing).all()
    assert (table["value"] >= 0).all()


def as_if_run(job: FunctionJob | FibreJob) -> list[float]:
    """A curve that takes no time."""
    return [(len(job.method) + job.seed) / (10 + step) for step in range(job.evaluations)]


def test_the_command_has_a_quick_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper, "ON_FUNCTIONS", replace(paper.ON_FUNCTIONS, campaign=as_if_run))
    monkeypatch.setattr(paper, "ON_FIBRES", replace(paper.ON_FIBRES, campaign=as_if_run))
    main(["paper", "--smoke", "--out", str(tmp_path)])
    assert str(tmp_path) in capsys.readouterr().out
    told = json.loads((tmp_path / "software.json").read_text())
    assert told["commands"] == dict.fromkeys(("fibre", "functions"), "python -m benchmarks paper --smoke")
    done = set(jobs_of(read_runs("functions", tmp_path), FunctionJob))
    assert done == set(function_jobs(SMOKE))
    tried = {(job.problem, job.kind, job.method) for job in done}
    assert {(name, "flipped", method) for name in FUNCTIONS for method in METHODS} <= tried
    assert {kind for _, kind, _ in tried} == set(KINDS)
    assert {job.method for job in jobs_of(read_runs("fibre", tmp_path), FibreJob)} == set(METHODS)
    assert "after 7 experiments (simulated)" in (tmp_path / "tables_experiments.md").read_text()
    names = [f"figures/{name}.png" for name in ("experiment1", "shifted_and_failures", "kinds", "fibre")]
    main(["pictures", *names, "--results", str(tmp_path), "--out", str(tmp_path)])
    assert all((tmp_path / name).read_bytes()[:4] == b"\x89PNG" for name in names)


def test_everything_that_was_asked_for_is_stored() -> None:
    assert FULL.seeds >= 15
    assert set(jobs_of(read_runs("functions"), FunctionJob)) == set(function_jobs(FULL))
    assert set(jobs_of(read_runs("fibre"), FibreJob)) == set(fibre_jobs(FULL))
