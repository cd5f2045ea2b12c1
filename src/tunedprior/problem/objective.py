"""What the response is called, which way is better, how noisy it is, and how results become observations."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from numbers import Real

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.problem.box import Box
from tunedprior.problem.observations import Observations
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import Trial, settings_of

#: What was run may differ from what was suggested by this share of a parameter's range, and still be that.
MEANT = 0.05
# How far below the worst response a failed run counts, as a share of the range of responses.
_FAILURE = 0.2


@dataclass(frozen=True)
class Objective:
    """The response's name, whether it is maximised, and its noise where that is known.

    Attributes:
        target: Its name.
        direction: `"maximize"` or `"minimize"`.
        noise_std: The measurement noise's standard deviation, where it is known.
    """

    target: str = "y"
    direction: str = "maximize"
    noise_std: float | None = None

    def __post_init__(self) -> None:
        if self.direction not in ("maximize", "minimize"):
            raise InputError(f"direction must be 'maximize' or 'minimize'; got {self.direction!r}.")
        if not isinstance(self.target, str):
            raise InputError(f"target must be the name of the response, as text; got {self.target!r}.")
        known = isinstance(self.noise_std, Real) and isfinite(self.noise_std) and self.noise_std >= 0
        if self.noise_std is not None and not known:
            raise InputError(f"noise_std must be a finite number, 0 or more; got {self.noise_std!r}.")

    @property
    def sign(self) -> float:
        """+1 or -1: the factor that turns the response into one to be maximised."""
        return 1.0 if self.direction == "maximize" else -1.0

    def best(self, trials: Sequence[Trial]) -> Trial | None:
        """The complete trial with the best response; None if no trial is complete."""
        told = [trial for trial in trials if not trial.failed]
        return max(told, key=lambda trial: self.sign * trial.value, default=None)

    def observations(self, trials: Sequence[Trial], box: Box) -> Observations:
        """The trials as training data: codes of the settings, responses to be maximised with mean 0 and variance 1.

        A failed run counts as a little worse than the worst response so far, which keeps the model away from it.
        """
        y = self.sign * np.array([trial.value for trial in trials], dtype=np.float64)
        size = float(np.nanmax(np.abs(y), initial=0.0)) or 1.0
        y = y / size  # first, so that neither 1e-300 nor 1e300 is squared
        told = y[~np.isnan(y)]
        worst, reach = (told.min(), np.ptp(told)) if len(told) else (0.0, 0.0)
        y[np.isnan(y)] = worst - (_FAILURE * reach if reach > 0 else 1.0)
        shift, scale = float(y.mean()), float(y.std())
        scale = scale if scale > 1e-12 else 1.0
        return Observations(
            codes=codes_of_run(settings_of(trials), box),
            y=torch.as_tensor((y - shift) / scale)[:, None],
            noise_std=None if self.noise_std is None else self.noise_std / (size * scale),
            shift=size * shift,
            scale=size * scale,
        )


def codes_of_run(settings: pd.DataFrame | Sequence[Setting], box: Box) -> Float[Tensor, "n k"]:
    """Codes of settings that were run; up to 5 % of a parameter's range outside the box counts as its edge."""
    return box.codes(settings, slack=2 * MEANT)
