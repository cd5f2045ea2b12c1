"""Two parameters, and a process that answers with a yield, a cost and a purity."""

import numpy as np
import pandas as pd

from tunedprior import Optimizer
from tunedprior.space.search_space import Setting

SPACE = {"x": (0.0, 1.0), "z": (0.0, 1.0)}
BOTH = {"yield": "maximize", "cost": "minimize"}


def run(setting: Setting) -> dict[str, float]:
    x, z = setting["x"], setting["z"]
    return {"yield": 1 - (x - 0.7) ** 2, "cost": x + z, "purity": 1 - z}


def told(opt: Optimizer, count: int, *names: str) -> Optimizer:
    for _ in range(count):
        setting = opt.ask()
        opt.tell(setting, {name: run(setting)[name] for name in names})
    return opt


def old(rows: int = 30, **columns: float) -> pd.DataFrame:
    """Old data in which each response is turned and stretched by a factor."""
    points = np.random.default_rng(0).random((rows, 2))
    table = pd.DataFrame(points, columns=["x", "z"])
    for name, factor in columns.items():
        table[name] = [factor * run(row)[name] for row in table.to_dict("records")]
    return table
