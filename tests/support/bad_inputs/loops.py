"""`optimize` and `simulate`."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "function must", "lambda setting: …", "got"): (
        'optimize(None, SPACE, 3, direction="maximize", progress=False, seed=0)',
        'optimize(3, SPACE, 3, direction="maximize", progress=False, seed=0)',
        'optimize("f", SPACE, 3, direction="maximize", progress=False, seed=0)',
        'optimize(SPACE, lambda s: 1.0, 3, direction="maximize", progress=False, seed=0)',
    ),
    ("InputError", "function", "one number", "returned"): (
        'optimize(lambda s: None, SPACE, 3, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: (1.0, 2.0), SPACE, 3, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: "1.0", SPACE, 3, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: {"z": 1.0}, SPACE, 3, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: 1j, SPACE, 3, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: torch.zeros(2), SPACE, 3, direction="maximize", progress=False, seed=0)',
    ),
    ("InputError", "n_trials", "whole number", "1", "got"): (
        'optimize(lambda s: 1.0, SPACE, 0, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: 1.0, SPACE, -1, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: 1.0, SPACE, 2.5, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: 1.0, SPACE, "3", direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: 1.0, SPACE, None, direction="maximize", progress=False, seed=0)',
        'optimize(lambda s: 1.0, SPACE, True, direction="maximize", progress=False, seed=0)',
        "simulate(opt, lambda s: 1.0, 0)",
        "simulate(opt, lambda s: 1.0, -1)",
        "simulate(opt, lambda s: 1.0, 2.5)",
        'simulate(opt, lambda s: 1.0, "2")',
    ),
    ("InputError", "search space", "dict"): (
        'optimize(lambda s: 1.0, None, 3, direction="maximize", progress=False, seed=0)',
    ),
    ("InputError", "catch", "exceptions", "got"): (
        'optimize(lambda s: 1.0, SPACE, 2, direction="maximize", catch="ValueError", progress=False, seed=0)',
        'optimize(lambda s: 1.0, SPACE, 2, direction="maximize", catch=None, progress=False, seed=0)',
        'optimize(lambda s: 1.0, SPACE, 2, direction="maximize", catch=(3,), progress=False, seed=0)',
    ),
    ("InputError", "no file", "looked for in"): (
        'optimize(lambda s: 1.0, SPACE, 2, direction="maximize", old_data="nosuch.csv", progress=False, seed=0)',
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
    ("InputError", "tell", "value", "failed=True"): (
        'simulate(Optimizer(SPACE, direction="maximize", seed=0), lambda s: None, 2)',
    ),
    ("InputError", "text", "number", "point"): (
        'simulate(Optimizer(SPACE, direction="maximize", seed=0), lambda s: "1.0", 2)',
    ),
    ("InputError", "tell", "one value", "got"): (
        'simulate(Optimizer(SPACE, direction="maximize", seed=0), lambda s: (1.0, 2.0), 2)',
    ),
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
    ("OddResultWarning", "inf", "failed run"): (
        'optimize(lambda s: inf, SPACE, 3, direction="maximize", progress=False, seed=0)',
    ),
}

TAKEN: tuple[str, ...] = (
    'optimize(lambda s: torch.zeros(1, 1, requires_grad=True), SPACE, 2, direction="maximize", progress=False, seed=0)',
    'optimize(lambda s: nan, SPACE, 2, direction="maximize", progress=False, seed=0)',
    'optimize(lambda s: 1.0, SPACE, 2, direction="maximize", progress="yes", seed=0)',
    'optimize(lambda s: 1.0, SPACE, 2, direction="maximize", catch=ValueError, progress=False, seed=0)',
    'optimize(lambda s: 1 / 0, SPACE, 2, direction="maximize", catch=ZeroDivisionError, progress=False, seed=0)',
    'optimize(lambda s: 1.0, SPACE, 2, direction="maximize", catch=[ValueError], progress=False, seed=0)',
    'optimize(lambda s: s.clear() or 1.0, SPACE, 2, direction="maximize", progress=False, seed=0)',
    'simulate(opt, lambda s: 1.0, 1, first=OLD[["temp", "gas"]])',
)
