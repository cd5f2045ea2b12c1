"""`opt.explain`: what old data taught, and why a setting, whatever the campaign is about."""

import json
import math
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
import torch

from support.builders import SPACE, flipped, old_data, smooth
from tunedprior import Goals, Optimizer, Target, TransferConfig
from tunedprior.errors import InputError
from tunedprior.explain.source_explanation import format_value
from tunedprior.goals.objective import encode_run_settings
from tunedprior.history.trials import Trial
from tunedprior.models.posterior import predict_moments
from tunedprior.suggestion.prediction import compute_improvement


def checked(explanation):
    """The explanation, which has words, is JSON, and has nothing of the user's unescaped."""
    assert explanation.sentences
    assert all(sentence[-1] == "." and "nan" not in sentence for sentence in explanation.sentences)
    json.dumps(explanation.to_dict(), allow_nan=False)
    assert "<i>" not in explanation._repr_html_()
    assert explanation.sentences[0] in str(explanation)
    return explanation


def told(opt: Optimizer, respond, count: int) -> Optimizer:
    for _ in range(count):
        setting = opt.ask()
        opt.tell(setting, respond(setting))
    return opt


def words(explanation) -> str:
    return " ".join(checked(explanation).sentences)


# -- what old data taught ------------------------------------------------------------------------------


def test_old_data_and_the_model_are_explained_apart() -> None:
    opt = Optimizer(SPACE, {"lab": old_data(rows=30)}, direction="maximize", seed=0)
    before = checked(opt.explain())
    assert set(before.inputs["old data"]) == {"lab"}
    after = checked(told(opt, flipped, 6).explain())
    assert set(after.inputs["old data"]) == {"lab", "the model of all results"}
    shares = after.inputs.set_index(["old data", "input"])["total"]
    assert shares["lab", "a"] == pytest.approx(shares["the model of all results", "a"], abs=0.2)
    # The response runs the other way, and so do its curves.
    curves = after.effects[after.effects["input"] == "a"].set_index(["old data", "value"])["expected"]
    lab, model = curves["lab"], curves["the model of all results"]
    assert np.corrcoef(lab, model)[0, 1] < -0.9


def test_curves_are_means_over_the_space_in_units_of_the_response() -> None:
    opt = Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=0)
    grid = [{"a": a, "b": b} for a in (-1.0, 1.0) for b in (0.0, 2.5, 5.0)]
    opt.tell(grid, [1000 + 50 * one["b"] for one in grid])
    curve = opt.explain().effects.query("input == 'b' and `old data` != 'old data'")
    low, high = curve["expected"].iloc[0], curve["expected"].iloc[-1]
    assert low == pytest.approx(1000, abs=20)
    assert high == pytest.approx(1250, abs=20)
    row = opt.explain().inputs.query("input == 'b' and `old data` != 'old data'").iloc[0]
    assert (row["effect"], row["highest at"]) == ("rises", 5.0)


def test_rows_are_known_by_line_after_a_campaign_was_loaded(tmp_path: Path) -> None:
    old_data(rows=20).to_csv(tmp_path / "old.csv", index=False)
    url = f"sqlite:///{tmp_path / 'lab.db'}"
    first = Optimizer(SPACE, tmp_path / "old.csv", direction="maximize", storage=url, name="one", seed=0).explain()
    (tmp_path / "old.csv").unlink()
    again = Optimizer.load(url, name="one").explain()
    assert first.rows["row"].str.match(r"line \d+").all()
    pd.testing.assert_frame_equal(first.rows, again.rows)
    lines = [int(row.split()[1]) for row in first.rows["row"]]
    table = old_data(rows=20)
    for line, setting in zip(lines, first.rows["setting"], strict=True):
        assert f"a={table.loc[line - 2, 'a']:.6g}" in setting


def test_old_data_that_lacks_a_column_says_nothing_of_it() -> None:
    with pytest.warns(UserWarning, match="old data"):
        opt = Optimizer(SPACE, old_data(rows=20)[["a", "y"]], direction="maximize", seed=0)
    assert "It says nothing of b, which it lacks." in words(opt.explain())


def test_without_old_data_only_results_are_explained() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    assert opt.explain().sentences == ["There is no old data that is used, so it taught nothing."]
    assert checked(opt.explain()).inputs.empty
    found = checked(told(opt, smooth, 4).explain())
    assert set(found.inputs["old data"]) == {"the model of all results"}


def test_a_flat_response_teaches_nothing() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    opt.tell([{"a": 0.1, "b": 1.0}, {"a": 0.5, "b": 2.0}], [3.0, 3.0])
    assert "expects next to nothing: y is flat" in words(opt.explain())


