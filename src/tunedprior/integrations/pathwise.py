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

from tunedprior.beliefs.aligned import AlignedFeatureKernel, AlignedKernel, AlignedKernelBase
from tunedprior.beliefs.feature_variances import CoefficientVarianceKernel, describe_too_many_features
from tunedprior.beliefs.reweighted import FixedReweightedKernel
from tunedprior.errors import InputError
from tunedprior.integrations.tensors import SettingKernel, SourceKernelSum
from tunedprior.kernels import FreeKernel, ReweightedKernel
from tunedprior.kernels.anchors import draw_box_sample
from tunedprior.kernels.explicit_features import (
    OPEN_REACH,
    FeatureKernel,
    bound_missing_variance,
    has_features,
    make_features,
    select_largest_features,
)
from tunedprior.kernels.free_kernel import LengthscaleKernel
from tunedprior.models.gaussian_process import UnitMeanVariance
from tunedprior.numerics.linalg import compute_symmetric_root

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
        self.features = make_features(free, indices, root=root)
        self.num_outputs, self.batch_shape = root.shape[-1], kernel.batch_shape
        self.input_transform = None
        self.output_transform = ChainedTransform()  # of nothing; BoTorch chains an amplitude to it

    def forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n q"]:
        """Return the features of each row."""
        product = self.free.make_product(self.free.select_columns(x.double()))
        features, root = self.features.evaluate_all(product.flatten()).mT, self.features.get_buffer("root")
        weighted: Tensor = features * root if root.ndim == 1 else features @ root
        shaped: Tensor = weighted.unflatten(0, x.shape[:-1]).to(x.dtype)
        return shaped


