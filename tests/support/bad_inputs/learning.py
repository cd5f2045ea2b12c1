"""`pretrain`, and weight priors in files."""

REFUSED: dict[str, tuple[str, ...]] = {
    "must be a pandas.DataFrame, the path of a file … ; got ": ("pretrain(None, SPACE)",),
    'A search space is a dict of names … such as {"speed": (10.0, 90.0)}; got ': (
        "pretrain(SPACE, OLD)",
        "pretrain(OLD, None)",
    ),
    "Write pandas.DataFrame(array, columns=['temp', ": (
        "pretrain(OLD.to_numpy(), SPACE)",
        "pretrain([OLD, OLD], SPACE)",
    ),
    "there is no file … (Looked for in ": ('pretrain("nosuch.csv", SPACE)',),
    "column 'a' must be a list of values; got DataFrame": ('pretrain({"a": OLD}, SPACE)',),
    "Old data is empty: there are no rows to learn from": ("pretrain(OLD.iloc[:0], SPACE)",),
    "must hold at least two points; got one. Optimise without it": (
        "pretrain(OLD.iloc[:1], SPACE)",
        "pretrain(OLD, SPACE, rows_with_alpha=1)",
    ),
    "must vary; all … Optimise without them": ("pretrain(OLD.assign(y=3.0), SPACE)",),
    "'y' is blank in every row. Name the right column with target=": ("pretrain(OLD.assign(y=nan), SPACE)",),
    "kernel must be one of tunedprior.kernels, such as SquaredExponential(); got ": (
        'pretrain(OLD, SPACE, kernel="rbf")',
        'pretrain(OLD, SPACE, kernel=__import__("gpytorch").kernels.RBFKernel())',
        "pretrain(OLD, SPACE, kernel=3)",
    ),
    "kernel must be an instance; got the class SquaredExponential. Write SquaredExponential(…)": (
        "pretrain(OLD, SPACE, kernel=SquaredExponential)",
    ),
    "machine must be one of tunedprior.machines, such as LeastSquares(1.0); got ": (
        'pretrain(OLD, SPACE, machine="svm")',
        'pretrain(OLD, SPACE, machine=__import__("sklearn.svm").svm.SVR())',
    ),
    "machine must be an instance; got the class LeastSquares": ("pretrain(OLD, SPACE, machine=LeastSquares)",),
    "Class labels must be -1 or +1;  … Map fail to -1 and pass to +1": (
        "pretrain(OLD, SPACE, machine=SupportVectorClassifier(1.0))",
    ),
    "ard must be True or False; got ": ('pretrain(OLD, SPACE, ard="yes")',),
    "ard=True needs a kernel with one length-scale per input, SquaredExponential; got Linear": (
        "pretrain(OLD, SPACE, kernel=Linear(), ard=True)",
    ),
    "must have columns … is missing (there are  … Rename columns, name the response with target=": (
        'pretrain(OLD, SPACE, target="z")',
        'pretrain(OLD, {"x": (0.0, 1.0)})',
    ),
    "target must be the name of the response, as text; got ": (
        "pretrain(OLD, SPACE, target=None)",
        'pretrain(OLD, SPACE, target=["y"])',
    ),
    "direction must be 'maximize' or 'minimize'; got ": (
        'pretrain(OLD, SPACE, direction="up")',
        "pretrain(OLD, SPACE, direction=None)",
    ),
    "lam_bounds must be (low, high)": (
        "pretrain(OLD, SPACE, lam_bounds=(1.0, 0.1))",
        "pretrain(OLD, SPACE, lam_bounds=0.1)",
        "pretrain(OLD, SPACE, lam_bounds=(0.1,))",
        "pretrain(OLD, SPACE, lam_bounds=(0.1, 1.0, 10.0))",
    ),
    "Each of lam_bounds must be a  … above 0; got ": (
        "pretrain(OLD, SPACE, lam_bounds=(-1.0, 1.0))",
        "pretrain(OLD, SPACE, lam_bounds=(0.0, 1.0))",
        "pretrain(OLD, SPACE, lam_bounds=(nan, 1.0))",
        "pretrain(OLD, SPACE, lam_bounds=(1.0, inf))",
        'pretrain(OLD, SPACE, lam_bounds=("a", "b"))',
    ),
    "rows_with_alpha must be a whole number, 1 or more; got ": (
        "pretrain(OLD, SPACE, rows_with_alpha=0)",
        "pretrain(OLD, SPACE, rows_with_alpha=2.5)",
        'pretrain(OLD, SPACE, rows_with_alpha="many")',
    ),
    "seed must be a whole number, 0 or more; got ": (
        "pretrain(OLD, SPACE, seed=-1)",
        'pretrain(OLD, SPACE, seed="1")',
        "pretrain(OLD, SPACE, seed=None)",
        "pretrain(OLD, SPACE, seed=1.5)",
    ),
    "device must be one that PyTorch has here, such as 'cpu' or 'cuda'; got ": (
        'pretrain(OLD, SPACE, device="warp")',
        "pretrain(OLD, SPACE, device=3)",
        'pretrain(OLD, SPACE, rows_with_alpha=5, device="warp")',
    ),
    "A search space needs at least one parameter, such as": ("pretrain(OLD, {})",),
    "There must be the name of a file … ; got ": (
        "p = pretrain(OLD, SPACE); p.save(None)",
        'p = pretrain(OLD, SPACE); p.save("")',
        "p = pretrain(OLD, SPACE); p.save(3)",
        "WeightPrior.load(None)",
        "WeightPrior.load(3)",
        'WeightPrior.load("")',
        "WeightPrior.load(OLD)",
    ),
    "is a folder. Name ": (
        "p = pretrain(OLD, SPACE); p.save(folder)",
        "WeightPrior.load(folder)",
    ),
    "There is no folder  … Make it first, or name another": (
        'p = pretrain(OLD, SPACE); p.save(folder / "no such folder" / "a.prior")',
    ),
    "cannot be the name of a file. Choose a shorter one": (
        r'p = pretrain(OLD, SPACE); p.save("\0")',
        r'WeightPrior.load("\0")',
        'WeightPrior.load("a" * 5000)',
    ),
    "There is no file 'nosuch.prior'. Name one that prior.save(path) wrote": ('WeightPrior.load("nosuch.prior")',),
    "It looks like text … learn from it with pretrain(path, space)": (
        r'WeightPrior.load(csv("temp,gas,y\n30,air,1\n"))',
        'opt.save(folder / "a.json"); WeightPrior.load(folder / "a.json")',
    ),
    "is not a weight prior, or is damaged … Make it again with prior.save(path)": (
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
    "is not a campaign that opt.save(path) wrote, or is damaged": (
        'pretrain(OLD, SPACE).save(folder / "a.prior"); Optimizer.load(folder / "a.prior")',
    ),
    "is an archive of NumPy arrays, not a table": (
        'pretrain(OLD, SPACE).save(folder / "a.prior"); Optimizer(SPACE).resume(folder / "a.prior")',
    ),
    "The weight prior was learnt for ('temp', 'gas') and does not cover … Learn it again with pretrain": (
        'Optimizer({"temp": (0.0, 200.0), "gas": ["air", "argon"]}, pretrain(OLD, SPACE))',
        'Optimizer({"gas": ["air", "argon"], "temp": (30.0, 90.0)}, pretrain(OLD, SPACE))',
        'Optimizer({"temp": (30.0, 90.0), "gas": ["air", "argon", "helium"]}, pretrain(OLD, SPACE))',
        (
            'Optimizer({"temp": optuna.distributions.FloatDistribution(30, 90, log=True), "gas": ["air", '
            '"argon"]}, pretrain(OLD, SPACE))'
        ),
    ),
    "A WeightPrior brings its own box … Give the tables they were learnt from instead": (
        "Optimizer(SPACE, [pretrain(OLD, SPACE), OLD])",
    ),
    "learns from one old data set; got 2  … Join them into one table": (
        'Optimizer(SPACE, [OLD, OLD], prior="reweighted")',
        "Optimizer(SPACE, [OLD, OLD], kernel=SquaredExponential())",
    ),
}

WARNED: dict[str, tuple[str, ...]] = {
    "Columns that the search space does not name are averaged over: ": ("pretrain(told.history, SPACE)",),
    "never varies. Going on without": ("Optimizer(SPACE, [OLD, OLD.assign(y=3.0)])",),
    "is empty: there are no rows to learn from. Going on without": ('Optimizer(SPACE, {"a": OLD, "b": OLD.iloc[:0]})',),
}

TAKEN: tuple[str, ...] = (
    "pretrain(OLD, SPACE, lam_bounds=(1.0, 1.0))",
    "pretrain(OLD, SPACE, lam_bounds=None)",
)
