"""Explicit features: ϑ_i(x) = xⁱ e(x) for a chosen set of multi-indices i, and kernels that are sums over them."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.kernels.fixed import FixedKernel
from tunedprior.kernels.free_kernel import FreeKernel, Product
from tunedprior.kernels.theorem import _chunks, _recomputed, _StaysFloat64

# Features of all rows held at once: what fits into a core's cache, and on a GPU what keeps it busy.
_ENTRIES = {"cpu": 2**18, "cuda": 2**27}


class Powers(NamedTuple):
    """e(x), and 1, x, x², … for each input: all that features of some rows are made of."""

    envelope: Float[Tensor, "1 n"]
    inputs: tuple[Float[Tensor, "k n"], ...]


class Features(_StaysFloat64):
    """ϑ_i(x) for p multi-indices, by recurrence: x^k = x^{k-1}·x in each input, then input after input.

    Indices are sorted, so those that begin alike are neighbours and share the product over their common beginning:
    the features of a level are those of the level before, times one power each.

    Args:
        indices: The multi-indices i, `p x d`, all different.
        numbers: What else there is for each of them; kept in sorted order, as buffers.
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
        self._parents: list[Any] = []  # again, where asking for a few of them does not wait for a GPU
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

    def powers(self, product: Product) -> Powers:
        """What `at` needs to know of these rows."""
        inputs = []
        for x, highest in zip(product.points.unbind(-1), self._highest, strict=True):
            powers = [torch.ones_like(x)]
            for _ in range(highest):
                powers.append(powers[-1] * x)
            inputs.append(torch.stack(powers))
        return Powers(product.log_envelope.exp()[None], tuple(inputs))

    def monomials_and_slopes(self, x: Float[Tensor, "n d"]) -> tuple[Float[Tensor, "p n"], Float[Tensor, "p d n"]]:
        """xⁱ and ∂xⁱ/∂x_d, in one go: more rows, in each of which the powers of one input give way to their slopes."""
        n, d = x.shape
        powers = self.powers(Product(x, torch.zeros_like(x[:, 0])))
        tables = []
        for level, table in enumerate(powers.inputs):
            every = table.repeat(1, d + 1)
            own = every[:, (level + 1) * n : (level + 2) * n]
            own[1:] = table[:-1] * torch.arange(1, len(table)).to(x)[:, None]
            own[0] = 0
            tables.append(every)
        found = self.at(Powers(x.new_ones(1, n * (d + 1)), tuple(tables)), slice(0, len(self)))
        found = found.reshape(len(self), d + 1, n)
        return found[:, 0], found[:, 1:]

    def all(self, product: Product) -> Float[Tensor, "p n"]:
        """ϑ_i of every row, for all multi-indices in sorted order."""
        return self.at(self.powers(product), slice(0, len(self)))

    def at(self, powers: Powers, some: slice) -> Float[Tensor, "p n"]:
        """ϑ_i of every row, for some of the multi-indices in sorted order."""
        rows = [some]
        for parents in reversed(self._parents):  # neighbours have neighbouring parents
            parents = parents[rows[0]]
            rows.insert(0, slice(int(parents[0]), int(parents[-1]) + 1) if len(parents) else slice(0, 0))
        values = powers.envelope
        for level, table in enumerate(powers.inputs):
            wanted = rows[level + 1]
            parent = getattr(self, f"parent{level}")[wanted] - rows[level].start
            values = values.index_select(0, parent) * table.index_select(0, getattr(self, f"power{level}")[wanted])
        return values


