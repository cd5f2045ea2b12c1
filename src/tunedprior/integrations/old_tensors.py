"""Old data as tables of numbers without names, as BoTorch and scikit-learn have them, and what is learnt from it."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.pretraining import pretrain
from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.checks import (
    Numbers,
    check_responses,
    check_seed,
    check_table,
    format_list,
    format_value,
    refuse_nonfinite_rows,
    to_float_tensor,
)
from tunedprior.errors import InputError
from tunedprior.problem.space import Space

#: One old data set: its settings and responses, or what was learnt from them.
OldSettings = tuple[Any, Any] | WeightPrior
#: The column of the response in `make_old_table`.
RESPONSE = "response"
_KEPT = 16  # data sets for which what was learnt is kept: models in a loop learn from the same one at every step


def parse_old_sets(old: Any) -> list[OldSettings]:
    """Old data sets, from one of them or a list; an `InputError` says what one is."""
    sets = old if isinstance(old, list) and not _is_pair(old) else [old]
    if not sets:
        raise InputError("Old data must be (X_old, y_old), a WeightPrior, or a list of these; got an empty list.")
    found: list[OldSettings] = []
    for one in sets:
        if not isinstance(one, WeightPrior) and not _is_pair(one):
            raise InputError(
                "Old data must be (X_old, y_old), a WeightPrior, or a list of these for several data sets; got "
                f"{type(one).__name__} {format_value(one)}."
            )
        found.append(one if isinstance(one, WeightPrior) else (one[0], one[1]))
    return found


def _is_pair(one: Any) -> bool:
    """Whether it is one data set: two tables. JSON knows no tuples, so a list of two tensors or arrays is one too."""
    if isinstance(one, tuple):
        return len(one) == 2
    return isinstance(one, list) and len(one) == 2 and all(isinstance(part, Tensor | np.ndarray) for part in one)


def pretrain_on_tensors(X_old: Numbers, y_old: Numbers, bounds: Numbers | None = None, seed: int = 0) -> WeightPrior:
    """g(x) = Σ_j α_j K₂(a_j, x), learnt from old settings and responses: the first half of Algorithm 1.

    Models and kernels that are given `(X_old, y_old)` do this themselves. Do it once, beforehand, to inspect, save or
    share what was learnt.

    Args:
        X_old: Old settings, `n x d`, in any units.
        y_old: Their responses, `n` or `n x 1`.
        bounds: The search space, `2 x d`: the lower ends, then the upper ends. When left out, it is the unit cube if
            that holds the old settings, as BoTorch's models expect, and otherwise the range of the old settings.
        seed: The seed of random choices among many rows.
    """
    X = check_table(X_old, "X_old").detach().cpu().double()
    y = check_responses(y_old, X, "y_old").detach().cpu().double()
    edges = infer_bounds([X], bounds)
    return _pretrain_cached(
        X.numpy().tobytes(), y.numpy().tobytes(), edges.numpy().tobytes(), X.shape[1], check_seed(seed)
    )


def infer_bounds(tables: list[Float[Tensor, "_ d"]], bounds: Numbers | None) -> Float[Tensor, "2 d"]:
    """The bounds, checked; if there are none the unit cube where that holds all rows, otherwise the range of these."""
    rows = torch.cat([one.detach().cpu().double() for one in tables])
    if bounds is None:
        if ((rows >= 0) & (rows <= 1)).all():
            return torch.stack([torch.zeros_like(rows[0]), torch.ones_like(rows[0])])
        return torch.stack([rows.amin(0), rows.amax(0)])
    edges = to_float_tensor(bounds, "bounds").detach().cpu().double()
    if edges.shape != (2, rows.shape[1]):
        raise InputError(
            f"bounds must be two rows of {rows.shape[1]} numbers, the lower ends and the upper ends; got shape "
            f"{tuple(edges.shape)}."
        )
    refuse_nonfinite_rows(edges, "bounds")
    if (edges[0] > edges[1]).any():
        raise InputError(f"The lower ends of bounds must not lie above the upper ends; got {edges.tolist()}.")
    return edges


def make_numbered_space(edges: Float[Tensor, "2 d"]) -> Space:
    """The search space of numbered inputs between these bounds."""
    low, high = edges.tolist()
    return Space.parse({name: (low[number], high[number]) for number, name in enumerate(_list_input_names(len(low)))})


def make_old_table(X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> pd.DataFrame:
    """Settings and responses as a table, its columns named as in `make_numbered_space`."""
    columns = X.detach().cpu().double().numpy()
    return pd.DataFrame(columns, columns=_list_input_names(X.shape[1])).assign(
        **{RESPONSE: y.detach().cpu().double().numpy()}
    )


def refuse_vector(train_Y: Tensor, train_X: Tensor) -> None:
    """An `InputError` for observations that are a vector, where BoTorch's are a matrix of one column."""
    if train_Y.ndim < train_X.ndim:
        raise InputError(
            f"train_Y must have a column for the response, n x 1, as train_X has n x d; got shape "
            f"{tuple(train_Y.shape)}. Write train_Y.unsqueeze(-1)."
        )


def refuse_missing_columns(rows: pd.DataFrame, wanted: Sequence[str]) -> None:
    """An `InputError` that names the columns which old data lacks."""
    missing = [name for name in wanted if name not in rows.columns]
    if missing:
        raise InputError(f"Old data must have the columns {format_list(wanted)}; {format_list(missing)} is missing.")


def _list_input_names(count: int) -> list[str]:
    return [f"x{number}" for number in range(count)]


@lru_cache(_KEPT)
def _pretrain_cached(X: bytes, y: bytes, edges: bytes, num_inputs: int, seed: int) -> WeightPrior:
    """By content, so that equal data is learnt from once, whoever holds it."""
    settings, response, bounds = (torch.from_numpy(np.frombuffer(part).copy()) for part in (X, y, edges))
    old = make_old_table(settings.reshape(-1, num_inputs), response)
    return pretrain(old, make_numbered_space(bounds.reshape(2, -1)), target=RESPONSE, seed=seed)
