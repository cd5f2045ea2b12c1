"""scikit-learn's tools on the learnt kernel."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from support.cases import table
from tunedprior.errors import DomainError, InputError
from tunedprior.integrations.botorch import pretrain_on_tensors
from tunedprior.integrations.sklearn import TunedPriorKernel

BOUNDS = np.array([[0.0, -1.0], [10.0, 1.0]])


def settings(count: int, seed: int) -> np.ndarray:
    return BOUNDS[0] + (BOUNDS[1] - BOUNDS[0]) * table(count, 2, seed=seed, low=0.0, high=1.0).numpy()


def response(X: np.ndarray) -> np.ndarray:
    return np.sin(0.5 * X[:, 0]) * np.cos(2 * X[:, 1])


X_OLD, X, TEST = settings(30, seed=1), settings(12, seed=2), settings(40, seed=3)
OLD = X_OLD, 1 - 3 * response(X_OLD)
Y = 100 + 20 * response(X)
#: The mean is not known, and there is little noise.
REST = ConstantKernel(1.0, "fixed") + WhiteKernel(1e-3, "fixed")


def kernel(**options) -> TunedPriorKernel:
    return TunedPriorKernel(**{"old": OLD, "within": BOUNDS} | options)


def regressor(kernel) -> GaussianProcessRegressor:
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=0)


def theirs(name: str) -> torch.Tensor:
    """The belief's matrix at X, from the prior itself, over its mean variance."""
    from tunedprior.beliefs import get_belief
    from tunedprior.kernels.anchors import compute_mean_variance

    prior = pretrain_on_tensors(*OLD, BOUNDS)
    ours = get_belief(name).make_kernel(prior.fit)
    inputs = prior.to_kernel_inputs(torch.as_tensor((2 * X - BOUNDS.sum(0)) / (BOUNDS[1] - BOUNDS[0])))
    return (ours(inputs).to_dense() / compute_mean_variance(ours, 2)).detach()


@pytest.mark.parametrize("name", ["reweighted", "aligned"])
def test_it_is_the_kernel_of_the_belief(name: str) -> None:
    found = kernel(prior=name, amplitude=2.5)
    np.testing.assert_allclose(found(X), 2.5 * theirs(name).numpy(), rtol=1e-10)
    np.testing.assert_allclose(found.diag(X), np.diag(found(X)), rtol=1e-10)
    np.testing.assert_allclose(found(X, TEST), found(np.vstack([X, TEST]))[: len(X), len(X) :], rtol=1e-8)


def test_gradients_equal_finite_differences() -> None:
    whole = kernel(amplitude=1.7) * ConstantKernel(0.6) + WhiteKernel(0.1) + ConstantKernel(0.5) * RBF(2.0)
    _, gradient = whole(X, eval_gradient=True)
    assert gradient.shape == (12, 12, 5)
    for number in range(5):
        ends = []
        for step in (1e-5, -1e-5):
            theta = whole.theta.copy()
            theta[number] += step
            ends.append(whole.clone_with_theta(theta)(X))
        np.testing.assert_allclose(gradient[:, :, number], (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-8)


def test_a_fixed_amplitude_has_no_gradient() -> None:
    fixed = kernel(amplitude_bounds="fixed")
    assert fixed.n_dims == 0
    assert fixed(X, eval_gradient=True)[1].shape == (12, 12, 0)
    assert regressor(fixed + REST).fit(X, Y).kernel_.k1.amplitude == 1.0


def test_old_data_pays_off_and_the_amplitude_is_fitted() -> None:
    informed = regressor(kernel() + REST).fit(X[:5], Y[:5])
    plain = regressor(ConstantKernel(1.0, (1e-3, 1e5)) * RBF([1.0, 1.0], (0.05, 1000)) + REST).fit(X[:5], Y[:5])
    truth = 100 + 20 * response(TEST)
    errors = [np.sqrt(np.mean((one.predict(TEST) - truth) ** 2)) for one in (informed, plain)]
    assert errors[0] < 0.5 * errors[1]
    assert informed.kernel_.k1.amplitude != 1.0
    assert informed.kernel.k1.amplitude == 1.0  # the user's own is left as it was


def test_scikit_learn_copies_it_without_learning_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = kernel()
    first(X)
    monkeypatch.setattr("tunedprior.integrations.sklearn.make_belief_kernel", None)  # would fail if it were called
    copied = clone(first)
    assert copied is not first
    assert copied == first
    assert np.array_equal(copied(X), first(X))
    copied.theta = np.array([1.0])
    assert first.amplitude == 1.0
    assert copied != first
    regressor(first + REST).fit(X, Y)


def test_parameters_are_read_and_set() -> None:
    one = kernel()
    assert set(one.get_params()) == {"old", "amplitude", "amplitude_bounds", "within", "prior", "seed"}
    before = one(X)
    assert not np.allclose(one.set_params(prior="reweighted")(X), before)
    assert np.array_equal(one.set_params(prior="aligned")(X), before)
    assert one != kernel(prior="reweighted")
    assert kernel() == kernel(old=(X_OLD.copy(), OLD[1].copy()))
    assert one != 3
    assert repr(one) == "TunedPriorKernel(amplitude=1)"
    assert not one.is_stationary()
    assert not (one + WhiteKernel()).is_stationary()


def test_it_is_pickled_before_and_after_learning() -> None:
    for one in (kernel(), kernel(old=pretrain_on_tensors(*OLD, BOUNDS))):
        expected = pickle.loads(pickle.dumps(one))(X)
        assert np.array_equal(one(X), expected)
        assert np.array_equal(pickle.loads(pickle.dumps(one))(X), expected)
    process = regressor(kernel() + REST).fit(X, Y)
    assert np.array_equal(pickle.loads(pickle.dumps(process)).predict(TEST), process.predict(TEST))


def test_pipelines_and_searches_take_it() -> None:
    pipeline = make_pipeline(FunctionTransformer(), regressor(kernel() + REST))
    assert cross_val_score(pipeline, X, Y, cv=3).mean() > 0.9
    search = GridSearchCV(regressor(kernel() + REST), {"kernel__k1__prior": ["aligned", "reweighted"]}, cv=3).fit(X, Y)
    assert search.best_params_["kernel__k1__prior"] in ("aligned", "reweighted")


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InputError, match="Add the kernels of several"):
        kernel(old=[OLD, OLD])(X)
    with pytest.raises(InputError, match="prior must be one of"):
        kernel(prior="average")(X)
    with pytest.raises(InputError, match="leave Y out"):
        kernel()(X, X, eval_gradient=True)
    with pytest.raises(DomainError, match=r"column 0.*bounds that hold"):
        kernel()(X + 20)
    with pytest.raises(InputError, match="2 columns"):
        kernel()(X[:, :1])
