"""What the model expects: in the table's order, with the noise of a measurement, and before the first result."""

import numpy as np
import pandas as pd
import pytest
import torch

from support.builders import SPACE, box_of, old_data, scaled, smooth, told
from support.optimizers import make_optimizer
from tunedprior import Optimizer
from tunedprior.errors import InputError
from tunedprior.kernels import SquaredExponential
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.models.posterior import compute_miscalibration
from tunedprior.space.search_space import Space

TABLE = pd.DataFrame(Space.parse(SPACE).sobol(5, seed=3), index=[7, 3, 9, 1, 4])


@pytest.mark.parametrize("old", [None, old_data(smooth)], ids=["plain", "old data"])
def test_predictions_have_the_index_of_the_table(old) -> None:
    opt = told(Optimizer(SPACE, old, direction="maximize", seed=1), 6)
    found = opt.predict(TABLE)
    assert found.index.tolist() == [7, 3, 9, 1, 4]
    assert found.columns.tolist() == ["mean", "std", "measured_std"]
    for setting, row in zip(TABLE.to_dict("records"), found.to_dict("records"), strict=True):
        assert opt.predict(setting).iloc[0].to_dict() == pytest.approx(row)


@pytest.mark.parametrize("old", [None, old_data(smooth)], ids=["plain", "old data"])
def test_a_known_noise_is_what_a_measurement_adds(old) -> None:
    opt = told(Optimizer(SPACE, old, direction="maximize", seed=1, noise_std=0.3), 6)
    found = opt.predict(TABLE)
    factor = compute_miscalibration(opt.suggester.fit(opt.trials, opt.seed).models["y"].components)
    added = (found["measured_std"] / factor) ** 2 - found["std"] ** 2
    np.testing.assert_allclose(added.to_numpy(), 0.09, rtol=0.03)


@pytest.mark.parametrize("old", [None, old_data(smooth)], ids=["plain", "old data"])
def test_errors_of_left_out_observations_by_leaving_them_out(old) -> None:
    """A model of one process is refitted without each observation; its parameters stay."""
    options = (
        {"model": StandardSurrogate(box_of(SPACE))}
        if old is None
        else {"old_data": old, "prior": "reweighted", "kernel": SquaredExponential()}
    )
    opt = told(make_optimizer(SPACE, seed=1, noise_std=0.2, **options), 7)
    part = opt.suggester.fit(opt.trials, opt.seed).models["y"]
    model = part.model
    X, y = model.train_inputs[0], model.train_targets
    observed = model.likelihood(model.forward(X), X)
    mean, covariance = observed.mean.detach(), observed.covariance_matrix.detach()
    ratios = []
    for left in range(7):
        rest = [row for row in range(7) if row != left]
        gain = torch.linalg.solve(covariance[rest][:, rest], covariance[rest, left])
        error = y[left] - mean[left] - gain @ (y[rest] - mean[rest])
        ratios.append(float(error**2 / (covariance[left, left] - gain @ covariance[rest, left])))
    assert compute_miscalibration(part.components) == pytest.approx(max(1.0, np.mean(ratios) ** 0.5), rel=1e-6)


def test_measurements_lie_where_they_should() -> None:
    """Half of the response's variance is noise; the uncertainty of the response alone covered six in ten."""
    covered = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        opt = Optimizer(SPACE, old_data(smooth), direction="maximize", seed=seed)
        for setting in opt.space.sobol(40, seed=seed):
            opt.tell(setting, smooth(setting) + 0.5 * rng.standard_normal())
        new = opt.space.sobol(200, seed=9)
        found = opt.predict(new)
        off = (np.array([smooth(setting) + 0.5 * rng.standard_normal() for setting in new]) - found["mean"]).abs()
        covered.append([(off <= 1.96 * found[name]).mean() for name in ("std", "measured_std")])
    without, with_noise = np.mean(covered, axis=0)
    assert with_noise > 0.85
    assert without < 0.7


def test_before_the_first_result_old_data_says_how_much_may_vary_where() -> None:
    old = old_data(scaled(smooth, 10.0))
    found = Optimizer(SPACE, old, direction="maximize", seed=1).predict(TABLE)
    np.testing.assert_allclose(found["mean"], old["y"].mean())  # its sign is open
    assert (found["std"] > 0).all()
    assert 0.3 < found["std"].mean() / old["y"].std() < 3
    with pytest.raises(InputError, match="nothing to predict from yet"):
        Optimizer(SPACE, direction="maximize", seed=0).predict(TABLE)
