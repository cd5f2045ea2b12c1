"""Asking for batches, as a script: it is run with an older version of the package as well as with this one.

So it uses nothing but what both have: Optimizer(space, table), tell, ask(n=), surrogate and a model of one's own, which
was an argument before there was a configuration. From standard input it takes the space, the old data, observations,
how many of them to tell, and the size of the batch, as JSON; it prints the seconds that each batch took, and which
package it measured.
"""

import json
import sys
import time
import warnings

import pandas as pd

import tunedprior
from tunedprior import Optimizer


def main() -> None:
    """Measure what standard input asks for."""
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    space = {name: tuple(ends) for name, ends in asked["space"].items()}
    surrogate = Optimizer(space, pd.DataFrame(asked["old"]), direction="maximize", seed=0).surrogate
    configured = getattr(tunedprior, "SearchConfig", None)
    own = {"model": surrogate} if configured is None else {"search": configured(model=surrogate)}
    table = pd.DataFrame(asked["told"])

    def batch(count: int) -> float:
        optimizer = Optimizer(space, direction="maximize", seed=0, **own)
        told = table.iloc[:count]
        optimizer.tell(told[list(space)], told["y"].to_numpy())
        optimizer.ask()  # is under way while the batch is asked for
        started = time.perf_counter()
        optimizer.ask(n=asked["size"])
        return time.perf_counter() - started

    batch(min(asked["counts"]))  # once to warm up
    found = {"seconds": [batch(count) for count in asked["counts"]], "package": tunedprior.__file__}
    json.dump(found, sys.stdout)


main()
