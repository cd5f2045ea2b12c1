"""What an optimiser says of the old data it was given."""

import math
import re
from collections.abc import Callable
from html import escape
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from support.builders import (
    SPACE,
    average_over,
    flipped,
    observations_of,
    old_data,
    scaled,
    smooth,
    told,
    unrelated,
    weighed_after,
    weighed_beforehand,
)
from support.optimizers import make_optimizer
from tunedprior import Optimizer, SearchConfig
from tunedprior.errors import InputError
from tunedprior.explain.trust import Trust
from tunedprior.model_averaging import weighing


def test_before_any_observation_beliefs_have_their_prior_and_no_trust() -> None:
    opt = Optimizer(SPACE, old_data(rows=20), direction="maximize", seed=0)
    trust = opt.trust
    weights = weighed_beforehand(opt.surrogate).weights
    assert trust.beliefs["probability"].sum() == pytest.approx(1.0)
    assert trust.beliefs["belief"].is_unique
    for belief, expected in trust.beliefs.set_index("belief")["probability"].items():
        labels = [label.belief == belief for label in opt.surrogate.hypotheses.labels]
        assert expected == pytest.approx(weights[labels].sum().item())
    (row,) = trust.relations.to_dict("records")
    assert row["old data"] == "old data"
    assert row["trust"] == 0
    assert not trust.beliefs["trust"].any()
    assert math.isnan(row["slope"])
    assert math.isnan(row["positive"])
    assert trust.history.index.tolist() == [0]
    assert trust.history["slope"].isna().all()


@pytest.mark.parametrize(
    ("factor", "unit", "direction"),
    [(-1.0, 1.0, "maximize"), (2.0, 1.0, "minimize"), (-3.0, 100.0, "minimize")],
)
def test_a_slope_is_that_of_the_response_on_the_old_response(factor: float, unit: float, direction: str) -> None:
    old = average_over(scaled(smooth, unit, 7.0))
    opt = told(
        Optimizer(SPACE, direction=direction, search=SearchConfig(model=old), seed=0), 3, scaled(smooth, factor, -4.0)
    )
    (row,) = opt.trust.relations.to_dict("records")
    assert row["slope"] == pytest.approx(factor / unit, rel=0.15)
    assert row["trust"] > 0.7
    assert row["positive"] == pytest.approx(float(factor > 0), abs=0.02)


def test_a_slope_is_what_a_straight_line_through_old_and_new_says() -> None:
    """Where the objective goes with the old response but for a remainder, least squares says about the same."""
    opt, old = Optimizer(SPACE, direction="maximize", search=SearchConfig(model=average_over(rows=30)), seed=0), []
    for setting in opt.space.sobol(12, seed=5):
        old.append(smooth(setting))
        opt.tell(setting, 0.7 * old[-1] + 0.1 * math.cos(5 * setting["a"] + setting["b"]))
    line = np.polyfit(old, opt.history["y"], 1)[0]
    assert opt.trust.relations["slope"].item() == pytest.approx(line, rel=0.15)


