"""`ask`, `shadow` and `predict`."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "n must", "whole number", "1", "got"): (
        "opt.ask(0)",
        "opt.ask(-1)",
        "opt.ask(2.5)",
        'opt.ask("4")',
        "opt.ask(True)",
        "opt.ask(nan)",
        "opt.ask(inf)",
        'opt.ask({"temp": 40.0})',
        "opt.ask(np.array([2]))",
        "opt.ask(torch.tensor(2))",
        'opt.ask("n")',
        "opt.ask(first)",
    ),
    ("InputError", "n is", "settings", "ask(candidates=…)"): (
        "opt.ask([1, 2])",
        "opt.ask(OLD)",
    ),
    ("InputError", "candidates", "one setting"): (
        "opt.ask(candidates=[])",
        "opt.ask(candidates=())",
        "opt.ask(candidates=OLD.iloc[:0])",
        "opt.shadow(first, candidates=[])",
    ),
    ("InputError", "no file", "looked for in"): (
        'opt.ask(candidates="grid.csv")',
        'opt.ask(candidates=Path("grid.csv"))',
        'opt.shadow(first, candidates="grid.csv")',
    ),
    ("InputError", "pandas.DataFrame", "path", "got"): (
        "opt.ask(candidates=3)",
        "opt.ask(candidates=opt)",
        "opt.ask(candidates=lambda s: True)",
        "opt.ask(candidates=(s for s in [first]))",
    ),
    ("InputError", "pandas.DataFrame(array", "'temp'"): (
        "opt.ask(candidates=[3, 4])",
        'opt.ask(candidates=["air"])',
        "opt.ask(candidates=[None])",
        "opt.ask(candidates=np.array([[40.0, 1.0]]))",
        "opt.ask(candidates=torch.zeros(3, 2))",
        "opt.ask(candidates=[OLD.iloc[0], OLD.iloc[1]])",
    ),
    ("InputError", "Series", "table"): ('opt.ask(candidates=OLD["temp"])',),
    ("InputError", "temp, gas", "gas is missing"): (
        'opt.ask(candidates=OLD[["temp"]])',
        'opt.ask(candidates=[{"temp": 40.0}])',
        'told.predict({"temp": 40.0})',
    ),
    ("InputError", "'temp'", "between", "search space"): (
        'opt.ask(candidates=[{"temp": 400.0, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": inf, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": True, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": np.datetime64("2020-01-01"), "gas": "air"}])',
        'opt.shadow(first, candidates=[{"temp": 400.0, "gas": "air"}])',
        'told.predict({"temp": 400.0, "gas": "air"})',
        'told.predict({"temp": np.datetime64("2020-01-01"), "gas": "air"})',
    ),
    ("InputError", "'gas'", "air, argon", "got"): (
        'opt.ask(candidates=[{"temp": 40.0, "gas": "helium"}])',
        'opt.ask(candidates=[{"temp": 40.0, "gas": ["air"]}])',
        'told.predict({"temp": 40.0, "gas": "helium"})',
    ),
    ("InputError", "'temp'", "number", "rows 0"): (
        'opt.ask(candidates=[{"temp": nan, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": None, "gas": "air"}])',
        'told.predict({"temp": nan, "gas": "air"})',
    ),
    ("InputError", "'temp'", "numbers", "got"): (
        'opt.ask(candidates=[{"temp": "warm", "gas": "air"}])',
        'opt.ask(candidates=[{"temp": 10**400, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": 1j, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": [40.0], "gas": "air"}])',
        'opt.ask(candidates=[{"temp": pd.Timestamp("2020-01-01"), "gas": "air"}])',
        'told.predict({"temp": "warm", "gas": "air"})',
        'told.predict({"temp": [40.0, 50.0], "gas": ["air", "argon"]})',
        'told.predict({"temp": 10**400, "gas": "air"})',
    ),
    ("InputError", "temp, gas", "temp is missing"): ('opt.ask(candidates=[{"Temp": 40.0, "gas": "air"}])',),
    ("InputError", "settings", "2 candidates"): (
        'opt.ask(n=3, candidates=[{"temp": 40.0, "gas": "air"}, {"temp": 50.0, "gas": "air"}])',
    ),
    ("InputError", "settings", "1 candidates"): ('opt.ask(n=2, candidates=[{"temp": 40.0, "gas": "air"}] * 2)',),
    ("InputError", "column", "name of its own"): ('opt.ask(candidates=pd.concat([OLD, OLD[["temp"]]], axis=1))',),
    ("InputError", "shadow", "pending", "got"): (
        "opt.shadow([first, second])",
        "opt.shadow(OLD)",
    ),
    ("InputError", "not among"): (
        "opt.shadow(None)",
        'opt.shadow("first")',
        'opt.shadow({"temp": 50.0, "gas": "air"})',
        "opt.shadow(99)",
    ),
    ("InputError", "beta='srinivas'", "beta='brochu'", "ask(candidates=…)"): (
        'o = Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition="ucb", beta="srinivas"), seed=0); o.tell(OLD, OLD["y"]); o.ask()',
    ),
    ("InputError", "settings", "dict", "temp, gas", "table", "got"): (
        "told.predict(None)",
        'told.predict("temp")',
        "told.predict(3.0)",
        "told.predict(np.array([[40.0, 1.0]]))",
        'told.predict("grid.csv")',
    ),
    ("InputError", "temp, gas", "temp, gas is missing"): ("told.predict({})",),
    ("InputError", "setting", "dict", "temp, gas", "got"): ('told.predict([40.0, "air"])',),
    ("InputError", "temp, gas", "several columns temp"): ('told.predict(pd.concat([OLD, OLD[["temp"]]], axis=1))',),
    ("InputError", "predict", "one result"): ("opt.predict(first)",),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("ExhaustedWarning", "2 candidates"): ("opt.ask(n=2, candidates=[dict(first), dict(second)])",),
    ("ExhaustedWarning", "1 candidates"): ("opt.ask(candidates=[dict(first)])",),
    ("ExhaustedWarning", "2 settings", "search space"): (
        'Optimizer({"g": ["a", "b"]}, direction="maximize", seed=0).ask(n=5)',
        'o = Optimizer({"g": ["a", "b"]}, direction="maximize", seed=0); o.tell([{"g": "a"}, {"g": "b"}], [1.0, 2.0]); o.ask()',
    ),
}

TAKEN: tuple[str, ...] = (
    "assert len(opt.ask(2.0)) == 2",
    "assert len(opt.ask(np.int64(2))) == 2",
    r'opt.ask(candidates=csv("temp,gas\n40,air\n"))',
    'opt.ask(candidates={"temp": 40.0, "gas": "air"})',
    'opt.ask(candidates={"temp": [40.0, 50.0], "gas": ["air", "argon"]})',
    "opt.ask(candidates=OLD.iloc[0])",
    'opt.ask(candidates=[{"temp": "40", "gas": "air"}])',
    'opt.ask(candidates=[{"temp": 40.0, "gas": "air", "color": "red"}])',
    'opt.ask(candidates=[{"temp": torch.tensor(40.0), "gas": "air"}])',
    'opt.ask(candidates=[{"temp": torch.tensor(40.0, requires_grad=True), "gas": "air"}])',
    'assert len(Optimizer({"g": ["a", "b"]}, direction="maximize", seed=0).ask(n=2)) == 2',
    "opt.shadow(1)",
    "told.predict([])",
    "told.predict(OLD.iloc[0])",
    "told.predict(OLD.iloc[:0])",
)
