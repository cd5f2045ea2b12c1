"""Use old data in Ax: `TunedPriorGP` in its modular BoTorch generator. After this import Ax can load such a client."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.checks import format_list, import_optional
from tunedprior.errors import InputError
from tunedprior.integrations.botorch import TunedPriorGP
from tunedprior.integrations.tensors import refuse_missing_columns
from tunedprior.tables.reading import read_table

import_optional("ax", "ax")

from ax.api.configs import RangeParameterConfig  # noqa: E402 (after the check, whose message names the extra)
from ax.api.utils.generation_strategy_dispatch import choose_generation_strategy  # noqa: E402
from ax.api.utils.structs import GenerationStrategyDispatchStruct  # noqa: E402
from ax.generation_strategy.generation_strategy import GenerationStrategy  # noqa: E402
from ax.generators.torch.botorch_modular.utils import ModelConfig  # noqa: E402
from ax.storage.botorch_modular_registry import register_model  # noqa: E402

register_model(TunedPriorGP)  # Ax writes models into its files by name, and finds them by this


def generation_strategy(
    old: Any,
    parameters: Sequence[RangeParameterConfig],
    target: str = "y",
    *,
    initial: int = 3,
    seed: int | None = None,
    prior: str = AlignedBelief.name,
    remainder: bool = True,
) -> GenerationStrategy:
    """Make Ax's usual strategy with a model that uses old data, for `Client.set_generation_strategy`.

    Ax writes it into its files with the old data in it, so a client that was loaded goes on with the same prior. Import
    this module before loading one.

    Args:
        old: A table with a column for each parameter and the response, or the path of a file with one.
        parameters: What was given to `Client.configure_experiment`: ranges of numbers, linear or logarithmic.
        target: The column of the old response, whatever it is called in Ax.
        initial: How many trials come before those of the model.
        seed: The seed of these.
        prior: The belief about old data (see `TunedPriorGP`).
        remainder: See `TunedPriorGP`.
    """
    struct = GenerationStrategyDispatchStruct(
        method="custom", initialization_budget=initial, initialization_random_seed=seed
    )
    return choose_generation_strategy(struct, model_config(old, parameters, target, prior=prior, remainder=remainder))


def model_config(
    old: Any,
    parameters: Sequence[RangeParameterConfig],
    target: str = "y",
    *,
    prior: str = AlignedBelief.name,
    remainder: bool = True,
) -> ModelConfig:
    """Make the model alone, for a `SurrogateSpec` of your own (arguments as for `generation_strategy`)."""
    return ModelConfig(
        botorch_model_class=TunedPriorGP,
        model_options={"old": list(_convert_old_data(old, parameters, target)), "prior": prior, "remainder": remainder},
        name="TunedPriorGP",
    )


def _convert_old_data(
    old: Any, parameters: Sequence[RangeParameterConfig], target: str
) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n 1"]]:
    """Settings and responses in the units that Ax's models are given: logarithms to base 10 of what is logarithmic."""
    wrong = [one.name for one in parameters if not isinstance(one, RangeParameterConfig)]
    if wrong:
        raise InputError(
            f"Old data can be brought into Ax for ranges of numbers; {format_list(wrong)} is none. Use an "
            "Optimizer of this "
            "package, which takes choices too."
        )
    names = [one.name for one in parameters]
    rows = read_table(old, [*names, target], "Old data").table
    refuse_missing_columns(rows, [*names, target])
    X = np.stack([_parse_column(rows, one.name, one.scaling == "log") for one in parameters], axis=1)
    return torch.as_tensor(X), torch.as_tensor(_parse_column(rows, target))[:, None]


def _parse_column(rows: Any, name: str, log: bool = False) -> Any:
    try:
        values = np.array(rows[name].to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise InputError(f"{name!r} must be numbers in old data; {error}.") from error
    if not log:
        return values
    if not (values > 0).all():
        raise InputError(f"{name!r} has a logarithmic scale, so it must be above 0 in old data; the least is not.")
    return np.log10(values)
