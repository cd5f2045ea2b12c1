"""Checks of what users pass in, with messages that say expected, got, and what to do."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError, NothingToLearnError

# Whatever NumPy can read as numbers, or a tensor. Checked below with better messages than a type checker's,
# so at run time (the tests check annotations then) it is anything.
if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    Numbers = ArrayLike | Tensor
else:
    Numbers = Any

_NAMED = 5  # rows named in a message before it says "…"


def listed(items: Iterable[object]) -> str:
    """The first few items, comma separated, with an ellipsis when there are more."""
    texts = [str(item) for item in items]
    return ", ".join(texts[:_NAMED]) + (", …" if len(texts) > _NAMED else "")


def as_float_tensor(values: Numbers, name: str) -> Float[Tensor, "*shape"]:
    """Tensors keep their floating dtype and device; everything else becomes float64."""
    if isinstance(values, Tensor):
        return values if values.is_floating_point() else values.to(torch.float64)
    try:
        return torch.as_tensor(np.array(values, dtype=np.float64))  # a copy: later changes of theirs are not ours
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must be numbers; got {type(values).__name__}: {error}. Encode categories as numbers first."
        ) from error


def positive(value: float, name: str) -> float:
    """`value` as a float, if it is finite and above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a number above 0; got {value!r}.") from error
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} must be a finite number above 0; got {number:g}. Try 1e-3 if unsure.")
    return number


def whole(value: int, name: str) -> int:
    """`value`, if it is a whole number of at least 1."""
    if value != int(value) or value < 1:
        raise InputError(f"{name} must be a whole number, 1 or more; got {value!r}.")
    return int(value)


def finite_rows(rows: Float[Tensor, "..."], name: str) -> None:
    """Refuse NaN and infinity, naming the rows (of the flattened batch) that hold them."""
    if torch.isfinite(rows).all():
        return
    flat = rows.detach().reshape(-1, rows.shape[-1]) if rows.ndim > 1 else rows.detach()[:, None]
    bad = (~torch.isfinite(flat)).any(-1).nonzero().flatten().tolist()
    raise InputError(
        f"{name} must be finite; {len(bad)} of {flat.shape[0]} rows are not (rows {listed(bad)}). Drop or impute them."
    )


def table(X: Numbers, name: str, *, num_inputs: int | None = None) -> Float[Tensor, "n d"]:
    """A finite n x d table with at least one row and one column."""
    X = as_float_tensor(X, name)
    if X.ndim != 2:
        raise InputError(
            f"{name} must be a table, n rows x d inputs; got shape {tuple(X.shape)}. "
            "Use x[:, None] for one input, x[None, :] for one row."
        )
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise InputError(f"{name} must hold at least one row and one input; got shape {tuple(X.shape)}.")
    if num_inputs is not None and X.shape[1] != num_inputs:
        raise InputError(
            f"{name} must have {num_inputs} inputs, as the kernel has; got {X.shape[1]}. "
            "Pass the same columns, in the same order, everywhere."
        )
    finite_rows(X, name)
    return X


def responses(y: Numbers, X: Float[Tensor, "n d"], name: str) -> Float[Tensor, " n"]:
    """One finite number for each row of X; a column of them will do."""
    y = as_float_tensor(y, name).to(X)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != X.shape[:1]:
        raise InputError(f"{name} must be one number for each of the {X.shape[0]} points; got shape {tuple(y.shape)}.")
    finite_rows(y, name)
    return y


def training_set(
    X: Numbers, y: Numbers, num_inputs: int | None = None
) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
    """Auxiliary data a machine can learn from: distinct finite points and a response that varies."""
    X = table(X, "Auxiliary points", num_inputs=num_inputs)
    y = responses(y, X, "Auxiliary responses")
    if X.shape[0] == 1:
        raise NothingToLearnError("Auxiliary data must hold at least two points; got one. Optimise without it.")
    _, row_of, counts = torch.unique(X, dim=0, return_inverse=True, return_counts=True)
    if (counts > 1).any():
        repeated = (counts[row_of] > 1).nonzero().flatten().tolist()
        raise InputError(
            f"Auxiliary points must be distinct; {len(repeated)} of {X.shape[0]} rows repeat another "
            f"(rows {listed(repeated)}). Merge repeated measurements with tunedprior.average_replicates(X, y) "
            "(labels=True for -1 and +1)."
        )
    if (y == y[0]).all():
        raise NothingToLearnError(
            f"Auxiliary responses must vary; all {y.shape[0]} are {float(y[0]):g}, so they say nothing "
            "about which features matter. Optimise without them."
        )
    return X, y


def labels(y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Class labels -1 and +1."""
    wrong = y[(y != 1) & (y != -1)]
    if wrong.numel():
        raise InputError(
            f"Class labels must be -1 or +1; {wrong.numel()} of {y.numel()} are not "
            f"(such as {listed(f'{v:g}' for v in wrong.unique().tolist())}). "
            "Map fail to -1 and pass to +1, or use a regressor."
        )
    return y


def average_replicates(
    X: Numbers, y: Numbers, labels: bool = False
) -> tuple[Float[Tensor, "k d"], Float[Tensor, " k"]]:
    """Mean response at each distinct point: repeated measurements become one row.

    With `labels` it is the majority's label, and points with a tie are left out.

    >>> points, means = average_replicates([[0.0], [1.0], [0.0]], [1.0, 5.0, 3.0])
    >>> points.tolist(), means.tolist()
    ([[0.0], [1.0]], [2.0, 5.0])
    """
    X = table(X, "Points")
    y = responses(y, X, "Responses")
    distinct, row_of, counts = torch.unique(X, dim=0, return_inverse=True, return_counts=True)
    means = torch.zeros(len(distinct)).to(y).index_add(0, row_of, y) / counts
    if not labels:
        return distinct, means
    return distinct[means != 0], means[means != 0].sign()


def few_or_all(X: Numbers, y: Numbers, labels: bool, few: int) -> tuple[Float[Tensor, "k d"], Float[Tensor, " k"]]:
    """`average_replicates`, unless that surely leaves more than `few` points: then every row as it is.

    Least squares takes repeated rows as they are, and sorting millions of them would cost more than it saves.
    """
    X = table(X, "Points")
    if len(torch.unique(X[: 10 * few], dim=0)) > few:
        return X, responses(y, X, "Responses")
    return average_replicates(X, y, labels)


def sample_of_rows(
    X: Float[Tensor, "n d"], y: Float[Tensor, " n"], labels: bool, count: int, seed: int
) -> tuple[Float[Tensor, "k d"], Float[Tensor, " k"]]:
    """A random choice of the rows, if there are more than `count`; all different."""
    if len(X) <= count:
        return X, y
    rows = torch.as_tensor(np.random.default_rng(seed).permutation(len(X)))[:count].sort().values
    return average_replicates(X[rows], y[rows], labels)
