"""Free kernels (Definition 1 of the paper): one family K₂, K₄, K₆, … with one feature map ϑ.

Those of Table 1 have monomials as features, ϑ_i(x) = xⁱ e(x); `StationarySquaredExponential` has places.

A bias is one more weight (the paper's footnote): φ → [φ; 1] and K → K + 1.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import comb, inf
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from gpytorch.constraints import Positive
from gpytorch.kernels import Kernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.checks import (
    Numbers,
    check_positive,
    format_list,
    format_value,
    refuse_nonfinite_rows,
    refuse_other_types,
    to_float_tensor,
)
from tunedprior.errors import DomainError, InputError
from tunedprior.kernels.registry import NestedKernel, PositiveNumbers, register_kernel

_MOST = 2**22


@lru_cache(maxsize=32)
def list_multi_indices(num_inputs: int, max_degree: int) -> Int[Tensor, "p d"]:
    """All i with |i| ≤ max_degree: by total degree, then the first inputs' powers first.

    p = C(d + max_degree, d). The result is cached and shared: do not write into it.

    >>> list_multi_indices(2, 2).tolist()
    [[0, 0], [1, 0], [0, 1], [2, 0], [1, 1], [0, 2]]
    """
    if max_degree < 0:
        raise InputError(f"max_degree must be 0 or more; got {max_degree}.")
    count = comb(num_inputs + max_degree, num_inputs)
    if count > _MOST:
        raise InputError(
            f"{num_inputs} inputs up to degree {max_degree} have {count:,} features, more than {_MOST:,}. "
            "Lower max_degree, or use the kernel without explicit features."
        )
    # Append one factor at a time: x_d may follow any monomial whose last factor is x_d or comes before it.
    degree = np.zeros((1, num_inputs), dtype=np.int64)
    last = np.zeros(1, dtype=np.int64)
    degrees = [degree]
    for _ in range(max_degree):
        repeats = num_inputs - last
        parent = np.repeat(np.arange(len(last)), repeats)
        last = np.arange(len(parent)) - np.repeat(np.cumsum(repeats) - repeats, repeats) + last[parent]
        degree = degree[parent]
        degree[np.arange(len(last)), last] += 1
        degrees.append(degree)
    return torch.as_tensor(np.concatenate(degrees))


def evaluate_monomials(points: Float[Tensor, "*batch n d"], indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch n p"]:
    """xⁱ for every point and index, from one table of powers (exact, also at 0, and differentiable there)."""
    powers = [torch.ones_like(points)]
    for _ in range(int(indices.max()) if indices.numel() else 0):
        powers.append(powers[-1] * points)
    stacked = torch.stack(powers, dim=-1)  # *batch n d (max power + 1)
    indices = indices.to(points.device)
    result = stacked[..., 0, indices[:, 0]]
    for column in range(1, indices.shape[1]):
        result = result * stacked[..., column, indices[:, column]]
    return result


#: Scaling a box onto [-1, 1] may miss the ends by rounding; no kernel changes noticeably this far out.
DOMAIN_SLACK = 1e-6
_LENGTHSCALE_OPTIONS = {"ard_num_dims", "lengthscale_prior", "lengthscale_constraint"}


ArgumentsT = TypeVar("ArgumentsT", bound="Arguments")


@dataclass(frozen=True, eq=False)
class Arguments(ABC):
    """What a free kernel depends on of groups of its arguments, one group in each row.

    Two groups merge into one of all their arguments, in any order. Envelopes are kept as logarithms: exponents are
    added before anything is exponentiated.
    """

    points: Float[Tensor, "*batch n d"]
    log_envelope: Float[Tensor, "*batch2 n"]

    @abstractmethod
    def multiply_rows(self: ArgumentsT, other: ArgumentsT) -> ArgumentsT:
        """Row i merged with row i of `other`, n in all."""

    @abstractmethod
    def make_empty_product(self: ArgumentsT) -> ArgumentsT:
        """The group of no arguments: one row, the neutral element of merging."""

    def _make_like(self: ArgumentsT, points: Tensor, log_envelope: Tensor) -> ArgumentsT:
        return replace(self, points=points, log_envelope=log_envelope)

    def multiply_all_pairs(self: ArgumentsT, other: ArgumentsT) -> ArgumentsT:
        """Each row merged with each row of `other`, n·n' in all; the index of `other` varies fastest."""
        n, k, device = self.points.shape[-2], other.points.shape[-2], self.points.device
        row, column = torch.arange(n, device=device), torch.arange(k, device=device)
        return self.take(row.repeat_interleave(k)).multiply_rows(other.take(column.repeat(n)))

    def take(self: ArgumentsT, rows: slice | Int[Tensor, " k"]) -> ArgumentsT:
        """The subset `rows` of the rows."""
        return self._make_like(self.points[..., rows, :], self.log_envelope[..., rows])

    def expand(self: ArgumentsT, batch: torch.Size) -> ArgumentsT:
        """The groups repeated for every member of a batch of this shape."""
        n, d = self.points.shape[-2:]
        return self._make_like(self.points.expand(*batch, n, d), self.log_envelope.expand(*batch, n))

    def flatten(self: ArgumentsT) -> ArgumentsT:
        """The rows of all members of the batch in one table, without a batch."""
        return self._make_like(self.points.reshape(-1, self.points.shape[-1]), self.log_envelope.reshape(-1))

    def double(self: ArgumentsT) -> ArgumentsT:
        """The groups in float64."""
        return self._make_like(self.points.double(), self.log_envelope.double())


