"""Explicit features: ϑ_i(x) = xⁱ e(x) for a chosen set of multi-indices i, and kernels that are sums over them."""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.kernels.anchors import FixedKernel, Float64Module
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.numerics.chunking import broadcast_shape, call_checkpointed, iterate_chunks

# Features of all rows held at once: what fits into a core's cache, and on a GPU what keeps it busy.
_ENTRIES = {"cpu": 2**18, "cuda": 2**27}


class Powers(NamedTuple):
    """e(x), and 1, x, x², … of each input, at n rows: the factors of all features there."""

    envelope: Float[Tensor, "1 n"]
    inputs: tuple[Float[Tensor, "k n"], ...]


class Features(Float64Module):
    """ϑ_i(x) for p multi-indices, by recurrence: x^k = x^{k-1}·x in each input, then input after input.

    Indices are sorted, so those with a common prefix are adjacent and share the product over it: the features of
    level d (products over the first d inputs) are those of the level before, times one power each.

    Args:
        indices: The multi-indices i, `p x d`, all different.
        numbers: Further values for each multi-index; kept in sorted order, as buffers.
    """

    indices: Tensor

    def __init__(self, indices: Int[Tensor, "p d"], **numbers: Float[Tensor, "p ..."]) -> None:
        super().__init__()
        order = np.lexsort(indices.cpu().numpy().T[::-1])
        beginnings = indices.cpu().numpy()[order]
        self.register_buffer("indices", torch.as_tensor(beginnings).to(indices.device))
        for name, values in numbers.items():
            self.register_buffer(name, values.double()[torch.as_tensor(order).to(values.device)])
        self._highest = beginnings.max(0, initial=0).tolist()
        self._parents: list[Any] = []  # a copy on the host: slicing it does not synchronise with a GPU
        for level in range(indices.shape[1] - 1, -1, -1):
            new = np.ones(len(beginnings), dtype=bool)
            new[1:] = (beginnings[1:, :level] != beginnings[:-1, :level]).any(1)
            parent = new.cumsum() - 1
            self._parents.insert(0, parent)
            self.register_buffer(f"parent{level}", torch.as_tensor(parent).to(indices.device))
            self.register_buffer(f"power{level}", torch.as_tensor(beginnings[:, level].copy()).to(indices.device))
            beginnings = beginnings[new]

    def __len__(self) -> int:
        return len(self.indices)

    def compute_powers(self, product: Product) -> Powers:
        """The powers and envelopes of these rows, for `at` to multiply."""
        inputs = []
        for x, highest in zip(product.points.unbind(-1), self._highest, strict=True):
            powers = [torch.ones_like(x)]
            for _ in range(highest):
                powers.append(powers[-1] * x)
            inputs.append(torch.stack(powers))
        return Powers(product.log_envelope.exp()[None], tuple(inputs))

    def compute_monomials_and_slopes(
        self, x: Float[Tensor, "n d"]
    ) -> tuple[Float[Tensor, "p n"], Float[Tensor, "p d n"]]:
        """xⁱ and ∂xⁱ/∂x_d at every row of x.

        Both by one call of `at`, on d + 1 copies of the rows: copy d has derivatives for the powers of input d.
        """
        n, d = x.shape
        powers = self.compute_powers(Product(x, torch.zeros_like(x[:, 0])))
        tables = []
        for level, table in enumerate(powers.inputs):
            every = table.repeat(1, d + 1)
            own = every[:, (level + 1) * n : (level + 2) * n]
            own[1:] = table[:-1] * torch.arange(1, len(table)).to(x)[:, None]
            own[0] = 0
            tables.append(every)
        found = self.evaluate_slice(Powers(x.new_ones(1, n * (d + 1)), tuple(tables)), slice(0, len(self)))
        found = found.reshape(len(self), d + 1, n)
        return found[:, 0], found[:, 1:]

    def evaluate_all(self, product: Product) -> Float[Tensor, "p n"]:
        """ϑ_i of every row, for all multi-indices in sorted order."""
        return self.evaluate_slice(self.compute_powers(product), slice(0, len(self)))

    def evaluate_slice(self, powers: Powers, some: slice) -> Float[Tensor, "p n"]:
        """ϑ_i of every row, for the subset `some` of the multi-indices in sorted order."""
        rows = [some]
        for parents in reversed(self._parents):  # adjacent features have adjacent parents
            parents = parents[rows[0]]
            rows.insert(0, slice(int(parents[0]), int(parents[-1]) + 1) if len(parents) else slice(0, 0))
        values = powers.envelope
        for level, table in enumerate(powers.inputs):
            wanted = rows[level + 1]
            parent = getattr(self, f"parent{level}")[wanted] - rows[level].start
            values = values.index_select(0, parent) * table.index_select(0, getattr(self, f"power{level}")[wanted])
        return values


