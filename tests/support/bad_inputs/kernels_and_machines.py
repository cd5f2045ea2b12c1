"""Free kernels and machines."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "λ", "above 0", "got"): (
        "LeastSquares(0)",
        "LeastSquares(-1.0)",
        "LeastSquares(nan)",
        "LeastSquares(inf)",
        "LeastSquares(None)",
        "LeastSquares([0.1])",
        "LeastSquares(10**400)",
        "LeastSquares(True)",
        "SupportVectorClassifier(-1.0)",
    ),
    ("InputError", "epsilon", "0", "got"): (
        "SupportVectorRegressor(1.0, epsilon=-1.0)",
        'SupportVectorRegressor(1.0, epsilon="x")',
        "SupportVectorRegressor(1.0, epsilon=nan)",
    ),
    ("InputError", "bias", "True", "False", "got"): ('SupportVectorClassifier(1.0, bias="yes")',),
    ("InputError", "table", "shape", "x[:, None]"): (
        "LeastSquares(1.0).fit(SquaredExponential(), [0.0, 1.0], [0.0, 1.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [], [])",
        "LeastSquares(1.0).fit(SquaredExponential(), None, [1.0, 2.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), torch.zeros(2, 2, 2), [1.0, 2.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])([0.5])",
        "ReweightedKernel(SquaredExponential(), [0.0, 1.0], [1.0, 2.0])",
        "ReweightedKernel(SquaredExponential(), None, None)",
    ),
    ("InputError", "one number", "2 points", "shape"): (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0, 2.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], None)",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])",
        "average_replicates([[0.0], [0.0]], [1.0])",
    ),
    ("InputError", "finite", "rows"): (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, nan])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [inf]], [0.0, 1.0])",
        "SquaredExponential(nan)",
        "SquaredExponential(None)",
        "ReweightedKernel(SquaredExponential(), [[0.0], [1.0]], [1.0, nan])",
        "average_replicates([[0.0], [nan]], [1.0, 2.0])",
    ),
    ("InputError", "numbers", "got", "encode categories"): (
        'LeastSquares(1.0).fit(SquaredExponential(), [["a"], ["b"]], [0.0, 1.0])',
        'LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], ["a", "b"])',
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0, 2.0]], [0.0, 1.0])",
        'LeastSquares(1.0).fit(SquaredExponential(), {"a": [1]}, [1.0, 2.0])',
        "LeastSquares(1.0).fit(SquaredExponential(), [[0j], [1j]], [1.0, 2.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[10**400], [1]], [1.0, 2.0])",
        'LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])("x")',
        "SquaredExponential(10**400)",
        'SquaredExponential({"a": 1})',
        'Exponential("x")',
        'average_replicates("x", "y")',
    ),
    ("InputError", "one row", "one input", "shape"): ("LeastSquares(1.0).fit(SquaredExponential(), [[]], [1.0])",),
    ("NothingToLearnError", "two points", "one"): ("LeastSquares(1.0).fit(SquaredExponential(), [[0.0]], [1.0])",),
    ("NothingToLearnError", "must vary"): (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [1.0, 1.0])",
        "SupportVectorClassifier(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [1.0, 1.0])",
    ),
    ("InputError", "distinct", "tunedprior.average_replicates"): (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [0.0]], [1.0, 2.0])",
    ),
    ("InputError", "kernel", "GPyTorch", "SquaredExponential()", "got"): (
        'LeastSquares(1.0).fit("rbf", [[0.0], [1.0]], [0.0, 1.0])',
        "LeastSquares(1.0).fit(None, [[0.0], [1.0]], [0.0, 1.0])",
    ),
    ("InputError", "kernel", "class SquaredExponential", "SquaredExponential(…)"): (
        "LeastSquares(1.0).fit(SquaredExponential, [[0.0], [1.0]], [0.0, 1.0])",
    ),
    ("DomainError", "LogRatio", "|x| < 1"): (
        "LeastSquares(1.0).fit(LogRatio(), [[-1.0], [1.0]], [0.0, 1.0])",
        "LogRatio()(torch.tensor([[2.0]])).to_dense()",
    ),
    ("InputError", "inputs", "kernel", "got"): (
        "LeastSquares(1.0).fit(SquaredExponential([0.5, 0.5]), [[0.0], [1.0]], [0.0, 1.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])([[0.5, 0.5]])",
    ),
    ("InputError", "class labels", "-1", "+1"): (
        "SupportVectorClassifier(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])",
    ),
    ("InputError", "machine", "tunedprior.machines", "LeastSquares(1.0)", "got"): (
        'select("ls", SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])',
        'compute_loo_error("ls", SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])',
    ),
    ("InputError", "select", "tunedprior.kernels", "got"): (
        'select(LeastSquares(1.0), __import__("gpytorch").kernels.RBFKernel(), [[0.0], [1.0]], [0.0, 1.0])',
        "select(LeastSquares(1.0), None, [[0.0], [1.0]], [0.0, 1.0])",
    ),
    ("InputError", "ard=True", "SquaredExponential", "Linear"): (
        "select(LeastSquares(1.0), Linear(), [[0.0], [1.0], [0.5]], [0.0, 1.0, 0.2], ard=True)",
    ),
    ("InputError", "lam_bounds", "(low, high)"): (
        (
            "select(LeastSquares(1.0), SquaredExponential(), [[0.0], [1.0], [0.5]], [0.0, 1.0, 0.2], lam_bounds=("
            "1.0, 0.1))"
        ),
    ),
    ("InputError", "length-scale", "above 0", "got"): (
        "SquaredExponential(0)",
        "SquaredExponential(-1.0)",
        "SquaredExponential([0.5, -1.0])",
    ),
    ("InputError", "infinite", "length-scale", "Exponential(0.0)"): ("SquaredExponential(inf)",),
    ("InputError", "lengthscale", "one number", "list", "got"): (
        "SquaredExponential([])",
        "SquaredExponential([[0.5], [0.5]])",
    ),
    ("InputError", "degree", "whole number", "0", "got"): (
        "Polynomial(-1)",
        "Polynomial(1.5)",
        'Polynomial("2")',
        "Polynomial(None)",
        "Polynomial(nan)",
        "Polynomial(inf)",
    ),
    ("InputError", "offset", "finite", "above 0", "got"): ("Polynomial(2, -1.0)",),
    ("InputError", "scale", "finite", "above 0", "got"): (
        "Exponential(-1.0)",
        "Sinh(-1.0)",
        "Sinh(nan)",
    ),
    ("InputError", "free kernel", "even number"): (
        'SquaredExponential().evaluate_m_kernel("x")',
        "SquaredExponential().evaluate_m_kernel()",
        "SquaredExponential().evaluate_m_kernel(torch.zeros(2, 2), torch.zeros(2, 2), torch.zeros(2, 2))",
    ),
    ("InputError", "m_kernel", "n_k x d", "shapes"): (
        "SquaredExponential().evaluate_m_kernel(torch.zeros(2, 2), torch.zeros(2, 3))",
    ),
    ("InputError", "free kernel", "str", "tunedprior.kernels"): ('ReweightedKernel("rbf", [[0.0]], [1.0])',),
    ("InputError", "α", "2 anchors", "shape"): ("ReweightedKernel(SquaredExponential(), [[0.0], [1.0]], [1.0])",),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {}

TAKEN: tuple[str, ...] = (
    'LeastSquares("0.1")',
    "LeastSquares(1.0).fit(SquaredExponential(), torch.tensor([[0.0], [1.0]], requires_grad=True), [0.0, 1.0])",
    "LeastSquares(1.0).fit(SquaredExponential(), np.array([[0], [1]]), np.array([0, 1]))",
    'SquaredExponential("0.5")',
    "Polynomial(0)",
    'Polynomial(2, "1")',
    "Polynomial(10**9)(torch.tensor([[0.5]])).to_dense()",
)
