"""`ask`, `shadow` and `predict`."""

REFUSED: dict[str, tuple[str, ...]] = {
    "n must be a whole number, 1 or more; got ": (
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
    "n is how many settings to give. Write ask(candidates=…)": (
        "opt.ask([1, 2])",
        "opt.ask(OLD)",
    ),
    "candidates must hold at least one setting; got none": (
        "opt.ask(candidates=[])",
        "opt.ask(candidates=())",
        "opt.ask(candidates=OLD.iloc[:0])",
        "opt.shadow(first, candidates=[])",
    ),
    "there is no file … (Looked for in ": (
        'opt.ask(candidates="grid.csv")',
        'opt.ask(candidates=Path("grid.csv"))',
        'opt.shadow(first, candidates="grid.csv")',
    ),
    "must be a pandas.DataFrame, the path of a file … ; got ": (
        "opt.ask(candidates=3)",
        "opt.ask(candidates=opt)",
        "opt.ask(candidates=lambda s: True)",
        "opt.ask(candidates=(s for s in [first]))",
    ),
    "Write pandas.DataFrame(array, columns=['temp', ": (
        "opt.ask(candidates=[3, 4])",
        'opt.ask(candidates=["air"])',
        "opt.ask(candidates=[None])",
        "opt.ask(candidates=np.array([[40.0, 1.0]]))",
        "opt.ask(candidates=torch.zeros(3, 2))",
        "opt.ask(candidates=[OLD.iloc[0], OLD.iloc[1]])",
    ),
    "got a Series … Pass the table that it comes from": ('opt.ask(candidates=OLD["temp"])',),
    "Settings must name temp, gas; gas is missing": (
        'opt.ask(candidates=OLD[["temp"]])',
        'opt.ask(candidates=[{"temp": 40.0}])',
        'told.predict({"temp": 40.0})',
    ),
    "'temp' must lie between  … If the unit is right, widen the search space": (
        'opt.ask(candidates=[{"temp": 400.0, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": inf, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": True, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": np.datetime64("2020-01-01"), "gas": "air"}])',
        'opt.shadow(first, candidates=[{"temp": 400.0, "gas": "air"}])',
        'told.predict({"temp": 400.0, "gas": "air"})',
        'told.predict({"temp": np.datetime64("2020-01-01"), "gas": "air"})',
    ),
    "'gas' must be one of air, argon; got ": (
        'opt.ask(candidates=[{"temp": 40.0, "gas": "helium"}])',
        'opt.ask(candidates=[{"temp": 40.0, "gas": ["air"]}])',
        'told.predict({"temp": 40.0, "gas": "helium"})',
    ),
    "Every setting needs a number for 'temp'; rows 0": (
        'opt.ask(candidates=[{"temp": nan, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": None, "gas": "air"}])',
        'told.predict({"temp": nan, "gas": "air"})',
    ),
    "'temp' must be numbers; got ": (
        'opt.ask(candidates=[{"temp": "warm", "gas": "air"}])',
        'opt.ask(candidates=[{"temp": 10**400, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": 1j, "gas": "air"}])',
        'opt.ask(candidates=[{"temp": [40.0], "gas": "air"}])',
        'opt.ask(candidates=[{"temp": pd.Timestamp("2020-01-01"), "gas": "air"}])',
        'told.predict({"temp": "warm", "gas": "air"})',
        'told.predict({"temp": [40.0, 50.0], "gas": ["air", "argon"]})',
        'told.predict({"temp": 10**400, "gas": "air"})',
    ),
    "Settings must name temp, gas; temp is missing": ('opt.ask(candidates=[{"Temp": 40.0, "gas": "air"}])',),
    "settings were asked for, and there are 2 candidates": (
        'opt.ask(n=3, candidates=[{"temp": 40.0, "gas": "air"}, {"temp": 50.0, "gas": "air"}])',
    ),
    "settings were asked for, and there are 1 candidates": (
        'opt.ask(n=2, candidates=[{"temp": 40.0, "gas": "air"}] * 2)',
    ),
    "every column must have a name of its own … Rename or drop one of them": (
        'opt.ask(candidates=pd.concat([OLD, OLD[["temp"]]], axis=1))',
    ),
    "A shadow is that of a pending setting, one at a time; got ": (
        "opt.shadow([first, second])",
        "opt.shadow(OLD)",
    ),
    "is not among them (": (
        "opt.shadow(None)",
        'opt.shadow("first")',
        'opt.shadow({"temp": 50.0, "gas": "air"})',
        "opt.shadow(99)",
    ),
    "beta='srinivas' counts the settings … Use beta='brochu', or ask(candidates=…)": (
        'o = Optimizer(SPACE, acquisition="ucb", beta="srinivas"); o.tell(OLD, OLD["y"]); o.ask()',
    ),
    "Settings must be a dict of temp, gas, a list of such dicts, or a table; got ": (
        "told.predict(None)",
        'told.predict("temp")',
        "told.predict(3.0)",
        "told.predict(np.array([[40.0, 1.0]]))",
        'told.predict("grid.csv")',
    ),
    "Settings must name temp, gas; temp, gas is missing": ("told.predict({})",),
    "Each setting must be a dict of temp, gas; got ": ('told.predict([40.0, "air"])',),
    "Settings must name temp, gas once; there are several columns temp": (
        'told.predict(pd.concat([OLD, OLD[["temp"]]], axis=1))',
    ),
    "There is nothing to predict from yet. Tell at least one result first": ("opt.predict(first)",),
}

WARNED: dict[str, tuple[str, ...]] = {
    "ExhaustedWarning: All 2 candidates were tried": ("opt.ask(n=2, candidates=[dict(first), dict(second)])",),
    "ExhaustedWarning: All 1 candidates were tried": ("opt.ask(candidates=[dict(first)])",),
    "ExhaustedWarning: All 2 settings of the search space were tried": (
        'Optimizer({"g": ["a", "b"]}).ask(n=5)',
        'o = Optimizer({"g": ["a", "b"]}); o.tell([{"g": "a"}, {"g": "b"}], [1.0, 2.0]); o.ask()',
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
    'assert len(Optimizer({"g": ["a", "b"]}).ask(n=2)) == 2',
    "opt.shadow(1)",
    "told.predict([])",
    "told.predict(OLD.iloc[0])",
    "told.predict(OLD.iloc[:0])",
)
