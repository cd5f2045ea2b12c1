"""BoTorch's paths with our kernels: draws have the moments of the posterior, and features add up to the kernel."""

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from botorch.sampling.pathwise import draw_kernel_feature_paths, draw_matheron_paths, get_matheron_path_model
from botorch.sampling.pathwise.features import gen_kernel_features
from gpytorch.kernels import Kernel, ScaleKernel

from support.builders import rows_of_ripple, vector
from support.cases import CASES, IDS, Case, number, table
from support.tensors import BOUNDS, TEST, X, Y, gp
from tunedprior.beliefs import AlignedKernel, FixedReweightedKernel, MatchedKernel, UncertainKernel, get_belief
from tunedprior.errors import InputError
from tunedprior.integrations.pathwise import ExplicitFeatures
from tunedprior.kernels import LogRatio, ReweightedKernel, SquaredExponential, WithBias
from tunedprior.kernels.anchors import draw_box_sample
from tunedprior.machines import LeastSquares
from tunedprior.machines.feature_ridge import FeatureFit, FeatureMap

POINTS = table(9, 2, seed=7)
ANCHORS, ALPHA, LAM = table(12, 2, seed=5), table(12, seed=6), 0.1


def feature_fit() -> FeatureFit:
    kernel = SquaredExponential(vector([0.9, 1.2])).requires_grad_(False)
    points, y = rows_of_ripple(60)
    return FeatureFit.fit_by_evidence(FeatureMap.from_largest_features(kernel, points, 256), points, y)


def learnt() -> dict[str, Kernel]:
    base = SquaredExponential(vector([0.9, 1.2]))
    trained = LeastSquares(LAM).fit(base, *rows_of_ripple(12))
    return {
        "theorem": ReweightedKernel(base, ANCHORS, trained.alpha),
        "reweighted": FixedReweightedKernel(base, ANCHORS, trained.alpha),
        "matched": MatchedKernel(base, ANCHORS, trained.alpha),
        "uncertain": UncertainKernel(base, trained.anchors, trained.alpha, LAM),
        "aligned": AlignedKernel(base, trained.anchors, trained.alpha, LAM),
        "aligned, of anchors": AlignedKernel(base, trained.anchors, trained.alpha, LAM, by_features=False),
        **{
            f"{name}, of features": get_belief(name).make_kernel(feature_fit())
            for name in ("reweighted", "aligned", "uncertain")
        },
    }


def assert_features_make_up(kernel: Kernel) -> None:
    features = gen_kernel_features(kernel, num_inputs=2, num_outputs=1024)
    assert isinstance(features, ExplicitFeatures)
    values = features(POINTS)
    assert values.shape == (9, features.num_outputs)
    expected = kernel(POINTS).to_dense().detach()
    torch.testing.assert_close(values @ values.mT, expected, rtol=2e-3, atol=2e-3 * expected.abs().max().item())
    # What is missing, on average over the box, is no more than the certificate says (and what rounding adds).
    sample = draw_box_sample(2, 0.95 if getattr(kernel, "open_domain", False) else 1.0)
    with torch.no_grad():
        variance = kernel(sample, diag=True)
        left = variance - features(sample).square().sum(-1)
    assert left.mean().item() <= features.missing + 1e-5 * variance.mean().item()
    assert features.missing <= 5e-3 * variance.mean().item() + 1e-9


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_free_kernels_have_explicit_features(case: Case) -> None:
    assert_features_make_up(case.make())


@pytest.mark.parametrize("name", list(learnt()))
def test_learnt_kernels_have_explicit_features(name: str) -> None:
    assert_features_make_up(learnt()[name])


def test_gradients_reach_the_points() -> None:
    features = gen_kernel_features(learnt()["aligned"], num_inputs=2, num_outputs=1024)
    assert torch.autograd.gradcheck(lambda x: features(x).sum(-1), (POINTS[:2].clone().requires_grad_(),))


