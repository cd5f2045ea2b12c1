"""Algorithm 1 to the letter: what is done to old data (nothing), and the process that it ends in."""

import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from support import reference
from support.builders import PLANT, plant_data
from tunedprior import Optimizer, TransferConfig, pretrain
from tunedprior.errors import InputError, JitterWarning, OldDataWarning
from tunedprior.goals.observations import Observations
from tunedprior.kernels import SquaredExponential, WithBias
from tunedprior.machines import LeastSquares, SupportVectorClassifier, select
from tunedprior.models.posterior import condition_on_pending
from tunedprior.weight_prior import TunedPrior


@pytest.fixture
def old() -> pd.DataFrame:
    table = plant_data(15)
    return table.assign(y=(table["y"] - table["y"].min()) / np.ptp(table["y"]))


def test_responses_are_taken_as_they_are_and_lambda_has_no_floor(old: pd.DataFrame) -> None:
    prior = pretrain(old, PLANT, as_printed=True)
    assert (prior.response_shift, prior.response_scale) == (0.0, 1.0)
    points = prior.to_kernel_inputs(prior.box.encode(old[["a", "b"]]))
    alpha = LeastSquares(prior.lam).fit(prior.base, points, old["y"].to_numpy())
    order = [int((prior.anchors - point).abs().sum(1).argmin()) for point in points]
    torch.testing.assert_close(prior.alpha[order], alpha.alpha)
    # An exact response: nothing keeps λ from falling far below the default's floor.
    assert prior.lam < 1e-3 < 0.01 <= pretrain(old, PLANT).lam
    assert pretrain(old, PLANT, as_printed=True, lam_bounds=(0.5, 1.0)).lam >= 0.5


def test_without_centring_the_mean_stays(old: pd.DataFrame) -> None:
    kept, taken = pretrain(old, PLANT, centred=False), pretrain(old, PLANT)
    assert kept.response_shift == 0.0
    assert kept.response_scale == taken.response_scale == pytest.approx(old["y"].std(ddof=0))
    points = kept.to_kernel_inputs(kept.box.encode(old[["a", "b"]]))
    direct = select(
        LeastSquares(1.0), SquaredExponential(), points, old["y"] / kept.response_scale, lam_bounds=(0.01, 10.0)
    )
    assert kept.error == pytest.approx(direct.error, rel=1e-3)
    assert taken.response_shift == pytest.approx(old["y"].mean())


def test_labels_train_the_printed_dual(old: pd.DataFrame) -> None:
    labelled = old.assign(y=np.where(old["y"] > old["y"].median(), 1, -1))
    prior = pretrain(labelled, PLANT, as_printed=True)
    points = prior.to_kernel_inputs(prior.box.encode(old[["a", "b"]]))
    fit = SupportVectorClassifier(prior.lam, bias=False).fit(prior.base, points, labelled["y"].to_numpy())
    order = [int((prior.anchors - point).abs().sum(1).argmin()) for point in points]
    torch.testing.assert_close(prior.alpha[order], fit.alpha, rtol=1e-5, atol=1e-7)
    assert prior.machine == "SupportVectorClassifier"


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_the_posterior_is_that_of_a_zero_mean_and_the_kernel_as_it_is(old: pd.DataFrame, direction: str) -> None:
    """m_f = k(x)ᵀ(K + σ²I)⁻¹y and Σ_f of the paper, by loops over the sum of K₄ and NumPy, in the response's units."""
    opt = Optimizer(
        PLANT, old, direction=direction, noise_std=0.05, transfer=TransferConfig(prior="as printed"), seed=0
    )
    prior, rng = opt.surrogate.prior, np.random.default_rng(0)
    assert opt.surrogate.as_printed
    settings = [{"a": a, "b": b} for a, b in zip(rng.uniform(0, 10, 5), rng.uniform(0, 1, 5), strict=True)]
    y = rng.uniform(0.2, 0.9, 5)
    sign = 1 if direction == "maximize" else -1
    X = prior.box.encode(settings)
    shift, scale = 0.4, 0.3  # whatever the observations were standardised with
    told = Observations(X, torch.as_tensor((sign * y - shift) / scale)[:, None], 0.05 / scale, shift, scale)
    model = opt.surrogate(told)

    scales = [prior.base.lengthscale.item()] * 2
    anchors, alpha = prior.anchors.tolist(), prior.alpha.tolist()

    def kernel(x: list[float], z: list[float]) -> float:
        loop = lambda points: reference.squared_exponential(points, scales)  # noqa: E731
        return complex(reference.reweighted(loop, [x, z], anchors, alpha)).real

    inputs, new = prior.to_kernel_inputs(X).tolist(), [[0.3, -0.2], [-0.8, 0.9]]
    gram = np.array([[kernel(x, z) for z in inputs] for x in inputs]) + 0.05**2 * np.eye(5)
    cross = np.array([[kernel(x, z) for z in inputs] for x in new])
    mean = cross @ np.linalg.solve(gram, sign * y)
    variance = [kernel(x, x) for x in new] - np.einsum("ij,ji->i", cross, np.linalg.solve(gram, cross.T))
    at = prior.box.encode([{"a": 5 * (1 + a), "b": (1 + b) / 2} for a, b in new])
    posterior = model.posterior(at)
    assert (shift + scale * posterior.mean[:, 0]).tolist() == pytest.approx(mean.tolist(), rel=1e-4, abs=1e-5)
    assert (scale**2 * posterior.variance[:, 0]).tolist() == pytest.approx(variance.tolist(), rel=1e-3, abs=1e-5)


