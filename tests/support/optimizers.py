"""Make optimisers from options in one dict, as tests that vary them have them."""

from dataclasses import replace
from typing import Any

from tunedprior import Goals, Optimizer, SearchConfig, TransferConfig

_SEARCH = ("acquisition", "beta", "initial", "design", "failures", "cost", "model")
_TRANSFER = ("prior", "kernel", "ard")
_GOALS = ("log", "limits", "preference")
_ALL_GOALS = ("direction", "objectives", "target", "requirements", "noise_std", *_GOALS)


def make_optimizer(space: Any, old_data: Any = None, direction: Any = None, **options: Any) -> Optimizer:
    """An optimiser; each option goes into the part of the configuration that has it.

    The response is maximised with seed 0, unless the options say otherwise.
    """
    if direction is not None:
        options["direction"] = direction
    if "direction" not in options and "objectives" not in options:
        options["direction"] = "maximize"
    for part, kind, names in (("search", SearchConfig, _SEARCH), ("transfer", TransferConfig, _TRANSFER)):
        own = {name: options.pop(name) for name in names if name in options}
        if own:
            options[part] = replace(options.get(part, kind()), **own)
    if any(name in options for name in _GOALS):
        options["objectives"] = Goals.parse(**{name: options.pop(name) for name in _ALL_GOALS if name in options})
    return Optimizer(space, old_data, **{"seed": 0} | options)
