"""What a model expects at settings, in the response's units."""

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.acquisition.posterior import misjudged, moments
from tunedprior.average.surrogate import Average
from tunedprior.campaign.suggester import Fitted
from tunedprior.errors import InputError
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import LARGE, computing


def predicted(fitted: Fitted, codes: Float[Tensor, "n k"], sign: float) -> pd.DataFrame:
    """`mean`, `std` and `measured_std`; `sign` is that of the response (see `Objective`).

    The last has the model's noise, and is larger where the model predicts its own observations worse than it says.
    """
    told = fitted.observations
    with computing(len(fitted.history) >= LARGE), torch.no_grad():
        mean, variance = moments(fitted.model, codes)
        _, measured = moments(fitted.model, codes, measured=True)
        factor = misjudged(fitted.model)
    return pd.DataFrame(
        {
            "mean": sign * (told.shift + told.scale * mean.numpy()),
            "std": told.scale * variance.sqrt().numpy(),
            "measured_std": factor * told.scale * measured.sqrt().numpy(),
        }
    )


def predicted_beforehand(surrogate: Surrogate, codes: Float[Tensor, "n k"]) -> pd.DataFrame:
    """The same before the first result, from old data alone: its sign is open, so the mean is the same everywhere.

    Nothing is known of the response's units yet: those of the (first) old response stand for them.
    """
    if not isinstance(surrogate, Average) or not surrogate.known:
        raise InputError("There is nothing to predict from yet. Tell at least one result first.")
    old = surrogate.known[0]
    with computing(), torch.no_grad():
        std = old.units[0] * surrogate.variance_beforehand(codes).sqrt().numpy()
    return pd.DataFrame({"mean": old.middle, "std": std, "measured_std": std})
