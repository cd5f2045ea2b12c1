"""The training data of a model of the objective."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Observations:
    """A model's training data: codes of settings, and responses to be maximised with mean 0 and variance 1.

    Attributes:
        codes: Settings, as `Box.encode` has them.
        y: Responses; `shift + scale * y` has the user's units (with the sign turned if the user minimises).
        noise_std: The noise's standard deviation in units of `y`, where the user knows it.
        shift: What was subtracted.
        scale: And what was then divided by.
        relative_noise: The noise's variance in each observation, over that of `noise_std`; None if they are the same.
    """

    X: Float[Tensor, "n k"]
    y: Float[Tensor, "n 1"]
    noise_std: float | None = None
    shift: float = 0.0
    scale: float = 1.0
    relative_noise: Float[Tensor, " n"] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def append_observations(self, codes: Float[Tensor, "p k"], y: Float[Tensor, "p 1"]) -> "Observations":
        """These observations and more of them, `y` in the same units."""
        noise = self.relative_noise
        return replace(
            self,
            X=torch.cat([self.X, codes]),
            y=torch.cat([self.y, y]),
            relative_noise=None if noise is None else torch.cat([noise, torch.ones(len(y)).to(noise)]),
        )

    def compute_noise_variances(self, least: float) -> Float[Tensor, "n 1"] | None:
        """The variance of the noise in each observation, where it is known, and no less than this."""
        if self.noise_std is None:
            return None
        variance = torch.full_like(self.y, self.noise_std**2)
        if self.relative_noise is not None:
            variance = variance * self.relative_noise[:, None]
        return variance.clamp_min(least)