@pytest.mark.parametrize("lengthscale", [0.03, 0.01], ids=["whose τ² overflows", "whose τ overflows"])
def test_short_lengthscales_have_random_features_instead(lengthscale: float) -> None:
    kernel, points = SquaredExponential(number(lengthscale)), 0.05 * POINTS[:, :1]
    torch.manual_seed(0)
    features = gen_kernel_features(kernel, num_inputs=1, num_outputs=4096)
    assert not isinstance(features, ExplicitFeatures)
    values = features(points)
    torch.testing.assert_close(values @ values.mT, kernel(points).to_dense().detach(), rtol=0, atol=0.1)


def test_what_has_no_features_is_refused() -> None:
    with pytest.raises(InputError, match="explicit features"):
        gen_kernel_features(WithBias(SquaredExponential(1.0)), num_inputs=2, num_outputs=64)
    with pytest.raises(InputError, match="miss up to"):
        gen_kernel_features(LogRatio().double(), num_inputs=5, num_outputs=64)
    kernel = FixedReweightedKernel(SquaredExponential(vector([0.9, 1.2])), ANCHORS, ALPHA, by_features=False)
    with pytest.raises(InputError, match="explicit features"):
        gen_kernel_features(kernel, num_inputs=2, num_outputs=64)


# -- paths of models -----------------------------------------------------------------------------------


def assert_moments(found: torch.Tensor, posterior, in_spread: float, in_variance: float) -> None:
    spread = posterior.variance.squeeze(-1).sqrt()
    assert ((found.mean(0) - posterior.mean.squeeze(-1)) / spread).abs().max().item() < in_spread
    assert (found.var(0) / spread.square() - 1).abs().max().item() < in_variance


@pytest.mark.parametrize("transform", [None, Normalize(2, bounds=BOUNDS)], ids=["plain", "normalised"])
@pytest.mark.parametrize("prior", ["reweighted", "aligned", "uncertain"])
def test_paths_have_the_moments_of_the_posterior(prior: str, transform) -> None:
    process = gp(prior=prior, remainder=False, input_transform=transform)
    torch.manual_seed(0)
    with torch.no_grad():
        draws = draw_matheron_paths(process, torch.Size([8192]))(TEST)
        assert_moments(draws, process.posterior(TEST), in_spread=0.05, in_variance=0.08)


def test_paths_of_a_sum_have_them_too() -> None:
    """The remainder has random Fourier features, whose variances are right on average alone."""
    process = gp()
    torch.manual_seed(0)
    with torch.no_grad():
        draws = draw_matheron_paths(process, torch.Size([8192]))(TEST)
        assert_moments(draws, process.posterior(TEST), in_spread=0.05, in_variance=0.2)


def test_paths_before_observations_have_the_moments_of_the_prior() -> None:
    process = gp(prior="aligned", remainder=False)
    torch.manual_seed(0)
    with torch.no_grad():
        draws = draw_kernel_feature_paths(process, torch.Size([8192]))(TEST)
        process.train()
        scale = process.outcome_transform.stdvs.item()
        variance = scale**2 * process.covar_module(TEST, diag=True)
    assert (draws.var(0) / variance - 1).abs().max().item() < 0.08


def test_one_path_is_a_gp() -> None:
    path = get_matheron_path_model(gp(remainder=False))
    torch.manual_seed(0)
    values = path.posterior(TEST).mean
    assert values.shape == (40, 1)
    assert torch.equal(values, path.posterior(TEST).mean)
    assert (path.posterior(X).mean - Y).detach().abs().max().item() < 3.0


def test_a_kernel_of_ours_in_a_process_of_theirs_has_paths() -> None:
    x, y = rows_of_ripple(8)
    process = SingleTaskGP(x, y[:, None], covar_module=ScaleKernel(SquaredExponential(vector([0.9, 1.2]))).double())
    process.likelihood.noise = 0.01
    process.eval()
    torch.manual_seed(0)
    with torch.no_grad():
        draws = draw_matheron_paths(process, torch.Size([8192]))(POINTS)
        assert_moments(draws, process.posterior(POINTS), in_spread=0.05, in_variance=0.08)
