"""The machines against exhaustive solvers, their optimality conditions and scikit-learn."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from support import reference
from support.cases import number, table
from tunedprior import average_replicates
from tunedprior.errors import ConvergenceError, InputError, VanishingKernelWarning
from tunedprior.kernels import Exponential, LogRatio, Polynomial, SquaredExponential
from tunedprior.machines import LeastSquares, SupportVectorClassifier, SupportVectorRegressor, compute_loo_error

CORNERS = [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
XOR = [-1.0, 1.0, 1.0, -1.0]
MACHINES = [
    LeastSquares(0.1),
    SupportVectorClassifier(0.5),
    SupportVectorClassifier(0.5, bias=True),
    SupportVectorRegressor(0.5, epsilon=0.1),
    SupportVectorRegressor(0.5, epsilon=0.1, bias=True),
]
MACHINE_IDS = [f"{type(machine).__name__}{', bias' if getattr(machine, 'bias', False) else ''}" for machine in MACHINES]


def problem(rows: int = 12, seed: int = 0) -> tuple[SquaredExponential, torch.Tensor, torch.Tensor]:
    """A kernel, points, and labels ±1 that no straight line separates."""
    X = table(rows, 2, seed=seed)
    noise = table(rows, seed=seed + 1)
    return SquaredExponential(number(0.6)), X, torch.where(X[:, 0] * X[:, 1] + 0.1 * noise > 0, 1.0, -1.0).double()


def test_xor_alpha_is_an_eighth_of_the_labels() -> None:
    trained = SupportVectorClassifier(lam=1.0).fit(Polynomial(2, number(1.0)), CORNERS, XOR)
    expected = torch.tensor([-1.0, 1.0, 1.0, -1.0], dtype=torch.float64) / 8
    torch.testing.assert_close(trained.alpha, expected, rtol=1e-9, atol=1e-12)
    assert trained.bias == 0.0
    x = table(5, 2)
    torch.testing.assert_close(trained(x), -x[:, 0] * x[:, 1], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(
        trained.make_reweighted_kernel()(x, diag=True), (x[:, 0] * x[:, 1]) ** 2 / 2, rtol=1e-8, atol=1e-12
    )


def test_xor_with_a_bias_finds_the_same() -> None:
    trained = SupportVectorClassifier(lam=1.0, bias=True).fit(Polynomial(2, number(1.0)), CORNERS, XOR)
    torch.testing.assert_close(trained.alpha, torch.tensor(XOR, dtype=torch.float64) / 8, rtol=1e-5, atol=1e-7)
    assert trained.bias == pytest.approx(0.0, abs=1e-6)


def test_least_squares_equals_elimination() -> None:
    kernel, X, y = problem(6)
    trained = LeastSquares(0.3).fit(kernel, X, y)
    expected = reference.ridge(kernel(X).to_dense().tolist(), y.tolist(), 0.3)
    assert trained.alpha.tolist() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("lam", [0.05, 0.5, 5.0])
def test_classifier_equals_trying_every_active_set(lam: float) -> None:
    kernel, X, y = problem(6)
    gram = kernel(X).to_dense()
    beta = reference.box_qp((gram * y[:, None] * y).tolist(), [-1.0] * 6, 1 / lam)
    trained = SupportVectorClassifier(lam).fit(kernel, X, y)
    assert (y * trained.alpha).tolist() == pytest.approx(beta, abs=1e-6 / lam)


@pytest.mark.parametrize("lam", [0.2, 2.0])
def test_regressor_equals_trying_every_active_set(lam: float) -> None:
    kernel, X, _ = problem(4)
    y, epsilon = X[:, 0] ** 2 - X[:, 1], 0.05
    gram = kernel(X).to_dense()
    doubled = torch.cat([torch.cat([gram, -gram], 1), torch.cat([-gram, gram], 1)])
    parts = reference.box_qp(doubled.tolist(), [*(epsilon - y).tolist(), *(epsilon + y).tolist()], 1 / lam)
    expected = [u - v for u, v in zip(parts[:4], parts[4:], strict=True)]
    trained = SupportVectorRegressor(lam, epsilon=epsilon).fit(kernel, X, y)
    assert trained.alpha.tolist() == pytest.approx(expected, abs=1e-6 / lam)


def test_biases_agree_with_scikit_learn() -> None:
    from sklearn.svm import SVC, SVR

    kernel, X, y = problem(30)
    gram, K = X.numpy(), kernel(X).to_dense().detach().numpy()
    classifier = SupportVectorClassifier(0.1, bias=True).fit(kernel, X, y)
    theirs = SVC(C=10, kernel="precomputed", tol=1e-7).fit(K, y.numpy())
    np.testing.assert_allclose(classifier(X).detach().numpy(), theirs.decision_function(K), atol=1e-5)
    targets = np.sin(3 * gram[:, 0])
    regressor = SupportVectorRegressor(0.1, epsilon=0.02, bias=True).fit(kernel, X, targets)
    theirs = SVR(C=10, epsilon=0.02, kernel="precomputed", tol=1e-7).fit(K, targets)
    np.testing.assert_allclose(regressor(X).detach().numpy(), theirs.predict(K), atol=1e-5)


@pytest.mark.parametrize("machine", MACHINES, ids=MACHINE_IDS)
def test_leave_one_out_equals_refitting_without_each_row(machine) -> None:
    kernel, X, y = problem(14)
    losses = []
    for row in range(len(y)):
        others = torch.arange(len(y)) != row
        prediction = machine.fit(kernel, X[others], y[others])(X[row : row + 1]).item()
        target = y[row].item()
        if isinstance(machine, SupportVectorClassifier):
            losses.append(float(target * prediction <= 0))
        else:
            losses.append((target - prediction) ** 2)
    assert compute_loo_error(machine, kernel, X, y) == pytest.approx(sum(losses) / len(losses), rel=1e-5)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("lam", [0.02, 1.0, 10.0])
@pytest.mark.parametrize("kind", [SupportVectorClassifier, SupportVectorRegressor])
def test_leave_one_out_predictions_are_refits_when_all_vectors_are_bound(kind, lam: float, bias: bool) -> None:
    kernel, X, y = problem(9, seed=4)
    y[:7] = y[:7].abs()  # unbalanced
    machine = kind(lam, bias=bias)
    predictions = machine.predict_loo(kernel(X).to_dense().detach(), y)
    for row in range(len(y)):
        others = torch.arange(len(y)) != row
        if (y[others] == y[others][0]).all():
            continue
        alpha, offset = machine.solve(kernel(X[others]).to_dense().detach(), y[others])
        refit = (kernel(X[row : row + 1], X[others]).to_dense() @ alpha + offset).item()
        assert predictions[row].item() == pytest.approx(refit, abs=1e-4)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), lengthscale=st.floats(0.2, 4.0), lam=st.sampled_from([0.01, 0.1, 1.0, 10.0]))
def test_settled_rows_of_the_classifier_are_settled_rightly(seed: int, lengthscale: float, lam: float) -> None:
    _, X, y = problem(15, seed=seed)
    gram, machine = SquaredExponential(number(lengthscale))(X).to_dense().detach(), SupportVectorClassifier(lam)
    assert_settled_rightly(machine, gram, y)
    # The same with variances K(x, x) from 0.01 to 100, below 1 and above it.
    scale = torch.logspace(-1, 1, 15).double()
    assert_settled_rightly(machine, gram * scale[:, None] * scale, y)


def assert_settled_rightly(machine: SupportVectorClassifier, gram: torch.Tensor, y: torch.Tensor) -> None:
    predictions = machine.predict_loo(gram, y)
    clear = predictions.abs() > 1e-5
    assert torch.equal(machine.compute_loo_losses(gram, y)[clear], machine.compute_loss(y, predictions)[clear])


@pytest.mark.parametrize("machine", MACHINES, ids=MACHINE_IDS)
def test_float32_data_train_as_well(machine) -> None:
    _, X, y = problem(12)
    exact = machine.fit(SquaredExponential(number(1.0)), X, y)
    single = machine.fit(SquaredExponential(1.0), X.float(), y.float())
    assert single.alpha.dtype == torch.float32
    torch.testing.assert_close(single(X).double(), exact(X), rtol=1e-3, atol=1e-3)


def test_machines_train_on_reweighted_kernels() -> None:
    _, X, y = problem(20)
    tuned = LeastSquares(1e-6).fit(SquaredExponential(number(3.0)), X, X[:, 0]).make_reweighted_kernel()
    assert SupportVectorClassifier(0.1).fit(tuned, X, y).alpha.abs().max() <= 10 * (1 + 1e-9)


def test_a_trained_machine_owns_what_it_learnt() -> None:
    kernel, X, y = problem(8)
    points = X.numpy().copy()
    trained = LeastSquares(0.1).fit(kernel, points, y)
    before = trained(X)
    points[:] = 0.0
    kernel.lengthscale = 3.0
    trained.make_reweighted_kernel().base.lengthscale = 2.0
    assert torch.equal(trained(X), before)
    assert trained(X).numpy().shape == (8,)


def test_learning_nothing_is_said() -> None:
    kernel, X, y = problem(8)
    with pytest.warns(VanishingKernelWarning, match="every α is zero"):
        trained = SupportVectorRegressor(1.0, epsilon=5.0).fit(kernel, X, y)
    assert trained.make_reweighted_kernel()(X).to_dense().abs().max() == 0


def test_leave_one_out_survives_a_lonely_class() -> None:
    """Only the lonely row is mistaken: without it there is one class, and without another the rest is as it was."""
    kernel, X, y = problem(6)
    y = torch.ones_like(y)
    y[0] = -1.0
    for machine in (SupportVectorClassifier(0.5), SupportVectorClassifier(0.5, bias=True)):
        assert compute_loo_error(machine, kernel, X, y) == pytest.approx(1 / 6)


BAD_INPUT = [
    ([[0.1, float("nan")], [0.2, 0.3]], [1, -1], r"Old settings must be finite; 1 of 2 rows are not \(rows 0\)"),
    ([[0.1, 0.2], [0.2, 0.3]], [1, float("inf")], r"Old responses must be finite; 1 of 2 rows"),
    ([[0.1], [0.2]], [1, -1], "must have 2 inputs, as the kernel has; got 1"),
    (np.zeros((0, 2)), [], r"at least one row and one input; got shape \(0, 2\)"),
    ([0.1, 0.2], [1, -1], r"must be a table, n rows x d inputs; got shape \(2,\)"),
    ([[0.1, 0.2]], [1], "at least two points; got one"),
    ([[0.1, 0.2], [0.3, 0.4], [0.1, 0.2]], [1, -1, 1], r"distinct; 2 of 3 rows repeat another \(rows 0, 2\)"),
    ([[0.1, 0.2], [0.3, 0.4]], [1, 1], "must vary; all 2 are 1"),
    ([[0.1, 0.2], [0.3, 0.4]], [1, -1, 1], r"one number for each of the 2 points; got shape \(3,\)"),
    ([["a", "b"], ["c", "d"]], [1, -1], "Old settings must be numbers"),
]


@pytest.mark.parametrize(("X", "y", "message"), BAD_INPUT, ids=[message[:40] for *_, message in BAD_INPUT])
@pytest.mark.parametrize("machine", MACHINES, ids=MACHINE_IDS)
def test_bad_data_say_what_to_do(machine, X, y, message: str) -> None:
    kernel = SquaredExponential([0.5, 0.5])
    with pytest.raises(InputError, match=message):
        machine.fit(kernel, X, y)
    with pytest.raises(InputError, match=message):
        compute_loo_error(machine, kernel, X, y)


@pytest.mark.parametrize("bias", [False, True])
def test_labels_must_be_plus_or_minus_one(bias: bool) -> None:
    with pytest.raises(InputError, match=r"Class labels must be -1 or \+1; 1 of 3 are not \(such as 0\)"):
        SupportVectorClassifier(1.0, bias=bias).fit(LogRatio(), [[0.1], [0.2], [0.3]], [1, 0, -1])


@pytest.mark.parametrize("lam", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [LeastSquares, SupportVectorClassifier, SupportVectorRegressor])
def test_lambda_must_be_positive(kind, lam: float) -> None:
    with pytest.raises(InputError, match="λ must be a finite number above 0; got"):
        kind(lam)


def test_epsilon_must_not_be_negative() -> None:
    with pytest.raises(InputError, match="epsilon must be 0 or more"):
        SupportVectorRegressor(1.0, epsilon=-0.1)


def test_overflowing_kernels_are_refused() -> None:
    with pytest.raises(ConvergenceError, match="Gram matrix overflows"):
        SupportVectorClassifier(1.0).fit(Exponential(number(500.0)), [[1.0, 1.0], [1.0, -1.0]], [1, -1])


def test_replicates_can_be_averaged() -> None:
    kernel, X, y = SquaredExponential(number(0.5)), [[0.1, 0.2], [0.3, 0.4], [0.1, 0.2]], [1.0, 5.0, 3.0]
    assert LeastSquares(0.1).fit(kernel, *average_replicates(X, y)).alpha.shape == (2,)


def test_leave_one_out_refits_every_row_where_no_free_vector_determines_the_bias() -> None:
    """With α at 0 or at its bound everywhere, the bias lies between two limits, and rows with α = 0 set these too."""
    found = 0
    for seed in range(40):
        _, X, y = problem(6, seed=seed)
        gram, machine = SquaredExponential(number(1.5))(X).to_dense().detach(), SupportVectorClassifier(10.0, bias=True)
        alpha, _ = machine.solve(gram, y)
        bound = (alpha.abs() > (1 - 1e-6) / 10).sum()
        if not 0 < bound < len(y) or bound + (alpha == 0).sum() < len(y):
            continue
        found += 1
        predictions = machine.predict_loo(gram, y)
        for row in range(len(y)):
            others = torch.arange(len(y)) != row
            if len(set(y[others].tolist())) == 2:
                refit, bias = machine.solve(gram[others][:, others], y[others])
                expected = (gram[row, others] @ refit).item() + bias
                assert predictions[row].item() == pytest.approx(expected, abs=1e-5)
    assert found > 0


def test_leave_one_out_predictions_of_least_squares_are_refits() -> None:
    kernel, X, _ = problem(7)
    y, gram, machine = table(7, seed=9), kernel(X).to_dense().detach(), LeastSquares(0.1)
    predictions = machine.predict_loo(gram, y)
    for row in range(7):
        others = torch.arange(7) != row
        refit, bias = machine.solve(gram[others][:, others], y[others])
        assert bias == 0
        assert predictions[row].item() == pytest.approx((gram[row, others] @ refit).item(), rel=1e-9)


def test_an_early_end_of_libsvm_is_an_error_whatever_warnings_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.machines.support_vector._LIBSVM_ITERATIONS", 1)
    kernel, X, y = problem(12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ConvergenceError, match="libsvm did not converge"):
            SupportVectorClassifier(0.01, bias=True).fit(kernel, X, y)