def test_mixtures_say_what_a_share_means() -> None:
    space = dict.fromkeys("abc", (0.0, 1.0))
    opt = told(Optimizer(space, direction="maximize", constraints=["a + b + c == 1"], seed=0), lambda s: s["c"], 5)
    assert "Inputs are bound by constraints" in words(opt.explain())


@pytest.mark.parametrize("prior", ["reweighted", "aligned", "uninformed"])
@pytest.mark.usefixtures("short_search")
def test_other_priors(prior: str) -> None:
    opt = told(
        Optimizer(SPACE, old_data(rows=20), direction="maximize", seed=0, transfer=TransferConfig(prior=prior)),
        smooth,
        4,
    )
    assert ("Old data taught" in words(opt.explain())) == (prior != "uninformed")
    assert "Predicted: y" in words(opt.explain(opt.ask()))


def test_the_fast_mean_is_the_posterior_mean() -> None:
    opt = told(Optimizer(SPACE, old_data(rows=20), direction="maximize", seed=0), smooth, 5)
    model = opt._fit_model().model
    X = 2 * torch.rand(20, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64) - 1
    posterior = model.posterior(X[:, None], observation_noise=True)
    mean, variance = predict_moments(model, X, measured=True)
    torch.testing.assert_close(model.make_mean_function()(X), posterior.mixture_mean[:, 0, 0])
    torch.testing.assert_close(mean, posterior.mixture_mean[:, 0, 0])
    torch.testing.assert_close(variance, posterior.mixture_variance[:, 0, 0])


# -- why a setting -------------------------------------------------------------------------------------


def test_who_chose_a_setting() -> None:
    opt = Optimizer(SPACE, old_data(rows=20), direction="maximize", seed=0)
    batch = opt.ask(n=6)
    assert [opt.explain(one).origin for one in batch] == ["old data"] + ["design"] * 5  # nothing was told
    for one in batch:
        opt.tell(one, smooth(one))
    later = [opt.ask() for _ in range(2)]
    assert [opt.explain(one).origin for one in later] == ["model", "model"]
    assert opt.explain(1).origin == "old data"
    assert opt.explain({"a": 0.123, "b": 1.0}).origin == ""
    plain = Optimizer(SPACE, direction="maximize", seed=0)
    assert "before the model decides alone" in words(plain.explain(plain.ask()))


def test_gain_and_probability_are_those_of_expected_improvement() -> None:
    opt = told(Optimizer(SPACE, seed=0, direction="minimize"), smooth, 6)
    setting = {"a": 0.3, "b": 2.0}
    reasons = checked(opt.explain(setting))
    fitted = opt._fit_model()
    posterior = fitted.model.posterior(encode_run_settings([setting], fitted.box)[:, None])
    told_y = fitted.observations
    normal, gain, better = NormalDist(), 0.0, 0.0
    means, spreads = posterior.mean.flatten().tolist(), posterior.variance.sqrt().flatten().tolist()
    for mean, spread in zip(means, spreads, strict=True):
        z = (mean - float(told_y.y.max())) / spread
        gain += spread * (z * normal.cdf(z) + normal.pdf(z)) / len(means)
        better += normal.cdf(z) / len(means)
    assert reasons.gain == pytest.approx(told_y.scale * gain, rel=0.02, abs=1e-4)
    assert reasons.probability_better == pytest.approx(better, abs=0.01)


def test_the_best_so_far_is_not_compared_with_itself() -> None:
    opt = told(Optimizer(SPACE, direction="maximize", seed=0), smooth, 5)
    best = opt.best.id
    for trial in range(1, 6):
        said = words(opt.explain(trial))
        assert ("It is the best so far." in said) == (trial == best)
        assert ("It beats the best so far" in said) == (trial != best)


def test_beliefs_and_their_predictions() -> None:
    opt = told(Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=0), flipped, 6)
    setting = opt.ask()
    reasons = checked(opt.explain(setting))
    pd.testing.assert_series_equal(
        reasons.beliefs["probability"], opt.trust.beliefs["probability"], check_names=False, rtol=1e-6
    )
    mean = opt.predict(setting)["mean"].iloc[0]
    named = reasons.beliefs.dropna()
    assert float(named["probability"] @ named["expected"] / named["probability"].sum()) == pytest.approx(mean, abs=0.1)
    assert opt.trust.sentences[0] in reasons.sentences


def test_the_shadow_is_there_for_pending_settings_with_old_data() -> None:
    opt = told(Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=0), smooth, 5)
    setting = opt.ask()
    reasons = checked(opt.explain(setting))
    shadow = opt.shadow(setting)
    assert reasons.alternatives["distance"].tolist() == [0.0, shadow.distance]
    there = reasons.alternatives.iloc[1]
    assert there["y mean"] == pytest.approx(opt.predict(shadow.setting)["mean"].iloc[0])
    assert "Plain optimisation" in words(reasons)
    assert opt.explain(1).alternatives.empty


