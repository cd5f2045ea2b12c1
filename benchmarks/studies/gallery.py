"""The pictures of docs/gallery.md, of two small simulated campaigns, and that of the README, of stored results.

python -m benchmarks gallery [--out DIR]
"""

import argparse
from math import exp
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.studies import pairs_picture
from benchmarks.tables import DOCS
from tunedprior import Optimizer, plots
from tunedprior.campaign import simulate
from tunedprior.problem.space import Setting

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


def one_goal(trials: int = _TRIALS) -> Optimizer:
    """As much yield as possible; one run fails, and one is somebody's own idea."""
    known = {"other substrate": old_records().drop(columns="waste (g)")}
    opt = Optimizer(SPACE, known, target="yield (%)", seed=1)
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
    """Much yield and little waste, of which at least 20 % is required."""
    goals = {"yield (%)": "maximize", "waste (g)": "minimize"}
    opt = Optimizer(SPACE, old_records(), objectives=goals, requirements={"yield (%)": ">= 20"}, seed=1)
    simulate(opt, lambda one: {"yield (%)": yield_of(one), "waste (g)": waste_of(one)}, trials)
    return opt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--out", type=Path, default=DOCS / "pictures", help="where to write the pictures")


def main(arguments: argparse.Namespace) -> None:
    """Draw all of them."""
    folder: Path = arguments.out
    folder.mkdir(parents=True, exist_ok=True)
    one, two = one_goal(), two_goals()
    for name, opt in (
        ("progress", one),
        ("effects", one),
        ("interactions", one),
        ("trust", one),
        ("learnt", one),
        ("front", two),
    ):
        figure = getattr(plots, name)(opt, backend="matplotlib")
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=90, pil_kwargs={"optimize": True}, metadata={"Software": None})
        print(f"wrote {path}")
    pairs_picture.draw(folder / "pairs.png")
