"""Old data in many files: the answer of one table, however it is cut up and whoever adds up."""

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from support import reference
from support.builders import PLANT, plant_data
from support.memory import LargestTensor
from tunedprior import Optimizer, pretrain
from tunedprior.errors import FileFormatError, InputError, NothingToLearnError, OldDataWarning
from tunedprior.machines import FeatureFit, feature_ridge
from tunedprior.numerics.chunking import sum_promises_as_tree
from tunedprior.source_data.rows import RowRules
from tunedprior.space.search_space import Space
from tunedprior.tables import reading
from tunedprior.tables.reading import group_into_tasks, list_row_groups
from tunedprior.weight_prior.partitioned import Pieces, draw_sample, pretrain_partitions, sum_equations, sum_in_process
from tunedprior.weight_prior.prior import WeightPrior

FEW = 20
ROWS = 300
#: Rows of each file, and of each row group.
CUTS = {
    "one file": ((ROWS,), ROWS),
    "row groups": ((ROWS,), 32),
    "files of many sizes": ((1, 199, 7, 93), 50),
    "many files": ((10,) * 30, 10),
}
learn = partial(pretrain_partitions, space=PLANT, rows_with_alpha=FEW)


def cut(table: pd.DataFrame, folder: Path, sizes: Sequence[int] = (100, 100, 100), rows_of_a_group: int = 50) -> Path:
    """The table in files of these sizes."""
    folder.mkdir(exist_ok=True)
    first = 0
    for number, size in enumerate(sizes):
        part = table[first : first + size]
        part.to_parquet(folder / f"part{number:03d}.parquet", row_group_size=rows_of_a_group, index=False)
        first += size
    assert first == len(table)
    return folder


def assert_the_same(one: WeightPrior, other: WeightPrior, within: float = 1e-9) -> None:
    assert type(one.fit) is type(other.fit)
    assert one.box == other.box
    assert (one.lam, one.response_shift, one.response_scale) == (other.lam, other.response_shift, other.response_scale)
    grid = torch.cartesian_prod(*[torch.linspace(-1, 1, 9, dtype=torch.float64)] * one.box.num_inputs)
    grid = grid.reshape(-1, one.box.num_inputs)
    expected = one.fit(grid)
    assert float((other.fit(grid) - expected).abs().max()) <= within * float(expected.abs().max())
    assert other.error == pytest.approx(one.error, rel=within)


@pytest.mark.slow
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_it_is_what_one_table_teaches(cuts: tuple[tuple[int, ...], int], tmp_path: Path) -> None:
    old = plant_data(ROWS, noise=0.1)
    whole = pretrain(old, PLANT, rows_with_alpha=FEW)
    assert isinstance(whole.fit, FeatureFit)
    folder = cut(old, tmp_path / "old", *cuts)
    for rows in (1, 64, 10**6):
        assert_the_same(whole, learn(folder, rows_per_task=rows))


