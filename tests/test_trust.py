"""What an optimiser says of the old data it was given, and what it would have done without."""

import math
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from tunedprior import Optimizer
from tunedprior import trust as trust_module
from tunedprior.errors import InputError
from tunedprior.space import Space
from tunedprior.surrogates import Standard
from tunedprior.trust import trust as trust_after

SPACE = {"a": (-1.0, 1.0), "b": (0.0, 5.0)}
POOL = Space.parse(SPACE).sobol(60, seed=3)


def smooth(setting: dict) -> float:
    x, z = setting["a"], setting["b"] / 2.5 - 1
    return math.sin(3 * x + 0.5) * math.cos(2 * z) + 0.5 * z


def old_data(rows: int = 20, unit: float = 1.0) -> pd.DataFrame:
    old = pd.DataFrame(Space.parse(SPACE).sobol(rows, seed=99))
    return old.assign(y=[7 + unit * smooth(row) for row in old.to_dict("records")])


def told(opt: Optimizer, count: int, factor: float = 1.0, offset: float = 0.0) -> Optimizer:
    for setting in opt.space.sobol(count, seed=5):
        opt.tell(setting, offset + factor * smooth(setting))
    return opt


# -- trust ---------------------------------------------------------------------------------------------


def test_before_any_observation_trust_is_the_prior() -> None:
    opt = Optimizer(SPACE, old_data())
    trust = opt.trust
    weights = opt.surrogate.unweighed.weights
    assert trust.beliefs["trust"].sum() == pytest.approx(1.0)
    assert trust.beliefs["belief"].is_unique
    for belief, expected in trust.beliefs.set_index("belief")["trust"].items():
        labels = [label.belief == belief for label in opt.surrogate.unweighed.candidates.labels]
        assert expected == pytest.approx(weights[labels].sum().item())
    (row,) = trust.relations.to_dict("records")
    assert row["old data"] == "old data"
    without = trust.beliefs.loc[trust.beliefs["belief"] == "uninformed", "trust"].item()
    assert row["trust"] == pytest.approx(1 - without)
    assert math.isnan(row["slope"])
    assert math.isnan(row["positive"])
    assert trust.history.index.tolist() == [0]
    assert trust.history["slope"].isna().all()


@pytest.mark.parametrize(
    ("factor", "unit", "direction"),
    [(-1.0, 1.0, "maximize"), (2.0, 1.0, "minimize"), (-3.0, 100.0, "minimize")],
)
def test_a_slope_is_that_of_the_response_on_the_old_response(factor: float, unit: float, direction: str) -> None:
    opt = told(Optimizer(SPACE, old_data(unit=unit), direction), 3, factor, offset=-4.0)
    (row,) = opt.trust.relations.to_dict("records")
    assert row["slope"] == pytest.approx(factor / unit, rel=0.05)
    assert row["trust"] > 0.7
    assert row["positive"] == pytest.approx(float(factor > 0), abs=0.02)


def test_a_slope_is_what_a_straight_line_through_old_and_new_says() -> None:
    """Where the objective goes with the old response but for a remainder, least squares says about the same."""
    opt, old = Optimizer(SPACE, old_data(30)), []
    for setting in opt.space.sobol(12, seed=5):
        old.append(smooth(setting))
        opt.tell(setting, 0.7 * old[-1] + 0.1 * math.cos(5 * setting["a"] + setting["b"]))
    line = np.polyfit(old, opt.history["y"], 1)[0]
    last = trust_after(opt.surrogate, [opt._observations()], 1.0)  # without all that was before
    assert last.relations["slope"].item() == pytest.approx(line, rel=0.15)


