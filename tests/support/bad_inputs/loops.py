"""`optimize` and `simulate`."""

REFUSED: dict[str, tuple[str, ...]] = {
    "function must be a function, such as lambda setting: …; got ": (
        "optimize(None, SPACE, 3, progress=False)",
        "optimize(3, SPACE, 3, progress=False)",
        'optimize("f", SPACE, 3, progress=False)',
        "optimize(SPACE, lambda s: 1.0, 3, progress=False)",
    ),
    "The function to optimize must return one number … returned ": (
        "optimize(lambda s: None, SPACE, 3, progress=False)",
        "optimize(lambda s: (1.0, 2.0), SPACE, 3, progress=False)",
        'optimize(lambda s: "1.0", SPACE, 3, progress=False)',
        'optimize(lambda s: {"z": 1.0}, SPACE, 3, progress=False)',
        "optimize(lambda s: 1j, SPACE, 3, progress=False)",
        "optimize(lambda s: torch.zeros(2), SPACE, 3, progress=False)",
    ),
    "n_trials must be a whole number, 1 or more; got ": (
        "optimize(lambda s: 1.0, SPACE, 0, progress=False)",
        "optimize(lambda s: 1.0, SPACE, -1, progress=False)",
        "optimize(lambda s: 1.0, SPACE, 2.5, progress=False)",
        'optimize(lambda s: 1.0, SPACE, "3", progress=False)',
        "optimize(lambda s: 1.0, SPACE, None, progress=False)",
        "optimize(lambda s: 1.0, SPACE, True, progress=False)",
        "simulate(opt, lambda s: 1.0, 0)",
        "simulate(opt, lambda s: 1.0, -1)",
        "simulate(opt, lambda s: 1.0, 2.5)",
        'simulate(opt, lambda s: 1.0, "2")',
    ),
    'A search space is a dict of names … such as {"speed": (10.0, 90.0)}; got ': (
        "optimize(lambda s: 1.0, None, 3, progress=False)",
    ),
    "catch must be exceptions, such as (ValueError, ArithmeticError); got ": (
        'optimize(lambda s: 1.0, SPACE, 2, catch="ValueError", progress=False)',
        "optimize(lambda s: 1.0, SPACE, 2, catch=None, progress=False)",
        "optimize(lambda s: 1.0, SPACE, 2, catch=(3,), progress=False)",
    ),
    "there is no file … (Looked for in ": (
        'optimize(lambda s: 1.0, SPACE, 2, old_data="nosuch.csv", progress=False)',
        'simulate(opt, lambda s: 1.0, 1, candidates="grid.csv")',
    ),
    "optimizer must be an Optimizer; got ": (
        "simulate(None, lambda s: 1.0, 2)",
        "simulate(SPACE, lambda s: 1.0, 2)",
    ),
    "respond must be a function, such as lambda setting: …; got ": (
        "simulate(opt, None, 2)",
        "simulate(opt, 3, 2)",
    ),
    "tell needs a value for each setting, or failed=True": ("simulate(Optimizer(SPACE), lambda s: None, 2)",),
    "got the text  … Write a number, with a point": ('simulate(Optimizer(SPACE), lambda s: "1.0", 2)',),
    "tell needs one value for each of the  … ; got ": ("simulate(Optimizer(SPACE), lambda s: (1.0, 2.0), 2)",),
    "candidates must hold at least one setting; got none": ("simulate(opt, lambda s: 1.0, 1, candidates=[])",),
    "'temp' must lie between  … If the unit is right, widen the search space": (
        'simulate(opt, lambda s: 1.0, 1, first=[{"temp": 400.0, "gas": "air"}])',
    ),
    "first must be a list of settings, each a dict; got ": (
        "simulate(opt, lambda s: 1.0, 1, first=[3])",
        'simulate(opt, lambda s: 1.0, 1, first="first")',
        'simulate(opt, lambda s: 1.0, 1, first={"temp": 40.0, "gas": "air"})',
    ),
    "after must be a function, such as lambda setting: …; got ": ("simulate(opt, lambda s: 1.0, 1, after=3)",),
}

WARNED: dict[str, tuple[str, ...]] = {
    "OddResultWarning: A value of  … inf is no measurement: it is kept as a failed run": (
        "optimize(lambda s: inf, SPACE, 3, progress=False)",
    ),
}

TAKEN: tuple[str, ...] = (
    "optimize(lambda s: torch.zeros(1, 1, requires_grad=True), SPACE, 2, progress=False)",
    "optimize(lambda s: nan, SPACE, 2, progress=False)",
    'optimize(lambda s: 1.0, SPACE, 2, progress="yes")',
    "optimize(lambda s: 1.0, SPACE, 2, catch=ValueError, progress=False)",
    "optimize(lambda s: 1 / 0, SPACE, 2, catch=ZeroDivisionError, progress=False)",
    "optimize(lambda s: 1.0, SPACE, 2, catch=[ValueError], progress=False)",
    "optimize(lambda s: s.clear() or 1.0, SPACE, 2, progress=False)",
    'simulate(opt, lambda s: 1.0, 1, first=OLD[["temp", "gas"]])',
)
