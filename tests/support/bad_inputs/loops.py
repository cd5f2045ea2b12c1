"""`optimize` and `simulate`."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "function must", "lambda setting: …", "got"): (
        "optimize(None, SPACE, 3, progress=False)",
        "optimize(3, SPACE, 3, progress=False)",
        'optimize("f", SPACE, 3, progress=False)',
        "optimize(SPACE, lambda s: 1.0, 3, progress=False)",
    ),
    ("InputError", "function", "one number", "returned"): (
        "optimize(lambda s: None, SPACE, 3, progress=False)",
        "optimize(lambda s: (1.0, 2.0), SPACE, 3, progress=False)",
        'optimize(lambda s: "1.0", SPACE, 3, progress=False)',
        'optimize(lambda s: {"z": 1.0}, SPACE, 3, progress=False)',
        "optimize(lambda s: 1j, SPACE, 3, progress=False)",
        "optimize(lambda s: torch.zeros(2), SPACE, 3, progress=False)",
    ),
    ("InputError", "n_trials", "whole number", "1", "got"): (
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
    ("InputError", "search space", "dict"): ("optimize(lambda s: 1.0, None, 3, progress=False)",),
    ("InputError", "catch", "exceptions", "got"): (
        'optimize(lambda s: 1.0, SPACE, 2, catch="ValueError", progress=False)',
        "optimize(lambda s: 1.0, SPACE, 2, catch=None, progress=False)",
        "optimize(lambda s: 1.0, SPACE, 2, catch=(3,), progress=False)",
    ),
    ("InputError", "no file", "looked for in"): (
        'optimize(lambda s: 1.0, SPACE, 2, old_data="nosuch.csv", progress=False)',
        'simulate(opt, lambda s: 1.0, 1, candidates="grid.csv")',
    ),
    ("InputError", "optimizer must", "Optimizer", "got"): (
        "simulate(None, lambda s: 1.0, 2)",
        "simulate(SPACE, lambda s: 1.0, 2)",
    ),
    ("InputError", "respond", "function", "got"): (
        "simulate(opt, None, 2)",
        "simulate(opt, 3, 2)",
    ),
    ("InputError", "tell", "value", "failed=True"): ("simulate(Optimizer(SPACE), lambda s: None, 2)",),
    ("InputError", "text", "number", "point"): ('simulate(Optimizer(SPACE), lambda s: "1.0", 2)',),
    ("InputError", "tell", "one value", "got"): ("simulate(Optimizer(SPACE), lambda s: (1.0, 2.0), 2)",),
    ("InputError", "candidates", "one setting"): ("simulate(opt, lambda s: 1.0, 1, candidates=[])",),
    ("InputError", "'temp'", "between", "search space"): (
        'simulate(opt, lambda s: 1.0, 1, first=[{"temp": 400.0, "gas": "air"}])',
    ),
    ("InputError", "first", "list", "dict", "got"): (
        "simulate(opt, lambda s: 1.0, 1, first=[3])",
        'simulate(opt, lambda s: 1.0, 1, first="first")',
        'simulate(opt, lambda s: 1.0, 1, first={"temp": 40.0, "gas": "air"})',
    ),
    ("InputError", "after", "function", "got"): ("simulate(opt, lambda s: 1.0, 1, after=3)",),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("OddResultWarning", "inf", "failed run"): ("optimize(lambda s: inf, SPACE, 3, progress=False)",),
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