class Product(Arguments):
    """x₁ ⊙ ⋯ ⊙ x_k and Σ log e(x_k): all that a kernel with features ϑ_i(x) = xⁱ e(x) depends on.

    ϑ_i(x₁)⋯ϑ_i(x_m) is the monomial of the elementwise product times the product of the envelopes e.
    """

    def multiply_rows(self, other: "Product") -> "Product":
        """Products of row i with row i of `other`, n in all."""
        return Product(self.points * other.points, self.log_envelope + other.log_envelope)

    def make_empty_product(self) -> "Product":
        """The product of no arguments: one row, the neutral element of merging."""
        return Product(torch.ones_like(self.points[..., :1, :]), torch.zeros_like(self.log_envelope[..., :1]))


@dataclass(frozen=True, eq=False)
class Cluster(Arguments):
    """x̄ = Σ_k x_k/p and -Σ_k ‖(x_k - x̄)/ℓ‖², of p arguments: all that a stationary kernel depends on.

    Merging adds pp'/(p + p') ‖(x̄ - x̄')/ℓ‖² to the scatter: no large numbers are subtracted, wherever the points are.

    Attributes:
        points: x̄.
        log_envelope: Minus the scatter.
        inverse_square_lengthscale: 1/ℓ², of shape `*batch 1 d`; d is 1 where all inputs share one.
        count: p.
    """

    inverse_square_lengthscale: Tensor
    count: int = 1

    def multiply_rows(self, other: "Cluster") -> "Cluster":
        """Clusters of the arguments of row i and of row i of `other`, n in all."""
        together, nu = self.count + other.count, self.inverse_square_lengthscale
        share = other.count / together if together else 0.0
        apart = other.points - self.points
        between = self.count * share * (apart.square() * nu).sum(-1)
        return Cluster(self.points + share * apart, self.log_envelope + other.log_envelope - between, nu, together)

    def double(self) -> "Cluster":
        """The groups in float64."""
        nu = self.inverse_square_lengthscale.double()
        return Cluster(self.points.double(), self.log_envelope.double(), nu, self.count)

    def make_empty_product(self) -> "Cluster":
        """The group of no arguments: one row, the neutral element of merging."""
        nothing = torch.zeros_like(self.points[..., :1, :]), torch.zeros_like(self.log_envelope[..., :1])
        return Cluster(*nothing, self.inverse_square_lengthscale, 0)