def _told(surrogate: TunedPrior, noise_std: float) -> tuple[Observations, torch.Tensor]:
    """Two settings that are all but the same with results that differ, and one far away; and their kernel inputs."""
    settings = [{"a": 3.0, "b": 0.4}, {"a": 3.01, "b": 0.4}, {"a": 8.0, "b": 0.9}]
    X = surrogate.box.encode(settings)
    y = torch.tensor([[0.50], [0.52], [0.1]], dtype=torch.float64)
    return Observations(X, (y - 0.4) / 0.2, noise_std / 0.2, 0.4, 0.2), surrogate.prior.to_kernel_inputs(X)


@pytest.mark.parametrize("noise_std", [1e-4, 1e-5])
def test_known_noise_is_taken_as_it_is_however_small(old: pd.DataFrame, noise_std: float) -> None:
    surrogate = Optimizer(
        PLANT, old, direction="maximize", noise_std=noise_std, transfer=TransferConfig(prior="as printed"), seed=0
    ).surrogate
    told, inputs = _told(surrogate, noise_std)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = surrogate(told)
        pending = surrogate.box.encode([{"a": 5.0, "b": 0.1}])
        conditioned, expected = condition_on_pending(model, surrogate, told, pending)
    kernel = surrogate.prior.make_kernel()
    gram = kernel(inputs).to_dense().numpy()
    y = 0.4 + 0.2 * told.y[:, 0].numpy()
    at = surrogate.box.encode([{"a": 3.2, "b": 0.4}, {"a": 5.0, "b": 0.1}])
    cross = kernel(surrogate.prior.to_kernel_inputs(at), inputs).to_dense().numpy()
    mean, raised = (
        cross @ np.linalg.solve(gram + variance * np.eye(3), y) for variance in (noise_std**2, 2e-6 * 0.2**2)
    )
    assert abs(mean[0] - raised[0]) > 0.01  # what the floor changed
    assert (0.4 + 0.2 * model.posterior(at).mean[:, 0]).tolist() == pytest.approx(mean.tolist(), rel=1e-4)
    # A pending setting is believed to give what is expected, so nothing else changes.
    assert (0.4 + 0.2 * expected).tolist() == pytest.approx([mean[1]], rel=1e-4)
    assert (0.4 + 0.2 * conditioned.posterior(at).mean[:, 0]).tolist() == pytest.approx(mean.tolist(), rel=1e-3)
    assert conditioned.likelihood.noise.tolist() == pytest.approx([(noise_std / 0.2) ** 2] * 4)


