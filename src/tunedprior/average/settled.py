"""Length-scales that are fitted to observations, and stay for a while: their factors are extended row by row too."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.average.hypotheses import Hypotheses
from tunedprior.average.incremental import Factors, GramMatrices
from tunedprior.problem.training_set import draw_row_numbers

_ROWS = 300  # more change the length-scales little, and take a time that grows with their cube
# From the first number of observations on, length-scales are fitted anew once in so many of them.
_OFTEN, _BLOCK = 96, 32
# Responses are compared to so many decimals: they are standardised anew with each observation, which rounds them anew.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class FixedLengthscales:
    """Hypotheses with length-scales fitted to the first observations.

    Which ones these are depends on the number of observations alone, so that a cache affects only the time.

    Attributes:
        x: The points that they were fitted to.
        y: The responses there, with mean 0 and variance 1.
        noise_variance: The variance of the noise, where it is known.
        of: The hypotheses before.
        hypotheses: The hypotheses after.
        seen: Gram matrices and factors of those that have a share in a fitted kernel; None while length-scales are
            fitted anew with each observation, which leaves nothing to extend.
    """

    x: Float[Tensor, "m d"]
    y: Float[Tensor, " m"]
    noise_variance: float | None
    of: Hypotheses
    hypotheses: Hypotheses
    seen: GramMatrices | None = None

    @classmethod
    def fit(
        cls,
        among: Hypotheses,
        x: Float[Tensor, "n d"],
        y: Float[Tensor, "n 1"],
        noise_variance: float | None,
        before: "FixedLengthscales | None",
    ) -> "FixedLengthscales":
        """Fitted to the observations up to the last block; what was fitted before, if it was to the same."""
        count = len(x) if len(x) < _OFTEN else len(x) - len(x) % _BLOCK
        x, y = x[:count], y[:count].squeeze(-1)
        if count >= _OFTEN:  # alike whatever the observations since did to mean and variance
            y = ((y - y.mean()) / y.std().clamp_min(1e-12)).round(decimals=_DECIMALS)
        if before is not None and before._is_fitted_to(among, x, y, noise_variance):
            return before
        some = draw_row_numbers(count, _ROWS, seed=0)
        fitted = among.fit_lengthscales(x[some], y[some], noise_variance)
        found = cls(x, y, noise_variance, among, fitted)
        if count < _OFTEN:
            return found
        return replace(
            found, seen=GramMatrices.make_empty(fitted.processes.take(_list_fitted_hypotheses(fitted)), factorised=True)
        )

    def extend_to(self, x: Float[Tensor, "n d"]) -> "FixedLengthscales":
        """With the factors at the points x."""
        return self if self.seen is None else replace(self, seen=self.seen.extend_to(x))

    @property
    def factors(self) -> tuple[Int[Tensor, " k"], Factors] | None:
        """The numbers of the hypotheses with a share in a fitted kernel, and their factors, where they are known."""
        known = None if self.seen is None else self.seen.factors
        return None if known is None else (_list_fitted_hypotheses(self.hypotheses), known)

    def _is_fitted_to(
        self, among: Hypotheses, x: Float[Tensor, "m d"], y: Float[Tensor, " m"], noise_variance: float | None
    ) -> bool:
        alike = self.of.processes.kernels is among.processes.kernels and self.noise_variance == noise_variance
        return alike and len(self.of) == len(among) and torch.equal(self.x, x) and torch.equal(self.y, y)


def _list_fitted_hypotheses(hypotheses: Hypotheses) -> Int[Tensor, " k"]:
    return hypotheses.uses_fitted.nonzero().flatten()