class Explicit(FixedKernel):
    """K(x, x') = s K₂(x, x') + Σ_i c_i ϑ_i(x)ϑ_i(x'): a belief by its features, at a cost that does not depend on |A|.

    Args:
        base: The free kernel that ϑ and K₂ are of.
        indices: The multi-indices i.
        coefficients: c.
        remainder: s.
        missing: A bound on the variance, anywhere in the box, of what was left out.
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
        """How many there are."""
        return len(self.features)

    @property
    def coefficients(self) -> Float[Tensor, " p"]:
        """c, in the order of `features.indices`."""
        return self.features.get_buffer("coefficients")

    def _matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        shape = left.log_envelope.shape, right.log_envelope.shape
        batch = torch.broadcast_shapes(shape[0][:-1], shape[1][:-1])
        both_batched = len(shape[0]) > 1 and len(shape[1]) > 1
        if both_batched:
            left, right = left.expand(batch), right.expand(batch)
        powers = self.features.powers(left.flatten())
        others = powers if right is left else self.features.powers(right.flatten())
        if both_batched:
            sums = self._summed(partial(self._joint, powers, others, batch), powers, others)
        else:  # one side has no batch, so that the other's is only more rows
            sums = self._summed(partial(self._crossed, powers, others), powers, others)
            sums = sums.reshape(shape[0][-1], batch.numel(), shape[1][-1]).movedim(1, 0) if len(shape[0]) == 1 else sums
            sums = sums.reshape(*batch, shape[0][-1], shape[1][-1])
        return sums + self.remainder * self.base._cross(left, right) if self.remainder else sums

    def _diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        both = left.rowwise(right)
        powers = self.features.powers(both.flatten())
        sums = self._summed(partial(self._alone, powers), powers, powers).reshape(both.log_envelope.shape)
        if self.remainder:
            sums = sums + self.remainder * self.base._cross(both, both.empty_product()).squeeze(-1)
        return sums

    def _crossed(self, left: Powers, right: Powers, some: slice) -> Float[Tensor, "n k"]:
        features = self.features.at(left, some)
        others = features if right is left else self.features.at(right, some)
        return (self.coefficients[some, None] * features).mT @ others

    def _joint(self, left: Powers, right: Powers, batch: torch.Size, some: slice) -> Float[Tensor, "*batch n k"]:
        features: Tensor = self.features.at(left, some).unflatten(1, (*batch, -1))
        others: Tensor = self.features.at(right, some).unflatten(1, (*batch, -1))
        return (features.movedim(0, -1) * self.coefficients[some]) @ others.movedim(0, -2)

    def _alone(self, both: Powers, some: slice) -> Float[Tensor, " n"]:
        """Σ_i c_i ϑ_i(x)ϑ_i(x'), from the powers and envelopes of x ⊙ x'."""
        return self.coefficients[some] @ self.features.at(both, some)

    def _summed(self, run: Callable[[slice], Tensor], left: Powers, right: Powers) -> Float[Tensor, "..."]:
        """The sum over all features, so many at once that they fit into the cache."""
        rows = max(1, left.envelope.numel(), right.envelope.numel())
        at_once = max(64, _ENTRIES.get(left.envelope.device.type, _ENTRIES["cpu"]) // rows)
        chunks = list(_chunks(max(1, len(self.features)), at_once))
        if torch.is_grad_enabled() and len(chunks) > 1:  # keep no chunk's features for the backward pass
            run = partial(_recomputed, run)
        return reduce(torch.add, (run(some) for some in chunks))


class RhoTimesG(FixedKernel):
    """K = ĝ(x)ĝ(x') + s_f² (K₂(x, x') - r(x)ᵀr(x')): ρ·g with ρ ~ N(0, 1), plus what r does not know of it."""

    @property
    @abstractmethod
    def variance(self) -> Float[Tensor, ""]:
        """s_f²."""

    @abstractmethod
    def _mean_and_known(self, product: Product) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        """ĝ(x) and r(x)."""

    def mean(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n"]:
        """ĝ(x): what was learnt from A."""
        return self._mean_and_known(self._product(x))[0].to(x.dtype)

    def _matrix(self, left: Product, right: Product) -> Float[Tensor, "*batch n k"]:
        mean, known = self._mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self._mean_and_known(right)
        left_open = self.base._cross(left, right) - known @ known2.mT
        return mean[..., :, None] * mean2[..., None, :] + self.variance * left_open

    def _diagonal(self, left: Product, right: Product) -> Float[Tensor, "*batch n"]:
        mean, known = self._mean_and_known(left)
        mean2, known2 = (mean, known) if right is left else self._mean_and_known(right)
        both = left.rowwise(right)
        left_open = self.base._cross(both, both.empty_product()).squeeze(-1) - (known * known2).sum(-1)
        return mean * mean2 + self.variance * left_open


class _Number(_StaysFloat64):
    """A number that moves between devices; in a module of its own, as GPyTorch would slice a kernel's own buffer."""

    value: Tensor

    def __init__(self, value: float) -> None:
        super().__init__()
        self.register_buffer("value", torch.tensor(value, dtype=torch.float64))


class AlignedFeatures(RhoTimesG):
    """K = ŵᵀφ(x) ŵᵀφ(x') + s_f² (K₂(x, x') - φ(x)ᵀQφ(x')): `Aligned` by features, of any number of rows.

    Unlike those of the other beliefs its matrix between features is not diagonal; Q = (ΦᵀΦ + λI)⁻¹ΦᵀΦ.

    Args:
        base: The free kernel; its parameters are copied and stay as they are.
        indices: The multi-indices i, `p x d`.
        weights: ŵ.
        known: W with WWᵀ = Q, `p x r`.
        variance: s_f².
    """

    def __init__(
        self,
        base: FreeKernel,
        indices: Int[Tensor, "p d"],
        weights: Float[Tensor, " p"],
        known: Float[Tensor, "p r"],
        variance: float,
    ) -> None:
        super().__init__(base, indices.shape[1])
        tau = self.base._weights_at(indices).to(weights)
        mixing = torch.cat([weights[:, None], known], dim=1) * tau[:, None]
        self.features = Features(indices, mixing=mixing)
        self._variance = _Number(variance)

    @property
    def num_features(self) -> int:
        """How many there are."""
        return len(self.features)

    @property
    def mixing(self) -> Float[Tensor, "p q"]:
        """From ϑ(x) to ĝ(x) and r(x): τ ⊙ ŵ and τ ⊙ W."""
        return self.features.get_buffer("mixing")

    @property
    def variance(self) -> Float[Tensor, ""]:
        """s_f²."""
        return self._variance.value

    def _mean_and_known(self, product: Product) -> tuple[Float[Tensor, "*batch n"], Float[Tensor, "*batch n r"]]:
        both = (self.features.all(product.flatten()).mT @ self.mixing).unflatten(0, product.log_envelope.shape)
        return both[..., 0], both[..., 1:]
