"""Pruned least squares (LS-SVM): α for some rows, the anchors, fitted to all rows instead of an α for each.

Suykens et al. (2000) drop the rows with the smallest |α|, and what these rows measured with them. De Kruif and de Vries
(2003) drop the row whose omission changes the fit least. Here, as in their setting, a row loses its α and stays in the
sum of squares, and the change is exact: it is that of the objective.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import ClassVar

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.checks import Numbers, check_positive_integer
from tunedprior.errors import NothingToLearnError
from tunedprior.machines.machine import AlphaFit, AnchorPosterior, LeastSquares, compute_gram_matrix
from tunedprior.numerics.linalg import append_qr_rows, cholesky
from tunedprior.source_data.training_set import draw_row_numbers

# Rows that may become anchors: a random choice of more. Time grows with n times their square.
_CANDIDATES = 3000
# Forward selection adds so many times more anchors than are wanted, and backward elimination removes the rest.
_SURPLUS = 1.5
# Of the largest squared norm: a column with less than that beside those chosen is a combination of them by rounding.
_LEAST_PIVOT = 1e-10
# Entries of K_AS held at once.
_ENTRIES = 2**21


@dataclass(frozen=True)
class PrunedLeastSquares(LeastSquares):
    """argmin over α of J = ‖y - K_AS α‖² + λ αᵀK_S α, for a subset S of the rows A: all rows count, `most` have an α.

    S is chosen greedily by J: rows are added one by one, half as many again as are wanted, each where J falls most;
    then those are removed whose removal raises J least. J exceeds its value with an α for each row by at least
    λ‖ŵ_S - ŵ‖², so the weights approach those of `LeastSquares`; K^A₂, which is large where few rows are, does so later
    than g. With `most` rows or fewer it is `LeastSquares`. Anchors are sought among 3,000 random rows if there are
    more. Fewer are kept where K_S would be singular to rounding.

    >>> from tunedprior.kernels import Polynomial
    >>> points = torch.linspace(-1, 1, 50, dtype=torch.float64)[:, None]
    >>> trained = PrunedLeastSquares(lam=1e-6, most=3).fit(Polynomial(2, 1.0), points, points[:, 0] ** 2)
    >>> len(trained.alpha), round(trained([[0.5]]).item(), 3)
    (3, 0.25)

    Args:
        lam: λ > 0, as for `LeastSquares`.
        most: Upper bound on the rows with an α.
    """

    most: int = 200

    allows_repeats: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "most", check_positive_integer(self.most, "most"))

    def fit(self, kernel: Kernel, X: Numbers, y: Numbers) -> AlphaFit:
        """The fit to responses y at the rows of X, which may repeat; its anchors are the rows that keep an α."""
        return self.fit_with_error(kernel, X, y)[0]

    def fit_with_error(self, kernel: Kernel, X: Numbers, y: Numbers) -> tuple[AlphaFit, float]:
        """The fit, and its mean squared leave-one-out residual with the same anchors."""
        X, y = self.check(kernel, X, y)
        if len(X) <= self.most:
            error = self.compute_loo_losses(compute_gram_matrix(kernel, X), y.double()).mean()
            return super().fit(kernel, X, y), float(error)
        points, responses = X.double(), y.double()
        fixed = deepcopy(kernel).to(points)
        candidates = draw_row_numbers(len(X), max(_CANDIDATES, 2 * self.most), seed=0).to(X.device)
        blocks = partial(_iterate_blocks, fixed, points, responses)
        some = points[candidates]
        moments = _sum_moments(blocks(some), compute_gram_matrix(fixed, some), self.lam)
        anchors = some[choose_anchors(*moments, self.most)]
        found = _Solution.from_blocks(blocks(anchors), compute_gram_matrix(fixed, anchors), self.lam)
        posterior = AnchorPosterior(found.compute_inverse_root(), found.objective / (self.lam * len(X)))
        fit = AlphaFit(deepcopy(kernel).to(X), anchors.to(X), found.alpha.to(X), self.lam, posterior=posterior)
        residuals = torch.cat([found.compute_loo_residuals(*block) for block in blocks(anchors)])
        return fit, float(residuals.square().mean())

    def solve(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> tuple[Float[Tensor, " n"], float]:
        """α, with zeros for rows that are no anchors."""
        if len(y) <= self.most:
            return super().solve(gram, y)
        kept, found = self._solve_gram(gram, y)
        return torch.zeros_like(y).index_copy(0, kept, found.alpha), 0.0

    def predict_loo(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """g₋ᵢ(x_i) with the same anchors, row i's own among them: y_i - (y_i - g(x_i))/(1 - h_i)."""
        if len(y) <= self.most:
            return super().predict_loo(gram, y)
        kept, found = self._solve_gram(gram, y)
        return y - found.compute_loo_residuals(gram[:, kept], y)

    def _solve_gram(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> tuple[Int[Tensor, " a"], "_Solution"]:
        kept = choose_anchors(gram.mT @ gram + self.lam * gram, gram.mT @ y, self.most)
        return kept, _Solution.from_blocks([(gram[:, kept], y)], gram[kept][:, kept], self.lam)


def choose_anchors(moments: Float[Tensor, "c c"], correlations: Float[Tensor, " c"], most: int) -> Int[Tensor, " a"]:
    """A subset S with small J = yᵀy - b_SᵀP_SS⁻¹b_S, for P = K_CA K_AC + λK_C and b = K_CA y; in ascending order.

    Adding column j to S lowers J by r_j²/p_j, where r and p are what S leaves of b_j and P_jj: orthogonal least squares
    on the columns of [K_AC; √λ K_C^½]. Removing it raises J by α_j²/[P_SS⁻¹]_jj.
    """
    size = min(len(correlations), int(_SURPLUS * most))
    pivots, left = moments.diagonal().clone(), correlations.clone()
    least = _LEAST_PIVOT * float(pivots.max())
    rows = moments.new_zeros(size, len(left))
    chosen: list[int] = []
    while len(chosen) < size:
        gains = torch.where(pivots > least, left.square() / pivots.clamp_min(least), 0.0)
        column = int(gains.argmax())
        if not gains[column] > 0:
            break
        done, root = len(chosen), pivots[column].sqrt()
        rows[done] = (moments[column] - rows[:done, column] @ rows[:done]) / root
        left = left - left[column] / root * rows[done]
        pivots = pivots - rows[done].square()
        pivots[column] = 0.0
        chosen.append(column)
    if not chosen:
        raise NothingToLearnError(
            "The kernel has nothing in common with the old responses: the fit of them is zero. Use another kernel, or "
            "optimise without them."
        )
    kept = torch.tensor(chosen, dtype=torch.long, device=moments.device)
    if len(kept) > most:
        kept = _drop_least(rows[: len(kept), kept], correlations, kept, most)
    return kept.sort().values


def _drop_least(
    triangle: Float[Tensor, "a a"], correlations: Float[Tensor, " c"], kept: Int[Tensor, " a"], most: int
) -> Int[Tensor, " b"]:
    """Backward elimination: the columns that are left when those whose removal raises J least are dropped one by one.

    Args:
        triangle: The Cholesky factor of P_SS, upper triangular.
        correlations: b.
        kept: S.
        most: How many columns are to be left.
    """
    root = torch.linalg.solve_triangular(triangle, torch.eye(len(kept)).to(triangle), upper=True)
    inverse = root @ root.mT
    alpha = inverse @ correlations[kept]
    while len(kept) > most:
        worst = int((alpha.square() / inverse.diagonal()).argmin())
        others = torch.arange(len(kept), device=kept.device) != worst
        share = inverse[others, worst] / inverse[worst, worst]
        alpha = alpha[others] - share * alpha[worst]
        inverse = inverse[others][:, others] - torch.outer(share, inverse[worst, others])
        kept = kept[others]
    return kept


Blocks = Iterable[tuple[Float[Tensor, "b a"], Float[Tensor, " b"]]]


@dataclass(frozen=True, eq=False)
class _Solution:
    """α = P⁻¹K_SA y with P = K_SA K_AS + λK_S.

    Attributes:
        alpha: α.
        triangle: T, upper triangular, with TᵀT = P.
        root: L with LLᵀ = K_S.
        lam: λ.
        objective: J.
    """

    alpha: Float[Tensor, " a"]
    triangle: Float[Tensor, "a a"]
    root: Float[Tensor, "a a"]
    lam: float
    objective: float

    @classmethod
    def from_blocks(cls, blocks: Blocks, gram: Float[Tensor, "a a"], lam: float) -> "_Solution":
        """By QR of [K_AS; √λ Lᵀ], as P has the square of its condition; from blocks of the rows of K_AS and y."""
        size, root = len(gram), cholesky(gram)
        joined = gram.new_zeros(size + 1, size + 1)  # the last column is y
        joined[:size, :size] = sqrt(lam) * root.mT
        for cross, responses in blocks:
            joined = append_qr_rows(joined, torch.cat([cross, responses[:, None]], dim=1))
        triangle, right = joined[:size, :size], joined[:size, size:]
        alpha = torch.linalg.solve_triangular(triangle, right, upper=True)[:, 0]
        return cls(alpha, triangle, root, lam, float(joined[size, size]) ** 2)

    def compute_loo_residuals(self, cross: Float[Tensor, "b a"], y: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
        """(y_i - g(x_i))/(1 - h_i) with h_i = k_iᵀP⁻¹k_i, for rows k_i of K_AS."""
        leverage = torch.linalg.solve_triangular(self.triangle.mT, cross.mT, upper=False).square().sum(0)
        residuals: Tensor = (y - cross @ self.alpha) / (1 - leverage)
        return residuals

    def compute_inverse_root(self) -> Float[Tensor, "a a"]:
        """R with RᵀR = M = K_S⁻¹ - λP⁻¹ = L⁻ᵀ(I - λLᵀP⁻¹L)L⁻¹: the posterior of g is that of the process Q on all rows.

        Q = K_XS K_S⁻¹ K_SX, the deterministic training conditional.
        """
        scaled = torch.linalg.solve_triangular(self.triangle.mT, self.root, upper=False)  # T⁻ᵀL
        known = torch.eye(len(scaled)).to(scaled) - self.lam * scaled.mT @ scaled
        values, vectors = torch.linalg.eigh(known)
        shares = values.clamp(0.0, 1.0).sqrt()
        root: Tensor = torch.linalg.solve_triangular(self.root.mT, vectors * shares, upper=True).mT
        return root


def _sum_moments(
    blocks: Blocks, gram: Float[Tensor, "c c"], lam: float
) -> tuple[Float[Tensor, "c c"], Float[Tensor, " c"]]:
    """P = K_CA K_AC + λK_C and b = K_CA y, from blocks of the rows of K_AC and y."""
    moments, correlations = lam * gram, torch.zeros_like(gram[0])
    for cross, responses in blocks:
        moments.addmm_(cross.mT, cross)
        correlations.addmv_(cross.mT, responses)
    return moments, correlations


def _iterate_blocks(
    kernel: Kernel, points: Float[Tensor, "n d"], y: Float[Tensor, " n"], anchors: Float[Tensor, "a d"]
) -> Iterator[tuple[Float[Tensor, "b a"], Float[Tensor, " b"]]]:
    """K₂ between rows and anchors, and y, in blocks of rows that fit into memory."""
    count = max(1, _ENTRIES // len(anchors))
    for some, responses in zip(points.split(count), y.split(count), strict=True):
        with torch.no_grad():
            cross = kernel(some, anchors).to_dense()
        yield cross, responses
