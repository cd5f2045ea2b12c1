"""`amend`, `withdraw` and `cancel`."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "no result", "1, 2, 3, 4"): (
        "told.amend(99, 1.0)",
        "told.amend(0, 1.0)",
        "told.amend(-1, 1.0)",
        "told.withdraw(99)",
    ),
    ("InputError", "trial", "number", "got"): (
        'told.amend("1", 1.0)',
        "told.amend(None, 1.0)",
        "told.amend(1.0, 1.0)",
        "told.amend(True, 1.0)",
        "told.amend([1, 2], 1.0)",
        "opt.amend(OLD, 1.0)",
        'told.withdraw("1")',
        "told.withdraw(None)",
        "told.withdraw([1, 2])",
        "told.withdraw(1.0)",
        "opt.cancel(True)",
    ),
    ("InputError", "amend", "value", "setting", "note", "failed=True"): ("told.amend(1)",),
    ("InputError", "text", "number", "point"): ('told.amend(1, "0.5")',),
    ("InputError", "tell", "one value", "got"): ("told.amend(1, [1.0, 2.0])",),
    ("InputError", "value", "failed", "both"): ("told.amend(1, 1.0, failed=True)",),
    ("InputError", "failed", "True", "False", "got"): (
        'told.amend(1, failed="yes")',
        "told.amend(1, failed=None, value=2.0)",
    ),
    ("InputError", "'temp'", "between", "search space"): (
        'told.amend(1, setting={"temp": 400.0})',
        'told.amend(1, setting={"temp": True})',
    ),
    ("InputError", "'temp'", "number", "rows 0"): ('told.amend(1, setting={"temp": nan})',),
    ("InputError", "'gas'", "air, argon", "got"): ('told.amend(1, setting={"gas": "helium"})',),
    ("InputError", "temp, gas", "got"): (
        'told.amend(1, setting={"color": "red"})',
        "told.amend(1, setting=OLD.iloc[0])",
    ),
    ("InputError", "setting", "dict", "{'temp': …}", "got"): (
        "told.amend(1, setting={})",
        'told.amend(1, setting=[40.0, "air"])',
        'told.amend(1, setting="temp")',
        "told.amend(1, setting=40.0)",
        "told.amend(1, setting=OLD)",
    ),
    ("InputError", "'temp'", "numbers", "date or duration"): (
        'told.amend(1, setting={"temp": np.datetime64("2020-01-01")})',
        'told.amend(1, setting={"temp": pd.Timestamp("2020-01-01")})',
    ),
    ("InputError", "note", "text", "got"): (
        "told.amend(1, note=3)",
        'told.amend(1, note=["a"])',
        "told.withdraw(1, note=3)",
    ),
    ("InputError", "trial 1", "use tell"): (
        "opt.amend(first, 1.0)",
        "opt.amend(1, 1.0)",
        "opt.withdraw(1)",
        "opt.withdraw(first)",
    ),
    ("InputError", "trial 1", "cancelled", "trial=1"): (
        'o = Optimizer(SPACE, direction="maximize", seed=0); s = o.ask(); o.cancel(s); o.amend(1, 1.0)',
        'o = Optimizer(SPACE, direction="maximize", seed=0); s = o.ask(); o.cancel(s); o.withdraw(s)',
    ),
    ("InputError", "trial 1", "withdrawn", "undo"): (
        'o = Optimizer(SPACE, direction="maximize", seed=0); o.tell(o.ask(), 1.0); o.withdraw(1); o.withdraw(1)',
    ),
    ("InputError", "not among"): (
        'opt.cancel("air")',
        "opt.cancel(None)",
        "opt.cancel(99)",
        "opt.cancel(1.0)",
        'opt.cancel([first, {"temp": 50.0, "gas": "air"}])',
        "opt.cancel([first, first])",
        'opt.cancel({"temp": 50.0, "gas": "air"})',
        'opt.cancel({"temp": 50.0})',
        "opt.cancel({})",
        "opt.cancel(3.5)",
        'opt.cancel({"temp": "warm", "gas": "air"})',
        'opt.cancel({"temp": None, "gas": "air"})',
        'opt.cancel({"temp": [1], "gas": ["air"]})',
        "opt.cancel(np.array([1, 2]))",
    ),
    ("InputError", "pending", "cancelled", "got"): (
        "opt.cancel(OLD)",
        "opt.cancel(opt.history)",
    ),
    ("InputError", "not among", "nothing is pending"): (
        'o = Optimizer(SPACE, direction="maximize", seed=0); s = o.ask(); o.cancel(s); o.cancel(s)',
        "told.cancel(1)",
    ),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("OddResultWarning", "inf", "failed run"): ("told.amend(1, inf); assert told.trials.told[0].failed",),
}

TAKEN: tuple[str, ...] = (
    "told.amend(1, nan); assert told.trials.told[0].failed",
    'told.amend(1, setting={"temp": "40"})',
    "told.amend(told.best, 5.0); assert told.best.value == 5.0",
    "opt.cancel([])",
    "opt.cancel(opt.pending); assert opt.pending == []",
)