def test_candidates_are_those_of_the_shadow_too() -> None:
    pool = [{"a": a, "b": b} for a in (-0.5, 0.0, 0.5) for b in (1.0, 4.0)]
    opt = Optimizer(SPACE, old_data(rows=20), direction="maximize", seed=0)
    setting = opt.ask(candidates=pool)
    shown = opt.explain(setting, candidates=pool).alternatives.iloc[1]["setting"]
    assert shown in [f"a={one['a']:.6g}, b={one['b']:.6g}" for one in pool]


def test_what_was_told_nearby() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    opt.tell([{"a": 0.0, "b": 0.0}, {"a": 0.9, "b": 4.5}, {"a": -1.0, "b": 5.0}], [1.0, 2.0, float("nan")])
    reasons = checked(opt.explain({"a": 1.0, "b": 5.0}))
    assert reasons.nearest["trial"].tolist() == [2, 3, 1]
    assert reasons.nearest["distance"].iloc[2] == pytest.approx(math.hypot(1, 2) / math.sqrt(8))
    told_one = checked(opt.explain(2))
    assert told_one.sentences[0].startswith("Trial 2 (a=0.9, b=4.5), of which came y = 2,")
    assert 2 not in told_one.nearest["trial"].tolist()
    assert "which failed" in words(opt.explain(3))


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
def test_several_objectives_requirements_failures_and_labels() -> None:
    opt = Optimizer(
        SPACE,
        old_data(rows=20).rename(columns={"y": "yield"}),
        objectives={"yield": "maximize", "cost": "minimize"},
        requirements={"purity": ">= 0.5", "works": "pass"},
        constraints=["a + b <= 5"],
        seed=0,
    )
    checked(opt.explain(opt.ask()))
    for number in range(4):
        setting = opt.ask()
        more = {"cost": setting["b"], "purity": setting["a"] ** 2, "works": bool(number % 2)}
        opt.tell(setting, {"yield": smooth(setting), **more}) if number != 2 else opt.tell(setting, failed=True)
    setting = opt.ask()
    reasons = checked(opt.explain(setting))
    assert reasons.expected["response"].tolist() == ["yield", "cost", "purity"]
    assert 0 <= reasons.probability < 1
    assert "works and meets the requirements (purity >= 0.5, works passes)" in words(reasons)
    assert math.isnan(reasons.gain)
    assert set(checked(opt.explain()).inputs["response"]) == {"yield", "cost", "purity", "works"}


def test_a_new_trade_off() -> None:
    opt = Optimizer(SPACE, objectives={"u": "maximize", "v": "maximize"}, seed=0)
    for a, b in ((-1.0, 0.0), (0.0, 2.5), (1.0, 5.0), (0.5, 1.0)):
        opt.tell({"a": a, "b": b}, {"u": a, "v": a})
    best, worst = (opt.explain({"a": a, "b": 2.0}).probability_better for a in (1.0, -1.0))
    assert best > worst
    assert "joins the Pareto front" in words(opt.explain({"a": 1.0, "b": 2.0}))


@pytest.mark.usefixtures("short_search")
def test_targets_logarithms_and_preferences() -> None:
    target = told(
        Optimizer(SPACE, objectives=Goals.parse(direction=Target(50.0), log=True), seed=0),
        lambda s: 40 + 10 * s["b"],
        5,
    )
    assert "from what is wanted (50)" in words(target.explain(target.ask()))
    weighed = Optimizer(
        SPACE,
        objectives=Goals.parse(objectives={"u": "maximize", "v": "minimize"}, preference={"u": 2.0, "v": 1.0}),
        seed=0,
    )
    told(weighed, lambda s: {"u": s["a"], "v": s["b"]}, 4)
    reasons = weighed.explain({"a": 1.0, "b": 0.0})
    assert "By the preference" in words(reasons)
    assert reasons.gain > 0


def test_nothing_told_all_failed_and_categories_alone() -> None:
    opt = Optimizer({"c": ["x", "y <i>", "ü"]}, direction="maximize", seed=0)
    assert "There is no result yet" in words(opt.explain(opt.ask()))
    opt = Optimizer({"c": ["x", "y <i>", "ü"]}, direction="maximize", seed=0)
    for _ in range(2):
        opt.tell(opt.ask(), failed=True)
    assert "No response was measured yet" in words(opt.explain(opt.ask()))
    opt.tell({"c": "y <i>"}, 1.0)
    assert "c=y <i>" in words(opt.explain({"c": "y <i>"}))
    checked(opt.explain())


