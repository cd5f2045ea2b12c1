"""Where an acquisition function is largest, among the settings that are allowed."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from botorch.acquisition import AcquisitionFunction
from botorch.optim import (
    optimize_acqf,
    optimize_acqf_discrete,
    optimize_acqf_discrete_local_search,
    optimize_acqf_mixed_alternating,
)
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from botorch.optim.initializers import gen_batch_initial_conditions
from jaxtyping import Bool, Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.box import Box
from tunedprior.mixture_acquisition import MixtureAcquisition
from tunedprior.space import Categorical, Space

_ENUMERATED = 10_000
_LISTED = 1_000  # a parameter with more values than this is treated as continuous, then rounded
_RESTARTS = 8
_RAW_SAMPLES = 256
_EVALUATED_AT_ONCE = 1024
_MOST_STEPS = 2000
_SAME = 1e-9  # codes closer than this are the same setting


@dataclass(frozen=True)
class Lattice:
    """The allowed codes: bounds for every parameter, and the list of values for those that have one."""

    bounds: Float[Tensor, "2 k"]
    values: dict[int, list[float]]
    categories: dict[int, list[float]]
    fixed: dict[int, float]

    @classmethod
    def of(cls, space: Space, box: Box) -> "Lattice":
        """The space's allowed values as codes."""
        bounds, values, categories, fixed = [], {}, {}, {}
        for column, parameter in enumerate(space.parameters):
            listed = parameter.count is not None and parameter.count <= _LISTED
            if isinstance(parameter, Categorical):
                allowed = [float(code) for code in range(parameter.count)]
            else:
                ends = parameter.values() if listed else [parameter.low, parameter.high]
                allowed = sorted(box.axes[column].codes(pd.Series(ends, dtype=float)).tolist())
            bounds.append((allowed[0], allowed[-1]))
            if parameter.count == 1:
                fixed[column] = allowed[0]
            elif isinstance(parameter, Categorical):
                categories[column] = allowed
            elif listed:
                values[column] = allowed
        return cls(torch.tensor(bounds, dtype=torch.float64).T, values, categories, fixed)

    @property
    def discrete(self) -> dict[int, list[float]]:
        """Every parameter that has a list of values to choose from."""
        return self.values | self.categories


def maximise(
    acquisition: AcquisitionFunction,
    lattice: Lattice,
    avoid: Float[Tensor, "n k"],
    choices: Float[Tensor, "c k"] | None = None,
) -> Float[Tensor, " k"]:
    """Codes with the largest acquisition value that are not (while others remain) among those to avoid.

    From the given choices; or exhaustively, when the space has up to 10,000 settings; or by local search, when it has
    more; or by multi-start gradient ascent, alternating with local search if some parameters are discrete.
    """
    columns = lattice.bounds.shape[1]
    discrete = lattice.discrete
    if choices is None and len(discrete) + len(lattice.fixed) == columns:
        every = discrete | {column: [code] for column, code in lattice.fixed.items()}
        lists = [torch.tensor(every[column], dtype=torch.float64) for column in range(columns)]
        if torch.tensor([len(codes) for codes in lists], dtype=torch.float64).prod() <= _ENUMERATED:
            choices = torch.cartesian_prod(*lists).reshape(-1, columns)
        else:
            found, _ = optimize_acqf_discrete_local_search(
                acquisition, lists, q=1, num_restarts=_RESTARTS, raw_samples=_RAW_SAMPLES, X_avoid=avoid
            )
            return found[0]
    if choices is not None:
        fresh = ~is_among(choices, avoid)
        choices = choices[fresh] if fresh.any() else choices
        quick = MixtureAcquisition.of(acquisition) or acquisition
        found, _ = optimize_acqf_discrete(quick, 1, choices, max_batch_size=_EVALUATED_AT_ONCE)
        return found[0]
    if not discrete:
        with_gradient = MixtureAcquisition.of(acquisition)
        if with_gradient is not None:
            return _climbed(with_gradient, lattice)
        found, _ = optimize_acqf(
            acquisition, lattice.bounds, q=1, num_restarts=_RESTARTS, raw_samples=_RAW_SAMPLES,
            fixed_features=lattice.fixed or None,
            options={"batch_limit": _RESTARTS, "init_batch_limit": _EVALUATED_AT_ONCE},
        )  # fmt: skip
        return found[0]
    found, _ = optimize_acqf_mixed_alternating(
        acquisition,
        lattice.bounds,
        discrete_dims=lattice.values,
        cat_dims=lattice.categories,
        fixed_features=lattice.fixed or None,
        num_restarts=_RESTARTS,
        raw_samples=_RAW_SAMPLES,
        options={"init_batch_limit": _EVALUATED_AT_ONCE, "max_discrete_values": _LISTED, "maxiter_alternating": 16},
    )
    return found[0]


def _climbed(acquisition: MixtureAcquisition, lattice: Lattice) -> Float[Tensor, " k"]:
    """What `optimize_acqf` finds, from the same starts by the same algorithm, with the acquisition's own gradients."""
    starts = gen_batch_initial_conditions(
        acquisition, lattice.bounds, q=1, num_restarts=_RESTARTS, raw_samples=_RAW_SAMPLES,
        fixed_features=lattice.fixed or None, options={"init_batch_limit": _EVALUATED_AT_ONCE},
    )  # fmt: skip

    def badness(codes: Float64[ndarray, "b k"]) -> tuple[Float64[ndarray, " b"], Float64[ndarray, "b k"]]:
        values, gradients = acquisition.values_and_gradients(torch.from_numpy(codes))
        return -values.numpy(), -gradients.numpy()

    ends, values, _ = fmin_l_bfgs_b_batched(  # type: ignore[no-untyped-call]  # BoTorch has no types for it
        badness, starts.squeeze(-2).numpy(), lattice.bounds.T.tolist(), maxiter=_MOST_STEPS
    )
    low, high = lattice.bounds
    return torch.from_numpy(ends[np.nanargmin(values)]).clamp(low, high)


def is_among(codes: Float[Tensor, "n k"], others: Float[Tensor, "m k"]) -> Bool[Tensor, " n"]:
    """Whether each row is one of the others."""
    return ((codes[:, None] - others).abs() <= _SAME).all(-1).any(-1)