def test_a_sample_chooses_and_all_rows_are_fitted(tmp_path: Path) -> None:
    old = plant_data(ROWS, noise=0.1)
    priors = [
        learn(cut(old, tmp_path / str(number), *cuts), sample_rows=60, rows_per_task=40)
        for number, cuts in enumerate(CUTS.values())
    ]
    for prior in priors[1:]:
        assert_the_same(priors[0], prior)
    prior = priors[0]
    assert isinstance(prior.fit, FeatureFit)
    x = prior.to_kernel_inputs(prior.box.encode(old[["a", "b"]]))
    y = (torch.tensor(old["y"].tolist(), dtype=torch.float64) - prior.response_shift) / prior.response_scale
    all_rows = feature_ridge.NormalEquations.from_rows(prior.fit.feature_map, x, y).solve(prior.lam)
    torch.testing.assert_close(prior.fit(x), all_rows(x), rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(prior.fit.factor, all_rows.factor, rtol=1e-9, atol=1e-10)
    few = feature_ridge.NormalEquations.from_rows(prior.fit.feature_map, x[:60], y[:60]).solve(prior.lam)
    assert (few(x) - all_rows(x)).abs().max() > 1e-3


def test_it_is_what_loops_over_all_rows_give(tmp_path: Path) -> None:
    old = plant_data(60, noise=0.1)
    prior = learn(cut(old, tmp_path / "old", (20, 40)), most_features=12, sample_rows=40, lam_bounds=(1.0, 1.0))
    assert isinstance(prior.fit, FeatureFit)
    x = 2 * old[["a", "b"]].to_numpy() / [10.0, 1.0] - 1
    y = (old["y"] - prior.response_shift) / prior.response_scale
    index, lengthscale = prior.fit.feature_map.features.indices.tolist(), prior.base.lengthscale.item()
    gram, moment = reference.normal_equations(x.tolist(), y.tolist(), index, [lengthscale] * 2)
    weights = torch.tensor(reference.ridge(gram, moment, 1.0), dtype=torch.float64)
    torch.testing.assert_close(prior.fit.weights, weights, rtol=1e-9, atol=1e-12)


def test_it_does_not_matter_who_is_done_first(tmp_path: Path) -> None:
    folder = cut(plant_data(ROWS, noise=0.1), tmp_path / "old", (10,) * 30)

    def backwards(measure: Callable[[Pieces], Any], tasks: Sequence[Pieces]) -> Any:
        parts = [measure(task) for task in reversed(tasks)][::-1]
        return sum_promises_as_tree(parts, lambda earlier, later: earlier.merge(later))

    one, other = (learn(folder, rows_per_task=10, summing=summing) for summing in (sum_in_process, backwards))
    assert isinstance(one.fit, FeatureFit)
    assert isinstance(other.fit, FeatureFit)
    assert torch.equal(one.fit.weights, other.fit.weights)


def test_a_sample_is_a_random_choice_that_no_cut_changes(tmp_path: Path) -> None:
    old = plant_data(ROWS)
    rules = RowRules(Space.parse(PLANT), "y")
    chosen = []
    for number, cuts in enumerate(CUTS.values()):
        folder = cut(old, tmp_path / str(number), *cuts)
        tasks = group_into_tasks(list_row_groups(folder, rules.columns), 30)
        chosen.append(sum_in_process(partial(draw_sample, rules=rules, most=50, seed=1), tasks).rows.sort_index())
    assert all(one.equals(chosen[0]) for one in chosen[1:])
    numbers = chosen[0].index.to_numpy()
    assert len(set(numbers)) == 50
    assert chosen[0]["y"].tolist() == old["y"][numbers].tolist()
    assert 100 < numbers.mean() < 200
    other = sum_in_process(partial(draw_sample, rules=rules, most=50, seed=2), tasks).rows
    assert len(set(numbers) & set(other.index)) < 25


def test_bad_rows_are_left_out_wherever_they_are(tmp_path: Path) -> None:
    old = plant_data(ROWS, noise=0.1)
    bad = old.copy()
    bad.loc[3, "y"] = np.nan
    bad.loc[150, "y"] = -9999.0
    bad.loc[[7, 260], "a"] = [1e7, -1e5]
    bad.loc[[30, 31], "b"] = np.nan
    good = old.drop([3, 7, 30, 31, 150, 260]).reset_index(drop=True)
    expected = pretrain(good, PLANT, rows_with_alpha=FEW)
    said = (
        r"Old data has 300 rows, 6 of which are left out: 'a' is far outside the search space in 2; 'b' is blank in 2"
    )
    for number, sizes in enumerate([(300,), (1, 5, 294)]):
        with pytest.warns(OldDataWarning, match=said):
            prior = learn(cut(bad, tmp_path / str(number), sizes), rows_per_task=70)
        assert_the_same(expected, prior)


def test_a_file_in_which_no_row_is_good_changes_nothing(tmp_path: Path) -> None:
    old = plant_data(ROWS, noise=0.1)
    more = pd.concat([old[:100], old[:50].assign(y=np.nan), old[100:]])
    with pytest.warns(OldDataWarning, match="'y' is blank in 50"):
        prior = learn(cut(more, tmp_path / "old", (100, 50, 200)), rows_per_task=50)
    assert_the_same(pretrain(old, PLANT, rows_with_alpha=FEW), prior)


@pytest.mark.slow
def test_categories_logarithms_and_labels(tmp_path: Path) -> None:
    space = {"a": (1.0, 10.0, "log"), "kind": ["x", "y"]}
    old = plant_data(ROWS, noise=0.1)
    old["a"] = 1 + 0.9 * old["a"]
    old["kind"] = np.where(old.pop("b") > 0.5, "x", "z")
    old["y"] = ((np.log(old["a"]) > 1.2) ^ (old["kind"] == "z")).astype(float)
    with pytest.warns(OldDataWarning, match="has 'z' in old data"):
        whole = pretrain(old, space, rows_with_alpha=60)
    with pytest.warns(OldDataWarning, match="has 'z' in old data"):
        prior = pretrain_partitions(cut(old, tmp_path / "old"), space, rows_with_alpha=60, rows_per_task=50)
    assert isinstance(prior.fit, FeatureFit)
    assert (prior.response_shift, prior.response_scale) == (0.0, 1.0)
    assert prior.box.axes[1].choices == ("x", "y", "z")
    assert_the_same(whole, prior)


def test_what_is_learnt_is_old_data_for_an_optimiser(tmp_path: Path) -> None:
    prior = learn(cut(plant_data(ROWS, noise=0.1), tmp_path / "old"))
    assert set(Optimizer(PLANT, prior, direction="maximize", seed=0).ask()) == {"a", "b"}


def test_no_more_than_a_block_and_the_sums_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cut(plant_data(2000), tmp_path / "old", (2000,), 2000)
    made: list[Callable[[Pieces], Any]] = []

    def seen(measure: Callable[[Pieces], Any], tasks: Sequence[Pieces]) -> Any:
        made.extend([measure] if getattr(measure, "func", None) is sum_equations else [])
        return sum_in_process(measure, tasks)

    learn(folder, summing=seen)
    monkeypatch.setattr(reading, "_AT_ONCE", 40)
    with LargestTensor() as mode:
        found = made[0](list_row_groups(folder, ["a", "b", "y"]))
    assert found.count == 2000
    assert mode.entries <= max(len(found.feature_map) ** 2, 40 * len(found.feature_map))


@pytest.mark.parametrize(
    ("spoil", "error", "said"),
    [
        (
            lambda old: old.astype({"a": object}).replace({"a": {old["a"][120]: "hot"}}),
            InputError,
            r"part001.*row 20: 'hot'",
        ),
        (lambda old: old.rename(columns={"b": "c"}), InputError, "'part000.parquet' has no b"),
        (lambda old: old.assign(y=np.nan), NothingToLearnError, "no row that can be used"),
        (lambda old: old.assign(a=1000 * old["a"]), NothingToLearnError, "no row that can be used"),
        (
            lambda old: old.assign(a=np.where(old.index % 3, 1, 0.01) * (4 + 0.6 * old["a"])),
            InputError,
            "must be in the same units",
        ),
        (lambda old: old.assign(y=1.0), NothingToLearnError, "never varies|must vary"),
    ],
    ids=["text", "a column is missing", "no response", "other units", "a part in other units", "a constant response"],
)
@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")
def test_what_cannot_be_learnt_from_is_refused(
    spoil: Callable[[pd.DataFrame], pd.DataFrame], error: type[Exception], said: str, tmp_path: Path
) -> None:
    spoiled = spoil(plant_data(ROWS, noise=0.1))
    if spoiled["a" if "a" in spoiled else "c"].dtype == object:
        spoiled["a"] = spoiled["a"].astype(str)  # a column has one type
    with pytest.raises(error, match=said):
        learn(cut(spoiled, tmp_path / "old"))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are none in"):
        learn(tmp_path)
    (tmp_path / "old.parquet").write_text("a,b,y\n1,2,3\n")
    with pytest.raises(FileFormatError, match=r"'old\.parquet' is not a Parquet file"):
        learn(tmp_path / "*.parquet")
    plant_data(5)[:0].to_parquet(tmp_path / "old.parquet")
    with pytest.raises(NothingToLearnError, match="no rows"):
        learn([tmp_path / "old.parquet"])


def test_passes_can_be_sent_to_workers(tmp_path: Path) -> None:
    folder = cut(plant_data(ROWS, noise=0.1), tmp_path / "old")

    def elsewhere(measure: Callable[[Pieces], Any], tasks: Sequence[Pieces]) -> Any:
        parts = [pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(measure))(task))) for task in tasks]
        return sum_promises_as_tree(parts, lambda earlier, later: earlier.merge(later))

    assert_the_same(learn(folder, rows_per_task=100), learn(folder, rows_per_task=100, summing=elsewhere))


def test_rows_in_other_units_that_lie_far_away_are_left_out(tmp_path: Path) -> None:
    old = plant_data(ROWS, noise=0.1)
    odd = old.index % 20 == 0
    mixed = old.assign(a=np.where(odd, 1e6, 1.0) * (1 + old["a"]))
    space = {"a": (1.0, 11.0), "b": (0.0, 1.0)}
    with pytest.warns(OldDataWarning, match="'a' is far outside the search space in 15"):
        prior = pretrain_partitions(cut(mixed, tmp_path / "old"), space, rows_with_alpha=FEW)
    with pytest.warns(OldDataWarning, match="15 of 300 rows"):
        assert_the_same(pretrain(mixed, space, rows_with_alpha=FEW), prior)
