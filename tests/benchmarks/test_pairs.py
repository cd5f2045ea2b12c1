"""Pairs of measured tables: read with their scales, merged, subsampled; on invented tables, and on the real ones."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from benchmarks.methods.by_name import OldData
from benchmarks.methods.campaigns import campaign_in_pool
from benchmarks.problems.pairs import PAIRS, Pair, read_pair, subsample
from tunedprior.errors import InputError
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space

#: The real tables are not in the project; where they are, they lie beside it.
REAL = Path(__file__).parents[3] / "shared" / "data"
LATENCY, FLIPPED, THROUGHPUT = "storm_c1_c3_lat", "storm_c1thr_c3lat_flip", "storm_solo_coloc"


def write_pair(folder: Path, name: str, goal: str = "min") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables: old data reaches beyond the target in every input, and the target's first setting is repeated."""
    rng = np.random.default_rng(0)
    tables = []
    for rows, longest_wait, most, gases in ((40, 4, 8, ["air", "argon", "none"]), (30, 3, 6, ["argon", "air"])):
        table = pd.DataFrame(
            {
                "Spout_wait": 10.0 ** rng.integers(0, longest_wait + 1, rows),
                "Counters": rng.permutation(rows) % most + 1,
                "gas": [gases[row % len(gases)] for row in range(rows)],
            }
        ).drop_duplicates(ignore_index=True)
        tables.append(table.assign(y=100.0 + table["Counters"] ** 2 + table["Spout_wait"]))
    old, new = tables[0], pd.concat([tables[1], tables[1].iloc[[0]].assign(y=1.0)], ignore_index=True)
    facts = {
        "inputs": ["Spout_wait", "Counters", "gas"], "categorical": ["gas"], "goal": goal, "origin": "invented here",
        "licence": "none",
    }  # fmt: skip
    (folder / name).mkdir()
    old.to_csv(folder / name / "source.csv", index=False)
    new.to_csv(folder / name / "target.csv", index=False)
    (folder / name / "meta.json").write_text(json.dumps(facts))
    return old, new


def test_a_pair_has_the_targets_space_and_the_sources_rows(tmp_path: Path) -> None:
    old, new = write_pair(tmp_path, LATENCY)
    pair = read_pair(tmp_path, LATENCY)
    assert pair.space == {
        "Spout_wait": FloatDistribution(new["Spout_wait"].min(), new["Spout_wait"].max(), log=True),
        "Counters": FloatDistribution(1.0, 6.0),
        "gas": CategoricalDistribution(["air", "argon", "none"]),
    }
    assert (pair.direction, pair.origin, pair.licence) == ("minimize", "invented here", "none")
    pd.testing.assert_frame_equal(pair.old, old.assign(y=np.log(old["y"])), check_dtype=False)
    space = Space.parse(pair.space)
    assert all(map(space.allows, pair.pool.to_dict("records")))
    assert not all(map(space.allows, pair.old.to_dict("records")))  # old data reaches beyond,
    box = Box.enclose(space, pair.old)  # and the box with it
    assert box.encode(pair.old).abs().amax(0)[:2].tolist() == [1.0, 1.0]
    assert box.covers(space)


def test_repeated_settings_are_one_with_the_mean_response(tmp_path: Path) -> None:
    _, new = write_pair(tmp_path, LATENCY)
    pair = read_pair(tmp_path, LATENCY)
    assert len(pair.pool) == len(pair.responses) == len(new) - 1
    assert not pair.pool.duplicated().any()
    assert pair.responses[0] == pytest.approx((np.log(new["y"].iloc[0]) + np.log(1.0)) / 2)  # on the response's scale
    np.testing.assert_allclose(pair.responses[1:], np.log(new["y"].iloc[1:-1]))


@pytest.mark.parametrize(("name", "goal", "logs"), [(FLIPPED, "min", (False, True)), (THROUGHPUT, "max", (False,) * 2)])
def test_only_times_are_logarithmic(tmp_path: Path, name: str, goal: str, logs: tuple[bool, bool]) -> None:
    tables = write_pair(tmp_path, name, goal)
    pair = read_pair(tmp_path, name)
    for got, table, log in zip((pair.old["y"][1:], pair.responses[1:]), tables, logs, strict=True):
        raw = table["y"].iloc[1 : len(got) + 1]
        np.testing.assert_allclose(got, np.log(raw) if log else raw)
    assert pair.direction == ("maximize" if goal == "max" else "minimize")


def test_regret_is_a_share_of_the_range(tmp_path: Path) -> None:
    write_pair(tmp_path, LATENCY)
    pair = read_pair(tmp_path, LATENCY)
    low, high = pair.responses.min(), pair.responses.max()
    assert pair.regret([high, (low + high) / 2, low]) == pytest.approx([1.0, 0.5, 0.0])
    assert replace(pair, direction="maximize").regret([high, low]) == pytest.approx([0.0, 1.0])


def test_a_subsample_keeps_the_best_setting(tmp_path: Path) -> None:
    write_pair(tmp_path, LATENCY)
    pair = read_pair(tmp_path, LATENCY)
    values = {tuple(row): value for row, value in zip(pair.pool.to_numpy(), pair.responses, strict=True)}
    pools = set()
    for seed in range(20):
        few = subsample(pair, seed, pool_size=5, rows=7)
        assert (len(few.pool), len(few.responses), len(few.old)) == (5, 5, 7)
        assert few.responses.min() == pair.responses.min()
        assert [values[tuple(row)] for row in few.pool.to_numpy()] == few.responses.tolist()
        assert not few.pool.duplicated().any()
        assert len(few.old.merge(pair.old)) == 7
        pools.add(tuple(few.responses))
    assert len(pools) > 10
    again = subsample(pair, 19, pool_size=5, rows=7)
    pd.testing.assert_frame_equal(again.pool, few.pool)
    pd.testing.assert_frame_equal(again.old, few.old)
    everything = subsample(pair, 0)
    pd.testing.assert_frame_equal(everything.pool, pair.pool)
    pd.testing.assert_frame_equal(everything.old, pair.old)


