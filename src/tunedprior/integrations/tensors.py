"""Read old data from arrays without column names, and apply the learnt kernel to settings in the user's units."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from gpytorch.kernels import AdditiveKernel, Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.beliefs import KernelBelief, list_beliefs
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.checks import (
    Numbers,
    check_responses,
    check_seed,
    check_table,
    format_list,
    format_value,
    refuse_nonfinite_rows,
    to_float_tensor,
    warn,
)
from tunedprior.errors import DomainError, InputError, NothingToLearnError, OldDataWarning
from tunedprior.kernels.anchors import Float64Module, compute_mean_variance
from tunedprior.models.gaussian_process import UnitMeanVariance
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.pretraining import pretrain
from tunedprior.weight_prior.prior import WeightPrior

#: One old data set: its settings and responses, or what was learnt from them.
SourcePoints = tuple[Any, Any] | WeightPrior
#: The column of the response in `make_old_table`.
RESPONSE = "response"
_KEPT = 16  # data sets for which what was learnt is kept: models in a loop learn from the same one at every step


def parse_sources(old: Any) -> list[SourcePoints]:
    """Return old data sets as a list, from one set or several; an `InputError` says what a set is."""
    sets = old if isinstance(old, list) and not _is_pair(old) else [old]
    if not sets:
        raise InputError("Old data must be (X_old, y_old), a WeightPrior, or a list of these; got an empty list.")
    found: list[SourcePoints] = []
    for one in sets:
        if not isinstance(one, WeightPrior) and not _is_pair(one):
            raise InputError(
                "Old data must be (X_old, y_old), a WeightPrior, or a list of these for several data sets; got "
                f"{type(one).__name__} {format_value(one)}."
            )
        found.append(one if isinstance(one, WeightPrior) else (one[0], one[1]))
    return found


def _is_pair(one: Any) -> bool:
    """Return whether an object is one data set, a pair of tables; JSON turns the tuple into a list."""
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
    """Check the bounds; without any, use the unit cube if it contains all rows, else the range of the rows."""
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
    """Make a search space of inputs named by numbers between these bounds."""
    low, high = edges.tolist()
    return Space.parse({name: (low[number], high[number]) for number, name in enumerate(_list_input_names(len(low)))})


def make_old_table(X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> pd.DataFrame:
    """Make a table of settings and responses with the column names of `make_numbered_space`."""
    settings, response = (one.detach().cpu().double().numpy() for one in (X, y))
    return pd.DataFrame(settings, columns=_list_input_names(X.shape[1])).assign(**{RESPONSE: response})


def refuse_vector(train_Y: Tensor, train_X: Tensor) -> None:
    """Raise an `InputError` if observations are a vector; BoTorch needs a matrix of one column."""
    if train_Y.ndim < train_X.ndim:
        raise InputError(
            f"train_Y must have a column for the response, n x 1, as train_X has n x d; got shape "
            f"{tuple(train_Y.shape)}. Write train_Y.unsqueeze(-1)."
        )


def refuse_missing_columns(rows: pd.DataFrame, wanted: Sequence[str]) -> None:
    """Raise an `InputError` that names the columns missing from old data."""
    missing = [name for name in wanted if name not in rows.columns]
    if missing:
        raise InputError(f"Old data must have the columns {format_list(wanted)}; {format_list(missing)} is missing.")


def _list_input_names(count: int) -> list[str]:
    return [f"x{number}" for number in range(count)]


@lru_cache(_KEPT)
def _pretrain_cached(X: bytes, y: bytes, edges: bytes, num_inputs: int, seed: int) -> WeightPrior:
    """Learn from old data, cached by content."""
    settings, response, bounds = (torch.from_numpy(np.frombuffer(part).copy()) for part in (X, y, edges))
    old = make_old_table(settings.reshape(-1, num_inputs), response)
    return pretrain(old, make_numbered_space(bounds.reshape(2, -1)), target=RESPONSE, seed=seed)


REWEIGHTED = ReweightedBelief.name
# A point may miss the edge of the box by rounding, in single precision too.
_SLACK = 1e-6


class KernelInputMap(Float64Module):
    """u(x): from settings in the user's units to kernel inputs in [-reach, reach].

    A number stands for itself (its logarithm is taken on logarithmic axes), a category for its position among the
    choices.
    """

    low: Tensor
    high: Tensor

    def __init__(self, box: Box, reach: float = 1.0) -> None:
        super().__init__()
        self.box, self.reach = box, reach
        # Axes that do not vary, and categories, keep their value: they have no scale.
        ends = [(axis.low, axis.high) if axis.choices is None and axis.width else (-1.0, 1.0) for axis in box.axes]
        low, high = torch.tensor(ends, dtype=torch.float64).T
        self.register_buffer("low", low)
        self.register_buffer("high", high)
        self._scaled = [axis.choices is None and axis.width > 0 for axis in box.axes]
        self._log = [axis.log for axis in box.axes]

    def encode(self, x: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch k"]:
        """Return the codes of settings (see `Box`); a `DomainError` if some are outside the box."""
        if x.shape[-1] != len(self._log):
            raise InputError(
                f"Settings must have {len(self._log)} columns ({format_list(self.box.names)}), as the old data has; "
                f"got {x.shape[-1]}."
            )
        columns = [
            column.log() if log else column for column, log in zip(x.double().unbind(-1), self._log, strict=True)
        ]
        encoded: Tensor = (2 * torch.stack(columns, dim=-1) - self.low - self.high) / (self.high - self.low)
        outside = (encoded.detach().abs() <= 1 + _SLACK).logical_not().reshape(-1, encoded.shape[-1]).any(0)
        for number in outside.nonzero().flatten().tolist():
            if self._scaled[number]:
                self._refuse_outside(x, number)
        return encoded

    def forward(self, x: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch d"]:
        """Return u(x)."""
        return self.reach * self.box.to_kernel_inputs(self.encode(x))

    def _refuse_outside(self, x: Float[Tensor, "*batch k"], number: int) -> None:
        axis, column = self.box.axes[number], x.detach()[..., number]
        raise DomainError(
            f"Settings must lie in the box around old data, training data and bounds. There {axis.name!r} (column "
            f"{number}) goes from {axis.decode(-1):g} to {axis.decode(1):g}; got {float(column.min()):g} to "
            f"{float(column.max()):g}. Give bounds that hold every setting you will ask about."
        )


class SettingKernel(Kernel):
    """K(u(x), u(x')), with u from the user's units to kernel inputs: what was learnt, as a kernel on settings.

    Args:
        kernel: A kernel on inputs in [-reach, reach], without parameters to learn.
        box: The map from settings to kernel inputs.
        reach: See `WeightPrior`.
    """

    def __init__(self, kernel: Kernel, box: Box, reach: float = 1.0) -> None:
        super().__init__()
        self.base = kernel
        self.inputs = KernelInputMap(box, reach)

    def forward(
        self, x1: Float[Tensor, "*b1 n k"], x2: Float[Tensor, "*b2 m k"], diag: bool = False, **params: Any
    ) -> Float[Tensor, "..."]:
        """Return the kernel matrix, or its diagonal, in the dtype of the settings."""
        left = self.inputs(x1)
        right = left if x2 is x1 else self.inputs(x2)
        values: Tensor = self.base.forward(left, right, diag=diag, **params)
        return values.to(torch.promote_types(x1.dtype, x2.dtype))


class SourceKernelSum(AdditiveKernel):
    """Σ_k σ_k² K_k(x, x'): the learnt kernels of several old data sets, each with its own amplitude."""


def learn_belief_kernel(learn: Callable[[], WeightPrior], name: str, instead: str) -> UnitMeanVariance | None:
    """Learn the kernel of a belief from old data; None, with a warning, if old data teaches nothing.

    Args:
        learn: Learns from old data.
        name: The belief.
        instead: What is done without the kernel, for the warning.
    """
    try:
        kernel = make_belief_kernel(learn(), name)
    except NothingToLearnError as error:
        warn(f"{error} {instead}", OldDataWarning)
        return None
    if kernel.vanishes:
        warn(f"The kernel learnt from old data vanishes. {instead}", OldDataWarning)
        return None
    return kernel


def make_belief_kernel(prior: WeightPrior, name: str = REWEIGHTED) -> UnitMeanVariance:
    """K(u(x), u(x'))/c, with c its mean variance over the box: the kernel of a belief on settings in the user's units.

    Args:
        prior: What was learnt from old data.
        name: The belief; "reweighted" is the Theorem's K^A₂.
    """
    beliefs = {one.name: one for one in list_beliefs() if isinstance(one, KernelBelief)}
    if name not in beliefs:
        raise InputError(f"prior must be one of {format_list(beliefs)}; got {format_value(name)}.")
    kernel, size = _make_kernel_cached(prior, beliefs[name])
    # A copy: moving a model to a GPU leaves the others where they are.
    return UnitMeanVariance(SettingKernel(deepcopy(kernel), prior.box, prior.reach), size)


@lru_cache(_KEPT)
def _make_kernel_cached(prior: WeightPrior, belief: KernelBelief) -> tuple[Kernel, float]:
    """The kernel of a belief and its mean variance, cached by the prior: it takes seconds for thousands of rows."""
    kernel = prior.make_kernel() if belief.name == REWEIGHTED else belief.make_kernel(prior.fit)
    return kernel, compute_mean_variance(kernel, prior.box.num_inputs, prior.reach)
