"""What pictures show is true: the values of their layers, against the optimiser's own answers."""

from math import isnan

import numpy as np
import pandas as pd
import pytest

from support.campaigns import CAMPAIGNS, old_table, plain, suggested_and_failed
from tunedprior import Optimizer, plots
from tunedprior.plots.effects_pictures import (
    build_effects_picture,
    build_interactions_picture,
    build_old_data_picture,
    compute_importance,
    list_source_responses,
    rank_interacting_pairs,
)
from tunedprior.plots.pictures import (
    Band,
    Curve,
    Dots,
    Layer,
    Level,
    Panel,
    Picture,
    Scale,
    Shades,
    Zone,
    shorten,
)
from tunedprior.plots.progress_pictures import build_front_picture, build_progress_picture, build_trust_picture
from tunedprior.plots.snapshot import copy_optimizer, take_snapshot
from tunedprior.plots.with_plotly import encode_panel

pytestmark = pytest.mark.usefixtures("short_search", "coarse_pictures")


def layer(panel: Panel, name: str) -> Layer:
    return next(one for one in panel.layers if one.name == name)


def test_progress_marks_what_was_suggested_own_and_failed() -> None:
    opt = CAMPAIGNS["suggested_and_failed"]()
    (panel,) = build_progress_picture(take_snapshot(opt), 9).panels
    told = opt.trials.told
    assert layer(panel, "your own").y == (told[0].value,)
    assert layer(panel, "suggested").y == (told[1].value, told[3].value)
    assert layer(panel, "failed, or not measured").x == (3.0,)
    assert "<i>burst</i>" in layer(panel, "failed, or not measured").notes[0]
    lowest = np.minimum.accumulate([told[0].value, told[1].value, told[1].value, told[3].value])
    assert layer(panel, "best so far").y == tuple(lowest)  # less is better
    assert layer(panel, "open: predicted").x == (5.0,)


def test_the_shadow_is_what_plain_optimisation_would_have_suggested() -> None:
    opt = CAMPAIGNS["suggested_and_failed"]()
    (panel,) = build_progress_picture(take_snapshot(opt), 2).panels
    shadow = layer(panel, "shadow (without old data): predicted")
    assert shadow.x == (3.0, 4.0)  # the latest two
    plain_ones = [opt.suggester.drop_old_data().suggest(opt.trials.keep_first(count), [], opt.seed) for count in (2, 3)]
    assert shadow.y == pytest.approx(opt.predict(plain_ones)["mean"].tolist())
    assert all(low < y < high for low, y, high in zip(shadow.low, shadow.y, shadow.high, strict=True))
    assert "latest 2 suggestions" in build_progress_picture(take_snapshot(opt), 2).sentences[1]


def test_without_old_data_there_is_no_shadow() -> None:
    opt = plain(old=False, count=1)
    opt.tell(opt.ask(), 1.0)
    picture = build_progress_picture(take_snapshot(opt), 9)
    assert picture.sentences == ()
    assert {one.name for one in picture.list_legend_layers()} == {"best so far", "suggested", "your own"}


def test_progress_of_several_responses() -> None:
    picture = build_progress_picture(take_snapshot(CAMPAIGNS["several_objectives"]()), 9)
    by_name = {panel.y.title: panel for panel in picture.panels}
    assert list(by_name) == ["more", "less", "near", "purity", "passes"]
    assert isinstance(layer(by_name["near"], "target"), Zone)
    assert isinstance(layer(by_name["purity"], "limit that is required"), Level)
    assert by_name["near"].y.log
    assert by_name["passes"].y.choices == ("fail", "pass")
    assert layer(by_name["more"], "your own, not as required").y == (0.9, 0.7)
    assert layer(by_name["more"], "best so far").y == (0.1, 0.5, 0.5, 0.5, 0.5)


def test_effects_are_what_the_model_expects() -> None:
    opt = CAMPAIGNS["plain"]()
    picture = build_effects_picture(take_snapshot(opt))
    centre = opt.recommend().setting
    for panel in picture.panels:
        curve, band = layer(panel, "expected"), layer(panel, "95 % interval")
        assert isinstance(curve, Curve)
        assert isinstance(band, Band)
        settings = pd.DataFrame([{**centre, panel.x.title: x} for x in curve.x])
        found = opt.predict(settings)
        assert curve.y == pytest.approx(found["mean"].tolist())
        assert (np.array(band.high) - np.array(band.low) >= 2 * 1.95 * found["std"]).all()
        assert layer(panel, "held here").x == (centre[panel.x.title],)
        assert layer(panel, "results").x == tuple(trial.setting[panel.x.title] for trial in opt.trials.told)


