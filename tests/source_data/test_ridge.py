import numpy as np
import pytest

from tunedprior.source_data.relations import Spectrum, is_clearly_better, predict_left_out, tune_weights

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-1, 1, (80, 3))
RESPONSE = np.sin(3 * POINTS[:, 0]) + 0.05 * RNG.standard_normal(80)


def test_rows_are_left_out_indeed() -> None:
    """The closed form is what one gets by fitting anew without each row, if the mean is taken off before."""
    spectrum = Spectrum.from_points(POINTS, 1.0)
    found = spectrum.predict_left_out(RESPONSE)
    centred = RESPONSE - RESPONSE.mean()
    covariance = 1.0 + np.exp(-((POINTS[:, None] - POINTS[None]) ** 2).sum(-1) / 2)
    for row in (0, 17):
        others = np.arange(80) != row
        inside = covariance[np.ix_(others, others)] + found.noise * np.eye(79)
        expected = RESPONSE.mean() + covariance[row, others] @ np.linalg.solve(inside, centred[others])
        assert found.expected[row] == pytest.approx(expected, abs=1e-8)


def test_predictions_elsewhere() -> None:
    spectrum = Spectrum.from_points(POINTS, 1.0)
    at = np.array([[0.2, 0.0, 0.0], [-0.5, 0.3, 0.1]])
    assert spectrum.predict(RESPONSE, 0.01, at) == pytest.approx(np.sin(3 * at[:, 0]), abs=0.2)


def test_inputs_that_do_not_matter_weigh_little() -> None:
    weights = tune_weights(POINTS, np.arange(3), RESPONSE)
    assert weights[0] > 3 * weights[1:].max()
    both = tune_weights(POINTS, np.array([0, 0, 1]), RESPONSE)
    assert both[0] == both[1]


def test_what_is_clearly_better() -> None:
    good, bad = predict_left_out(POINTS, RESPONSE), predict_left_out(POINTS, np.roll(RESPONSE, 1))
    assert is_clearly_better(good, bad, RESPONSE, np.roll(RESPONSE, 1))
    assert not is_clearly_better(bad, good, np.roll(RESPONSE, 1), RESPONSE)
    assert not is_clearly_better(good, good, RESPONSE, RESPONSE)


def test_a_response_that_never_varies() -> None:
    found = predict_left_out(POINTS, np.ones(80))
    assert found.expected == pytest.approx(np.ones(80))
