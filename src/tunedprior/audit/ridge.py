"""How well rows of a table predict each other: kernel ridge regression, each row left out in turn, in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from numpy import ndarray

#: Length-scales that are tried, for inputs in [-1, 1]; each is multiplied by √d.
LENGTHSCALES = (0.15, 0.3, 0.6, 1.2, 2.4)
#: Noise variances that are tried, for responses of variance 1.
NOISES = (1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0)
# What makes a difference clear: this part of the squared error, and so many standard deviations.
_LESS = 0.75
SURE = 2.8
# What the weight of an input is multiplied with in turn, and the least part of the error that is worth a change.
_TIMES = (0.0, 0.3, 0.6, 1.7, 3.0)
_WORTH_IT = 0.002


@dataclass(frozen=True, eq=False)
class LeaveOneOutFit:
    """What every row is expected to be from all others.

    Attributes:
        expected: The predictions, on the response's own scale.
        lengthscale: The length-scale that predicted best.
        noise: The noise variance that predicted best, for responses of variance 1.
        unexplained: Mean squared error of the predictions over the variance of the response.
    """

    expected: Float64[ndarray, " n"]
    lengthscale: float
    noise: float
    unexplained: float


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The kernel matrix of points, in eigenvalues and eigenvectors: many responses can be tried at little cost."""

    points: Float64[ndarray, "n d"]
    lengthscale: float
    values: Float64[ndarray, " n"]
    vectors: Float64[ndarray, "n n"]

    @classmethod
    def from_points(cls, points: Float64[ndarray, "n d"], lengthscale: float) -> "Spectrum":
        """1 + exp(-|x - x'|²/2ℓ²): the 1 is for the mean, which is not known."""
        values, vectors = np.linalg.eigh(_compute_covariances(points, points, lengthscale))
        return cls(points, lengthscale, np.maximum(values, 0.0), vectors)

    def predict_left_out(self, response: Float64[ndarray, " n"]) -> LeaveOneOutFit:
        """Predictions of each row from all others, with the noise that is best.

        With K = UΛUᵀ, α = U(Λ + σ²)⁻¹Uᵀy and c_i = [U(Λ + σ²)⁻¹Uᵀ]_ii, the error at row i is α_i / c_i.
        """
        centre, scale = float(response.mean()), float(response.std()) or 1.0
        y = (response - centre) / scale
        inverse = 1.0 / (self.values[:, None] + np.array(NOISES))
        errors = (self.vectors @ (inverse * (self.vectors.T @ y)[:, None])) / (self.vectors**2 @ inverse)
        squares = (errors**2).mean(0)
        best = int(squares.argmin())
        expected = centre + scale * (y - errors[:, best])
        return LeaveOneOutFit(expected, self.lengthscale, NOISES[best], float(squares[best]))

    def predict(
        self, response: Float64[ndarray, " n"], noise: float, at: Float64[ndarray, "m d"]
    ) -> Float64[ndarray, " m"]:
        """What is expected at other points."""
        centre = float(response.mean())
        along = self.vectors.T @ (response - centre) / (self.values + noise)
        expected: Float64[ndarray, " m"] = centre + _compute_covariances(at, self.points, self.lengthscale) @ (
            self.vectors @ along
        )
        return expected


class Ridge:
    """Kernel ridge regression on fixed points, with the length-scale and the noise of least leave-one-out error."""

    def __init__(self, points: Float64[ndarray, "n d"], lengthscales: Sequence[float] = LENGTHSCALES) -> None:
        size = np.sqrt(max(1, points.shape[1]))
        self._spectra = [Spectrum.from_points(points, float(one * size)) for one in lengthscales]

    def predict_left_out(self, response: Float64[ndarray, " n"]) -> LeaveOneOutFit:
        """Predictions of each row from all others, with the parameters that are best for this response."""
        return min((one.predict_left_out(response) for one in self._spectra), key=lambda found: found.unexplained)


def _compute_covariances(
    one: Float64[ndarray, "n d"], other: Float64[ndarray, "m d"], lengthscale: float
) -> Float64[ndarray, "n m"]:
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1)[None, :] - 2 * one @ other.T
    found: Float64[ndarray, "n m"] = 1.0 + np.exp(-np.maximum(squares, 0.0) / (2 * lengthscale**2))
    return found


def tune_weights(
    points: Float64[ndarray, "n d"], of_group: Int64[ndarray, " d"], response: Float64[ndarray, " n"], sweeps: int = 2
) -> Float64[ndarray, " d"]:
    """What to multiply each input with: one over its length-scale, the same for all inputs of a group.

    From the best common length-scale on, one group after the other is made more or less important, or is left out, as
    long as that lessens the leave-one-out error.
    """
    groups = np.unique(of_group)
    start = 1.0 / Ridge(points).predict_left_out(response).lengthscale
    weights, best = np.full(len(groups), start), np.inf
    for sweep in range(sweeps):
        for place in range(len(groups)):
            for times in _TIMES if sweep or place else (1.0, *_TIMES):
                tried = weights.copy()
                tried[place] *= times
                error = Spectrum.from_points(points * tried[of_group], 1.0).predict_left_out(response).unexplained
                if error < best * (1 - _WORTH_IT):
                    best, weights = error, tried
    found: Float64[ndarray, " d"] = weights[of_group]
    return found


def is_clearly_better(
    new: LeaveOneOutFit,
    old: LeaveOneOutFit,
    one: Float64[ndarray, " n"],
    other: Float64[ndarray, " n"],
    deviations: float = SURE,
) -> bool:
    """Whether predictions `new` of the response `one` err clearly less than predictions `old` of the response `other`.

    Each error counts in units of its response's standard deviation. Their squares must be less by a quarter, and their
    sizes in pairs by so many standard deviations of Wilcoxon's rank sum: a few rows far off do not decide.
    """
    if new.unexplained > _LESS * old.unexplained:
        return False
    errors = [np.abs(found.expected - told) / (told.std() or 1.0) for found, told in ((new, one), (old, other))]
    gains, count = errors[1] - errors[0], len(one)
    ranks = 1.0 + np.argsort(np.argsort(np.abs(gains), kind="stable"), kind="stable")
    usual = count * (count + 1) / 4
    deviation = np.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    return bool(ranks[gains > 0].sum() > usual + deviations * deviation)
