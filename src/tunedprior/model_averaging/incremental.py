"""Covariance matrices and Cholesky factors that are extended row by row as observations arrive.

The result depends on the points alone, bit for bit, and not on when they arrived: whole blocks of rows are added at
once, and the rows after them one by one. A resumed run continues exactly as if never interrupted, and a cache (see
`CachingSurrogate`) affects only the time. Fitted length-scales stay for a while, so that their factors are extended
too.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from tunedprior.kernels.sections import StackSection
from tunedprior.model_averaging.hypotheses import Hypotheses, Processes
from tunedprior.numerics.linalg import cholesky, compute_cholesky_corner
from tunedprior.source_data.training_set import draw_row_numbers

_BLOCK = 32

Block = tuple[Float[Tensor, "s _ _"], Float[Tensor, "s _ _"]]  # s m n and s m m: left of the diagonal, and on it


@dataclass(frozen=True, eq=False)
class Factors:
    """The Cholesky factor L, LLᵀ = R, of every process, as blocks of rows.

    Attributes:
        blocks: For each block of rows, its columns left of the diagonal block, and the lower triangular diagonal block.
        refactorised_rows: The number of rows last factorised as a whole, because rounding left no positive pivot; 0 if
            never.
    """

    blocks: tuple[Block, ...] = ()
    refactorised_rows: int = 0

    @classmethod
    def from_covariance(cls, covariance: Float[Tensor, "s n n"], ends: Sequence[int] = ()) -> "Factors":
        """The factors of whole matrices R, with jitter if necessary; in one block, or in blocks with these ends."""
        factor, count = cholesky(covariance), covariance.shape[-1]
        return cls(
            tuple((factor[:, a:b, :a], factor[:, a:b, a:b]) for a, b in pairwise([0, *(ends or [count])])), count
        )

    @property
    def ends(self) -> list[int]:
        """The number of rows up to the end of each block."""
        return [left.shape[-1] + left.shape[-2] for left, _ in self.blocks]

    def __len__(self) -> int:
        return self.ends[-1] if self.blocks else 0

    def solve(self, right: Float[Tensor, "s n k"]) -> Float[Tensor, "s n k"]:
        """L⁻¹ right."""
        solved = right[:, :0]
        for left, corner in self.blocks:
            start = left.shape[-1]
            rest = right[:, start : start + corner.shape[-1]]
            rest = rest - left @ solved if start else rest
            solved = torch.cat([solved, torch.linalg.solve_triangular(corner, rest, upper=False)], dim=1)
        return solved

    def get_diagonal(self) -> Float[Tensor, "s n"]:
        """The diagonal of L."""
        return torch.cat([corner.diagonal(dim1=-2, dim2=-1) for _, corner in self.blocks], dim=-1)

    def to_dense(self, which: Int[Tensor, " k"]) -> Float[Tensor, "k n n"]:
        """L as a dense matrix, for the subset `which` of the processes."""
        rows = [torch.cat([left[which], corner[which]], dim=-1) for left, corner in self.blocks]
        return torch.cat([pad(row, (0, len(self) - row.shape[-1])) for row in rows], dim=1)

    def keep_first(self, end: int) -> "Factors":
        """The factors of the blocks that end at row `end` or before."""
        return replace(
            self, blocks=tuple(one for one, its_end in zip(self.blocks, self.ends, strict=True) if its_end <= end)
        )

    def append_rows(
        self, columns: Float[Tensor, "s n m"], covariance: Callable[[], Float[Tensor, "s n n"]]
    ) -> "Factors":
        """The factors with more rows, from the last columns of R; all anew if rounding leaves no positive pivot.

        The rows are a new block, or are appended to the last block if that has fewer than `_BLOCK` rows.
        """
        count = len(self)
        above = self.solve(columns[:, :count])
        left, corner = above.mT, compute_cholesky_corner(above, columns[:, count:], may_fail=True)
        is_short = bool(self.blocks) and self.blocks[-1][1].shape[-1] < _BLOCK
        if corner is None:
            before = self.ends[:-1] if is_short else self.ends
            return Factors.from_covariance(covariance(), [*before, count + columns.shape[-1]])
        if not is_short:
            return replace(self, blocks=(*self.blocks, (left, corner)))
        last_left, last_corner = self.blocks[-1]
        start = last_left.shape[-1]
        below = torch.cat([left[:, :, start:], corner], dim=-1)
        joined = torch.cat([pad(last_corner, (0, corner.shape[-1])), below], dim=1)
        return replace(self, blocks=(*self.blocks[:-1], (torch.cat([last_left, left[:, :, :start]], dim=1), joined)))


@dataclass(frozen=True, eq=False)
class GramMatrices:
    """Points D, with the Gram matrices and Cholesky factors of processes there; immutable, so callers may share it.

    Attributes:
        processes: The Gaussian processes.
        x: The points D.
        section: K_r(·, D), the kernels against D.
        gram: K_r(D, D).
        factors: Cholesky factors of the observations' covariance at D, for every process; None if not computed.
    """

    processes: Processes
    x: Float[Tensor, "n d"]
    section: StackSection
    gram: Float[Tensor, "r n n"]
    factors: Factors | None

    @classmethod
    def make_empty(cls, processes: Processes, factorised: bool) -> "GramMatrices":
        """The value for no points, with factors if `factorised`."""
        kernels = processes.kernels
        none = kernels.lengthscales[:0]
        factors = Factors() if factorised else None
        gram = none.new_zeros(len(kernels), 0, 0)
        return cls(processes, none, StackSection.from_stack(kernels, none), gram, factors)

    def __len__(self) -> int:
        return len(self.x)

    def extend_to(self, x: Float[Tensor, "n d"]) -> "GramMatrices":
        """The value for the points x, extended from the part for the points that D and x begin with."""
        gram_matrices = self._keep_reusable(x)
        start, stop = len(gram_matrices), len(x)
        whole_blocks = range(start + _BLOCK, stop + 1, _BLOCK)
        single_rows = range(max(start, stop - stop % _BLOCK) + 1, stop + 1)
        for end in (*whole_blocks, *single_rows):
            gram_matrices = gram_matrices._append_points(x[len(gram_matrices) : end])
        return gram_matrices

    def _keep_reusable(self, x: Float[Tensor, "n d"]) -> "GramMatrices":
        """The part of this value that a computation for x from scratch would reproduce bit for bit."""
        shared = min(len(self), len(x))
        same = int((self.x[:shared] == x[:shared]).all(-1).cumprod(0).sum())
        if same == len(self) and len(x) // _BLOCK == same // _BLOCK:
            return self
        start = same - same % _BLOCK
        if self.factors is not None and start < self.factors.refactorised_rows:
            start = 0
        if not start:
            return GramMatrices.make_empty(self.processes, self.factors is not None)
        factors = None if self.factors is None else self.factors.keep_first(start)
        section, gram = self.section.keep_first(start), self.gram[:, :start, :start]
        return GramMatrices(self.processes, self.x[:start], section, gram, factors)

    def _append_points(self, x: Float[Tensor, "m d"]) -> "GramMatrices":
        """The value for D with the points x appended."""
        section, processes = self.section.append_points(x), self.processes
        rows = section.evaluate(x).cross
        above = torch.cat([self.gram, rows[:, :, : len(self)].mT], dim=-1)
        gram = torch.cat([above, rows], dim=1)
        factors = self.factors
        if factors is not None:
            columns = processes.mix_kernels(gram[:, :, len(self) :], dims=2)
            processes.add_noise_(columns[:, len(self) :])
            factors = factors.append_rows(columns, lambda: processes.add_noise_(processes.mix_kernels(gram, dims=2)))
        return GramMatrices(processes, torch.cat([self.x, x]), section, gram, factors)


_ROWS = 300  # more change the length-scales little, and take a time that grows with their cube
# From the first number of observations on, length-scales are fitted anew once in so many of them.
_OFTEN, _REFIT_BLOCK = 96, 32
# Responses are compared to so many decimals: they are standardised anew with each observation, which rounds them anew.
_DECIMALS = 6


@dataclass(frozen=True, eq=False)
class FixedLengthscales:
    """Hypotheses with length-scales fitted to the first observations, and kept while later ones arrive.

    How many observations they are fitted to depends on the number of observations alone, so that a cache affects only
    the time.

    Attributes:
        x: The points that they were fitted to.
        y: The responses there, with mean 0 and variance 1.
        noise_variance: The variance of the noise, where it is known.
        unfitted: The hypotheses before fitting.
        hypotheses: The hypotheses after fitting.
        gram_matrices: Gram matrices and factors of those with a share in a fitted kernel; None while length-scales are
            fitted anew with each observation.
    """

    x: Float[Tensor, "m d"]
    y: Float[Tensor, " m"]
    noise_variance: float | None
    unfitted: Hypotheses
    hypotheses: Hypotheses
    gram_matrices: GramMatrices | None = None

    @classmethod
    def fit(
        cls,
        among: Hypotheses,
        x: Float[Tensor, "n d"],
        y: Float[Tensor, "n 1"],
        noise_variance: float | None,
        before: "FixedLengthscales | None",
    ) -> "FixedLengthscales":
        """Fit length-scales to the observations up to the last block; reuse an earlier fit to the same ones."""
        count = len(x) if len(x) < _OFTEN else len(x) - len(x) % _REFIT_BLOCK
        x, y = x[:count], y[:count].squeeze(-1)
        if count >= _OFTEN:  # alike whatever the observations since did to mean and variance
            y = ((y - y.mean()) / y.std().clamp_min(1e-12)).round(decimals=_DECIMALS)
        if (
            before is not None
            and before.unfitted.processes.kernels is among.processes.kernels
            and (len(before.unfitted), before.noise_variance) == (len(among), noise_variance)
            and torch.equal(before.x, x)
            and torch.equal(before.y, y)
        ):
            return before
        some = draw_row_numbers(count, _ROWS, seed=0)
        fitted = among.fit_lengthscales(x[some], y[some], noise_variance)
        if count < _OFTEN:
            return cls(x, y, noise_variance, among, fitted)
        processes = fitted.processes.take(fitted.uses_fitted.nonzero().flatten())
        return cls(x, y, noise_variance, among, fitted, GramMatrices.make_empty(processes, factorised=True))