class FeatureKernel(FixedKernel):
    """K(x, x') = s K₂(x, x') + Σ_i c_i ϑ_i(x)ϑ_i(x') by explicit features, at a cost that does not depend on |A|.

    Args:
        base: The free kernel that defines ϑ and K₂.
        indices: The multi-indices i.
        coefficients: c, one for each multi-index.
        remainder: s.
        missing: Upper bound on the variance, anywhere in the box, of the features left out.
    """

    def __init__(
        self,
        base: FreeKernel,
        indices: Int[Tensor, "p d"],
        coefficients: Float[Tensor, " p"],
        remainder: float = 0.0,
        missing: float = 0.0,
    ) -> None:
        super().__init__(base, indices.shape[1])
        self.features = Features(indices, coefficients=coefficients)
        self.remainder, self.missing = remainder, missing

    @property
    def num_features(self) -> int:
        """The number of explicit features."""
        return len(self.features)

    @property
    def coefficients(self) -> Float[Tensor, " p"]:
        """c, in the order of `features.indices`."""
        return self.features.get_buffer("coefficients")

    def evaluate_matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        """K(left row, right row) for all pairs of rows."""
        shape = left.log_envelope.shape, right.log_envelope.shape
        batch = broadcast_shape(shape[0][:-1], shape[1][:-1])
        both_batched = len(shape[0]) > 1 and len(shape[1]) > 1
        if both_batched:
            left, right = left.expand(batch), right.expand(batch)
        powers = self.features.compute_powers(left.flatten())
        others = powers if right is left else self.features.compute_powers(right.flatten())
        if both_batched:
            sums = self._sum_slices(partial(self._evaluate_batched, powers, others, batch), powers, others)
        else:  # one side has no batch, so that the other's is only more rows
            sums = self._sum_slices(partial(self._evaluate_unbatched, powers, others), powers, others)
            sums = sums.reshape(shape[0][-1], batch.numel(), shape[1][-1]).movedim(1, 0) if len(shape[0]) == 1 else sums
            sums = sums.reshape(*batch, shape[0][-1], shape[1][-1])
        return sums + self.remainder * self.base.evaluate_matrix(left, right) if self.remainder else sums

    def evaluate_diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        """K(left row i, right row i) for every i: the diagonal."""
        both = left.multiply_rows(right)
        powers = self.features.compute_powers(both.flatten())
        sums = self._sum_slices(partial(self._evaluate_rowwise, powers), powers, powers).reshape(
            both.log_envelope.shape
        )
        if self.remainder:
            sums = sums + self.remainder * self.base.evaluate_matrix(both, both.make_empty_product()).squeeze(-1)
        return sums

    def _evaluate_unbatched(self, left: Powers, right: Powers, some: slice) -> Float[Tensor, "n k"]:
        features = self.features.evaluate_slice(left, some)
        others = features if right is left else self.features.evaluate_slice(right, some)
        return (self.coefficients[some, None] * features).mT @ others

    def _evaluate_batched(
        self, left: Powers, right: Powers, batch: torch.Size, some: slice
    ) -> Float[Tensor, "*batch n k"]:
        features: Tensor = self.features.evaluate_slice(left, some).unflatten(1, (*batch, -1))
        others: Tensor = self.features.evaluate_slice(right, some).unflatten(1, (*batch, -1))
        return (features.movedim(0, -1) * self.coefficients[some]) @ others.movedim(0, -2)

    def _evaluate_rowwise(self, both: Powers, some: slice) -> Float[Tensor, " n"]:
        """Σ_i c_i ϑ_i(x)ϑ_i(x'), from the powers and envelopes of x ⊙ x'."""
        return self.coefficients[some] @ self.features.evaluate_slice(both, some)

    def _sum_slices(self, run: Callable[[slice], Tensor], left: Powers, right: Powers) -> Float[Tensor, "..."]:
        """The sum of run(slice) over slices of all features, each small enough for the cache."""
        rows = max(1, left.envelope.numel(), right.envelope.numel())
        at_once = max(64, _ENTRIES.get(left.envelope.device.type, _ENTRIES["cpu"]) // rows)
        pieces = list(iterate_chunks(max(1, len(self.features)), at_once))
        if torch.is_grad_enabled() and len(pieces) > 1:  # keep no chunk's features for the backward pass
            run = partial(call_checkpointed, run)
        return reduce(torch.add, (run(some) for some in pieces))