def test_effects_of_a_logarithm_are_in_its_units() -> None:
    picture = build_effects_picture(take_snapshot(CAMPAIGNS["a_logarithm"]()))
    for panel in picture.panels:
        assert panel.y.log
        assert min(layer(panel, "95 % interval").low) > 0
        assert 0.5 < np.mean(layer(panel, "expected").y) < 4


def test_effects_are_interrupted_where_constraints_forbid() -> None:
    opt = CAMPAIGNS["half_the_square"]()
    picture = build_effects_picture(take_snapshot(opt))
    centre = take_snapshot(opt).centre
    for panel in picture.panels:
        curve = layer(panel, "expected")
        allowed = [not opt.space.find_violated({**centre, panel.x.title: x}) for x in curve.x]
        assert [not isnan(y) for y in curve.y] == allowed
    assert any(isnan(y) for panel in picture.panels for y in layer(panel, "expected").y)
    shades = build_interactions_picture(take_snapshot(opt)).panels[0].layers[0]
    assert isinstance(shades, Shades)
    assert isnan(shades.z[-1][-1])
    assert not isnan(shades.z[0][0])


def test_categories_and_short_grids_are_points_with_intervals() -> None:
    opt = Optimizer({"gas": ["air", "argon"], "step": (0, 4, 2), "x": (0.0, 1.0)}, direction="maximize", seed=0)
    opt.tell([{"gas": "air", "step": 0, "x": 0.2}, {"gas": "argon", "step": 4, "x": 0.7}], [1.0, 2.0])
    gas, step, x = build_effects_picture(take_snapshot(opt)).panels
    points = layer(gas, "expected, with 95 % interval")
    assert isinstance(points, Dots)
    assert points.x == (0.0, 1.0)
    assert gas.x.choices == ("air", "argon")
    assert layer(step, "expected, with 95 % interval").x == (0.0, 2.0, 4.0)
    assert layer(x, "expected").x[0] == 0.0


def test_the_strongest_interaction_is_found() -> None:
    opt = Optimizer(
        {"a": (-1.0, 1.0), "b": (-1.0, 1.0), "c": (-1.0, 1.0)}, direction="maximize", noise_std=0.01, seed=0
    )
    for a, b, c in np.random.default_rng(0).uniform(-1, 1, (24, 3)).tolist():
        opt.tell({"a": a, "b": b, "c": c}, a * c + 2 * b)
    snapshot = take_snapshot(opt)
    first, second = rank_interacting_pairs(snapshot, opt.suggester.goals.main)
    assert (first.one.name, first.other.name) == ("a", "c")
    assert first.share > 0.9
    assert second.strength < first.strength / 3
    assert "a and c" in build_interactions_picture(snapshot).sentences[0]


def test_importance_is_that_in_the_old_data() -> None:
    opt = Optimizer(
        {"a": (0.0, 1.0), "b": (0.0, 1.0)},
        old_table(["a", "b"], 20, y=lambda x: np.sin(3 * x[:, 1])),
        direction="maximize",
        seed=0,
    )
    (lesson,) = list_source_responses(opt.suggester)
    shares = compute_importance(lesson, opt.space)
    assert shares["b"] == pytest.approx(1.0, abs=0.05)
    assert shares["a"] < 0.05
    bars, _, along_b = build_old_data_picture(take_snapshot(opt)).panels
    assert bars.y.choices == ("b", "a")
    curve = layer(along_b, "average")
    assert curve.y == pytest.approx(np.sin(3 * np.array(curve.x)), abs=0.1)  # in units of the old response


def test_trust_is_drawn_for_each_old_data_set() -> None:
    old = old_table(["a", "b"])
    opt = Optimizer(
        {"a": (0.0, 1.0), "b": (0.0, 1.0)},
        {"good": old, "odd": old.assign(y=old["b"] ** 2)},
        direction="maximize",
        seed=0,
    )
    opt.tell([{"a": 0.1, "b": 0.5}, {"a": 0.5, "b": 0.1}, {"a": 0.9, "b": 0.8}], [0.4, 1.0, 0.6])
    picture = build_trust_picture(opt.trust)
    (panel,) = picture.panels
    assert layer(panel, "odd").y == tuple(opt.trust.history["odd: trust"])
    assert picture.sentences == tuple(opt.trust.sentences)