def test_a_slope_is_the_mean_over_all_candidates_that_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by hand: ρ ~ N(0, a·h) before, and cov(ρ, y) = a·h·ĝ, where h is its share of the variance."""
    monkeypatch.setattr(trust_module, "_LEAST_SHARE", 0.0)
    other = old_data(15).assign(y=lambda t: np.cos(2 * t["a"]) + t["b"] ** 2)
    opt = told(Optimizer(SPACE, {"lab": old_data(15), "plant": other}, "minimize"), 3)
    observations, average = opt._observations(), opt.surrogate
    weighed = average.weigh(observations)
    among, x, y = weighed.candidates, average.box.inputs(observations.codes), observations.y[:, 0].numpy()
    covariances = among.processes.with_noise(among.processes.covariance(x, x)).numpy()
    relations = trust_after(average, [observations], -1.0).relations.set_index("old data")
    for old in average.known:
        weights, means, rising = [], [], []
        for row, label in enumerate(among.labels):
            if (label.old, label.belief) == (old.name, "aligned"):
                expected = old.readings[among.readings[row]].expected(x).numpy()
                share, a = among.slopes[row].item(), weighed.amplitude[row].item()
                gain = share * np.linalg.solve(covariances[row], expected)
                weights.append(weighed.weights[row].item())
                means.append(gain @ y)
                rising.append(NormalDist().cdf(-means[-1] / math.sqrt(a * (share - share * (gain @ expected)))))
        slope = -np.average(means, weights=weights) * observations.scale / old.unit
        assert relations.loc[old.name, "slope"] == pytest.approx(slope, rel=1e-5)
        assert relations.loc[old.name, "positive"] == pytest.approx(np.average(rising, weights=weights), abs=1e-5)


def test_one_observation_says_nothing_of_the_slope() -> None:
    row = told(Optimizer(SPACE, old_data()), 1).trust.relations.iloc[0]
    assert row["slope"] == pytest.approx(0.0, abs=1e-9)
    assert row["positive"] == pytest.approx(0.5, abs=1e-6)


def test_history_is_what_was_said_at_the_time() -> None:
    opt = told(Optimizer(SPACE, old_data(), "minimize", seed=3), 2, -2.0)
    opt.tell({"a": 0.1, "b": 2.0}, math.nan)  # a failed run is an observation too
    history = opt.trust.history
    assert history.index.tolist() == [0, 1, 2, 3]
    for count in (2, 3):
        earlier = Optimizer(SPACE, old_data(), "minimize", seed=3).resume(opt.history.head(count)).trust
        pd.testing.assert_frame_equal(earlier.history, history.head(count + 1))
        beliefs = earlier.beliefs.set_index("belief")["trust"]
        np.testing.assert_allclose(history.loc[count, list(beliefs.index)], beliefs)
        relation = earlier.relations.iloc[0]
        np.testing.assert_allclose(history.loc[count, ["slope", "positive"]], relation[["slope", "positive"]].tolist())
    beliefs = history.drop(columns=["slope", "positive"])
    np.testing.assert_allclose(beliefs.sum(axis=1), 1.0)


def test_several_old_data_sets_have_a_row_and_columns_each() -> None:
    sets = {"lab": old_data(15), "plant": old_data(15, unit=-2.0)}
    trust = told(Optimizer(SPACE, sets), 2).trust
    assert trust.relations["old data"].tolist() == ["lab", "plant"]
    assert {"uninformed", "lab: aligned", "plant: aligned", "lab: slope", "plant: positive"} <= set(trust.history)
    assert trust.beliefs["trust"].sum() == pytest.approx(1.0)
    by_set = trust.beliefs.groupby("old data")["trust"].sum()
    np.testing.assert_allclose(trust.relations.set_index("old data")["trust"], by_set[["lab", "plant"]])
    # The same data in other units and upside down: equally trusted, with the slope turned.
    lab, plant = trust.relations.to_dict("records")
    assert lab["trust"] == pytest.approx(plant["trust"], rel=1e-6)
    assert lab["slope"] == pytest.approx(-2 * plant["slope"], rel=1e-6)
    assert lab["positive"] == pytest.approx(1 - plant["positive"], rel=1e-6)


def test_trust_reads_as_two_tables() -> None:
    trust = told(Optimizer(SPACE, {"lab of 2019": old_data()}), 2).trust
    beliefs, relations = str(trust).split("\n\n")
    assert beliefs.splitlines()[0].split() == ["old", "data", "belief", "trust"]
    assert len(beliefs.splitlines()) == 1 + len(trust.beliefs)
    assert relations.splitlines()[0].split() == ["old", "data", "trust", "slope", "positive"]
    assert "lab of 2019" in relations
    assert str(round(trust.relations["slope"].item(), 3)) in relations


@pytest.mark.parametrize("options", [{}, {"prior": "uninformed"}, {"prior": "reweighted"}], ids=str)
def test_without_an_average_there_is_no_trust(options: dict) -> None:
    opt = Optimizer(SPACE, old_data(10) if options else None, **options)
    with pytest.raises(
        InputError, match=f"prior='average'; this Optimizer has the one model {type(opt.surrogate).__name__}"
    ):
        opt.trust  # noqa: B018  # a property


# -- shadow --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("candidates", [POOL, None], ids=["pool", "anywhere"])
@pytest.mark.parametrize("acquisition", ["ei", "ucb"])
def test_a_shadow_is_what_plain_optimisation_asks(candidates: list | None, acquisition: str) -> None:
    options = {"direction": "minimize", "acquisition": acquisition, "seed": 7, "noise_std": 0.01, "beta": 2.0}
    opt = told(Optimizer(SPACE, old_data(), **options), 4)
    plain = told(Optimizer(SPACE, old_data(), prior="uninformed", **options), 4)
    assert isinstance(plain.surrogate, Standard)
    first = opt.ask(candidates=candidates)
    shadow = opt.shadow(first, candidates)
    assert shadow.setting == plain.ask(candidates=candidates)
    assert (shadow.setting != first) or acquisition == "ucb"
    width = [2.0, 5.0]
    apart = [(first[name] - shadow.setting[name]) / side for name, side in zip(SPACE, width, strict=True)]
    assert shadow.distance == pytest.approx(math.sqrt(sum(d * d for d in apart) / 2))
    assert (shadow.distance == 0) == (shadow.setting == first)
    assert opt.pending == [first]
    assert opt.shadow(first, candidates) == shadow


def test_a_shadow_knows_what_else_is_pending() -> None:
    opt = told(Optimizer(SPACE, old_data(), seed=7), 4)
    plain = told(Optimizer(SPACE, seed=7), 4)
    first, second = opt.ask(n=2, candidates=POOL)
    plain._pending = [dict(first)]
    shadow = opt.shadow(second, POOL)
    assert shadow.setting == plain.ask(candidates=POOL)
    assert shadow.setting != first
    assert opt.pending == [first, second]
    before = opt.history
    opt.shadow(first, POOL)
    pd.testing.assert_frame_equal(opt.history, before)


def test_a_shadow_changes_no_later_suggestion() -> None:
    runs = []
    for look in (False, True):
        opt = told(Optimizer(SPACE, old_data(), seed=7), 3)
        for _ in range(2):
            setting = opt.ask(candidates=POOL)
            if look:
                opt.shadow(setting, POOL)
            opt.tell(setting, smooth(setting))
        runs.append(opt.history)
    pd.testing.assert_frame_equal(*runs)


def test_where_both_agree_the_distance_is_zero() -> None:
    designed = Optimizer(SPACE, old_data(), seed=2)
    setting = designed.ask()  # the design is the same with and without old data
    assert designed.shadow(setting).setting == setting
    assert designed.shadow(setting).distance == 0
    plain = told(Optimizer(SPACE, seed=2), 4)
    setting = plain.ask(candidates=POOL)
    assert plain.shadow(setting, POOL).distance == 0


def test_from_corner_to_corner_the_distance_is_one() -> None:
    opt = told(Optimizer(SPACE, seed=2), 4)
    ends = [{"a": -1.0, "b": 0.0}, {"a": 1.0, "b": 5.0}]
    opt._pending = [ends[0]]
    assert opt.shadow(ends[0], ends[1:]).distance == pytest.approx(1.0)


def test_categories_are_as_far_apart_as_they_can_be_and_no_further() -> None:
    space = {"gas": ["air", "argon", "helium"], "x": (0.0, 1.0)}
    opt = Optimizer(space, seed=2)
    for setting in opt.space.sobol(4, seed=5):
        opt.tell(setting, setting["x"])
    ends = [{"gas": "air", "x": 0.0}, {"gas": "argon", "x": 0.0}, {"gas": "helium", "x": 1.0}]
    opt._pending = [dict(end) for end in ends]
    near, far = (opt.shadow(ends[0], [other]).distance for other in ends[1:])
    assert 0 < near < far <= 1


def test_only_a_pending_setting_has_a_shadow() -> None:
    opt = told(Optimizer(SPACE, old_data(), seed=7), 3)
    with pytest.raises(InputError, match="A shadow is that of a pending setting"):
        opt.shadow({"a": 0.0, "b": 1.0})
    setting = opt.ask(candidates=POOL)
    opt.tell(setting, 1.0)
    with pytest.raises(InputError, match="is not among"):
        opt.shadow(setting)
