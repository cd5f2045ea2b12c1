"""The other arguments of `Optimizer`."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "direction", "'maximize'", "'minimize'", "got"): (
        'Optimizer(SPACE, direction="max", seed=0)',
        'Optimizer(SPACE, direction="Minimise", seed=0)',
        'Optimizer(SPACE, direction=["maximize"], seed=0)',
        "Optimizer(SPACE, direction=True, seed=0)",
        'Optimizer(SPACE, direction="sideways", seed=0)',
    ),
    ("InputError", "direction", "'maximize'", "no default"): ("Optimizer(SPACE)", "Optimizer(SPACE, direction=None)"),
    ("InputError", "acquisition", "'ei'", "'ucb'", "BoTorch", "got"): (
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition="EI"), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition="expected improvement"), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=None), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=3), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=["ei"]), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=int), seed=0)',
    ),
    ("InputError", "model", "'ei'", "'ucb'"): (
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=lambda: 3), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=print), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=lambda model: model), seed=0)',
    ),
    ("InputError", "ConstrainedExpectedImprovement", "objective_index", "constraints", "functools.partial"): (
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition=__import__("botorch").acquisition.ConstrainedExpectedImprovement), seed=0)',
    ),
    ("InputError", "seed", "whole number", "0", "got"): (
        'Optimizer(SPACE, direction="maximize", seed=-1)',
        'Optimizer(SPACE, direction="maximize", seed=1.5)',
        'Optimizer(SPACE, direction="maximize", seed="1")',
        'Optimizer(SPACE, direction="maximize", seed=True)',
        'Optimizer(SPACE, direction="maximize", seed=np.random.default_rng(0))',
        'Optimizer(SPACE, direction="maximize", seed=torch.tensor(3))',
        'Optimizer.from_suggester(opt.suggester, seed="1")',
        "Optimizer.from_suggester(opt.suggester, seed=-1)",
    ),
    ("InputError", "target", "name", "text", "got"): (
        'Optimizer(SPACE, direction="maximize", target=3, seed=0)',
        'Optimizer(SPACE, direction="maximize", target=["y"], seed=0)',
    ),
    ("InputError", "constraint", "function", "True", "got"): (
        'Optimizer(SPACE, direction="maximize", constraints=3, seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints={"temp": 40.0}, seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints=[None], seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints=b"temp <= 3", seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints=OLD, seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints=[["temp <= 40"]], seed=0)',
    ),
    ("InputError", "constraint", "'temperature'", "temp, gas"): (
        'Optimizer(SPACE, direction="maximize", constraints="temperature <= 40", seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints=tunedprior.LinearConstraint({"temperature": 1}, high=40), seed=0)',
    ),
    ("InputError", "constraint", "'gas'", "numbers"): (
        'Optimizer(SPACE, direction="maximize", constraints="gas <= 40", seed=0)',
    ),
    ("InputError", "constraint", "linear"): (
        'Optimizer(SPACE, direction="maximize", constraints="temp*temp <= 40", seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints="__import__(\'os\') <= 40", seed=0)',
    ),
    ("InputError", "<lambda>", "True", "False", "returned"): (
        'Optimizer(SPACE, direction="maximize", constraints=lambda setting: None, seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints=lambda setting: setting["temp"], seed=0)',
    ),
    ("InputError", "<lambda>", "failed"): (
        'Optimizer(SPACE, direction="maximize", constraints=lambda: True, seed=0)',
        'Optimizer(SPACE, direction="maximize", constraints=lambda setting: setting["z"] > 3, seed=0)',
    ),
    ("InputError", "class Mixture", "Mixture(…)"): (
        'Optimizer(SPACE, direction="maximize", constraints=Mixture, seed=0)',
    ),
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
        'Optimizer(SPACE, direction="maximize", constraints=OnlyWhen("temp", {"gas": "helium"}, 40.0), seed=0)',
    ),
    ("InputError", "beta", "'brochu'", "'srinivas'", "'fixed'", "got"): (
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta="Brochu"), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta="2.0"), seed=0)',
    ),
    ("InputError", "beta", "above 0", "got"): (
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta=0), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta=-1), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta=nan), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta=inf), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta=None), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta=[1.0]), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta=10**400), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta=True), seed=0)',
    ),
    ("InputError", "noise_std", "finite", "0", "got"): (
        'Optimizer(SPACE, direction="maximize", noise_std=-0.1, seed=0)',
        'Optimizer(SPACE, direction="maximize", noise_std=nan, seed=0)',
        'Optimizer(SPACE, direction="maximize", noise_std=inf, seed=0)',
        'Optimizer(SPACE, direction="maximize", noise_std="0.1", seed=0)',
        'Optimizer(SPACE, direction="maximize", noise_std=[0.1], seed=0)',
        'Optimizer(SPACE, direction="maximize", noise_std=torch.tensor(0.1), seed=0)',
        'Optimizer(SPACE, direction="maximize", noise_std=1j, seed=0)',
    ),
    ("InputError", "initial", "whole number", "1", "got"): (
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=0), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=-1), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=2.5), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial="two"), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=True), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=nan), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=inf), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=[3]), seed=0)',
    ),
    ("InputError", "prior", "average", "aligned", "got"): (
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(prior="avarage"), seed=0)',
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(prior=None), seed=0)',
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(prior=["average"]), seed=0)',
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(prior=OLD), seed=0)',
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(prior="Average"), seed=0)',
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(prior="shape"), seed=0)',
    ),
    ("InputError", "kernel", "tunedprior.kernels", "SquaredExponential()", "got"): (
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(kernel="squared exponential"), seed=0)',
        'Optimizer(SPACE, OLD, direction="maximize", transfer=TransferConfig(kernel="squared exponential"), seed=0)',
        'Optimizer(SPACE, OLD, direction="maximize", transfer=TransferConfig(kernel=__import__("gpytorch").kernels.RBFKernel()), seed=0)',
        'Optimizer(SPACE, OLD, direction="maximize", transfer=TransferConfig(kernel=3), seed=0)',
    ),
    ("InputError", "kernel", "class SquaredExponential", "SquaredExponential(…)"): (
        'Optimizer(SPACE, OLD, direction="maximize", transfer=TransferConfig(kernel=SquaredExponential), seed=0)',
    ),
    ("InputError", "ard", "True", "False", "got"): (
        'Optimizer(SPACE, OLD, direction="maximize", transfer=TransferConfig(prior="reweighted", ard="yes"), seed=0)',
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(ard="no"), seed=0)',
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(ard=None), seed=0)',
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(ard=3), seed=0)',
    ),
    ("InputError", "ard=True", "SquaredExponential", "Linear"): (
        'Optimizer(SPACE, OLD, direction="maximize", transfer=TransferConfig(prior="reweighted", kernel=Linear(), ard=True), seed=0)',
    ),
    ("InputError", "model", "Surrogate", "TunedPrior(prior)", "got"): (
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(model="gp"), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(model=3), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(model=lambda observations: None), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(model=opt), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(model=__import__("botorch").models.SingleTaskGP), seed=0)',
    ),
    ("InputError", "model", "old data", "prior", "kernel", "ard"): (
        'Optimizer(SPACE, OLD, direction="maximize", search=SearchConfig(model=opt.surrogate), seed=0)',
        'Optimizer(SPACE, direction="maximize", search=SearchConfig(model=opt.surrogate), transfer=TransferConfig(prior="reweighted"), seed=0)',
    ),
    ("InputError", "search space", "Box.enclose"): (
        'Optimizer({"x": (0.0, 1.0)}, direction="maximize", search=SearchConfig(model=opt.surrogate), seed=0)',
    ),
    ("InputError", "suggester", "opt.suggester", "got"): (
        "Optimizer.from_suggester(opt)",
        "Optimizer.from_suggester(None)",
    ),
    ("InputError", "trust", "old data", "prior='average'"): ("opt.trust",),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {}

TAKEN: tuple[str, ...] = (
    'Optimizer(SPACE, direction="maximize", seed=None)',
    'Optimizer(SPACE, direction="maximize", target=None, seed=0)',
    'Optimizer(SPACE, direction="maximize", seed=2**70).ask()',
    'Optimizer(SPACE, direction="maximize", seed=10**400).ask()',
    'Optimizer(SPACE, direction="maximize", seed=np.int64(3)).ask()',
    'Optimizer(SPACE, direction="maximize", target="temp", seed=0)',
    'Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition="ucb", beta="srinivas"), seed=0)',
    'Optimizer(SPACE, direction="maximize", search=SearchConfig(beta="srinivas"), seed=0).ask()',
    'Optimizer(SPACE, direction="maximize", noise_std=np.float32(0.1), seed=0).ask()',
    'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=10**30), seed=0).ask()',
    'Optimizer(SPACE, direction="maximize", search=SearchConfig(initial=np.int64(3)), seed=0).ask()',
    'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(kernel=SquaredExponential()), seed=0)',
)
