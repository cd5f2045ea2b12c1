"""Old data of several responses at once: a related variant of the process that is to be optimised."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

ROWS = 60
#: Of the width of the box, along every input.
SHIFT = 0.1
#: Of the old response's standard deviation.
NOISE = 0.02
#: What the old responses are multiplied by in turns; the second of two is turned round.
FACTORS = (3.0, -0.5)
_OFFSET = 1.0

Box = Mapping[str, tuple[float, float]]


def old_variant(
    space: Box, formula: Callable[[np.ndarray], np.ndarray], responses: Sequence[str], seed: int
) -> pd.DataFrame:
    """1 + a_k f_k(x - 0.1 w) + ε at 60 uniform settings x of a box that is w wide: a column for each response.

    Settings that the shift moves out of the box are moved back to its edge, as not all formulas go on beyond it.
    """
    rng = np.random.default_rng(seed)
    low, high = np.array(list(space.values()), dtype=np.float64).T
    settings = rng.uniform(low, high, (ROWS, len(space)))
    moved = formula(np.clip(settings - SHIFT * (high - low), low, high))
    old = _OFFSET + moved * np.resize(FACTORS, len(responses))
    old += NOISE * old.std(axis=0) * rng.standard_normal(old.shape)
    return pd.concat([pd.DataFrame(settings, columns=list(space)), pd.DataFrame(old, columns=list(responses))], axis=1)
