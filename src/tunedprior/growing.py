"""Covariance matrices and their factors that grow with the observations, a row at a time.

What is held depends on the points alone, to the last digit, and not on when they came: whole blocks of rows are always
added at once, and the rows after them one by one. A run that is resumed goes on exactly as if never interrupted.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import pad

from tunedprior.kernels.pullback import StackSection
from tunedprior.linalg import cholesky, cholesky_or_none
from tunedprior.mixture import Processes
from tunedprior.threads import threads_for

_BLOCK = 32

Block = tuple[Float[Tensor, "s _ _"], Float[Tensor, "s _ _"]]  # s m n and s m m: left of the diagonal, and on it


@dataclass(frozen=True, eq=False)
class Factors:
    """L with LLᵀ = R for every process, as blocks of rows.

    Attributes:
        blocks: For each block what is left of its part of the diagonal, and the lower triangle on it.
        settled: How many rows were last factorised as a whole, because rounding left no positive pivot.
    """

    blocks: tuple[Block, ...] = ()
    settled: int = 0

    @classmethod
    def whole(cls, covariance: Float[Tensor, "s n n"], ends: Sequence[int] = ()) -> "Factors":
        """All rows at once, with jitter if need be; in one block, or in blocks with these ends."""
        factor, count = cholesky(covariance), covariance.shape[-1]
        return cls(
            tuple((factor[:, a:b, :a], factor[:, a:b, a:b]) for a, b in pairwise([0, *(ends or [count])])), count
        )

    @property
    def ends(self) -> list[int]:
        """How many rows there are up to the end of each block."""
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

    def diagonal(self) -> Float[Tensor, "s n"]:
        """Of L."""
        return torch.cat([corner.diagonal(dim1=-2, dim2=-1) for _, corner in self.blocks], dim=-1)

    def dense(self, which: Int[Tensor, " k"]) -> Float[Tensor, "k n n"]:
        """L as it stands, of some of the processes."""
        rows = [torch.cat([left[which], corner[which]], dim=-1) for left, corner in self.blocks]
        return torch.cat([pad(row, (0, len(self) - row.shape[-1])) for row in rows], dim=1)

    def up_to(self, end: int) -> "Factors":
        """The blocks that end there or before."""
        return replace(
            self, blocks=tuple(one for one, its_end in zip(self.blocks, self.ends, strict=True) if its_end <= end)
        )

    def with_rows(self, columns: Float[Tensor, "s n m"], covariance: Callable[[], Float[Tensor, "s n n"]]) -> "Factors":
        """With more rows, from the last columns of R; from all of R, if rounding leaves no positive pivot."""
        count = len(self)
        left = self.solve(columns[:, :count]).mT
        corner = cholesky_or_none(columns[:, count:] - left @ left.mT)
        if corner is None:
            before = self.ends[:-1] if _is_short(self.blocks) else self.ends
            return Factors.whole(covariance(), [*before, count + columns.shape[-1]])
        return replace(self, blocks=_appended(self.blocks, left, corner))


def _is_short(blocks: tuple[Block, ...]) -> bool:
    """Whether there is room for more rows in the last block."""
    return bool(blocks) and blocks[-1][1].shape[-1] < _BLOCK


def _appended(
    blocks: tuple[Block, ...], left: Float[Tensor, "s m n"], corner: Float[Tensor, "s m m"]
) -> tuple[Block, ...]:
    """As a new block, or as more rows of the last one while it is short of a whole one."""
    if not _is_short(blocks):
        return *blocks, (left, corner)
    above, upper = blocks[-1]
    start = above.shape[-1]
    below = torch.cat([left[:, :, start:], corner], dim=-1)
    joined = torch.cat([pad(upper, (0, corner.shape[-1])), below], dim=1)
    return *blocks[:-1], (torch.cat([above, left[:, :, :start]], dim=1), joined)


@dataclass(frozen=True, eq=False)
class Seen:
    """What some processes make of points.

    Attributes:
        x: The points D.
        section: K_r(·, D).
        gram: K_r(D, D).
        factors: Of the covariance of observations there, for every process; None if they are not wanted.
    """

    x: Float[Tensor, "n d"]
    section: StackSection
    gram: Float[Tensor, "r n n"]
    factors: Factors | None

    @classmethod
    def nothing(cls, processes: Processes, factorised: bool) -> "Seen":
        """No points yet."""
        kernels = processes.kernels
        none = kernels.lengthscales[:0]
        return cls(
            none, StackSection.of(kernels, none), none.new_zeros(len(kernels), 0, 0), Factors() if factorised else None
        )

    def __len__(self) -> int:
        return len(self.x)

    def up_to(self, end: int) -> "Seen":
        """The first points alone."""
        factors = None if self.factors is None else self.factors.up_to(end)
        return Seen(self.x[:end], self.section.up_to(end), self.gram[:, :end, :end], factors)

    def with_points(self, x: Float[Tensor, "m d"], processes: Processes) -> "Seen":
        """With more points."""
        section = self.section.with_more(x)
        rows = section.at(x).cross
        above = torch.cat([self.gram, rows[:, :, : len(self)].mT], dim=-1)
        gram = torch.cat([above, rows], dim=1)
        factors = self.factors
        if factors is not None:
            columns = processes.mixed(gram[:, :, len(self) :], dims=2)
            columns[:, len(self) :].diagonal(dim1=-2, dim2=-1).add_(processes.noise[:, None])
            factors = factors.with_rows(columns, lambda: processes.with_noise(processes.mixed(gram, dims=2)))
        return Seen(torch.cat([self.x, x]), section, gram, factors)


class Growing:
    """Remembers what some processes made of points, and goes on from there when it is shown more.

    Args:
        processes: Which.
        factorised: Whether factors are wanted.
    """

    def __init__(self, processes: Processes, factorised: bool) -> None:
        self._processes = processes
        self._nothing = self._seen = Seen.nothing(processes, factorised)

    def __call__(self, x: Float[Tensor, "n d"]) -> Seen:
        """What they make of these points."""
        # Always with one thread: more of them would sum in another order, and the last digits depend on when.
        with torch.no_grad(), threads_for(0):
            self._seen = self._reusable(x)
            for end in _ends(len(self._seen), len(x)):
                self._seen = self._seen.with_points(x[len(self._seen) : end], self._processes)
        return self._seen

    def _reusable(self, x: Float[Tensor, "n d"]) -> Seen:
        """As much of what is held as anyone would hold who is shown these points for the first time."""
        held = self._seen
        shared = min(len(held), len(x))
        same = int((held.x[:shared] == x[:shared]).all(-1).cumprod(0).sum())
        if same == len(held) and len(x) // _BLOCK == same // _BLOCK:
            return held
        start = same - same % _BLOCK
        if held.factors is not None and start < held.factors.settled:
            start = 0
        return held.up_to(start) if start else self._nothing


def _ends(start: int, stop: int) -> Iterator[int]:
    """How many points there are after each step: blocks as long as there are any, then one by one."""
    yield from range(start + _BLOCK, stop + 1, _BLOCK)
    yield from range(max(start, stop - stop % _BLOCK) + 1, stop + 1)
