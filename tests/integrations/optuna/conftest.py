"""What the tests of the sampler share."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

SPACE = {
    "gas": CategoricalDistribution(["air", "argon"]),
    "heat": FloatDistribution(20.0, 90.0),
    "speed": FloatDistribution(0.1, 10.0, log=True),
}


def response(setting: dict[str, object]) -> float:
    """A loss that is best in argon, at 60 degrees and a speed of 1."""
    heat, speed = (float(setting["heat"]) - 60) / 30, np.log10(float(setting["speed"]))
    return float(heat**2 + speed**2 + (0.5 if setting["gas"] == "air" else 0.0))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


@pytest.fixture
def old() -> pd.DataFrame:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"gas": random.choice(["air", "argon"], 40), "heat": random.uniform(20, 90, 40)})
    table["speed"] = 10 ** random.uniform(-1, 1, 40)
    table["loss"] = [3 * response(row) + 1 for row in table.to_dict("records")]
    return table


@pytest.fixture
def database(tmp_path: Path) -> Callable[[str], str]:
    """The URL of a database of this name, made where tests may write."""
    return lambda name: f"sqlite:///{tmp_path / name}.db"