@pytest.mark.parametrize("method", ["standard-EI", "TP-EI-BO", "RGPE-EI"])
def test_a_campaign_runs_on_a_pair(tmp_path: Path, method: str) -> None:
    write_pair(tmp_path, LATENCY)
    pair = read_pair(tmp_path, LATENCY)
    regret = pair.regret(run(pair, method, 6))
    assert len(regret) == 6
    assert 1 >= regret[0] >= regret[-1] >= 0


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    _, new = write_pair(tmp_path, LATENCY)
    with pytest.raises(InputError, match=r"one of lig_PI_GOPI, .*; got 'storm'"):
        read_pair(tmp_path, "storm")
    with pytest.raises(InputError, match=r"'photo_nodup' needs source.csv, .*photo_nodup.source.csv.* is not there"):
        read_pair(tmp_path, "photo_nodup")
    path = tmp_path / LATENCY / "target.csv"
    new.drop(columns=["gas", "y"]).to_csv(path, index=False)
    with pytest.raises(InputError, match="columns Spout_wait, Counters, gas, y; gas, y is missing"):
        read_pair(tmp_path, LATENCY)
    for column, wrong in (("gas", None), ("Counters", np.inf), ("Spout_wait", 0.0), ("y", -1.0)):
        new.assign(**{column: new[column].mask(new.index == 3, wrong)}).to_csv(path, index=False)
        with pytest.raises(InputError, match=r"above 0 for Spout_wait, y\) in every column but categories; rows 3 are"):
            read_pair(tmp_path, LATENCY)
    new.to_csv(path, index=False)
    facts = tmp_path / LATENCY / "meta.json"
    told = json.loads(facts.read_text())
    facts.write_text(json.dumps(told | {"goal": "up"}))
    with pytest.raises(InputError, match="the goal is 'up'"):
        read_pair(tmp_path, LATENCY)
    facts.write_text(json.dumps({key: told[key] for key in told if key != "origin"}))
    with pytest.raises(InputError, match="origin is missing"):
        read_pair(tmp_path, LATENCY)


#: Old rows, pool settings, inputs, direction.
COUNTS = {
    "lig_PI_GOPI": (210, 209, 4, "maximize"),
    "lig_GOPI_GOQ": (210, 208, 4, "maximize"),
    "storm_solo_coloc": (756, 196, 3, "maximize"),
    "storm_c1_c3_lat": (1343, 1512, 3, "minimize"),
    "storm_c1thr_c3lat_flip": (1343, 1512, 3, "minimize"),
    "liquid_water_dce": (374, 214, 6, "minimize"),
    "photo_nodup": (975, 955, 4, "minimize"),
    "gpuconv_A100_MI250X": (4201, 4362, 7, "minimize"),
    "gpupnpoly_2080Ti_3090": (3722, 3762, 4, "minimize"),
    "dirarylation_90_120": (576, 576, 4, "maximize"),
    "reizman_1_2": (96, 80, 4, "maximize"),
    "taskset_irnn_lstmavg": (1000, 1000, 8, "minimize"),
    "lig_PI_GOQ": (210, 208, 4, "maximize"),
    "storm_coloc_wc_rs": (196, 196, 3, "maximize"),
    "liquid_toluene_dce": (221, 214, 6, "minimize"),
    "liquid7_hep_thf500": (69, 67, 7, "minimize"),
    "oer_3496_3851": (2121, 2119, 6, "minimize"),
    "reizman_1_4": (96, 95, 4, "maximize"),
    "reizman_3_4": (96, 95, 4, "maximize"),
    "baumgartner_aniline_benzamide": (96, 54, 5, "maximize"),
    "arylhal_iodotr_iodo4": (275, 276, 3, "maximize"),
    "gpudedisp_A100_A4000": (11130, 11130, 6, "minimize"),
    "taskset_vrnn_gru": (1000, 1000, 8, "minimize"),
}


@pytest.mark.skipif(not REAL.is_dir(), reason="the measured tables are not in the project")
@pytest.mark.parametrize("name", PAIRS)
def test_the_real_pairs(name: str) -> None:
    pair = read_pair(REAL, name)
    assert (len(pair.old), len(pair.pool), len(pair.space), pair.direction) == COUNTS[name]
    assert np.isfinite(pair.responses).all()
    assert np.isfinite(pair.old["y"]).all()
    assert pair.origin
    assert pair.licence
    few = subsample(pair, seed=1)
    assert len(few.pool) == min(1024, len(pair.pool))
    assert len(few.old) == min(150, len(pair.old))
    Box.enclose(Space.parse(few.space), few.old).encode(few.old)
    regret = few.regret(run(few, "standard-EI", 7))
    assert len(regret) == 7
    assert 1 >= regret[0] >= regret[-1] >= 0


def run(pair: Pair, method: str, evaluations: int) -> list[float]:
    old = OldData(pair.old, pair.space, pair.direction, seed=1)
    return campaign_in_pool(method, old, pair.pool, pair.responses, evaluations)
