"""BoTorch's pathwise sampling with our kernels: explicit features, with an upper bound on what they miss.

For kernels of the form K(x, x') = ϑ(x)ᵀ S ϑ(x') the features are the rows of S^½ ϑ: nothing about them is random, and
few are needed where old data says that few matter.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
from botorch.sampling.pathwise.features import gen_kernel_features
from botorch.sampling.pathwise.features.generators import GenKernelFeatures
from botorch.sampling.pathwise.features.maps import FeatureMap
from botorch.sampling.pathwise.utils import ChainedTransform, TensorTransform
from gpytorch.kernels import Kernel, RBFKernel
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.beliefs.aligned import Aligned, AlignedFeatures, RhoTimesG
from tunedprior.beliefs.learnt import too_many_features
from tunedprior.beliefs.reweighted import FixedReweighted
from tunedprior.beliefs.sizes import SizesOfCoefficients
from tunedprior.errors import InputError
from tunedprior.integrations.on_settings import LearntSum, OnSettings
from tunedprior.kernels import FreeKernel, Reweighted, SquaredExponential
from tunedprior.kernels.box_means import box_sample
from tunedprior.kernels.features.certificate import OPEN_REACH, has_features, largest_features, missing_in_box
from tunedprior.kernels.features.explicit import Explicit, Features
from tunedprior.kernels.free_kernel import Product
from tunedprior.models.covariances import UnitMeanVariance
from tunedprior.numerics.linalg import symmetric_root

#: The share of the mean variance over the box that explicit features should not miss, and that they must not.
TOLERANCE, WORST = 1e-6, 1e-3
# Upper bounds on features: independent ones, and those whose covariance has to be factorised.
_MOST, _MOST_DEPENDENT = 2**13, 2**10


class ExplicitFeatures(FeatureMap):
    """S^½ ϑ(x), for finitely many features ϑ: a feature map whose inner product is the kernel.

    Args:
        kernel: The kernel.
        free: The free kernel that defines ϑ, its parameters fixed.
        indices: The multi-indices of ϑ, `p x d`.
        root: S^½: its diagonal, `p`, or with a column for each feature of the map, `p x q`.
        missing: Upper bound on the variance that the map misses, on average over the box.
    """

    def __init__(
        self,
        kernel: Kernel,
        free: FreeKernel,
        indices: Int[Tensor, "p d"],
        root: Float[Tensor, "p ..."],
        missing: float,
    ) -> None:
        super().__init__()
        self.kernel, self.missing = kernel, missing
        self.free = deepcopy(free).double().requires_grad_(False)
        self.features = Features(indices, root=root)
        self.num_outputs, self.batch_shape = root.shape[-1], kernel.batch_shape
        self.input_transform = None
        self.output_transform = ChainedTransform()  # of nothing; BoTorch chains an amplitude to it

    def forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n q"]:
        """The features of each row."""
        product = self.free.product(self.free.select_columns(x.double()))
        features, root = self.features.all(product.flatten()).mT, self.features.get_buffer("root")
        weighted: Tensor = features * root if root.ndim == 1 else features @ root
        shaped: Tensor = weighted.unflatten(0, x.shape[:-1]).to(x.dtype)
        return shaped


class SideBySide(FeatureMap):
    """(φ₁(x), φ₂(x), …): the features of a sum of kernels."""

    def __init__(self, kernel: Kernel, maps: Sequence[FeatureMap]) -> None:
        super().__init__()
        self.kernel, self.maps = kernel, torch.nn.ModuleList(maps)
        self.num_outputs, self.batch_shape = sum(one.num_outputs for one in maps), kernel.batch_shape
        self.input_transform = None
        self.output_transform = ChainedTransform()

    def forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n q"]:
        """The features of each row."""
        parts = [one(x) for one in self.maps]
        batch = torch.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return torch.cat([part.expand(*batch, part.shape[-1]) for part in parts], dim=-1)


class _Times(TensorTransform):
    """c·x."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, values: Float[Tensor, "..."], **kwargs: Any) -> Float[Tensor, "..."]:  # noqa: ARG002  # BoTorch's
        return self.factor * values


