"""Algorithm 1 as printed against this project's version: the quick command, and tables that tell what is stored."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.methods.by_name import ALL_METHODS, AS_PRINTED, TUNED_PRIOR, OldData
from benchmarks.problems.functions import FUNCTIONS
from benchmarks.problems.kinds import FLIPPED, SPACE, old_data
from benchmarks.results import jobs_of, read_runs
from benchmarks.studies import as_printed
from benchmarks.studies.paper import FULL, FunctionJob

EXPERIMENTS = Path(__file__).parents[2] / "docs" / "experiments.md"


def as_if_run(job: FunctionJob) -> list[float]:
    """A curve that takes no time."""
    return [(len(job.method) + job.seed) / (10 + step) for step in range(job.evaluations)]


def test_the_command_has_a_quick_size(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_printed, "STUDY", replace(as_printed.STUDY, campaign=as_if_run))
    main(["as-printed", "--smoke"])
    said = capsys.readouterr().out
    for method in as_printed.COMPARED:
        assert f"| {method} |" in said


@pytest.mark.filterwarnings(
    "ignore:In .* of the box:tunedprior.errors.OldDataWarning"
)  # of prior variance that is gone
def test_variants_differ_in_what_their_names_say() -> None:
    old = OldData(old_data(FLIPPED, FUNCTIONS["Himmelblau"], seed=0), SPACE, "maximize", seed=0)
    made = {name: ALL_METHODS[name].surrogate(old) for name in as_printed.COMPARED}
    assert {name for name, one in made.items() if one.prior.response_shift == 0} == {
        name for name in made if "uncentred" in name or name == AS_PRINTED
    }
    assert {name for name, one in made.items() if one.prior.lam < 0.01} == {
        name for name in made if "no floor" in name or name == AS_PRINTED
    }
    assert [name for name, one in made.items() if one.as_printed] == [AS_PRINTED]
    assert made[TUNED_PRIOR].prior.response_scale == made["TP-EI-BO (uncentred)"].prior.response_scale


def test_everything_that_was_asked_for_is_stored() -> None:
    assert len(as_printed.CHOOSING) == len(as_printed.CONFIRMING) == 20
    every = as_printed.jobs(FULL, [*as_printed.CHOOSING, *as_printed.CONFIRMING])
    assert set(jobs_of(read_runs("as_printed"), FunctionJob)) == set(every)