def test_where_no_noise_cannot_be_the_jitter_is_said(old: pd.DataFrame) -> None:
    surrogate = Optimizer(
        PLANT, old, direction="maximize", noise_std=0.0, transfer=TransferConfig(prior="as printed"), seed=0
    ).surrogate
    X = surrogate.box.encode([{"a": 3.0, "b": 0.4}] * 3)
    with pytest.warns(JitterWarning, match="of the mean diagonal as jitter"):
        model = surrogate(Observations(X, torch.tensor([[0.1], [0.2], [0.3]]).double(), 0.0))
    assert 0 < model.likelihood.noise.max() < 1e-6 * model.covar_module(X).to_dense().mean()
    assert torch.isfinite(model.posterior(X).mean).all()


@pytest.mark.parametrize("prior", ["reweighted", "average"])
def test_elsewhere_it_is_said_that_little_noise_counts_as_more(old: pd.DataFrame, prior: str) -> None:
    opt = Optimizer(PLANT, old, direction="maximize", noise_std=1e-5, seed=0, transfer=TransferConfig(prior=prior))
    told, _ = _told(
        Optimizer(PLANT, old, direction="maximize", transfer=TransferConfig(prior="as printed"), seed=0).surrogate, 1e-5
    )
    with pytest.warns(JitterWarning, match=r"less than 0\.14 % of the standard deviation .* counts as that much"):
        opt.surrogate(told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opt.surrogate(
            _told(
                Optimizer(
                    PLANT, old, direction="maximize", transfer=TransferConfig(prior="as printed"), seed=0
                ).surrogate,
                0.01,
            )[0]
        )
        opt.surrogate(
            _told(
                Optimizer(
                    PLANT, old, direction="maximize", transfer=TransferConfig(prior="as printed"), seed=0
                ).surrogate,
                0.0,
            )[0]
        )


def test_only_the_noise_is_fitted(old: pd.DataFrame) -> None:
    surrogate = Optimizer(
        PLANT, old, direction="maximize", transfer=TransferConfig(prior="as printed"), seed=0
    ).surrogate
    X = surrogate.box.encode(old[["a", "b"]])
    y = torch.tensor(old["y"].tolist(), dtype=torch.float64)[:, None]
    model = surrogate(Observations(X, (y - 0.5) / 0.2, None, 0.5, 0.2))
    learnable = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    assert learnable == ["likelihood.noise_covar.raw_noise"]
    assert model.mean_module.constant.item() == pytest.approx(-2.5)
    assert (0.5 + 0.2 * model.posterior(X).mean - y).abs().max() < 0.05


def test_what_cannot_be_meant_is_said(old: pd.DataFrame) -> None:
    with pytest.warns(OldDataWarning, match=r"the paper's lie in \[0, 1\]; the largest old one here is 1e\+03 in size"):
        pretrain(old.assign(y=1e3 * old["y"]), PLANT, as_printed=True)
    with pytest.raises(InputError, match=r"Learn it with pretrain\(…, as_printed=True\)"):
        TunedPrior(pretrain(old, PLANT), as_printed=True)
    with pytest.warns(OldDataWarning, match="Going on without old data"):
        assert (
            Optimizer(
                PLANT, old.assign(y=0.5), direction="maximize", transfer=TransferConfig(prior="as printed"), seed=0
            ).surrogate.sources
            == ()
        )


def test_a_prior_learnt_as_printed_and_a_kernel_with_the_footnotes_bias(old: pd.DataFrame) -> None:
    prior = pretrain(old, PLANT, as_printed=True)
    assert (
        Optimizer(
            PLANT, prior, direction="maximize", transfer=TransferConfig(prior="as printed"), seed=0
        ).surrogate.prior
        is prior
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        biased = Optimizer(
            PLANT,
            old,
            direction="maximize",
            transfer=TransferConfig(prior="as printed", kernel=WithBias(SquaredExponential())),
            seed=0,
        ).surrogate.prior
    x = biased.anchors[:3]
    difference = biased.make_kernel()(x).to_dense() - biased.make_kernel().base.base(x).to_dense()
    assert torch.isfinite(difference).all()
    assert isinstance(biased.base, WithBias)
