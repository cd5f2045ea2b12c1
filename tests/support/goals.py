"""A stand-in for the optimiser in tests of the study of goals: it asks for random settings and knows nothing."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from tunedprior.space.search_space import Setting, Space


class AtRandom:
    """Takes what `Optimizer` takes, and keeps it for whoever wants to look; every setting is a random one."""

    made: Sequence["AtRandom"] = []

    def __init__(self, space: Mapping[str, Any], old_data: pd.DataFrame | None = None, **options: Any) -> None:
        self.space, self.old_data, self.options = Space.parse(space), old_data, options
        self.told: list[tuple[Setting, Any]] = []
        self._rng = np.random.default_rng(options["seed"])
        type(self).made.append(self)

    def ask(self, candidates: pd.DataFrame | None = None) -> Setting:
        if candidates is not None:
            return candidates.iloc[int(self._rng.integers(len(candidates)))].to_dict()
        setting = self.space.sobol(1, int(self._rng.integers(1000)))[0]
        if "constraints" not in self.options:
            return setting
        whole = sum(setting.values())
        return {name: share / whole for name, share in setting.items()}

    def tell(self, setting: Setting, response: Any) -> None:
        self.told.append((setting, response))

    def recommend(self) -> SimpleNamespace:
        return SimpleNamespace(setting=self.told[-1][0])

    def estimate_remaining(self, more_than: float = 0.0) -> SimpleNamespace:
        return SimpleNamespace(bound=0.9, probability=1 - more_than)