# -- of each kind of kernel ----------------------------------------------------------------------------


def _of_free_kernel(kernel: FreeKernel, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """φ = τ ⊙ ϑ; random Fourier features for a squared exponential that has too many that matter."""
    found = _Largest(kernel, num_inputs, max(num_outputs, _MOST))
    if found.share <= WORST or not isinstance(kernel, SquaredExponential):
        indices = found.enough()
        return ExplicitFeatures(kernel, kernel, indices, _weights(kernel, indices), found.missing)
    plain = RBFKernel(ard_num_dims=kernel.lengthscale.shape[-1]).to(kernel.lengthscale)
    plain.lengthscale = kernel.lengthscale.detach()
    return gen_kernel_features(plain, num_inputs=num_inputs, num_outputs=num_outputs)


def _of_reweighted(kernel: Reweighted, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """τ_A ⊙ ϑ: the features that old data makes matter."""
    fixed = FixedReweighted(kernel.base, kernel.anchors, kernel.alpha, by_features=True)
    return _of_sizes(fixed, num_inputs=num_inputs, num_outputs=num_outputs)


def _of_sizes(kernel: SizesOfCoefficients, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """√c ⊙ ϑ, where the kernel is Σ_i c_i ϑ_iϑ_i'."""
    if kernel.explicit is None:
        raise InputError(too_many_features(kernel.base, num_inputs, WORST))
    return _of_explicit(kernel.explicit, num_inputs=num_inputs, num_outputs=num_outputs)


def _of_explicit(kernel: Explicit, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """√(c + s τ²) ⊙ ϑ, where the kernel is s K₂ + Σ_i c_i ϑ_iϑ_i'."""
    indices, variances, missing = kernel.features.indices, kernel.coefficients, kernel.missing
    if kernel.remainder:
        found = _Largest(kernel.base, num_inputs, max(num_outputs, _MOST))
        every, place = torch.cat([indices, found.enough()]).unique(dim=0, return_inverse=True)
        variances = variances.new_zeros(len(every)).index_put((place[: len(indices)],), variances)
        variances = variances + kernel.remainder * _weights(kernel.base, every).square()
        indices, missing = every, missing + kernel.remainder * found.missing
    return ExplicitFeatures(kernel, kernel.base, indices, variances.clamp_min(0).sqrt(), missing)


def _of_aligned(kernel: RhoTimesG, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """S^½ φ with S = ŵŵᵀ + s_f² (I - WWᵀ), where ĝ = ŵᵀφ and r = Wᵀφ."""
    free = kernel.base
    found = _Largest(free, num_inputs, max(num_outputs, _MOST_DEPENDENT))
    indices = found.enough()
    if isinstance(kernel, AlignedFeatures):
        indices = torch.cat([kernel.features.indices, indices]).unique(dim=0)
    features = Features(indices)
    tau = _weights(free, features.indices)
    if isinstance(kernel, Aligned):
        at_anchors = tau[:, None] * features.all(kernel.product(kernel.anchors))
        mixing = torch.cat([(at_anchors @ kernel.alpha)[:, None], at_anchors @ kernel.inverse_root.mT], dim=1)
    else:
        assert isinstance(kernel, AlignedFeatures)
        own = (features.indices[:, None] == kernel.features.indices).all(-1).long().argmax(0)
        mixing = kernel.mixing.new_zeros(len(features), kernel.mixing.shape[1])
        mixing[own] = kernel.mixing / tau[own, None]
    mean, known = mixing[:, 0], mixing[:, 1:]
    covariance = torch.outer(mean, mean) + kernel.variance * (torch.eye(len(mean)).to(mean) - known @ known.mT)
    root = tau[:, None] * symmetric_root(covariance)
    return ExplicitFeatures(kernel, free, features.indices, root, float(kernel.variance) * found.missing)


# -- of what they are wrapped in -----------------------------------------------------------------------


def _of_sum(kernel: LearntSum, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    parts = [gen_kernel_features(one, num_inputs=num_inputs, num_outputs=num_outputs) for one in kernel.kernels]
    return SideBySide(kernel, parts)


def _of_unit_mean_variance(kernel: UnitMeanVariance, *, num_inputs: int, num_outputs: int) -> Any:
    found: Any = gen_kernel_features(kernel.base, num_inputs=num_inputs, num_outputs=num_outputs)
    found.output_transform = ChainedTransform(_Times(kernel.mean_variance**-0.5), found.output_transform)
    return found


def _of_settings(kernel: OnSettings, *, num_inputs: int, num_outputs: int) -> Any:  # noqa: ARG001  # the box knows
    found: Any = gen_kernel_features(kernel.base, num_inputs=kernel.inputs.box.num_inputs, num_outputs=num_outputs)
    steps: list[Any] = [kernel.inputs] if found.input_transform is None else [found.input_transform, kernel.inputs]
    found.input_transform = ChainedTransform(*steps)
    return found


class _Largest:
    """The features of the largest mean square over the box, at most so many.

    Attributes:
        missing: Upper bound on the mean variance over the box that they miss.
        share: The same, over the mean variance.
    """

    def __init__(self, kernel: FreeKernel, num_inputs: int, most: int) -> None:
        if not has_features(kernel):
            raise InputError(
                "Paths need explicit features: a kernel of Table 1, DotProduct or DirectProduct, without active_dims "
                f"and batch; got {type(kernel).__name__}."
            )
        self._name = type(kernel).__name__
        with torch.no_grad():
            free = deepcopy(kernel).double()
            reach = OPEN_REACH if free.open_domain else 1.0
            sample = free.product(box_sample(num_inputs, reach))
            self._indices, _ = largest_features(free, sample, most, TOLERANCE)
            if free.log_factors(0) is None:
                self.missing = _missing_at_corner(free, self._indices, reach)
            else:
                self.missing = missing_in_box(free, self._indices, sample)
            self.share = self.missing / float(free.cross(sample.rowwise(sample), sample.empty_product()).mean())

    def enough(self) -> Int[Tensor, "p d"]:
        """Their multi-indices; an `InputError` if they miss too much."""
        if self.share > WORST:
            raise InputError(
                f"Paths need explicit features, and the {len(self._indices):,} largest of {self._name} miss up to "
                f"{self.share:.1%} of the variance. Use a smoother kernel or fewer inputs."
            )
        return self._indices


def _missing_at_corner(kernel: FreeKernel, indices: Int[Tensor, "p d"], reach: float) -> float:
    """K₂(x, x) - Σ_i φ_i(x)² at a corner of the box: the largest it is anywhere, where all ϑ_i(x)² are monomials."""
    corner = kernel.product(torch.full((1, indices.shape[1]), reach, dtype=torch.float64))
    return max(0.0, float(kernel.cross(corner, corner) - _weighted(kernel, indices, corner).square().sum()))


def _weighted(kernel: FreeKernel, indices: Int[Tensor, "p d"], at: Product) -> Float[Tensor, "p n"]:
    """φ_i = τ_i ϑ_i of every row, in sorted order."""
    features = Features(indices)
    return _weights(kernel, features.indices)[:, None] * features.all(at)


def _weights(kernel: FreeKernel, indices: Int[Tensor, "p d"]) -> Float[Tensor, " p"]:
    with torch.no_grad():
        return kernel.weights_at(indices).double()


_GENERATORS: dict[type[Kernel], Callable[..., FeatureMap]] = {
    FreeKernel: _of_free_kernel,
    Reweighted: _of_reweighted,
    SizesOfCoefficients: _of_sizes,
    Explicit: _of_explicit,
    RhoTimesG: _of_aligned,
    UnitMeanVariance: _of_unit_mean_variance,
    OnSettings: _of_settings,
    LearntSum: _of_sum,
}


def register() -> None:
    """Tell BoTorch how to draw paths with our kernels; `tunedprior.integrations.botorch` does so when imported."""
    for kind, generator in _GENERATORS.items():
        GenKernelFeatures.register(kind)(generator)