def test_a_slope_is_the_mean_over_all_hypotheses_that_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by hand: ρ ~ N(0, a·h) before, and cov(ρ, y) = a·h·ĝ, where h is its share of the variance."""
    monkeypatch.setattr(weighing, "_LEAST_SHARE", 0.0)
    old = {"lab": old_data(rows=15), "plant": old_data(unrelated, rows=15)}
    opt = told(Optimizer(SPACE, old, "minimize", seed=0), 3)
    observations, average = observations_of(opt), opt.surrogate
    weighed = weighed_after(average, observations)
    among, x, y = weighed.hypotheses, average.box.to_kernel_inputs(observations.X), observations.y[:, 0].numpy()
    covariances = among.processes.add_noise_(among.processes.compute_covariance(x, x)).numpy()
    relations = opt.trust.relations.set_index("old data")
    for old in average.sources:
        weights, means, rising = [], [], []
        for row, label in enumerate(among.labels):
            if (label.old, label.belief) == (old.name, "aligned"):
                expected = old.fits[among.fit_indices[row]](x).numpy()
                share, a = among.slopes[row].item(), weighed.amplitude[row].item()
                gain = share * np.linalg.solve(covariances[row], expected)
                weights.append(weighed.weights[row].item())
                means.append(gain @ y)
                rising.append(NormalDist().cdf(-means[-1] / math.sqrt(a * (share - share * (gain @ expected)))))
        slope = -np.average(means, weights=weights) * observations.scale / old.units[0]
        assert relations.loc[old.name, "slope"] == pytest.approx(slope, rel=1e-5)
        assert relations.loc[old.name, "positive"] == pytest.approx(np.average(rising, weights=weights), abs=1e-5)


def test_one_observation_says_nothing_of_the_slope() -> None:
    row = told(
        Optimizer(SPACE, direction="maximize", search=SearchConfig(model=average_over()), seed=0), 1
    ).trust.relations.iloc[0]
    assert row["slope"] == pytest.approx(0.0, abs=1e-9)
    assert row["positive"] == pytest.approx(0.5, abs=1e-6)


def test_history_is_what_was_said_at_the_time() -> None:
    opt = told(
        Optimizer(SPACE, direction="minimize", seed=3, search=SearchConfig(model=average_over())),
        2,
        scaled(smooth, -2.0),
    )
    opt.tell({"a": 0.1, "b": 2.0}, math.nan)  # a failed run says nothing of the response
    history = opt.trust.history
    assert history.index.tolist() == [0, 1, 2]
    for count in (2,):
        earlier = Optimizer(SPACE, direction="minimize", seed=3, search=SearchConfig(model=average_over()))
        earlier = earlier.resume(opt.history.head(count)).trust
        pd.testing.assert_frame_equal(earlier.history, history.head(count + 1))
        beliefs = earlier.beliefs.set_index("belief")["probability"]
        np.testing.assert_allclose(history.loc[count, list(beliefs.index)], beliefs)
        row = earlier.relations.iloc[0]
        numbers = ["trust", "slope", "positive"]
        np.testing.assert_allclose(history.loc[count, numbers], row[numbers].tolist())
    beliefs = history.drop(columns=["trust", "slope", "positive"])
    np.testing.assert_allclose(beliefs.sum(axis=1), 1.0)


def test_several_old_data_sets_have_a_row_and_columns_each() -> None:
    sets = {"lab": old_data(rows=15), "plant": old_data(scaled(smooth, -2.0), rows=15)}
    trust = told(Optimizer(SPACE, sets, direction="maximize", seed=0), 2).trust
    assert trust.relations["old data"].tolist() == ["lab", "plant"]
    assert {"uninformed", "lab: aligned", "plant: aligned", "lab: slope", "plant: positive"} <= set(trust.history)
    assert {"lab: trust", "plant: trust"} <= set(trust.history)
    assert trust.beliefs["probability"].sum() == pytest.approx(1.0)
    by_set = trust.beliefs.groupby("old data")["trust"].sum()
    np.testing.assert_allclose(trust.relations.set_index("old data")["trust"], by_set[["lab", "plant"]])
    # The same data in other units and upside down: equally trusted, with the slope turned.
    lab, plant = trust.relations.to_dict("records")
    assert lab["trust"] == pytest.approx(plant["trust"], rel=1e-6)
    assert lab["slope"] == pytest.approx(-2 * plant["slope"], rel=1e-6)
    assert lab["positive"] == pytest.approx(1 - plant["positive"], rel=1e-6)


def test_trust_reads_as_a_sentence_and_two_tables() -> None:
    trust = told(Optimizer(SPACE, {"lab of 2019": old_data(rows=15)}, direction="maximize", seed=0), 2).trust
    _, beliefs, relations = str(trust).split("\n\n")
    assert beliefs.splitlines()[0].split() == ["old", "data", "belief", "probability", "trust"]
    assert len(beliefs.splitlines()) == 1 + len(trust.beliefs)
    assert relations.splitlines()[0].split() == ["old", "data", "trust", "slope", "positive"]
    assert "lab of 2019" in relations
    assert str(round(trust.relations["slope"].item(), 3)) in relations


@pytest.mark.parametrize("options", [{}, {"prior": "uninformed"}, {"prior": "reweighted"}], ids=str)
def test_without_an_average_there_is_no_trust(options: dict) -> None:
    opt = make_optimizer(SPACE, old_data(rows=10) if options else None, **options)
    has = "the single belief 'reweighted'" if options.get("prior") == "reweighted" else "no old data that is used"
    with pytest.raises(InputError, match=f"prior='average'; this Optimizer has {has}"):
        opt.trust  # noqa: B018  # a property


@pytest.mark.parametrize("response", [1.0, 0.1], ids=["equal", "equal but for rounding"])
def test_responses_that_do_not_vary_earn_no_trust(response: float) -> None:
    opt = Optimizer(SPACE, {"lab": old_data(smooth)}, direction="maximize", seed=1)
    for setting in opt.space.sobol(8, seed=2):
        opt.tell(setting, response)
    assert opt.trust.relations[["trust", "slope", "positive"]].to_numpy().tolist() == [[0.0, 0.0, 0.5]]
    expected = "Old data 'lab': nothing is known of what it explains after 8 results that are all equal."
    assert opt.trust.sentences == [expected]


def test_trust_is_said_in_words_before_it_is_tabulated() -> None:
    opt = Optimizer(SPACE, old_data(flipped), direction="maximize", seed=1)
    assert opt.trust.sentences == ["Old data: there is no result yet, so nothing is known of what it explains."]
    assert told(opt, 1).trust.sentences == ["Old data: nothing is known of what it explains after 1 result."]
    told(opt, 8)
    said = repr(opt.trust).splitlines()[0]
    assert re.fullmatch(
        r"Old data explains over 99 % of the response's variance \(posterior mean\) after 9 results\. "
        r"The response falls by 1 per unit of the old one \(100 % sure of the sign\)\.",
        said,
    )
    assert f"<p>{escape(said)}</p>" in opt.trust._repr_html_()


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        # Much is explained, and the sign is sure; or, as readings may differ, open.
        ((0.934, -1234.0, 0.02), "93 %. The response falls by 1200 per unit of the old one (98 % sure of the sign)."),
        (
            (0.997, 2.0, 0.998),
            "over 99 %. The response rises by 2 per unit of the old one (over 99 % sure of the sign).",
        ),
        (
            (0.6, 0.1, 0.55),
            "60 %. The sign of the relation is open: hypotheses of either sign fit.",
        ),
        # Some is.
        (
            (0.45, 2.0, 0.9),
            "45 %. As far as they are related, the response rises by 2 per unit of the old one (90 % sure of the "
            "sign).",
        ),
        ((0.45, 2.0, 0.6), "45 %. The sign of the relation is open."),
        # Little is: then the sign is that of a relation that may not be there.
        (
            (0.03, 2.0, 0.89),
            "only 3 %. If the two are related at all, the response most likely rises with the old one (89 %).",
        ),
        (
            (0.03, -2.0, 0.004),
            "only 3 %. If the two are related at all, the response most likely falls with the old one (over 99 %).",
        ),
        ((0.04, 2.0, 0.7), "only 4 %. If the two are related at all, the sign of the relation is open."),
        (
            (0.001, 2.0, 0.9),
            "0 %. If the two are related at all, the response most likely rises with the old one (90 %).",
        ),
        ((0.0, math.nan, math.nan), "0 %. No relation is seen."),
    ],
)
def test_a_sentence_is_about_what_is_there(numbers: tuple[float, float, float], expected: str) -> None:
    said = in_words(*numbers)
    short = re.sub(r" of the response's variance (\(posterior mean\) )?after 6 results", "", said)
    assert short == f"Old data 'waste' explains {expected}"


def in_words(trust: float, slope: float, positive: float, expected: int = 0, count: int = 6) -> str:
    numbers = ("waste", trust, slope, positive)
    relations = pd.DataFrame([numbers], columns=["old data", "trust", "slope", "positive"])
    nothing = pd.DataFrame({"aligned": [0.0] * (count + 1)})
    (said,) = Trust(nothing, relations, nothing, {"waste": expected}).sentences
    return said


@pytest.mark.parametrize("trust", [0.0, 0.03, 0.099, 0.1, 0.3, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("positive", [0.0, 0.1, 0.21, 0.5, 0.79, 0.89, 1.0])
def test_what_is_said_of_the_sign_fits_to_what_is_explained(trust: float, positive: float) -> None:
    """No sign is told as a fact where little is explained, none that is open, and never more than two sentences."""
    said = in_words(trust, positive - 0.501, positive)
    assert len(re.findall(r"\.(?: |$)", said)) <= 2
    assert len(said) < 200
    assert ("only" in said) == (0 < trust < 0.1)
    assert ("If the two are related at all" in said) == (trust < 0.1)
    assert ("As far as they are related" in said) == (0.1 <= trust < 0.5 and not 0.2 < positive < 0.8)
    assert ("open" in said) == (0.2 < positive < 0.8)
    assert ("per unit of the old one" in said) == (trust >= 0.1 and not 0.2 < positive < 0.8)


def test_no_results_yet_and_all_alike() -> None:
    said = in_words(0.0, math.nan, math.nan, count=0)
    assert said == "Old data 'waste': there is no result yet, so nothing is known of what it explains."
    assert in_words(0.0, 0.0, 0.5, count=1) == "Old data 'waste': nothing is known of what it explains after 1 result."


@pytest.mark.parametrize("trust", [0.3, 0.9])
def test_a_sign_against_what_was_given_is_told(trust: float) -> None:
    assert in_words(trust, -2.0, 0.02, expected=1).endswith(" sure of the sign), against the relation that was given.")
    assert "against" not in in_words(trust, -2.0, 0.02, expected=-1)
    assert "against" not in in_words(trust, -2.0, 0.15, expected=1)


@pytest.mark.slow
def test_a_probable_relation_that_explains_little_is_told_apart_from_what_it_explains() -> None:
    noise = np.random.default_rng(0)
    opt = Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=1)
    settings = opt.space.sobol(40, seed=4)
    spread = float(np.std([smooth(setting) for setting in settings]))
    opt.tell(settings, [smooth(setting) + 1.5 * spread * noise.normal() for setting in settings])
    trust = opt.trust
    probability = trust.beliefs.set_index("belief")["probability"]["aligned"]
    assert probability > trust.relations["trust"].item() + 0.5
    (said,) = trust.sentences
    assert re.search(rf"'aligned' .* has a posterior probability of {100 * probability:.0f} %", said)
    assert re.search(r"That is no share of the variance: \d+ % of it is noise\.$", said)


def test_where_belief_and_what_it_explains_agree_nothing_more_is_said() -> None:
    trust = told(Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=0), 9).trust
    assert trust.relations["trust"].item() > 0.9
    assert not trust.gaps
    assert "no share" not in str(trust)


@pytest.mark.parametrize("relation", [smooth, unrelated])
def test_what_is_explained_and_the_rest_make_up_the_variance(relation: Callable[[dict], float]) -> None:
    opt = told(Optimizer(SPACE, old_data(rows=20), direction="maximize", seed=0), 6, relation)
    opt.trust  # noqa: B018  # a property
    step = opt._trust["y"].steps[-1]
    relations = step.relations["old data"]
    total = relations.trust / step.compute_probability("old data") + sum(relations.rest.values())
    assert total == pytest.approx(1.0, abs=0.01)  # a few hypotheses hold next to none of the relation, and are left out
    assert min(relations.rest.values()) >= 0
