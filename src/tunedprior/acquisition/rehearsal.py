"""Whether an acquisition class works with a model at all, found out before an experiment is spent."""

from typing import Any

import torch
from botorch.acquisition import OneShotAcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.functions import (
    AcquisitionChoice,
    AcquisitionContext,
    get_acquisition_name,
    make_acquisition,
)
from tunedprior.acquisition.lattice import EncodedSpace
from tunedprior.errors import InputError
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import (
    ENDED_EARLY,
    NEGATIVE_VARIANCE,
    OwnGenerator,
    isolate_computation,
    silence_warnings,
)
from tunedprior.problem.observations import Observations

_RESPONSES = (-1.2, 0.2, 1.0)


def check_acquisition(
    choice: AcquisitionChoice, surrogate: Surrogate, lattice: EncodedSpace, beta: str | float
) -> None:
    """Make the acquisition on a model of three invented observations, and ask it for a value and a gradient.

    Expected improvement and confidence bounds by name are known to work.
    """
    if not callable(choice):
        return
    codes = _make_dummy_settings(lattice)
    y = torch.tensor(_RESPONSES, dtype=torch.float64)[:, None]
    situation = AcquisitionContext(
        best=y.max(),
        codes=codes,
        step=len(codes) + 1,
        num_inputs=codes.shape[1],
        num_choices=len(codes),
        seed=0,
        bounds=lattice.bounds,
    )
    try:
        with isolate_computation(), silence_warnings(ENDED_EARLY, NEGATIVE_VARIANCE), OwnGenerator(0):
            acquisition: Any = make_acquisition(choice, surrogate(Observations(codes, y)), situation, beta)
            # One-shot acquisition functions also look for where each of their fantasies is best.
            one_shot = isinstance(acquisition, OneShotAcquisitionFunction)
            joint = acquisition.get_augmented_q_batch_size(1) if one_shot else 1
            points = codes[:2, None].repeat(1, joint, 1).requires_grad_()
            values = acquisition(points)
            values.sum().backward()
    except Exception as error:  # whatever a class of somebody else's may raise
        raise InputError(
            f"{get_acquisition_name(choice)} does not work with the model that {type(surrogate).__name__} makes "
            f"({type(error).__name__}: {error}). Use 'ei', 'ucb' or a class that docs/algorithm1.md lists."
        ) from error
    if one_shot and lattice.constrained is not None:
        raise InputError(
            f"{get_acquisition_name(choice)} looks for several settings at once, which constraints do not allow "
            "for. Use 'ei', "
            "'ucb' or a class that docs/algorithm1.md lists, or leave the constraints out."
        )
    if values.shape != (2,) or not torch.isfinite(values).all() or points.grad is None:
        raise InputError(
            f"{get_acquisition_name(choice)} should give one finite number for each setting, with a gradient; it gave "
            f"{values.detach().tolist()} for two settings. Use 'ei', 'ucb' or a class that docs/algorithm1.md lists."
        )


def _make_dummy_settings(lattice: EncodedSpace) -> Float[Tensor, "3 k"]:
    """Both ends and something between them, each an allowed setting."""
    low, high = lattice.bounds
    codes = torch.stack([low, (low + 2 * high) / 3, high])
    for column, values in lattice.discrete.items():
        codes[1, column] = values[len(values) // 2]
    return codes
