"""Use old data in scikit-learn: the learnt kernel for its `GaussianProcessRegressor`."""

from copy import copy
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64
from numpy import ndarray
from sklearn.gaussian_process.kernels import Hyperparameter, Kernel

from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.checks import Numbers, check_table
from tunedprior.errors import InputError
from tunedprior.integrations.tensors import make_belief_kernel, parse_sources, pretrain_on_tensors
from tunedprior.models.gaussian_process import UnitMeanVariance
from tunedprior.weight_prior.prior import WeightPrior


class TunedPriorKernel(Kernel):
    """a K_A(x, x')/c, with c the mean of K_A(x, x) over the box: the kernel that old data A taught, times an amplitude.

    The amplitude a is its only hyperparameter: what old data taught stays as it is. Add a `ConstantKernel` for the
    mean, which old data says nothing about, a `WhiteKernel` for noise, and `ConstantKernel() * RBF()` or another
    kernel by which observations can overrule old data. It takes settings in the user's units and scales them itself,
    so a scaler before it would have to be applied to old data too.

    Args:
        old: `(X_old, y_old)`, or a `WeightPrior`.
        amplitude: a.
        amplitude_bounds: Where a is searched for, or "fixed".
        within: The search space, `2 x d`: the lower ends, then the upper ends. The kernel is defined in the box that
            holds it and X_old. When left out it is the unit cube if that holds X_old, and otherwise the range of X_old.
        prior: The belief about old data, by name: "aligned", "reweighted" (the paper's), or any other that is one
            kernel.
        seed: The seed of random choices among many old rows.

    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel
    >>> X_old = np.linspace(0, 1, 20)[:, None]
    >>> kernel = TunedPriorKernel((X_old, np.sin(9 * X_old[:, 0])))
    >>> kernel = kernel + ConstantKernel(1.0, "fixed") + WhiteKernel(1e-4, "fixed")
    >>> X = np.array([[0.1], [0.45], [0.9]])
    >>> process = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, -5 * np.sin(9 * X[:, 0]))
    >>> bool(abs(process.predict([[0.7]])[0] + 5 * np.sin(9 * 0.7)) < 0.5)
    True
    """

    def __init__(
        self,
        old: Any,
        amplitude: float = 1.0,
        amplitude_bounds: Any = (1e-5, 1e5),
        within: Numbers | None = None,
        prior: str = AlignedBelief.name,
        seed: int = 0,
    ) -> None:
        self.old = old
        self.amplitude = amplitude
        self.amplitude_bounds = amplitude_bounds
        self.within = within
        self.prior = prior
        self.seed = seed

    @property
    def hyperparameter_amplitude(self) -> Hyperparameter:
        """The amplitude as scikit-learn's hyperparameter."""
        return Hyperparameter("amplitude", "numeric", self.amplitude_bounds)

    def __call__(self, X: Numbers, Y: Numbers | None = None, eval_gradient: bool = False) -> Any:
        """The matrix, and with `eval_gradient` its derivative by the logarithm of the amplitude, `n x n x 1`."""
        if eval_gradient and Y is not None:
            raise InputError("The gradient is that of K(X, X): with eval_gradient, leave Y out.")
        left = check_table(X, "X").double()
        right = left if Y is None else check_table(Y, "Y").double()
        with torch.no_grad():
            matrix = self.amplitude * self._get_kernel().forward(left, right).numpy()
        if not eval_gradient:
            return matrix
        free = 0 if self.hyperparameter_amplitude.fixed else 1
        return matrix, np.repeat(matrix[:, :, None], free, axis=2)  # d(e^θ K)/dθ = e^θ K

    def diag(self, X: Numbers) -> Float64[ndarray, " n"]:
        """Return the diagonal of the kernel matrix."""
        points = check_table(X, "X").double()
        with torch.no_grad():
            variances: Float64[ndarray, " n"] = self._get_kernel().forward(points, points, diag=True).numpy()
        return self.amplitude * variances

    def is_stationary(self) -> bool:
        """Return False: the kernel depends on where settings are."""
        return False

    def __sklearn_clone__(self) -> "TunedPriorKernel":
        """A copy that shares what was learnt: scikit-learn makes one for every step of a fit."""
        return copy(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TunedPriorKernel):
            return False
        mine, theirs = (one.get_params() for one in (self, other))
        return all(_are_equal(mine[name], theirs[name]) for name in mine)

    def __repr__(self) -> str:
        return f"TunedPriorKernel(amplitude={self.amplitude:.3g})"

    def _get_kernel(self) -> UnitMeanVariance:
        """K_A/c; learnt when it is first needed, and again if one of the parameters was replaced."""
        source = (self.old, self.within, self.prior, self.seed)
        known = self.__dict__.get("_known")
        if known is None or any(one is not other for one, other in zip(known[0], source, strict=True)):
            known = self._known = source, make_belief_kernel(self._learn_prior(), self.prior)
        kernel: UnitMeanVariance = known[1]
        return kernel

    def _learn_prior(self) -> WeightPrior:
        sets = parse_sources(self.old)
        if len(sets) > 1:
            raise InputError(f"A TunedPriorKernel is of one old data set; got {len(sets)}. Add the kernels of several.")
        return sets[0] if isinstance(sets[0], WeightPrior) else pretrain_on_tensors(*sets[0], self.within, self.seed)


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    return one is other or (not isinstance(one, WeightPrior) and np.array_equal(one, other))
