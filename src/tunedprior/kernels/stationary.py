"""A free kernel without an origin: its features are places, ϑ_ω(x) = exp(-‖x - ω‖²/ℓ²), instead of monomials."""

from math import log, pi, sqrt

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.kernels.free_kernel import Cluster, LengthscaleKernel
from tunedprior.kernels.registry import register_kernel

#: The distance of neighbouring places, in length-scales. A sum over them differs from the integral by a factor of
#: 1 ± 2e^{-π²/(m·0.09)} for each input: 2e-24, 2e-12 and 2e-8 for m = 2, 4 and 6.
SPACING = 0.3
# log τ² of each input: c₁ times the distance of neighbouring places, where c₁ = √(2/π)/ℓ.
_LOG_SQUARED_WEIGHT = log(sqrt(2 / pi) * SPACING)


@register_kernel
class StationarySquaredExponential(LengthscaleKernel):
    """K_m(x₁, …, x_m) = (2/m)^{n/2} exp(-Σ_k ‖(x_k - x̄)/ℓ‖²), where x̄ is the mean of the m arguments.

    Its features are places ω in ℝⁿ, ϑ_ω(x) = exp(-‖(x - ω)/ℓ‖²), all of the same weight τ² = c = Π_d √(2/π)/ℓ_d:

        K_m(x₁, …, x_m) = c ∫ ϑ_ω(x₁)⋯ϑ_ω(x_m) dω,    as    Σ_k ‖x_k - ω‖² = m ‖ω - x̄‖² + Σ_k ‖x_k - x̄‖².

    K₂ is that of `SquaredExponential`, exp(-½ Σ_d (x_d - x'_d)²/ℓ_d²). For every m the kernel is invariant to a common
    shift of all arguments; re-weighted, it varies at the places where the old response did, s(ω) = Σ_j α_j ϑ_ω(a_j).

    Where features are counted, the integral is a sum over a grid of places, `SPACING` length-scales apart, which is a
    free kernel itself and the same up to rounding. Multi-index i stands for the place with ω_d = 0, -1, 1, -2, 2, …
    times that distance, for i_d = 0, 1, 2, 3, 4, ….

    Args:
        lengthscale: ℓ, one number for all inputs or one for each (ARD); learnable.
        **kernel_options: As for `FreeKernel`, and GPyTorch's `lengthscale_prior` and `lengthscale_constraint`.

    >>> x = torch.tensor([[0.1, 0.2], [0.3, -0.2]])
    >>> kernel = StationarySquaredExponential(0.5)
    >>> bool(torch.allclose(kernel.evaluate_m_kernel(x, x, x, x), kernel.evaluate_m_kernel(*[x + 7.0] * 4)))
    True
    """

    features_are_places = True

    def make_unchecked_product(self, x: Float[Tensor, "*batch n d"]) -> Cluster:
        """The rows of x as clusters of one argument, wherever they lie."""
        nu = self.inverse_square_lengthscale
        return Cluster(x, torch.zeros_like((x * nu)[..., 0]), nu)

    def evaluate_matrix(self, left: Cluster, right: Cluster) -> Float[Tensor, "*batch n k"]:
        """(2/m)^{n/2} exp(-scatter of both) for all pairs of rows, where m counts the arguments of both."""
        count, (n, nu) = left.count + right.count, (left.points.shape[-1], self.inverse_square_lengthscale)
        exponent = left.log_envelope[..., :, None] + right.log_envelope[..., None, :]
        if left.count and right.count:
            # Squared distances from centred points: the digits that cancel are those of the box, not of its place.
            centre, root = right.points.detach().mean(-2, keepdim=True), nu.sqrt()
            first, second = (left.points - centre) * root, (right.points - centre) * root
            apart = first.square().sum(-1)[..., :, None] + second.square().sum(-1)[..., None, :]
            apart = (apart - 2 * first @ second.mT).clamp_min(0)
            exponent = exponent - left.count * right.count / count * apart
        return torch.exp(exponent + n / 2 * log(2 / count))

    # -- features: places on a grid ------------------------------------------------------------------

    def compute_weights_at(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p"]:
        """τ, the same at all places."""
        like: Tensor = self.lengthscale[..., 0, :1]
        return (
            torch.full_like(like, indices.shape[-1] / 2 * _LOG_SQUARED_WEIGHT)
            .exp()
            .expand(*like.shape[:-1], len(indices))
        )

    def evaluate_features_at(self, product: Cluster, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch n p"]:
        """ϑ_ω of every cluster, the product over its arguments, for the places with these multi-indices."""
        apart = product.points[..., :, None, :] - self.locate(indices)[..., None, :, :]
        scatter = product.count * (apart.square() * self.inverse_square_lengthscale[..., None, :]).sum(-1)
        return torch.exp(product.log_envelope[..., None] - scatter)

    def locate(self, indices: Int[Tensor, "p d"]) -> Float[Tensor, "*batch p d"]:
        """ω, the places with these multi-indices."""
        lengthscale: Tensor = self.lengthscale
        return SPACING * lengthscale * compute_offsets(indices).to(lengthscale)

    def evaluate_input_log_features(self, points: Float[Tensor, "n d"], highest: int) -> Float[Tensor, "n d q"]:
        """log ϑ_k(x_d) = -(x_d - ω_k)²/ℓ_d², input by input, for k ≤ highest."""
        places = self._list_input_places(highest, points.shape[-1])
        return -((points[..., None] - places).square() * self.inverse_square_lengthscale[0, :, None])

    def compute_log_factors(self, highest: int) -> Float[Tensor, "1 q"]:
        """F with log τ_i² = Σ_d F[d, i_d], for places up to number `highest`; the row holds for all inputs."""
        return torch.full((1, highest + 1), _LOG_SQUARED_WEIGHT).to(self.lengthscale)

    def compute_log_mean_squares(self, highest: int, far: Float[Tensor, " d"]) -> Float[Tensor, "d q"]:
        """log of the mean of ϑ_k(x_d)² over |x_d| ≤ far_d, for each input d and place k ≤ highest."""
        # ∫ e^{-2(t - ω)²/ℓ²} dt is an error function; on the left of every place, where its tails do not cancel.
        places, root = self._list_input_places(highest, len(far)).abs(), (2 * self.inverse_square_lengthscale[0]).sqrt()
        near, further = root[:, None] * (places - far[:, None]), root[:, None] * (places + far[:, None])
        # erfc(near) - erfc(further) = e^{-near²} (erfcx(near) - e^{near² - further²} erfcx(further)), near ≤ further.
        scaled = torch.special.erfcx(near.clamp(min=0)) - (near.clamp(min=0).square() - further.square()).exp() * (
            torch.special.erfcx(further)
        )
        outside = scaled.clamp_min(torch.finfo(scaled.dtype).tiny).log() - near.clamp(min=0).square()
        inside = (torch.erf(further) - torch.erf(near)).clamp_min(torch.finfo(scaled.dtype).tiny).log()
        return torch.where(near > 0, outside, inside) + log(sqrt(pi) / 2) - (2 * far * root).log()[:, None]

    def compute_log_peaks(self, highest: int, far: Float[Tensor, " d"]) -> Float[Tensor, "d q"]:
        """max log ϑ_k(x_d) over |x_d| ≤ far_d, for each input d and place k ≤ highest."""
        beyond = (self._list_input_places(highest, len(far)).abs() - far[:, None]).clamp_min(0)
        return -(beyond.square() * self.inverse_square_lengthscale[0, :, None])

    def _list_input_places(self, highest: int, num_inputs: int) -> Float[Tensor, "d q"]:
        lengthscale: Tensor = self.lengthscale[0, :, None].expand(-1, highest + 1)
        offsets = compute_offsets(torch.arange(highest + 1)).to(lengthscale)
        return (SPACING * lengthscale * offsets).expand(num_inputs, -1)


def compute_offsets(numbers: Int[Tensor, "..."]) -> Int[Tensor, "..."]:
    """0, -1, 1, -2, 2, … for 0, 1, 2, 3, 4, …."""
    half = (numbers + 1).div(2, rounding_mode="floor")
    return torch.where(numbers % 2 == 1, -half, half)
