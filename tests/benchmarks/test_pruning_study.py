"""The study of pruning: what it measures, and its quick size."""

import math

import numpy as np
import pytest
import torch

from benchmarks.__main__ import main
from benchmarks.methods.by_name import BASELINE
from benchmarks.studies import pruning
from benchmarks.studies.pruning import COMPARED, EACH, FULL, METHODS, PRUNED, FitJob


def test_an_alpha_for_each_row_is_what_the_others_are_held_against() -> None:
    error, variances, fitted, suggested = pruning.measure_fit(FitJob("eggholder", 40, EACH, 0))
    assert (error, variances) == (1.0, 0.0)
    assert fitted >= 0
    assert suggested > 0


def test_variances_by_features_are_those_of_the_sum_over_pairs() -> None:
    prepared = pruning._prepare("Styblinski-Tang", 40, 0)
    points = 2 * torch.rand(30, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    pairs, features = (pruning._compute_variances(prepared.fit(method), points) for method in (EACH, pruning.FEATURES))
    torch.testing.assert_close(features, pairs, rtol=0.05, atol=0.05 * float(pairs.mean()))


def test_every_campaign_has_a_counterpart_without_old_data() -> None:
    jobs = FULL.list_campaigns()
    assert len(set(jobs)) == len(jobs)
    without = {(job.problem, job.seed) for job in jobs if job.method == BASELINE}
    assert without == {(job.problem, job.seed) for job in jobs if job.method in COMPARED}
    assert {job.rows for job in jobs if job.method == BASELINE} == {0}
    assert len({job.seed for job in jobs}) >= 8


def test_times_are_left_out_where_there_are_too_many_pairs() -> None:
    assert pruning._format_time(math.nan) == "–"
    assert pruning._format_time(0.0123) == "12.3 ms"
    assert pruning._format_time(np.float64(1.234)) == "1.23 s"


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
def test_it_has_a_quick_size(capsys: pytest.CaptureFixture[str]) -> None:
    main(["pruning", "--smoke"])
    said = capsys.readouterr().out
    assert said.count("eggholder, 60 |") == 2
    assert all(method in said for method in METHODS)
    assert f"| {PRUNED} |" in said
