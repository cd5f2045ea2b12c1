"""BoTorch's answer to several responses: qLogNEHVI on a Gaussian process for each."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.models import ModelListGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler
from torch import Tensor

from benchmarks.methods.choosers.turns import Responses
from benchmarks.methods.rivals.source import gaussian_process
from tunedprior.numerics.isolation import silence_warnings
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Setting, Space

_SAMPLES, _RESTARTS, _RAW, _AT_ONCE = 128, 10, 512, 256


class NoisyHypervolume:
    """E[HV(front ∪ f(x)) - HV(front)] over draws of the front too, in its logarithm, maximised.

    Each response has BoTorch's standard process, which standardises it. The reference point is the one that results
    are judged by: BoTorch asks for one, and no better could be given.

    Args:
        space: What may be set: numbers alone, if there is no pool.
        signs: What responses are multiplied by to be minimised.
        reference: In the responses' own units.
        seed: Makes suggestions repeatable.
        pool: Settings to choose from, each once; None: all of the space.
    """

    def __init__(
        self,
        space: Mapping[str, Any],
        signs: np.ndarray,
        reference: np.ndarray,
        seed: int,
        pool: pd.DataFrame | None = None,
    ) -> None:
        self._names, self._box = list(space), Box.enclose(Space.parse(space))
        self._signs, self._reference = torch.as_tensor(-signs), torch.as_tensor(-signs * reference)
        self._seed, self._pool = seed, pool
        self._settings: list[Setting] = []
        self._responses: list[list[float]] = []

    def learn(self, setting: Setting, responses: Responses) -> None:
        """What was measured there."""
        self._settings.append(setting)
        self._responses.append(list(responses.values()))

    def choose(self) -> Setting:
        """Where the hypervolume is expected to grow most."""
        inputs = self._inputs(pd.DataFrame(self._settings))
        y = torch.tensor(self._responses, dtype=torch.float64) * self._signs
        with torch.random.fork_rng(), silence_warnings():
            torch.manual_seed(self._seed + len(self._settings))
            growth = qLogNoisyExpectedHypervolumeImprovement(
                ModelListGP(*(gaussian_process(inputs, column[:, None]) for column in y.T)),
                self._reference,
                inputs,
                sampler=SobolQMCNormalSampler(torch.Size([_SAMPLES]), seed=self._seed),
                prune_baseline=True,
            )
            return self._over_the_box(growth) if self._pool is None else self._among(self._pool, growth)

    def _inputs(self, settings: pd.DataFrame) -> Tensor:
        """In the unit cube."""
        return (1 + self._box.to_kernel_inputs(self._box.encode(settings[self._names]))) / 2

    def _over_the_box(self, growth: qLogNoisyExpectedHypervolumeImprovement) -> Setting:
        bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, len(self._names))
        found, _ = optimize_acqf(growth, bounds, q=1, num_restarts=_RESTARTS, raw_samples=_RAW)
        return {
            axis.name: float(axis.low + (axis.high - axis.low) * share)
            for axis, share in zip(self._box.axes, found[0].tolist(), strict=True)
        }

    def _among(self, pool: pd.DataFrame, growth: qLogNoisyExpectedHypervolumeImprovement) -> Setting:
        done = {tuple(setting.values()) for setting in self._settings}
        left = [setting for setting in pool.to_dict("records") if tuple(setting.values()) not in done]
        with torch.no_grad():
            parts = self._inputs(pd.DataFrame(left))[:, None].split(_AT_ONCE)
            return left[int(torch.cat([growth(part) for part in parts]).argmax())]