class FreeKernel(Kernel, ABC):
    """K_m(x₁, …, x_m) = Σ_i τ_i² ϑ_i(x₁)⋯ϑ_i(x_m) for every even m, with τ and ϑ independent of m.

    As a `gpytorch.kernels.Kernel` it is K₂. Definition 1 of the paper.

    Args:
        num_inputs: The number of inputs d. Only `weights` and `list_multi_indices` need it, and only where it does not
            follow from ARD length-scales, anchors or `active_dims`.
        batch_shape: As for any GPyTorch kernel: one set of parameters for each member of the batch.
        active_dims: As for any GPyTorch kernel: the columns to act on.
    """

    #: Whether points must satisfy |x| ≤ 1 (|x| < 1 with `open_domain`).
    bounded_domain = False
    open_domain = False
    #: Whether ϑ_i is centred at a place, and has its number for a multi-index; otherwise it is a monomial.
    features_are_places = False
    #: The parameter that leave-one-out selection tunes, if the kernel has one.
    tuned_parameter: str | None = None
    #: How it is saved: the arguments that it is made from again, and their types (see `kernels.registry`).
    saved_arguments: ClassVar[Mapping[str, Any] | None] = None

    def __init__(
        self,
        num_inputs: int | None = None,
        batch_shape: torch.Size | None = None,
        active_dims: Sequence[int] | Tensor | None = None,
        **lengthscale_options: Any,
    ) -> None:
        unknown = set(lengthscale_options) - _LENGTHSCALE_OPTIONS if self.has_lengthscale else lengthscale_options
        if unknown:  # GPyTorch would swallow a misspelt name
            raise InputError(f"{type(self).__name__} does not take {format_list(sorted(unknown))}.")
        super().__init__(batch_shape=batch_shape, active_dims=active_dims, **lengthscale_options)
        if num_inputs is None and self.active_dims is not None:
            num_inputs = len(self.active_dims)
        self.num_inputs = num_inputs

    # -- what each kernel defines --------------------------------------------------------------------

    @abstractmethod
    def evaluate_matrix(self, left: Any, right: Any) -> Float[Tensor, "*batch n k"]:
        """Σ_i τ_i² ϑ_i(left row) ϑ_i(right row), for all pairs of rows."""

    @abstractmethod
    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ at the given multi-indices."""

    def evaluate_log_envelope(self, points: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n"]:
        """log e(x), where ϑ_i(x) = xⁱ e(x) and log e(x) = Σ_d log e_d(x_d)."""
        return self.evaluate_input_log_envelopes(points).sum(-1)

    def evaluate_input_log_envelopes(self, points: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n d"]:
        """log e_d(x_d), input by input; 0 for kernels whose features are the bare monomials."""
        return torch.zeros_like(points)

    def evaluate_input_log_features(self, points: Float[Tensor, "n d"], highest: int) -> Float[Tensor, "n d q"]:
        """log |ϑ_k(x_d)|, input by input, for k ≤ highest, where ϑ_i(x) = Π_d ϑ_{i_d}(x_d)."""
        powers = torch.arange(highest + 1).to(points)
        envelopes: Tensor = self.evaluate_input_log_envelopes(points)
        logs: Tensor = torch.special.xlogy(powers, points.abs()[..., None])
        return logs + envelopes[..., None]

    def compute_log_factors(self, highest: int) -> Float[Tensor, "d q"] | None:  # noqa: ARG002  # for overrides
        """F with log τ_i² = Σ_d F[d, i_d], for powers up to `highest`; None where τ is no product over the inputs.

        A single row holds for all inputs.
        """
        return None

    def compute_log_mean_squares(self, highest: int, far: Float[Tensor, " d"]) -> Float[Tensor, "d q"]:
        """log of the mean of ϑ_k(x_d)² over |x_d| ≤ far_d, for each input d and power k ≤ highest."""
        powers = torch.arange(highest + 1).to(far)
        return 2 * powers * far.log()[:, None] - (2 * powers + 1).log()

    def compute_log_peaks(self, highest: int, far: Float[Tensor, " d"]) -> Float[Tensor, "d q"]:
        """max log |ϑ_k(x_d)| over |x_d| ≤ far_d, for each input d and power k ≤ highest."""
        return torch.arange(highest + 1).to(far) * far.log()[:, None]

    # -- the family ----------------------------------------------------------------------------------

    def evaluate_m_kernel(self, *xs: Numbers) -> Float[Tensor, "*shape"]:
        """K_m(x₁, …, x_m) for every choice of a row from each of the m = len(xs) tables.

        Shapes: `x_k: n_k x d`, result `n_1 x … x n_m` (behind the kernel's batch shape). m must be even.

        >>> from tunedprior.kernels import Linear
        >>> x = torch.tensor([[1.0, 2.0]])
        >>> Linear().evaluate_m_kernel(x, x, x, x).item()  # 1⁴ + 2⁴
        17.0
        """
        m = len(xs)
        if m < 2 or m % 2:
            raise InputError(
                f"A free kernel is defined for an even number of arguments, 2 or more; got {m}. "
                "Repeat one of them, or leave one out."
            )
        tables = [self.select_columns(to_float_tensor(x, "Points")) for x in xs]
        shapes = [tuple(x.shape) for x in tables]
        if any(len(shape) != 2 for shape in shapes) or len({shape[1] for shape in shapes}) > 1:
            raise InputError(f"m_kernel takes tables n_k x d with one common d; got shapes {shapes}.")
        products = [self.make_product(x) for x in tables]
        left = reduce(Arguments.multiply_all_pairs, products[: m // 2])
        right = reduce(Arguments.multiply_all_pairs, products[m // 2 :])
        flat = self.evaluate_matrix(left, right)
        return flat.reshape(*flat.shape[:-2], *(shape[0] for shape in shapes))

    def evaluate_features(self, x: Float[Tensor, "*batch n d"], max_degree: int) -> Float[Tensor, "*batch2 n p"]:
        """ϑ(x), unweighted, for the p multi-indices of total degree ≤ max_degree."""
        product = self.make_product(self.select_columns(x))
        return self.evaluate_features_at(product, self.list_multi_indices(max_degree, product.points.shape[-1]))

    def evaluate_implied_features(
        self, x: Float[Tensor, "*batch n d"], max_degree: int, m: int
    ) -> Float[Tensor, "*batch2 n p"]:
        """φ_m(x) = |τ|^{2/m} ⊙ ϑ(x), the paper's implied feature map: K_m = Σ_i φ_m,i(x₁)⋯φ_m,i(x_m). Equation 3.

        For m = 2 it is φ = τ ⊙ ϑ, up to the signs that τ of a re-weighted kernel may have.
        """
        if m < 2 or m % 2:
            raise InputError(f"m must be even, 2 or more; got {m!r}.")
        features = self.evaluate_features(x, max_degree)
        weights = self.compute_weights(max_degree, self.select_columns(x).shape[-1]).to(features)
        return features * weights.abs()[..., None, :] ** (2 / m)

    def compute_weights(self, max_degree: int, num_inputs: int | None = None) -> Float[Tensor, "*batch p"]:
        """τ, in the order of `list_multi_indices`. Re-weighted kernels have entries of either sign."""
        return self.compute_weights_at(self.list_multi_indices(max_degree, num_inputs))

    def list_multi_indices(self, max_degree: int, num_inputs: int | None = None) -> Int[Tensor, "p d"]:
        """The multi-indices i (exponents) of the features, in the order of `features` and `weights`."""
        known = self.num_inputs if num_inputs is None else num_inputs
        if known is None:
            raise InputError(
                f"{type(self).__name__} does not know how many inputs its points have. "
                "Pass num_inputs here or when the kernel is made."
            )
        return list_multi_indices(known, max_degree).clone()

    # -- GPyTorch's side -----------------------------------------------------------------------------

    def forward(
        self,
        x1: Float[Tensor, "*batch1 n d"],
        x2: Float[Tensor, "*batch2 k d"],
        diag: bool = False,
        last_dim_is_batch: bool = False,
        **params: Any,  # noqa: ARG002  # part of GPyTorch's signature
    ) -> Float[Tensor, "*batch n k"] | Float[Tensor, "*batch n"]:
        """K₂: the full matrix, or with `diag=True` its diagonal K₂(x1_i, x2_i)."""
        if last_dim_is_batch:
            raise InputError(
                "last_dim_is_batch is not supported (GPyTorch deprecates it). "
                "Sum kernels over active_dims for an additive model."
            )
        left = self.make_product(x1)
        right = left if x2 is x1 else self.make_product(x2)
        if not diag:
            return self.evaluate_matrix(left, right)
        both = left.multiply_rows(right)
        return self.evaluate_matrix(both, both.make_empty_product()).squeeze(-1)

    # -- shared helpers ------------------------------------------------------------------------------

    def select_columns(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n d2"]:
        """The columns this kernel acts on, as GPyTorch's `__call__` would pass them to `forward`."""
        return x if self.active_dims is None else x.index_select(-1, self.active_dims)

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Arguments:
        """The rows of x as groups of one argument, checked, in the wider of the dtypes of x and the parameters."""
        self.check_points(x)
        x = x.to(reduce(torch.promote_types, (parameter.dtype for parameter in self.parameters()), x.dtype))
        return self.make_unchecked_product(x)

    def make_unchecked_product(self, x: Float[Tensor, "*batch n d"]) -> Arguments:
        """The rows of x as groups of one argument, wherever they lie."""
        return Product(x, self.evaluate_log_envelope(x))

    def check_points(self, x: Float[Tensor, "*batch n d"]) -> None:
        """Raise an error for points that are not finite, have another number of inputs, or lie outside the domain."""
        if self.num_inputs is not None and x.shape[-1] != self.num_inputs:
            raise InputError(
                f"{type(self).__name__} was made for points with {self.num_inputs} inputs; got {x.shape[-1]}. "
                "Pass the same columns, in the same order, everywhere."
            )
        if not self.bounded_domain:
            refuse_nonfinite_rows(x, "Points")
            return
        inside = x.abs() < 1 if self.open_domain else x.abs() <= 1 + DOMAIN_SLACK
        if inside.all():
            return
        refuse_nonfinite_rows(x, "Points")
        outside = ~inside.reshape(-1, x.shape[-1])
        name = range(x.shape[-1]) if self.active_dims is None else self.active_dims.tolist()
        per_input = [
            f"input {name[column]}: {int(outside[:, column].sum())} up to "
            f"{float(x.detach().reshape(-1, x.shape[-1])[:, column].abs().max()):.3g} in size"
            for column in outside.any(0).nonzero().flatten().tolist()
        ]
        raise DomainError(
            f"{type(self).__name__} is defined for {'|x| < 1' if self.open_domain else 'x in [-1, 1]'}; "
            f"{int(outside.any(-1).sum())} of {outside.shape[0]} points lie outside ({format_list(per_input)}). "
            "Scale the box that holds all your data onto it."
        )

    def evaluate_features_at(self, product: Any, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch n p"]:
        """ϑ_i of every row, for the given multi-indices."""
        envelope: Tensor = product.log_envelope.exp()
        return evaluate_monomials(product.points, indices) * envelope[..., None]

    def _register_positive(self, name: str, value: float | Tensor) -> None:
        """Register a learnable positive parameter `name`, stored as `raw_name` of shape `*batch_shape x k`.

        k is 1, or the length of a tensor of values. Tensors pass on their dtype and device; a Python number
        takes torch's default dtype, as `torch.tensor(number)` would. The tuned parameter may also be 0: a kernel of its
        own, whose zero nothing tunes or learns, as no gradient leads away from it in the parameter's logarithm.
        """
        like = to_float_tensor(value, name)
        like = like if isinstance(value, Tensor) else like.to(torch.get_default_dtype())
        size = like.shape[-1] if like.ndim else 1
        raw = torch.nn.Parameter(like.new_zeros(*self.batch_shape, size))
        self.register_parameter(f"raw_{name}", raw)
        self.register_constraint(f"raw_{name}", Positive())
        if name == self.tuned_parameter and not like.any():
            raw.requires_grad_(False).fill_(-torch.inf)  # what the constraint's transform takes to 0
            self.tuned_parameter = None
        else:
            self._set_positive(name, value)

    def _get_positive(self, name: str) -> Float[Tensor, "*batch k"]:
        constraint = getattr(self, f"raw_{name}_constraint")
        transformed: Tensor = constraint.transform(getattr(self, f"raw_{name}"))
        return transformed

    def _set_positive(self, name: str, value: float | Tensor) -> None:
        raw: Tensor = getattr(self, f"raw_{name}")
        values = to_float_tensor(value, name).detach()
        check_positive(float(values.min()), name)
        inverse = getattr(self, f"raw_{name}_constraint").inverse_transform
        self.initialize(**{f"raw_{name}": inverse(values.to(raw)).expand_as(raw)})


class LengthscaleKernel(FreeKernel):
    """A free kernel whose K₂ is exp(-½ Σ_d (x_d - x'_d)²/ℓ_d²).

    Args:
        lengthscale: ℓ, one number for all inputs or one for each (ARD); learnable.
        **kernel_options: As for `FreeKernel`, and GPyTorch's `lengthscale_prior` and `lengthscale_constraint`.
    """

    has_lengthscale = True
    tuned_parameter = "lengthscale"
    saved_arguments: ClassVar[Mapping[str, Any]] = {"lengthscale": PositiveNumbers}

    def __init__(self, lengthscale: float | Sequence[float] | Tensor = 1.0, **kernel_options: Any) -> None:
        values = to_float_tensor(lengthscale, "lengthscale")
        if values.numel() == 0 or (values.ndim > 1 and not isinstance(lengthscale, Tensor)):
            raise InputError(
                f"lengthscale must be one number, or a list with one for each input; got {format_value(lengthscale)}."
            )
        if (values == inf).all():
            raise InputError("An infinite length-scale makes K_m constant. Use Exponential(0.0), which is the same.")
        refuse_nonfinite_rows(values.reshape(1, -1), "lengthscale")
        if not (values > 0).all():
            raise InputError(f"Length-scales must be above 0; got {format_list(values.flatten().tolist())}.")
        if values.ndim > 0 and values.shape[-1] > 1:
            kernel_options = {
                "num_inputs": values.shape[-1],
                "ard_num_dims": values.shape[-1],
            } | kernel_options
        super().__init__(**kernel_options)
        if isinstance(lengthscale, Tensor):
            self.to(values)
        self.lengthscale = values.to(self.raw_lengthscale).expand_as(self.raw_lengthscale)

    @property
    def inverse_square_lengthscale(self) -> Float[Tensor, "*batch 1 d"]:
        """ν_d = 1/ℓ_d²; d is 1 where all inputs share one length-scale."""
        lengthscale: Tensor = self.lengthscale
        return lengthscale**-2


def refuse_other_kernels(kernel: Any) -> None:
    """An `InputError` for anything but a free kernel."""
    refuse_other_types(kernel, FreeKernel, "kernel", "one of tunedprior.kernels, such as SquaredExponential()")


_NO_POWER = -1  # in every input: the "multi-index" of the feature that is 1 everywhere


@register_kernel
class WithBias(FreeKernel):
    """K_m + 1 for every even m, with features [ϑ; 1] and weights [τ; 1]. Footnote to the paper's equation 6.

    A machine without a bias learns one with it: g = Σ_j α_j (K₂(a_j, x) + 1), so that b = Σ_j α_j. Re-weighted, the
    constant has the weight b: K^A_m + b². For kernels of a series, whose constant feature is 1 already, it adds 1 to
    τ₀² under a second index; `SquaredExponential` has no constant feature of its own.

    Args:
        base: The free kernel K_m; its tuned parameter stays the one that `select` tunes.

    >>> from tunedprior.kernels import SquaredExponential
    >>> x = torch.tensor([[0.3, -0.2]])
    >>> WithBias(SquaredExponential(0.5)).evaluate_m_kernel(x, x).item()
    2.0
    """

    saved_arguments: ClassVar[Mapping[str, Any]] = {"base": NestedKernel}

    base: FreeKernel

    def __init__(self, base: Kernel) -> None:
        if not isinstance(base, FreeKernel):
            raise InputError(f"WithBias takes a free kernel, one of tunedprior.kernels; got {type(base).__name__}.")
        super().__init__(num_inputs=None if base.active_dims is not None else base.num_inputs)
        self.base = base
        self.bounded_domain, self.open_domain = base.bounded_domain, base.open_domain
        self.tuned_parameter = base.tuned_parameter

    def __getattr__(self, name: str) -> Any:
        """The base's parameters, raw ones and constraints, so that whatever tunes the base can tune this one."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            own = self.__dict__.get("tuned_parameter")
            if own is None or name not in (own, f"raw_{own}", f"raw_{own}_constraint"):
                raise
            return getattr(self.base, name)

    def __setattr__(self, name: str, value: Any) -> None:
        """The tuned parameter is the base's."""
        if name == self.__dict__.get("tuned_parameter"):
            setattr(self.base, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def lengthscale(self) -> Tensor:
        """The base's length-scale."""
        lengthscale: Tensor = self.base.lengthscale
        return lengthscale

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of the base."""
        return torch.Size(self.base.batch_shape)

    def named_sub_kernels(self) -> Iterator[tuple[str, Kernel]]:
        """The base alone, not the kernels inside it: GPyTorch cannot assign to dotted names."""
        yield "base", self.base

    def make_product(self, x: Float[Tensor, "*batch n d"]) -> Arguments:
        """The rows of x as groups of one argument, as the base has them."""
        return self.base.make_product(self.base.select_columns(x))

    def evaluate_matrix(self, left: Arguments, right: Arguments) -> Float[Tensor, "*batch n k"]:
        """1 + Σ_i τ_i² ϑ_i(left row) ϑ_i(right row), for all pairs of rows."""
        return self.base.evaluate_matrix(left, right) + 1

    def list_multi_indices(self, max_degree: int, num_inputs: int | None = None) -> Int[Tensor, "p d"]:
        """Those of the base, and a last row of -1 for the constant."""
        indices = self.base.list_multi_indices(max_degree, num_inputs)
        return torch.cat([indices, torch.full_like(indices[:1], _NO_POWER)])

    def evaluate_features_at(self, product: Any, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch n p"]:
        """ϑ_i of every row, for the given multi-indices; 1 for the constant's."""
        features = self.base.evaluate_features_at(product, indices.clamp(min=0))
        return torch.where(_is_constant(indices).to(features.device), 1.0, features)

    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ at the given multi-indices; 1 for the constant's."""
        weights = self.base.compute_weights_at(indices.clamp(min=0))
        return torch.where(_is_constant(indices).to(weights.device), 1.0, weights)


def _is_constant(indices: Int[Tensor, "p d"]) -> Tensor:
    return (indices == _NO_POWER).all(-1)
