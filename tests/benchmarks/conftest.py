"""What tests of rivals share: a small problem, its old data read as rivals take it, and observations."""

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.methods.choosers import noisy_hypervolume
from benchmarks.methods.rivals.source import Source
from tunedprior.goals.observations import Observations


def truth(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.sin(2 * a) + b**2 * a


@pytest.fixture
def short_hypervolume_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few starts and samples for BoTorch, for tests that hold however good its suggestions are."""
    for name, count in (("_SAMPLES", 16), ("_RESTARTS", 2), ("_RAW", 16)):
        monkeypatch.setattr(noisy_hypervolume, name, count)


@pytest.fixture
def space() -> dict[str, tuple[float, float]]:
    return {"a": (0.0, 2.0), "b": (-1.0, 1.0)}


@pytest.fixture
def old() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(0, 2, 14), rng.uniform(-1, 1, 14)
    return pd.DataFrame({"a": a, "b": b, "y": 3 - truth(a, b) + 0.05 * rng.standard_normal(14)})


@pytest.fixture
def source(old: pd.DataFrame, space: dict[str, tuple[float, float]]) -> Source:
    return Source.read(old, space)


@pytest.fixture
def observations() -> Observations:
    rng = np.random.default_rng(1)
    codes = rng.uniform(-1, 1, (7, 2))
    y = truth(1 + codes[:, 0], codes[:, 1])
    shift, scale = float(y.mean()), float(y.std())
    return Observations(torch.as_tensor(codes), torch.as_tensor((y - shift) / scale)[:, None], None, shift, scale)
