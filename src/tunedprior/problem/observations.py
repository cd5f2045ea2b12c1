"""The training data of a model of the objective."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Observations:
    """A model's training data: codes of settings, and responses to be maximised with mean 0 and variance 1.

    Attributes:
        codes: Settings, as `Box.codes` has them.
        y: Responses; `shift + scale * y` has the user's units (with the sign turned if the user minimises).
        noise_std: The noise's standard deviation in units of `y`, where the user knows it.
        shift: What was subtracted.
        scale: And what was then divided by.
    """

    codes: Float[Tensor, "n k"]
    y: Float[Tensor, "n 1"]
    noise_std: float | None = None
    shift: float = 0.0
    scale: float = 1.0

    def supposing(self, codes: Float[Tensor, "p k"], y: Float[Tensor, "p 1"]) -> "Observations":
        """These observations and more of them, `y` in the same units."""
        return replace(self, codes=torch.cat([self.codes, codes]), y=torch.cat([self.y, y]))
