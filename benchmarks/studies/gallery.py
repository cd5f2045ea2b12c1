"""The campaigns of docs/gallery.md: two small simulated ones, and what each picture of them shows.

    python -m benchmarks gallery [--out DIR]

Stores the history of both (`gallery_yield.csv`, `gallery_trade_off.csv`), and the values in each picture
(`gallery.json`), from which `make pictures` draws.
"""

import argparse
import json
from dataclasses import fields, is_dataclass
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.results import RESULTS, replace_file
from tunedprior import Optimizer
from tunedprior.campaign import simulate
from tunedprior.plots import pictures
from tunedprior.plots.drawing import parse_baseline_count
from tunedprior.plots.effects_pictures import build_effects_picture, build_interactions_picture, build_old_data_picture
from tunedprior.plots.pictures import Picture
from tunedprior.plots.progress_pictures import build_front_picture, build_progress_picture, build_trust_picture
from tunedprior.plots.snapshot import take_snapshot
from tunedprior.plots.with_matplotlib import render_matplotlib
from tunedprior.space.search_space import Setting

#: What is stored: what was told in each campaign, and what is shown of them.
HISTORIES, SHOWN = ("gallery_yield.csv", "gallery_trade_off.csv"), "gallery.json"
#: What pictures are made of, by name.
_PARTS = {name: one for name, one in vars(pictures).items() if is_dataclass(one)}

SPACE = {"temperature (°C)": (30.0, 110.0), "time (s)": (60.0, 600.0, "log"), "catalyst": ["A", "B", "C", "D"]}
_ACTIVITY = {"A": 1.0, "B": 0.75, "C": 0.55, "D": 0.3}
_BEST = {"A": 80.0, "B": 95.0, "C": 70.0, "D": 85.0}  # °C
_OLD_ROWS, _TRIALS = 40, 18


def yield_of(setting: Setting) -> float:
    """The yield in %: each catalyst has its best temperature, and more time helps less and less."""
    hot, long = setting["temperature (°C)"], setting["time (s)"]
    warm = exp(-(((hot - _BEST[setting["catalyst"]]) / 30) ** 2))
    return 100 * _ACTIVITY[setting["catalyst"]] * warm * (1 - exp(-long / 150))


def waste_of(setting: Setting) -> float:
    """The waste in g: heat and time make it."""
    return 2 + 0.05 * setting["temperature (°C)"] + 0.01 * setting["time (s)"]


def old_records(seed: int = 0) -> pd.DataFrame:
    """The same reaction with another substrate: half the yield, and some noise."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "temperature (°C)": rng.uniform(30, 110, _OLD_ROWS),
            "time (s)": np.exp(rng.uniform(np.log(60), np.log(600), _OLD_ROWS)),
            "catalyst": rng.choice(list(_ACTIVITY), _OLD_ROWS),
        }
    )
    rows["yield (%)"] = [0.5 * yield_of(row) + 5 + rng.normal(0, 2) for row in rows.to_dict("records")]
    rows["waste (g)"] = [waste_of(row) + rng.normal(0, 0.2) for row in rows.to_dict("records")]
    return rows


def for_yield() -> Optimizer:
    """As much yield as possible, before anything is told."""
    known = {"other substrate": old_records().drop(columns="waste (g)")}
    return Optimizer(SPACE, known, direction="maximize", target="yield (%)", seed=1)


def for_trade_offs() -> Optimizer:
    """Much yield, at least 20 %, and little waste, before anything is told."""
    goals = {"yield (%)": "maximize", "waste (g)": "minimize"}
    return Optimizer(SPACE, old_records(), objectives=goals, requirements={"yield (%)": ">= 20"}, seed=1)


def one_goal(trials: int = _TRIALS) -> Optimizer:
    """As much yield as possible; one run fails, and one is somebody's own idea."""
    opt = for_yield()
    rng = np.random.default_rng(3)
    own = {"temperature (°C)": 60.0, "time (s)": 300.0, "catalyst": "B"}

    def respond(setting: Setting) -> float:
        return yield_of(setting) + rng.normal(0, 2)

    simulate(opt, respond, trials // 2)
    opt.tell(own, respond(own))
    opt.tell({**own, "temperature (°C)": 108.0}, failed=True, note="boiled over")
    simulate(opt, respond, trials - trials // 2)
    return opt


def two_goals(trials: int = _TRIALS) -> Optimizer:
    """Much yield and little waste."""
    opt = for_trade_offs()
    simulate(opt, lambda one: {"yield (%)": yield_of(one), "waste (g)": waste_of(one)}, trials)
    return opt


def pictures_of(one: Optimizer, two: Optimizer, shadow: bool = True) -> dict[str, Picture]:
    """What each function of `tunedprior.plots` would draw, as values; the first campaign's, and the second's front."""
    snapshot = take_snapshot(one)
    return {
        "progress": build_progress_picture(snapshot, parse_baseline_count(shadow)),
        "effects": build_effects_picture(snapshot),
        "interactions": build_interactions_picture(snapshot),
        "trust": build_trust_picture(one.trust),
        "old_data": build_old_data_picture(snapshot),
        "front": build_front_picture(take_snapshot(two)),
    }


def draw_stored(stored: Path, name: str) -> Figure:
    """One of them, from the file of all."""
    return render_matplotlib(decoded(json.loads(stored.read_text(encoding="utf-8"))[name]))


def encoded(value: Any) -> Any:
    """A picture as JSON has it: each part with the name of its class, numbers with six digits."""
    if is_dataclass(value):
        return {"is": type(value).__name__} | {one.name: encoded(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple):
        return [encoded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def decoded(value: Any) -> Any:
    """The picture again."""
    if isinstance(value, dict):
        return _PARTS[value["is"]](**{name: decoded(one) for name, one in value.items() if name != "is"})
    return tuple(decoded(one) for one in value) if isinstance(value, list) else value


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--out", type=Path, default=RESULTS, help="where results go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run both campaigns, and store them and what their pictures show."""
    one, two = one_goal(), two_goals()
    for name, opt in zip(HISTORIES, (one, two), strict=True):
        replace_file(arguments.out / name, opt.history.to_csv(index=False))
    lines = [f"{json.dumps(name)}: {json.dumps(encoded(one))}" for name, one in pictures_of(one, two).items()]
    replace_file(arguments.out / SHOWN, "{" + ",\n".join(lines) + "}\n")
    print(f"Results are in {arguments.out}; `make pictures` draws them.")