def test_the_front_is_that_of_the_optimiser() -> None:
    opt = CAMPAIGNS["several_objectives"]()
    picture = build_front_picture(take_snapshot(opt))
    assert len(picture.panels) == 3
    best = layer(picture.panels[0], "Pareto front")
    assert sorted(best.x) == sorted(opt.front["more"])
    hollow = layer(picture.panels[0], "not as required")
    assert hollow.hollow
    assert hollow.x == (0.9,)


def test_plain_suggestions_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    opt = suggested_and_failed()
    first = build_progress_picture(take_snapshot(opt), 9)
    opt.tell({"a": 0.5, "b": 0.5}, 1.0)  # one's own, so that there is no more to work out
    monkeypatch.setattr("tunedprior.suggestion.suggester.Suggester.suggest", None)
    second = build_progress_picture(take_snapshot(opt), 9)
    name = "shadow (without old data): predicted"
    assert layer(second.panels[0], name).notes == layer(first.panels[0], name).notes
    opt.amend(2, 1.3)  # what came after it would have been another suggestion
    with pytest.raises(TypeError):
        build_progress_picture(take_snapshot(opt), 9)


def test_a_still_copy_sees_nothing_that_is_told_later() -> None:
    opt = suggested_and_failed()
    frozen = copy_optimizer(opt)
    opt.tell({"a": 0.5, "b": 0.5}, 3.0)
    assert len(frozen.trials) == len(opt.trials) - 1
    assert [trial.setting for trial in frozen.trials.pending] == [trial.setting for trial in opt.trials.pending]


def test_short_logarithmic_axes_have_more_marks_than_powers_of_ten() -> None:
    assert Scale("x", log=True, ends=(3.0, 60.0)).marks == (5.0, 10.0, 20.0, 50.0)
    assert Scale("x", log=True, ends=(3.0, 6000.0)).marks == ()
    assert Scale("x", ends=(3.0, 60.0)).marks == ()


def test_a_picture_places_its_panels_row_by_row() -> None:
    panel = Panel(Scale("x"), Scale("y"), ())
    picture = Picture("title", (panel,) * 5, columns=3)
    assert [(row, column) for row, column, _ in picture.place_panels()] == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    assert (picture.rows, picture.across) == (2, 3)


def test_long_labels_are_numbered_parts_of_their_names() -> None:
    assert [shorten(text, 7) for text in ("seven77", "eight888", "a  b", "")] == ["seven77", "eig…888", "a b", ""]
    names = ("water", "CC(C)C1=CC(=CC(=C1)P)C", "CC(C)C1=CC(=CN(=C1)P)C")
    scale = Scale("solvent", choices=names)
    assert scale.labels[0] == "water"
    assert [label[:3] for label in scale.labels[1:]] == ["2: ", "3: "]
    assert len(set(scale.labels)) == len(names)
    assert list(scale.full_names.values()) == list(names[1:])
    assert Scale("few", choices=("a", "b")).full_names == {}
    assert Scale("none").ticks == ((), ())
    many = Scale("many", choices=tuple(f"s{k}" for k in range(45)))
    assert many.ticks == (tuple(range(0, 45, 3)), tuple(str(k + 1) for k in range(0, 45, 3)))
    assert len(many.full_names) == 45
    axis = encode_panel(Panel(many, Scale("y"), ()))["layout"]["xaxis"]
    assert (axis["tickvals"], axis["ticktext"]) == tuple(map(list, many.ticks))
    picture = Picture("", (Panel(many, Scale("y"), ()),))
    assert picture.collect_full_names() == {"many": many.full_names}
    assert picture.list_captions()[0].endswith("20 is s19; and 25 more.")


def test_figures_say_what_the_numbers_stand_for() -> None:
    name = "CC(C)C1=CC(=C(C(=C1)C(C)C)C2=CC=CC=C2P(C3CCCCC3)C4CCCCC4)C(C)C"
    opt = Optimizer({"ligand": [name, "dppf"], "heat": (0.0, 1.0)}, direction="maximize", seed=0)
    opt.tell([{"ligand": name, "heat": 0.2}, {"ligand": "dppf", "heat": 0.7}], [1.0, 2.0])
    picture = plots.effects(opt)
    assert f"ligand: 1 is {name}." in "".join(one.text for one in picture.layout.annotations).replace("<br>", " ")
    drawn = plots.effects(opt, backend="matplotlib")
    labels = [label.get_text() for label in drawn.get_axes()[0].get_xticklabels()]
    assert labels == [Scale("", choices=(name,)).labels[0], "dppf"]
    texts = [one.get_text().replace("\n", "") for part in drawn.subfigs for one in part.texts]
    assert any("1 is" in text for text in texts)