class ConcatenatedFeatures(FeatureMap):
    """(φ₁(x), φ₂(x), …): the features of a sum of kernels."""

    def __init__(self, kernel: Kernel, maps: Sequence[FeatureMap]) -> None:
        super().__init__()
        self.kernel, self.maps = kernel, torch.nn.ModuleList(maps)
        self.num_outputs, self.batch_shape = sum(one.num_outputs for one in maps), kernel.batch_shape
        self.input_transform = None
        self.output_transform = ChainedTransform()

    def forward(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch2 n q"]:
        """Return the features of each row."""
        parts = [one(x) for one in self.maps]
        batch = torch.broadcast_shapes(*(part.shape[:-1] for part in parts))
        return torch.cat([part.expand(*batch, part.shape[-1]) for part in parts], dim=-1)


class _ScaleTransform(TensorTransform):
    """c·x."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, values: Float[Tensor, "..."], **kwargs: Any) -> Float[Tensor, "..."]:  # noqa: ARG002  # BoTorch's
        return self.factor * values


# -- of each kind of kernel ----------------------------------------------------------------------------


def _make_free_kernel_features(kernel: FreeKernel, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """φ = τ ⊙ ϑ; random Fourier features for a squared exponential that has too many that matter."""
    found = _LargestFeatures(kernel, num_inputs, max(num_outputs, _MOST))
    if found.share <= WORST or not isinstance(kernel, LengthscaleKernel):
        indices = found.get_checked_indices()
        return ExplicitFeatures(kernel, kernel, indices, _compute_weights(kernel, indices), found.missing)
    plain = RBFKernel(ard_num_dims=kernel.lengthscale.shape[-1]).to(kernel.lengthscale)
    plain.lengthscale = kernel.lengthscale.detach()
    return gen_kernel_features(plain, num_inputs=num_inputs, num_outputs=num_outputs)


def _make_reweighted_features(kernel: ReweightedKernel, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """τ_A ⊙ ϑ: the features that old data makes matter."""
    fixed = FixedReweightedKernel(kernel.base, kernel.anchors, kernel.alpha, by_features=True)
    return _make_coefficient_features(fixed, num_inputs=num_inputs, num_outputs=num_outputs)


def _make_coefficient_features(kernel: CoefficientVarianceKernel, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """√c ⊙ ϑ, where the kernel is Σ_i c_i ϑ_iϑ_i'."""
    if kernel.explicit is None:
        raise InputError(describe_too_many_features(kernel.base, num_inputs, WORST))
    return _make_explicit_features(kernel.explicit, num_inputs=num_inputs, num_outputs=num_outputs)


def _make_explicit_features(kernel: FeatureKernel, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """√(c + s τ²) ⊙ ϑ, where the kernel is s K₂ + Σ_i c_i ϑ_iϑ_i'."""
    indices, variances, missing = kernel.features.indices, kernel.coefficients, kernel.missing
    if kernel.remainder:
        found = _LargestFeatures(kernel.base, num_inputs, max(num_outputs, _MOST))
        every, place = torch.cat([indices, found.get_checked_indices()]).unique(dim=0, return_inverse=True)
        variances = variances.new_zeros(len(every)).index_put((place[: len(indices)],), variances)
        variances = variances + kernel.remainder * _compute_weights(kernel.base, every).square()
        indices, missing = every, missing + kernel.remainder * found.missing
    return ExplicitFeatures(kernel, kernel.base, indices, variances.clamp_min(0).sqrt(), missing)


def _make_aligned_features(kernel: AlignedKernelBase, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    """S^½ φ with S = ŵŵᵀ + s_f² (I - WWᵀ), where ĝ = ŵᵀφ and r = Wᵀφ."""
    free = kernel.base
    found = _LargestFeatures(free, num_inputs, max(num_outputs, _MOST_DEPENDENT))
    indices = found.get_checked_indices()
    if isinstance(kernel, AlignedFeatureKernel):
        indices = torch.cat([kernel.features.indices, indices]).unique(dim=0)
    features = make_features(free, indices)
    tau = _compute_weights(free, features.indices)
    if isinstance(kernel, AlignedKernel):
        at_anchors = tau[:, None] * features.evaluate_all(kernel.make_product(kernel.anchors))
        mixing = torch.cat([(at_anchors @ kernel.alpha)[:, None], at_anchors @ kernel.inverse_root.mT], dim=1)
    else:
        assert isinstance(kernel, AlignedFeatureKernel)
        own = (features.indices[:, None] == kernel.features.indices).all(-1).long().argmax(0)
        mixing = kernel.mixing.new_zeros(len(features), kernel.mixing.shape[1])
        mixing[own] = kernel.mixing / tau[own, None]
    mean, known = mixing[:, 0], mixing[:, 1:]
    covariance = torch.outer(mean, mean) + kernel.variance * (torch.eye(len(mean)).to(mean) - known @ known.mT)
    root = tau[:, None] * compute_symmetric_root(covariance)
    return ExplicitFeatures(kernel, free, features.indices, root, float(kernel.variance) * found.missing)


# -- of what they are wrapped in -----------------------------------------------------------------------


def _make_sum_features(kernel: SourceKernelSum, *, num_inputs: int, num_outputs: int) -> FeatureMap:
    parts = [gen_kernel_features(one, num_inputs=num_inputs, num_outputs=num_outputs) for one in kernel.kernels]
    return ConcatenatedFeatures(kernel, parts)


def _make_unit_variance_features(kernel: UnitMeanVariance, *, num_inputs: int, num_outputs: int) -> Any:
    found: Any = gen_kernel_features(kernel.base, num_inputs=num_inputs, num_outputs=num_outputs)
    found.output_transform = ChainedTransform(_ScaleTransform(kernel.mean_variance**-0.5), found.output_transform)
    return found


def _make_setting_features(kernel: SettingKernel, *, num_inputs: int, num_outputs: int) -> Any:  # noqa: ARG001  # the box knows
    found: Any = gen_kernel_features(kernel.base, num_inputs=kernel.inputs.box.num_inputs, num_outputs=num_outputs)
    steps: list[Any] = [kernel.inputs] if found.input_transform is None else [found.input_transform, kernel.inputs]
    found.input_transform = ChainedTransform(*steps)
    return found


class _LargestFeatures:
    """The features of the largest mean square over the box, at most so many.

    Attributes:
        missing: Upper bound on the mean variance over the box that they miss.
        share: The same, over the mean variance.
    """

    def __init__(self, kernel: FreeKernel, num_inputs: int, most: int) -> None:
        if not has_features(kernel):
            raise InputError(
                "Paths need explicit features: a kernel of tunedprior.kernels without a bias, without active_dims "
                f"and batch; got {type(kernel).__name__}."
            )
        self._name = type(kernel).__name__
        with torch.no_grad():
            free = deepcopy(kernel).double()
            reach = OPEN_REACH if free.open_domain else 1.0
            sample = free.make_product(draw_box_sample(num_inputs, reach))
            self._indices, _ = select_largest_features(free, sample, most, TOLERANCE)
            if free.compute_log_factors(0) is None:
                self.missing = _bound_missing_variance(free, self._indices, reach)
            else:
                self.missing = bound_missing_variance(free, self._indices, sample)
            self.share = self.missing / float(
                free.evaluate_matrix(sample.multiply_rows(sample), sample.make_empty_product()).mean()
            )

    def get_checked_indices(self) -> Int[Tensor, "p d"]:
        """Their multi-indices; an `InputError` if they miss too much."""
        if self.share > WORST:
            raise InputError(
                f"Paths need explicit features, and the {len(self._indices):,} largest of {self._name} miss up to "
                f"{self.share:.1%} of the variance. Use a smoother kernel or fewer inputs."
            )
        return self._indices


def _bound_missing_variance(kernel: FreeKernel, indices: Int[Tensor, "p d"], reach: float) -> float:
    """K₂(x, x) - Σ_i φ_i(x)² at a corner of the box: the largest it is anywhere, where all ϑ_i(x)² are monomials."""
    corner = kernel.make_product(torch.full((1, indices.shape[1]), reach, dtype=torch.float64))
    features = make_features(kernel, indices)
    phi = _compute_weights(kernel, features.indices)[:, None] * features.evaluate_all(corner)
    return max(0.0, float(kernel.evaluate_matrix(corner, corner) - phi.square().sum()))


def _compute_weights(kernel: FreeKernel, indices: Int[Tensor, "p d"]) -> Float[Tensor, " p"]:
    with torch.no_grad():
        return kernel.compute_weights_at(indices).double()


_GENERATORS: dict[type[Kernel], Callable[..., FeatureMap]] = {
    FreeKernel: _make_free_kernel_features,
    ReweightedKernel: _make_reweighted_features,
    CoefficientVarianceKernel: _make_coefficient_features,
    FeatureKernel: _make_explicit_features,
    AlignedKernelBase: _make_aligned_features,
    UnitMeanVariance: _make_unit_variance_features,
    SettingKernel: _make_setting_features,
    SourceKernelSum: _make_sum_features,
}
for _kind, _generator in _GENERATORS.items():  # BoTorch's path sampling knows our kernels by this
    GenKernelFeatures.register(_kind)(_generator)
