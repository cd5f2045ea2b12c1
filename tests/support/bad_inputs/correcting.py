"""`amend`, `withdraw` and `cancel`."""

REFUSED: dict[str, tuple[str, ...]] = {
    "There is no result with the number  … There are 1, 2, 3, 4": (
        "told.amend(99, 1.0)",
        "told.amend(0, 1.0)",
        "told.amend(-1, 1.0)",
        "told.withdraw(99)",
    ),
    "A trial is given by its number … ; got ": (
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
    "amend needs the right value, setting or note, or failed=True": ("told.amend(1)",),
    "got the text  … Write a number, with a point": ('told.amend(1, "0.5")',),
    "tell needs one value for each of the  … ; got ": ("told.amend(1, [1.0, 2.0])",),
    "A result has a value, or it failed; got both. Leave one of them out": ("told.amend(1, 1.0, failed=True)",),
    "failed must be True or False; got ": (
        'told.amend(1, failed="yes")',
        "told.amend(1, failed=None, value=2.0)",
    ),
    "'temp' must lie between  … If the unit is right, widen the search space": (
        'told.amend(1, setting={"temp": 400.0})',
        'told.amend(1, setting={"temp": True})',
    ),
    "Every setting needs a number for 'temp'; rows 0": ('told.amend(1, setting={"temp": nan})',),
    "'gas' must be one of air, argon; got ": ('told.amend(1, setting={"gas": "helium"})',),
    "Parameters are temp, gas; got ": (
        'told.amend(1, setting={"color": "red"})',
        "told.amend(1, setting=OLD.iloc[0])",
    ),
    "setting must be a dict of what was really run, such as {'temp': …}; got ": (
        "told.amend(1, setting={})",
        'told.amend(1, setting=[40.0, "air"])',
        'told.amend(1, setting="temp")',
        "told.amend(1, setting=40.0)",
        "told.amend(1, setting=OLD)",
    ),
    "'temp' must be numbers; got the date or duration ": (
        'told.amend(1, setting={"temp": np.datetime64("2020-01-01")})',
        'told.amend(1, setting={"temp": pd.Timestamp("2020-01-01")})',
    ),
    "note must be text; got ": (
        "told.amend(1, note=3)",
        'told.amend(1, note=["a"])',
        "told.withdraw(1, note=3)",
    ),
    "Nothing was told of trial 1 yet … Use tell": (
        "opt.amend(first, 1.0)",
        "opt.amend(1, 1.0)",
        "opt.withdraw(1)",
        "opt.withdraw(first)",
    ),
    "Trial 1 was cancelled and has no result. If it was run after all, tell its result with trial=1": (
        "o = Optimizer(SPACE); s = o.ask(); o.cancel(s); o.amend(1, 1.0)",
        "o = Optimizer(SPACE); s = o.ask(); o.cancel(s); o.withdraw(s)",
    ),
    "The result of trial 1 was withdrawn. Tell it again, as a run of its own; or undo": (
        "o = Optimizer(SPACE); o.tell(o.ask(), 1.0); o.withdraw(1); o.withdraw(1)",
    ),
    "is not among them (": (
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
    "Only a pending setting can be cancelled, one at a time; got ": (
        "opt.cancel(OLD)",
        "opt.cancel(opt.history)",
    ),
    "is not among them (nothing is pending)": (
        "o = Optimizer(SPACE); s = o.ask(); o.cancel(s); o.cancel(s)",
        "told.cancel(1)",
    ),
}

WARNED: dict[str, tuple[str, ...]] = {
    "OddResultWarning: A value of  … inf is no measurement: it is kept as a failed run": (
        "told.amend(1, inf); assert told.trials.told[0].failed",
    ),
}

TAKEN: tuple[str, ...] = (
    "told.amend(1, nan); assert told.trials.told[0].failed",
    'told.amend(1, setting={"temp": "40"})',
    "told.amend(told.best, 5.0); assert told.best.value == 5.0",
    "opt.cancel([])",
    "opt.cancel(opt.pending); assert opt.pending == []",
)
