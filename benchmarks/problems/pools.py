"""Settings to choose from, where a campaign does not search the whole box."""

import pandas as pd

from benchmarks.problems.functions import Function
from tunedprior.space.search_space import Space

# A pool without a setting this good (Easom's well is smaller than its meshes) gets the function's best one.
_WORTH_FINDING = 0.5


def pool_of(function: Function, size: int, seed: int) -> pd.DataFrame:
    """A Sobol sample of the box, with the function's best setting if all others are bad."""
    pool = pd.DataFrame(Space.parse(function.space).sobol(size, seed))
    if function(pool.to_numpy()).max() < _WORTH_FINDING:
        pool = pd.concat([pool, pd.DataFrame(function.best_settings[:1], columns=pool.columns)], ignore_index=True)
    return pool
