"""The other arguments of `Optimizer`."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "direction", "'maximize'", "'minimize'", "got"): (
        'Optimizer(SPACE, direction="max")',
        'Optimizer(SPACE, direction="Minimise")',
        "Optimizer(SPACE, direction=None)",
        'Optimizer(SPACE, direction=["maximize"])',
        "Optimizer(SPACE, direction=True)",
        'Optimizer(SPACE, direction="sideways")',
    ),
    ("InputError", "acquisition", "'ei'", "'ucb'", "BoTorch", "got"): (
        'Optimizer(SPACE, acquisition="EI")',
        'Optimizer(SPACE, acquisition="expected improvement")',
        "Optimizer(SPACE, acquisition=None)",
        "Optimizer(SPACE, acquisition=3)",
        'Optimizer(SPACE, acquisition=["ei"])',
        "Optimizer(SPACE, acquisition=int)",
    ),
    ("InputError", "model", "'ei'", "'ucb'"): (
        "Optimizer(SPACE, acquisition=lambda: 3)",
        "Optimizer(SPACE, acquisition=print)",
        "Optimizer(SPACE, acquisition=lambda model: model)",
    ),
    ("InputError", "ConstrainedExpectedImprovement", "objective_index", "constraints", "functools.partial"): (
        'Optimizer(SPACE, acquisition=__import__("botorch").acquisition.ConstrainedExpectedImprovement)',
    ),
    ("InputError", "seed", "whole number", "0", "got"): (
        "Optimizer(SPACE, seed=-1)",
        "Optimizer(SPACE, seed=1.5)",
        'Optimizer(SPACE, seed="1")',
        "Optimizer(SPACE, seed=None)",
        "Optimizer(SPACE, seed=True)",
        "Optimizer(SPACE, seed=np.random.default_rng(0))",
        "Optimizer(SPACE, seed=torch.tensor(3))",
        'Optimizer.from_suggester(opt.suggester, seed="1")',
        "Optimizer.from_suggester(opt.suggester, seed=-1)",
    ),
    ("InputError", "target", "name", "text", "got"): (
        "Optimizer(SPACE, target=None)",
        "Optimizer(SPACE, target=3)",
        'Optimizer(SPACE, target=["y"])',
    ),
    ("InputError", "constraint", "function", "True", "got"): (
        "Optimizer(SPACE, constraints=3)",
        'Optimizer(SPACE, constraints={"temp": 40.0})',
        "Optimizer(SPACE, constraints=[None])",
        'Optimizer(SPACE, constraints=b"temp <= 3")',
        "Optimizer(SPACE, constraints=OLD)",
        'Optimizer(SPACE, constraints=[["temp <= 40"]])',
    ),
    ("InputError", "constraint", "'temperature'", "temp, gas"): (
        'Optimizer(SPACE, constraints="temperature <= 40")',
        'Optimizer(SPACE, constraints=tunedprior.LinearConstraint({"temperature": 1}, high=40))',
    ),
    ("InputError", "constraint", "'gas'", "numbers"): ('Optimizer(SPACE, constraints="gas <= 40")',),
    ("InputError", "constraint", "linear"): (
        'Optimizer(SPACE, constraints="temp*temp <= 40")',
        """Optimizer(SPACE, constraints="__import__('os') <= 40")""",
    ),
    ("InputError", "<lambda>", "True", "False", "returned"): (
        "Optimizer(SPACE, constraints=lambda setting: None)",
        'Optimizer(SPACE, constraints=lambda setting: setting["temp"])',
    ),
    ("InputError", "<lambda>", "failed"): (
        "Optimizer(SPACE, constraints=lambda: True)",
        'Optimizer(SPACE, constraints=lambda setting: setting["z"] > 3)',
    ),
    ("InputError", "class Mixture", "Mixture(…)"): ("Optimizer(SPACE, constraints=Mixture)",),
    ("InputError", "Linear", "number"): (
        "tunedprior.LinearConstraint(None, high=1)",
        'tunedprior.LinearConstraint(["temp"], high=1)',
        "tunedprior.LinearConstraint({1: 1.0}, high=1)",
    ),
    ("InputError", "coefficient", "'temp'", "finite", "got"): (
        'tunedprior.LinearConstraint({"temp": "1"}, high=1)',
        'tunedprior.LinearConstraint({"temp": nan}, high=1)',
        'tunedprior.LinearConstraint({"temp": None}, high=1)',
    ),
    ("InputError", "Mixture", "two", "names"): (
        'Mixture("temp")',
        'Mixture(["temp", 3])',
        "Mixture(None)",
    ),
    ("InputError", "OnlyWhen", "name", "text", "got"): (
        'OnlyWhen(None, {"gas": "air"}, 40.0)',
        'OnlyWhen({"gas": "air"}, "temp", 40.0)',
    ),
    ("InputError", "OnlyWhen", "values", "parameters"): (
        'OnlyWhen("temp", "gas", 40.0)',
        'OnlyWhen("temp", {}, 40.0)',
        'OnlyWhen("temp", {"temp": 50.0}, 40.0)',
    ),
    ("InputError", "constraint", "'gas'", "air, argon", "got"): (
        'Optimizer(SPACE, constraints=OnlyWhen("temp", {"gas": "helium"}, 40.0))',
    ),
    ("InputError", "beta", "'brochu'", "'srinivas'", "'fixed'", "got"): (
        'Optimizer(SPACE, beta="Brochu")',
        'Optimizer(SPACE, beta="2.0")',
    ),
    ("InputError", "beta", "above 0", "got"): (
        "Optimizer(SPACE, beta=0)",
        "Optimizer(SPACE, beta=-1)",
        "Optimizer(SPACE, beta=nan)",
        "Optimizer(SPACE, beta=inf)",
        "Optimizer(SPACE, beta=None)",
        "Optimizer(SPACE, beta=[1.0])",
        "Optimizer(SPACE, beta=10**400)",
        "Optimizer(SPACE, beta=True)",
    ),
    ("InputError", "noise_std", "finite", "0", "got"): (
        "Optimizer(SPACE, noise_std=-0.1)",
        "Optimizer(SPACE, noise_std=nan)",
        "Optimizer(SPACE, noise_std=inf)",
        'Optimizer(SPACE, noise_std="0.1")',
        "Optimizer(SPACE, noise_std=[0.1])",
        "Optimizer(SPACE, noise_std=torch.tensor(0.1))",
        "Optimizer(SPACE, noise_std=1j)",
    ),
    ("InputError", "initial", "whole number", "1", "got"): (
        "Optimizer(SPACE, initial=0)",
        "Optimizer(SPACE, initial=-1)",
        "Optimizer(SPACE, initial=2.5)",
        'Optimizer(SPACE, initial="two")',
        "Optimizer(SPACE, initial=True)",
        "Optimizer(SPACE, initial=nan)",
        "Optimizer(SPACE, initial=inf)",
        "Optimizer(SPACE, initial=[3])",
    ),
    ("InputError", "prior", "average", "aligned", "got"): (
        'Optimizer(SPACE, prior="avarage")',
        "Optimizer(SPACE, prior=None)",
        'Optimizer(SPACE, prior=["average"])',
        "Optimizer(SPACE, prior=OLD)",
        'Optimizer(SPACE, prior="Average")',
        'Optimizer(SPACE, prior="shape")',
    ),
    ("InputError", "kernel", "tunedprior.kernels", "SquaredExponential()", "got"): (
        'Optimizer(SPACE, kernel="squared exponential")',
        'Optimizer(SPACE, OLD, kernel="squared exponential")',
        'Optimizer(SPACE, OLD, kernel=__import__("gpytorch").kernels.RBFKernel())',
        "Optimizer(SPACE, OLD, kernel=3)",
    ),
    ("InputError", "kernel", "class SquaredExponential", "SquaredExponential(…)"): (
        "Optimizer(SPACE, OLD, kernel=SquaredExponential)",
    ),
    ("InputError", "ard", "True", "False", "got"): (
        'Optimizer(SPACE, OLD, ard="yes", prior="reweighted")',
        'Optimizer(SPACE, ard="no")',
        "Optimizer(SPACE, ard=None)",
        "Optimizer(SPACE, ard=3)",
    ),
    ("InputError", "ard=True", "SquaredExponential", "Linear"): (
        'Optimizer(SPACE, OLD, ard=True, kernel=Linear(), prior="reweighted")',
    ),
    ("InputError", "model", "Surrogate", "TunedPrior(prior)", "got"): (
        'Optimizer(SPACE, model="gp")',
        "Optimizer(SPACE, model=3)",
        "Optimizer(SPACE, model=lambda observations: None)",
        "Optimizer(SPACE, model=opt)",
        'Optimizer(SPACE, model=__import__("botorch").models.SingleTaskGP)',
    ),
    ("InputError", "model", "old data", "prior", "kernel", "ard"): (
        "Optimizer(SPACE, OLD, model=opt.surrogate)",
        'Optimizer(SPACE, prior="nonsense", model=opt.surrogate)',
    ),
    ("InputError", "search space", "Box.enclose"): ('Optimizer({"x": (0.0, 1.0)}, model=opt.surrogate)',),
    ("InputError", "suggester", "opt.suggester", "got"): (
        "Optimizer.from_suggester(opt)",
        "Optimizer.from_suggester(None)",
    ),
    ("InputError", "trust", "old data", "prior='average'"): ("opt.trust",),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {}

TAKEN: tuple[str, ...] = (
    "Optimizer(SPACE, seed=2**70).ask()",
    "Optimizer(SPACE, seed=10**400).ask()",
    "Optimizer(SPACE, seed=np.int64(3)).ask()",
    'Optimizer(SPACE, target="temp")',
    'Optimizer(SPACE, acquisition="ucb", beta="srinivas")',
    'Optimizer(SPACE, beta="srinivas").ask()',
    "Optimizer(SPACE, noise_std=np.float32(0.1)).ask()",
    "Optimizer(SPACE, initial=10**30).ask()",
    "Optimizer(SPACE, initial=np.int64(3)).ask()",
    "Optimizer(SPACE, kernel=SquaredExponential())",
)