def test_nothing_meets_what_is_required() -> None:
    opt = Optimizer(SPACE, direction="maximize", requirements={"purity": ">= 2"}, seed=0)
    opt.tell({"a": 0.0, "b": 1.0}, {"y": 1.0, "purity": 1.0})
    assert "No result meets the requirements yet" in words(opt.explain({"a": 0.5, "b": 1.0}))


def test_what_cannot_be_explained() -> None:
    opt = Optimizer(SPACE, direction="maximize", constraints=["a + b <= 5"], seed=0)
    with pytest.raises(InputError, match="no result with the number 7"):
        opt.explain(7)
    with pytest.raises(InputError, match="b is missing"):
        opt.explain({"a": 0.5})
    with pytest.raises(InputError, match="One setting at a time"):
        opt.explain(pd.DataFrame({"a": [0.1, 0.2], "b": [1.0, 2.0]}))
    assert "does not satisfy a + b <= 5" in words(opt.explain({"a": 1.0, "b": 5.0}))


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
def test_explaining_changes_nothing() -> None:
    one, other = (told(Optimizer(SPACE, old_data(rows=20), direction="maximize", seed=0), smooth, 4) for _ in range(2))
    setting = one.ask()
    other.ask()
    one.explain()
    one.explain(setting)
    assert one.ask() == other.ask()
    pd.testing.assert_frame_equal(one.trust.history, other.trust.history)


def test_chances_before_anything_is_of_use() -> None:
    opt = Optimizer(SPACE, direction="maximize", seed=0)
    opt.tell({"a": 0.0, "b": 1.0}, float("nan"))
    fitted = opt._fit_model()
    improvement = compute_improvement(
        fitted, opt.suggester.goals, [], encode_run_settings([{"a": 0.0, "b": 1.0}], fitted.box)
    )
    assert improvement.best is None
    assert math.isnan(improvement.gain)


@pytest.mark.slow
def test_it_is_said_which_results_old_data_chose_alone_and_how_they_compare() -> None:
    opt = told(Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=0), smooth, 6)
    by_origin: dict[str, list[Trial]] = {}
    for trial in opt.trials.told:
        by_origin.setdefault(opt.explain(trial.id).origin, []).append(trial)
    assert set(by_origin) == {"old data", "design", "model"}
    best = {name: max(trials, key=lambda one: one.value) for name, trials in by_origin.items()}
    said = opt.trust.where_from
    assert said in opt.trust.sentences
    assert f"Of 6 results, settings were chosen by old data alone ({len(by_origin['old data'])}; best" in said
    assert f"the space-filling design, which ignores old data ({len(by_origin['design'])}; best" in said
    assert all(f"trial {one.id})" in said for one in best.values())
    gap = best["old data"].value - best["design"].value
    assert (
        f"{format_value(abs(gap))} {'better' if gap > 0 else 'worse'} than the best of the space-filling design."
        in said
    )
    assert said in opt.explain(opt.ask()).sentences


@pytest.mark.parametrize(
    ("first", "later", "owner"), [(9.0, 1.0, "old data alone"), (1.0, 9.0, "the space-filling design")]
)
def test_the_best_so_far_is_said_to_be_of_whoever_chose_it(first: float, later: float, owner: str) -> None:
    opt = Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=0)
    for value in (first, later):
        opt.tell(opt.ask(), value)
    opt.tell({"a": 0.0, "b": 1.0}, 0.5)
    said = opt.trust.where_from
    assert f"The best so far was chosen by {owner}" in said
    assert ("does not show in the share that it explains" in said) == (first > later)
    assert "and people (1; best 0.5, trial 3)" in said


def test_without_a_setting_that_old_data_chose_alone_nothing_is_said_of_it() -> None:
    opt = Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=0)
    opt.tell([{"a": 0.1, "b": 1.0}, {"a": -0.4, "b": 3.0}], [1.0, 2.0])
    assert opt.trust.where_from == ""
    assert len(opt.trust.sentences) == 1


def test_of_a_front_it_is_said_how_much_of_it_old_data_chose_alone() -> None:
    objectives = {"y": "maximize", "cost": "minimize"}
    opt = Optimizer(SPACE, old_data(rows=30).assign(cost=range(30)), objectives=objectives, seed=0)
    for y, cost in ((5.0, 1.0), (1.0, 2.0)):
        opt.tell(opt.ask(), {"y": y, "cost": cost})
    assert opt.trust["y"].where_from.endswith("Old data alone chose 1 of 1 on the Pareto front.")


def test_beliefs_are_said_to_be_of_the_form_of_a_relation() -> None:
    opt = told(Optimizer(SPACE, old_data(rows=30), direction="maximize", seed=0), smooth, 3)
    said = words(opt.explain(opt.ask()))
    assert "averages these beliefs about the relation to old data, each with its posterior probability" in said
    assert "the response goes with the old one" not in said
