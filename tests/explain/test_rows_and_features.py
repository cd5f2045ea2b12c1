"""Which old rows carry what was learnt, and which features: in the user's names and units."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

from support import reference, slow_shares
from tunedprior import pretrain
from tunedprior.explain.influential_rows import rank_influential_rows, rank_monomials
from tunedprior.kernels import Linear, Polynomial
from tunedprior.machines import LeastSquares
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space


def old_rows(count: int = 30, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    table = pd.DataFrame({"speed": random.uniform(10, 90, count), "conc": random.uniform(0, 2, count)})
    table["y"] = 100 + (table["speed"] - 50) * (table["conc"] - 1)
    return table


SPACE = {"speed": (10.0, 90.0), "conc": (0.0, 2.0)}


def test_influence_is_the_change_without_the_row() -> None:
    """Against fits without each row, in plain loops."""
    points = [[-0.8, 0.1], [-0.1, 0.7], [0.4, -0.6], [0.9, 0.5], [0.2, 0.2]]
    y = [1.0, -0.5, 0.3, 2.0, 0.1]
    fit = LeastSquares(0.3).fit(Polynomial(2, 1.0), points, y)
    at = [[0.0, 0.0], [0.5, -0.5], [-0.3, 0.8]]
    box = Box.enclose(Space.parse({"a": (-1.0, 1.0), "b": (-1.0, 1.0)}))
    found = rank_influential_rows([(fit, 1.0)], torch.tensor(at, dtype=torch.float64), box, shift=10.0, unit=2.0)

    def g(rows: list[int], x: list[float]) -> float:
        kernel = [[reference.polynomial([points[i], points[j]], 2, 1.0) for j in rows] for i in rows]
        alpha = slow_shares.ridge(kernel, [y[i] for i in rows], 0.3)
        return sum(a * reference.polynomial([points[i], x], 2, 1.0) for a, i in zip(alpha, rows, strict=True))

    every = list(range(len(y)))
    for one in found:
        without = [i for i in every if i != one.number]
        change = [g(every, x) - g(without, x) for x in at]
        assert one.influence == pytest.approx(2 * (sum(c**2 for c in change) / len(at)) ** 0.5)
        assert one.response == pytest.approx(10 + 2 * y[one.number])
        assert list(one.setting.values()) == pytest.approx(points[one.number])
    assert [one.influence for one in found] == sorted((one.influence for one in found), reverse=True)


def test_rows_are_named_as_the_file_has_them(tmp_path) -> None:
    table = old_rows()
    table.loc[7, "y"] += 60  # a row that stands out
    table.to_csv(tmp_path / "old.csv", index=False)
    rows = pretrain(tmp_path / "old.csv", SPACE).explain().rows
    assert rows.loc[0, "row"] == "line 9"
    assert rows.loc[0, "measured"] == pytest.approx(table.loc[7, "y"], rel=1e-6)
    assert f"speed={table.loc[7, 'speed']:.6g}" in rows.loc[0, "setting"]


def test_repeated_settings_name_all_their_rows() -> None:
    table = pd.concat([old_rows(12), old_rows(12).head(1)], ignore_index=True)
    rows = pretrain(table, SPACE).explain().rows
    assert "row 0, row 12" in set(rows["row"])


def test_the_feature_that_was_there_is_found() -> None:
    found = pretrain(old_rows(), SPACE, kernel=Polynomial(3, 1.0)).explain()
    assert found.features.loc[0, "feature"] == "speed·conc"
    assert found.features.loc[0, "share"] > 0.9
    assert found.features.loc[0, "weight"] > 0
    assert found.interactions.loc[0, "share"] > 0.9
    assert "speed·conc" in " ".join(found.sentences)


def test_weights_are_those_of_the_theorem() -> None:
    table = old_rows()
    table["y"] += 30 * table["conc"] ** 2 + table["speed"]
    prior = pretrain(table, SPACE, kernel=Polynomial(2, 1.0))
    found = {one.name: one.weight for one in rank_monomials(prior.fit, prior.box)}
    indices = {"speed": [1, 0], "conc": [0, 1], "conc²": [0, 2], "speed·conc": [1, 1]}
    theirs = prior.fit.make_reweighted_kernel().compute_weights_at(torch.tensor(list(indices.values())))
    assert [found[name] for name in indices] == pytest.approx(theirs.tolist(), rel=1e-6, abs=1e-9)
    assert sum(one.share for one in rank_monomials(prior.fit, prior.box)) == pytest.approx(1.0)


def test_features_of_categories_say_which_choices() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"gas": random.choice(["air", "argon", "helium"], 40), "x": random.uniform(0, 1, 40)})
    table["y"] = (table["gas"] == "argon") * 2.0 + 0.01 * table["x"]
    found = pretrain(table, {"gas": ["air", "argon", "helium"], "x": (0.0, 1.0)}, kernel=Linear()).explain()
    assert found.features.loc[0, "feature"] == "[gas = argon]"
    gas = found.inputs.set_index("input").loc["gas"]
    assert (gas["effect"], gas["highest at"]) == ("differs", "argon")


def test_both_choices_of_two_say_the_same() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"gas": random.choice(["air", "argon"], 40), "x": random.uniform(0, 1, 40)})
    table["y"] = (table["gas"] == "air") * (table["x"] - 0.5)
    features = pretrain(table, {"gas": ["air", "argon"], "x": (0.0, 1.0)}).explain().features["feature"]
    assert "[gas = argon]" not in " ".join(features)
    assert features.is_unique


def test_machines_without_a_refit_say_so() -> None:
    table = old_rows(12)
    table["y"] = np.where(table["y"] > 100, "pass", "fail")
    found = pretrain(table, SPACE).explain()
    assert any("that row itself adds" in sentence for sentence in found.sentences)
    assert set(found.rows["measured"].dropna()) <= {-1.0, 1.0}


def test_many_rows_carry_nothing_alone() -> None:
    found = pretrain(old_rows(40), SPACE, rows_with_alpha=20).explain()
    assert found.rows.empty
    assert any("so many rows" in sentence for sentence in found.sentences)


def test_names_are_escaped_and_everything_is_plain() -> None:
    table = old_rows().rename(columns={"speed": "<b>ü</b>"})
    space = {"<b>ü</b>": (10.0, 90.0), "conc": (0.0, 2.0)}
    found = pretrain(table, space).explain()
    page = found._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;ü&lt;/b&gt;" in page
    assert "<b>ü</b>" in str(found)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["sentences"] == found.sentences
    assert {row["input"] for row in plain["effects"]} == set(space)
