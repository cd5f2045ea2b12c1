"""Tuning as a pool: what is stored is what scikit-learn gives, and old data is another data set at other settings."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.__main__ import main
from benchmarks.problems import tuning
from benchmarks.problems.tuning import DATA_SETS, OLD, POOL, TABLES, TUNED, TUNING, TUNING_SEVERAL, tuning_problem
from tunedprior.errors import InputError
from tunedprior.space.search_space import Space


@pytest.mark.parametrize("model", TUNED)
def test_a_stored_score_is_found_again(model: str) -> None:
    row = pd.read_csv(TABLES / f"{model}.csv").iloc[7]
    setting = row[list(TUNED[model])].to_dict()
    drawn = tuning.settings(model, POOL)[7]
    assert setting == drawn
    assert tuning.score(model, drawn, "wine") == pytest.approx(row["wine"], abs=2e-5)


def test_a_score_is_minus_the_log_of_the_log_loss() -> None:
    setting = {"C": 1.0, "gamma": 0.1, "coef0": 0.0, "kernel": "rbf"}
    inputs, classes = load_iris(return_X_y=True)
    decisions = np.empty((len(inputs), 3))
    for fitted, held_out in StratifiedKFold(2, shuffle=True, random_state=0).split(inputs, classes):
        scaler = StandardScaler().fit(inputs[fitted])
        machine = SVC(C=1.0, gamma=0.1).fit(scaler.transform(inputs[fitted]), classes[fitted])
        decisions[held_out] = machine.decision_function(scaler.transform(inputs[held_out]))
    losses = []
    for scale in np.exp(np.linspace(-3, 6, 2001)):  # the best of a fine grid
        powers = np.exp(scale * (decisions - decisions.max(axis=1, keepdims=True)))
        losses.append(-np.log((powers / powers.sum(axis=1, keepdims=True))[np.arange(150), classes]).mean())
    assert tuning.score("support_vectors", setting, "iris") == pytest.approx(-np.log(min(losses)), abs=1e-4)


@pytest.mark.parametrize(("model", "target", "source"), TUNING)
def test_old_data_is_another_data_set_at_other_settings(model: str, target: str, source: str) -> None:
    pair = tuning_problem(model, target, source)
    table, inputs = pd.read_csv(TABLES / f"{model}.csv"), list(TUNED[model])
    assert target != source
    assert list(table.columns) == ["sample", *inputs, *DATA_SETS]
    stored = table[table["sample"] == OLD]
    shared = stored.merge(pair.pool)[inputs].drop_duplicates()  # extra trees have one, the others none
    assert (len(pair.pool), len(pair.old)) == (300, len(stored) - len(shared))
    assert (len(stored), len(shared)) == (200, int(model == "extra_trees"))
    assert (list(pair.pool.columns), list(pair.old.columns)) == (inputs, [*inputs, "y"])
    np.testing.assert_array_equal(pair.responses, table.loc[table["sample"] == POOL, target])
    assert len(pair.old.merge(stored.rename(columns={source: "y"}), on=[*inputs, "y"])) == len(pair.old)
    assert pair.pool.merge(pair.old).empty
    assert all(
        map(Space.parse(pair.space).allows, [*pair.pool.to_dict("records"), *pair.old[inputs].to_dict("records")])
    )
    assert np.isfinite(table[list(DATA_SETS)]).all(axis=None)
    assert len(set(pair.responses)) > 250  # a fine scale: few are the same
    assert pair.responses.argmax() == pair.best


def test_some_old_data_helps_more_than_other() -> None:
    related = {}
    for model, target, source in TUNING:
        related[model, target] = pd.read_csv(TABLES / f"{model}.csv")[[target, source]].corr("spearman").iloc[0, 1]
    assert len(related) == 8
    assert min(related.values()) == related["boosting", "diabetes"] == pytest.approx(0.15, abs=0.005)
    assert max(related.values()) == related["perceptron", "breast_cancer"] == pytest.approx(0.91, abs=0.005)


def test_old_rows_are_drawn_by_the_seed() -> None:
    few, again, other = (tuning_problem(*TUNING[0], rows=20, seed=seed) for seed in (1, 1, 2))
    everything = tuning_problem(*TUNING[0])
    pd.testing.assert_frame_equal(few.old, again.old)
    assert len(few.old) == len(few.old.merge(everything.old)) == 20
    assert not few.old.equals(other.old)
    pd.testing.assert_frame_equal(few.pool, everything.pool)


def test_spaces_are_of_numbers_and_categories() -> None:
    kinds = {type(one) for model in TUNED for one in tuning_problem(model, "iris", "wine").space.values()}
    assert kinds == {FloatDistribution, CategoricalDistribution}
    assert {type(one) for space in TUNED.values() for one in space.values()} == {*kinds, IntDistribution}
    for model, target, sources in TUNING_SEVERAL:
        assert {tuning_problem(model, target, source).name for source in sources} == {
            f"{model}_{source}_{target}" for source in sources
        }


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(InputError, match=r"A model must be one of support_vectors, .*; got 'forest'"):
        tuning_problem("forest", "iris", "wine")
    with pytest.raises(InputError, match=r"A data set must be one of breast_cancer, .*; got 'cars'"):
        tuning_problem("boosting", "iris", "cars")


def test_tables_are_made_by_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "SAMPLE_SIZES", {POOL: 2, OLD: 1})
    main(["tuning-tables", "--only", "support_vectors", "--out", str(tmp_path)])
    made, stored = (pd.read_csv(folder / "support_vectors.csv") for folder in (tmp_path, TABLES))
    first_old = stored[stored["sample"] == OLD].iloc[[0]]
    assert made["sample"].tolist() == [POOL, POOL, OLD]
    expected = pd.concat([stored.iloc[:2], first_old], ignore_index=True)
    pd.testing.assert_frame_equal(made, expected, atol=2e-5, rtol=0)
