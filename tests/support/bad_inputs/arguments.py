"""The other arguments of `Optimizer`."""

REFUSED: dict[str, tuple[str, ...]] = {
    "direction must be 'maximize' or 'minimize'; got ": (
        'Optimizer(SPACE, direction="max")',
        'Optimizer(SPACE, direction="Minimise")',
        "Optimizer(SPACE, direction=None)",
        'Optimizer(SPACE, direction=["maximize"])',
        "Optimizer(SPACE, direction=True)",
        'Optimizer(SPACE, direction="sideways")',
    ),
    "acquisition must be 'ei', 'ucb' or a BoTorch acquisition class; got ": (
        'Optimizer(SPACE, acquisition="EI")',
        'Optimizer(SPACE, acquisition="expected improvement")',
        "Optimizer(SPACE, acquisition=None)",
        "Optimizer(SPACE, acquisition=3)",
        'Optimizer(SPACE, acquisition=["ei"])',
        "Optimizer(SPACE, acquisition=int)",
    ),
    "does not work with the model … Use 'ei', 'ucb' or a class": (
        "Optimizer(SPACE, acquisition=lambda: 3)",
        "Optimizer(SPACE, acquisition=print)",
        "Optimizer(SPACE, acquisition=lambda model: model)",
    ),
    "ConstrainedExpectedImprovement needs objective_index, constraints … Pass functools.partial": (
        'Optimizer(SPACE, acquisition=__import__("botorch").acquisition.ConstrainedExpectedImprovement)',
    ),
    "seed must be a whole number, 0 or more; got ": (
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
    "target must be the name of the response, as text; got ": (
        "Optimizer(SPACE, target=None)",
        "Optimizer(SPACE, target=3)",
        'Optimizer(SPACE, target=["y"])',
    ),
    "A constraint is  … or a function of a setting that returns True or False; got ": (
        "Optimizer(SPACE, constraints=3)",
        'Optimizer(SPACE, constraints={"temp": 40.0})',
        "Optimizer(SPACE, constraints=[None])",
        'Optimizer(SPACE, constraints=b"temp <= 3")',
        "Optimizer(SPACE, constraints=OLD)",
        'Optimizer(SPACE, constraints=[["temp <= 40"]])',
    ),
    "The constraint  … names 'temperature', which is no parameter. Parameters are temp, gas": (
        'Optimizer(SPACE, constraints="temperature <= 40")',
        'Optimizer(SPACE, constraints=tunedprior.LinearConstraint({"temperature": 1}, high=40))',
    ),
    "The constraint  … takes numbers, and 'gas' is a category": ('Optimizer(SPACE, constraints="gas <= 40")',),
    "The constraint  … is not linear. Write sums": (
        'Optimizer(SPACE, constraints="temp*temp <= 40")',
        """Optimizer(SPACE, constraints="__import__('os') <= 40")""",
    ),
    "The constraint <lambda> must return True or False; for  … it returned ": (
        "Optimizer(SPACE, constraints=lambda setting: None)",
        'Optimizer(SPACE, constraints=lambda setting: setting["temp"])',
    ),
    "The constraint <lambda> failed for  … It must take every setting": (
        "Optimizer(SPACE, constraints=lambda: True)",
        'Optimizer(SPACE, constraints=lambda setting: setting["z"] > 3)',
    ),
    "A constraint is an object; got the class Mixture. Write Mixture(…)": ("Optimizer(SPACE, constraints=Mixture)",),
    "Linear needs a number for each name": (
        "tunedprior.LinearConstraint(None, high=1)",
        'tunedprior.LinearConstraint(["temp"], high=1)',
        "tunedprior.LinearConstraint({1: 1.0}, high=1)",
    ),
    "The coefficient of 'temp' must be a finite number; got ": (
        'tunedprior.LinearConstraint({"temp": "1"}, high=1)',
        'tunedprior.LinearConstraint({"temp": nan}, high=1)',
        'tunedprior.LinearConstraint({"temp": None}, high=1)',
    ),
    "Mixture needs two or more different names": (
        'Mixture("temp")',
        'Mixture(["temp", 3])',
        "Mixture(None)",
    ),
    "OnlyWhen begins with the name of a parameter, as text; got ": (
        'OnlyWhen(None, {"gas": "air"}, 40.0)',
        'OnlyWhen({"gas": "air"}, "temp", 40.0)',
    ),
    "OnlyWhen needs the values of one or more other parameters": (
        'OnlyWhen("temp", "gas", 40.0)',
        'OnlyWhen("temp", {}, 40.0)',
        'OnlyWhen("temp", {"temp": 50.0}, 40.0)',
    ),
    "In the constraint  … , 'gas' must be one of air, argon; got ": (
        'Optimizer(SPACE, constraints=OnlyWhen("temp", {"gas": "helium"}, 40.0))',
    ),
    "beta must be 'brochu', 'srinivas', 'fixed' or a number above 0; got ": (
        'Optimizer(SPACE, beta="Brochu")',
        'Optimizer(SPACE, beta="2.0")',
    ),
    "beta must be a  … number above 0; got ": (
        "Optimizer(SPACE, beta=0)",
        "Optimizer(SPACE, beta=-1)",
        "Optimizer(SPACE, beta=nan)",
        "Optimizer(SPACE, beta=inf)",
        "Optimizer(SPACE, beta=None)",
        "Optimizer(SPACE, beta=[1.0])",
        "Optimizer(SPACE, beta=10**400)",
        "Optimizer(SPACE, beta=True)",
    ),
    "noise_std must be a finite number, 0 or more; got ": (
        "Optimizer(SPACE, noise_std=-0.1)",
        "Optimizer(SPACE, noise_std=nan)",
        "Optimizer(SPACE, noise_std=inf)",
        'Optimizer(SPACE, noise_std="0.1")',
        "Optimizer(SPACE, noise_std=[0.1])",
        "Optimizer(SPACE, noise_std=torch.tensor(0.1))",
        "Optimizer(SPACE, noise_std=1j)",
    ),
    "initial must be a whole number, 1 or more; got ": (
        "Optimizer(SPACE, initial=0)",
        "Optimizer(SPACE, initial=-1)",
        "Optimizer(SPACE, initial=2.5)",
        'Optimizer(SPACE, initial="two")',
        "Optimizer(SPACE, initial=True)",
        "Optimizer(SPACE, initial=nan)",
        "Optimizer(SPACE, initial=inf)",
        "Optimizer(SPACE, initial=[3])",
    ),
    "prior must be one of average, aligned, … ; got ": (
        'Optimizer(SPACE, prior="avarage")',
        "Optimizer(SPACE, prior=None)",
        'Optimizer(SPACE, prior=["average"])',
        "Optimizer(SPACE, prior=OLD)",
        'Optimizer(SPACE, prior="Average")',
        'Optimizer(SPACE, prior="shape")',
    ),
    "kernel must be one of tunedprior.kernels, such as SquaredExponential(); got ": (
        'Optimizer(SPACE, kernel="squared exponential")',
        'Optimizer(SPACE, OLD, kernel="squared exponential")',
        'Optimizer(SPACE, OLD, kernel=__import__("gpytorch").kernels.RBFKernel())',
        "Optimizer(SPACE, OLD, kernel=3)",
    ),
    "kernel must be an instance; got the class SquaredExponential. Write SquaredExponential(…)": (
        "Optimizer(SPACE, OLD, kernel=SquaredExponential)",
    ),
    "ard must be True or False; got ": (
        'Optimizer(SPACE, OLD, ard="yes", prior="reweighted")',
        'Optimizer(SPACE, ard="no")',
        "Optimizer(SPACE, ard=None)",
        "Optimizer(SPACE, ard=3)",
    ),
    "ard=True needs a kernel with one length-scale per input, SquaredExponential; got Linear": (
        'Optimizer(SPACE, OLD, ard=True, kernel=Linear(), prior="reweighted")',
    ),
    "model must be a Surrogate … such as TunedPrior(prior); got ": (
        'Optimizer(SPACE, model="gp")',
        "Optimizer(SPACE, model=3)",
        "Optimizer(SPACE, model=lambda observations: None)",
        "Optimizer(SPACE, model=opt)",
        'Optimizer(SPACE, model=__import__("botorch").models.SingleTaskGP)',
    ),
    "Give either a model, or old data with prior, kernel and ard": (
        "Optimizer(SPACE, OLD, model=opt.surrogate)",
        'Optimizer(SPACE, prior="nonsense", model=opt.surrogate)',
    ),
    "does not hold this search space … Make it with Box.enclose": (
        'Optimizer({"x": (0.0, 1.0)}, model=opt.surrogate)',
    ),
    "suggester must be a Suggester, such as opt.suggester; got ": (
        "Optimizer.from_suggester(opt)",
        "Optimizer.from_suggester(None)",
    ),
    "Trust is a matter of several beliefs, so it takes old data and prior='average'": ("opt.trust",),
}

WARNED: dict[str, tuple[str, ...]] = {}

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
