"""Free kernels and machines."""

REFUSED: dict[str, tuple[str, ...]] = {
    "λ must be a  … number above 0; got ": (
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
    "epsilon must be 0 or more, in the units of y; got ": (
        "SupportVectorRegressor(1.0, epsilon=-1.0)",
        'SupportVectorRegressor(1.0, epsilon="x")',
        "SupportVectorRegressor(1.0, epsilon=nan)",
    ),
    "bias must be True or False; got ": ('SupportVectorClassifier(1.0, bias="yes")',),
    "must be a table, n rows x d inputs; got shape … Use x[:, None] for one input": (
        "LeastSquares(1.0).fit(SquaredExponential(), [0.0, 1.0], [0.0, 1.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [], [])",
        "LeastSquares(1.0).fit(SquaredExponential(), None, [1.0, 2.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), torch.zeros(2, 2, 2), [1.0, 2.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])([0.5])",
        "ReweightedKernel(SquaredExponential(), [0.0, 1.0], [1.0, 2.0])",
        "ReweightedKernel(SquaredExponential(), None, None)",
    ),
    "must be one number for each of the 2 points; got shape": (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0, 2.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], None)",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [[0.0, 1.0], [1.0, 0.0]])",
        "average_replicates([[0.0], [0.0]], [1.0])",
    ),
    "must be finite;  … rows are not (rows  … Drop or impute them": (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, nan])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [inf]], [0.0, 1.0])",
        "SquaredExponential(nan)",
        "SquaredExponential(None)",
        "ReweightedKernel(SquaredExponential(), [[0.0], [1.0]], [1.0, nan])",
        "average_replicates([[0.0], [nan]], [1.0, 2.0])",
    ),
    "must be numbers; got  … Encode categories as numbers first": (
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
    "must hold at least one row and one input; got shape": (
        "LeastSquares(1.0).fit(SquaredExponential(), [[]], [1.0])",
    ),
    "must hold at least two points; got one. Optimise without it": (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0]], [1.0])",
    ),
    "must vary; all … Optimise without them": (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [1.0, 1.0])",
        "SupportVectorClassifier(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [1.0, 1.0])",
    ),
    "Old settings must be distinct … Merge repeated measurements with tunedprior.average_replicates": (
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [0.0]], [1.0, 2.0])",
    ),
    "kernel must be a GPyTorch kernel, such as SquaredExponential(); got ": (
        'LeastSquares(1.0).fit("rbf", [[0.0], [1.0]], [0.0, 1.0])',
        "LeastSquares(1.0).fit(None, [[0.0], [1.0]], [0.0, 1.0])",
    ),
    "kernel must be an instance; got the class SquaredExponential. Write SquaredExponential(…)": (
        "LeastSquares(1.0).fit(SquaredExponential, [[0.0], [1.0]], [0.0, 1.0])",
    ),
    "LogRatio is defined for |x| < 1 … Scale the box": (
        "LeastSquares(1.0).fit(LogRatio(), [[-1.0], [1.0]], [0.0, 1.0])",
        "LogRatio()(torch.tensor([[2.0]])).to_dense()",
    ),
    "inputs, as the kernel has; got  … Pass the same columns, in the same order": (
        "LeastSquares(1.0).fit(SquaredExponential([0.5, 0.5]), [[0.0], [1.0]], [0.0, 1.0])",
        "LeastSquares(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])([[0.5, 0.5]])",
    ),
    "Class labels must be -1 or +1;  … Map fail to -1 and pass to +1": (
        "SupportVectorClassifier(1.0).fit(SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])",
    ),
    "machine must be one of tunedprior.machines, such as LeastSquares(1.0); got ": (
        'select("ls", SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])',
        'compute_loo_error("ls", SquaredExponential(), [[0.0], [1.0]], [0.0, 1.0])',
    ),
    "select needs a kernel of tunedprior.kernels; got ": (
        'select(LeastSquares(1.0), __import__("gpytorch").kernels.RBFKernel(), [[0.0], [1.0]], [0.0, 1.0])',
        "select(LeastSquares(1.0), None, [[0.0], [1.0]], [0.0, 1.0])",
    ),
    "ard=True needs a kernel with one length-scale per input, SquaredExponential; got Linear": (
        "select(LeastSquares(1.0), Linear(), [[0.0], [1.0], [0.5]], [0.0, 1.0, 0.2], ard=True)",
    ),
    "lam_bounds must be (low, high)": (
        (
            "select(LeastSquares(1.0), SquaredExponential(), [[0.0], [1.0], [0.5]], [0.0, 1.0, 0.2], lam_bounds=("
            "1.0, 0.1))"
        ),
    ),
    "Length-scales must be above 0; got ": (
        "SquaredExponential(0)",
        "SquaredExponential(-1.0)",
        "SquaredExponential([0.5, -1.0])",
    ),
    "An infinite length-scale … Use Exponential(0.0)": ("SquaredExponential(inf)",),
    "lengthscale must be one number, or a list with one for each input; got ": (
        "SquaredExponential([])",
        "SquaredExponential([[0.5], [0.5]])",
    ),
    "A polynomial's degree must be a whole number, 0 or more; got ": (
        "Polynomial(-1)",
        "Polynomial(1.5)",
        'Polynomial("2")',
        "Polynomial(None)",
        "Polynomial(nan)",
        "Polynomial(inf)",
    ),
    "offset must be a finite number above 0; got ": ("Polynomial(2, -1.0)",),
    "scale must be a finite number above 0; got ": (
        "Exponential(-1.0)",
        "Sinh(-1.0)",
        "Sinh(nan)",
    ),
    "A free kernel is defined for an even number of arguments … Repeat one of them, or leave one out": (
        'SquaredExponential().evaluate_m_kernel("x")',
        "SquaredExponential().evaluate_m_kernel()",
        "SquaredExponential().evaluate_m_kernel(torch.zeros(2, 2), torch.zeros(2, 2), torch.zeros(2, 2))",
    ),
    "m_kernel takes tables n_k x d with one common d; got shapes": (
        "SquaredExponential().evaluate_m_kernel(torch.zeros(2, 2), torch.zeros(2, 3))",
    ),
    "Only a free kernel can be re-weighted; got str. Use one of tunedprior.kernels": (
        'ReweightedKernel("rbf", [[0.0]], [1.0])',
    ),
    "α must hold one coefficient for each of the 2 anchors; got shape": (
        "ReweightedKernel(SquaredExponential(), [[0.0], [1.0]], [1.0])",
    ),
}

WARNED: dict[str, tuple[str, ...]] = {}

TAKEN: tuple[str, ...] = (
    'LeastSquares("0.1")',
    "LeastSquares(1.0).fit(SquaredExponential(), torch.tensor([[0.0], [1.0]], requires_grad=True), [0.0, 1.0])",
    "LeastSquares(1.0).fit(SquaredExponential(), np.array([[0], [1]]), np.array([0, 1]))",
    'SquaredExponential("0.5")',
    "Polynomial(0)",
    'Polynomial(2, "1")',
    "Polynomial(10**9)(torch.tensor([[0.5]])).to_dense()",
)
