"""`pretrain`, and weight priors in files."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "pandas.DataFrame", "path", "got"): ("pretrain(None, SPACE)",),
    ("InputError", "search space", "dict"): (
        "pretrain(SPACE, OLD)",
        "pretrain(OLD, None)",
    ),
    ("InputError", "pandas.DataFrame(array", "'temp'"): (
        "pretrain(OLD.to_numpy(), SPACE)",
        "pretrain([OLD, OLD], SPACE)",
    ),
    ("InputError", "no file", "looked for in"): ('pretrain("nosuch.csv", SPACE)',),
    ("InputError", "column 'a'", "list", "DataFrame"): ('pretrain({"a": OLD}, SPACE)',),
    ("NothingToLearnError", "old data", "empty"): ("pretrain(OLD.iloc[:0], SPACE)",),
    ("NothingToLearnError", "two points", "one"): (
        "pretrain(OLD.iloc[:1], SPACE)",
        "pretrain(OLD, SPACE, rows_with_alpha=1)",
    ),
    ("NothingToLearnError", "must vary"): ("pretrain(OLD.assign(y=3.0), SPACE)",),
    ("InputError", "'y'", "blank", "every row", "target="): ("pretrain(OLD.assign(y=nan), SPACE)",),
    ("InputError", "kernel", "tunedprior.kernels", "SquaredExponential()", "got"): (
        'pretrain(OLD, SPACE, kernel="rbf")',
        'pretrain(OLD, SPACE, kernel=__import__("gpytorch").kernels.RBFKernel())',
        "pretrain(OLD, SPACE, kernel=3)",
    ),
    ("InputError", "kernel", "class SquaredExponential", "SquaredExponential(…)"): (
        "pretrain(OLD, SPACE, kernel=SquaredExponential)",
    ),
    ("InputError", "machine", "tunedprior.machines", "LeastSquares(1.0)", "got"): (
        'pretrain(OLD, SPACE, machine="svm")',
        'pretrain(OLD, SPACE, machine=__import__("sklearn.svm").svm.SVR())',
    ),
    ("InputError", "machine", "class LeastSquares"): ("pretrain(OLD, SPACE, machine=LeastSquares)",),
    ("InputError", "class labels", "-1", "+1"): ("pretrain(OLD, SPACE, machine=SupportVectorClassifier(1.0))",),
    ("InputError", "ard", "True", "False", "got"): ('pretrain(OLD, SPACE, ard="yes")',),
    ("InputError", "ard=True", "SquaredExponential", "Linear"): ("pretrain(OLD, SPACE, kernel=Linear(), ard=True)",),
    ("InputError", "columns", "missing", "there are", "target="): (
        'pretrain(OLD, SPACE, target="z")',
        'pretrain(OLD, {"x": (0.0, 1.0)})',
    ),
    ("InputError", "target", "name", "text", "got"): (
        "pretrain(OLD, SPACE, target=None)",
        'pretrain(OLD, SPACE, target=["y"])',
    ),
    ("InputError", "direction", "'maximize'", "'minimize'", "got"): (
        'pretrain(OLD, SPACE, direction="up")',
        "pretrain(OLD, SPACE, direction=None)",
    ),
    ("InputError", "lam_bounds", "(low, high)"): (
        "pretrain(OLD, SPACE, lam_bounds=(1.0, 0.1))",
        "pretrain(OLD, SPACE, lam_bounds=0.1)",
        "pretrain(OLD, SPACE, lam_bounds=(0.1,))",
        "pretrain(OLD, SPACE, lam_bounds=(0.1, 1.0, 10.0))",
    ),
    ("InputError", "lam_bounds", "above 0", "got"): (
        "pretrain(OLD, SPACE, lam_bounds=(-1.0, 1.0))",
        "pretrain(OLD, SPACE, lam_bounds=(0.0, 1.0))",
        "pretrain(OLD, SPACE, lam_bounds=(nan, 1.0))",
        "pretrain(OLD, SPACE, lam_bounds=(1.0, inf))",
        'pretrain(OLD, SPACE, lam_bounds=("a", "b"))',
    ),
    ("InputError", "rows_with_alpha", "whole number", "1", "got"): (
        "pretrain(OLD, SPACE, rows_with_alpha=0)",
        "pretrain(OLD, SPACE, rows_with_alpha=2.5)",
        'pretrain(OLD, SPACE, rows_with_alpha="many")',
    ),
    ("InputError", "seed", "whole number", "0", "got"): (
        "pretrain(OLD, SPACE, seed=-1)",
        'pretrain(OLD, SPACE, seed="1")',
        "pretrain(OLD, SPACE, seed=None)",
        "pretrain(OLD, SPACE, seed=1.5)",
    ),
    ("InputError", "device", "PyTorch", "'cpu'", "got"): (
        'pretrain(OLD, SPACE, device="warp")',
        "pretrain(OLD, SPACE, device=3)",
        'pretrain(OLD, SPACE, rows_with_alpha=5, device="warp")',
    ),
    ("InputError", "search space", "one parameter"): ("pretrain(OLD, {})",),
    ("InputError", "name of a file", "got"): (
        "p = pretrain(OLD, SPACE); p.save(None)",
        'p = pretrain(OLD, SPACE); p.save("")',
        "p = pretrain(OLD, SPACE); p.save(3)",
        "WeightPrior.load(None)",
        "WeightPrior.load(3)",
        'WeightPrior.load("")',
        "WeightPrior.load(OLD)",
    ),
    ("InputError", "folder"): (
        "p = pretrain(OLD, SPACE); p.save(folder)",
        "WeightPrior.load(folder)",
    ),
    ("InputError", "no folder"): ('p = pretrain(OLD, SPACE); p.save(folder / "no such folder" / "a.prior")',),
    ("InputError", "name of a file", "shorter"): (
        r'p = pretrain(OLD, SPACE); p.save("\0")',
        r'WeightPrior.load("\0")',
        'WeightPrior.load("a" * 5000)',
    ),
    ("InputError", "no file", "'nosuch.prior'", "prior.save(path)"): ('WeightPrior.load("nosuch.prior")',),
    ("FileFormatError", "text", "pretrain(path, space)"): (
        r'WeightPrior.load(csv("temp,gas,y\n30,air,1\n"))',
        'opt.save(folder / "a.json"); WeightPrior.load(folder / "a.json")',
    ),
    ("FileFormatError", "weight prior", "damaged", "prior.save(path)"): (
        'WeightPrior.load(csv(""))',
        r'WeightPrior.load(csv(b"PK\x03\x04 damaged", "a.prior"))',
        'WeightPrior.load(csv(__import__("pickle").dumps(OLD), "a.prior"))',
        'np.savez(folder / "a.npz", x=np.zeros(3)); WeightPrior.load(folder / "a.npz")',
        'np.save(folder / "a.npy", np.zeros(3)); WeightPrior.load(folder / "a.npy")',
        'torch.save({"x": 1}, folder / "a.pt"); WeightPrior.load(folder / "a.pt")',
        (
            'pretrain(OLD, SPACE).save(folder / "a.prior"); d = (folder / "a.prior").read_bytes(); '
            'WeightPrior.load(csv(d[: len(d) // 2], "b.prior"))'
        ),
        (
            'pretrain(OLD, SPACE).save(folder / "a.prior"); d = (folder / "a.prior").read_bytes(); '
            'WeightPrior.load(csv(d[:200] + b"XX" + d[202:], "b.prior"))'
        ),
    ),
    ("FileFormatError", "campaign", "opt.save(path)", "damaged"): (
        'pretrain(OLD, SPACE).save(folder / "a.prior"); Optimizer.load(folder / "a.prior")',
    ),
    ("FileFormatError", "NumPy", "table"): (
        'pretrain(OLD, SPACE).save(folder / "a.prior"); Optimizer(SPACE, direction="maximize", seed=0).resume(folder / "a.prior")',
    ),
    ("InputError", "weight prior", "('temp', 'gas')", "pretrain"): (
        'Optimizer({"temp": (0.0, 200.0), "gas": ["air", "argon"]}, pretrain(OLD, SPACE), direction="maximize", seed=0)',
        'Optimizer({"gas": ["air", "argon"], "temp": (30.0, 90.0)}, pretrain(OLD, SPACE), direction="maximize", seed=0)',
        'Optimizer({"temp": (30.0, 90.0), "gas": ["air", "argon", "helium"]}, pretrain(OLD, SPACE), direction="maximize", seed=0)',
        (
            'Optimizer({"temp": optuna.distributions.FloatDistribution(30, 90, log=True), "gas": ["air", "argon"]}, pretrain(OLD, SPACE), direction="maximize", seed=0)'
        ),
    ),
    ("InputError", "WeightPrior", "box", "tables"): (
        'Optimizer(SPACE, [pretrain(OLD, SPACE), OLD], direction="maximize", seed=0)',
    ),
    ("InputError", "one old data set", "got 2"): (
        'Optimizer(SPACE, [OLD, OLD], direction="maximize", transfer=TransferConfig(prior="as printed"), seed=0)',
        'Optimizer(SPACE, [OLD, OLD], direction="maximize", transfer=TransferConfig(kernel=SquaredExponential()), seed=0)',
    ),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("OldDataWarning", "columns", "search space", "averaged over"): ("pretrain(told.history, SPACE)",),
    ("OldDataWarning", "never varies"): ('Optimizer(SPACE, [OLD, OLD.assign(y=3.0)], direction="maximize", seed=0)',),
    ("OldDataWarning", "empty", "no rows"): (
        'Optimizer(SPACE, {"a": OLD, "b": OLD.iloc[:0]}, direction="maximize", seed=0)',
    ),
}

TAKEN: tuple[str, ...] = (
    "pretrain(OLD, SPACE, lam_bounds=(1.0, 1.0))",
    "pretrain(OLD, SPACE, lam_bounds=None)",
)
