"""`tell`."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "tell", "setting", "value"): (
        "opt.tell(0.5, first)",
        'opt.tell([first, second], {"a": 1.0, "b": 2.0})',
    ),
    ("InputError", "setting", "dict", "ask", "got"): (
        "opt.tell(None, 0.5)",
        'opt.tell("air", 0.5)',
        'opt.tell(b"air", 0.5)',
        "opt.tell(np.array([40.0, 1.0]), 0.5)",
        "opt.tell(torch.zeros(2), 0.5)",
        r'opt.tell(csv("temp,gas\n40,air\n"), [1.0])',
        "opt.tell(opt, 1.0)",
        "opt.tell(opt.trials, 1.0)",
        "opt.tell(opt.trials.pending[0], 1.0)",
        "opt.tell(1, 0.5)",
    ),
    ("InputError", "tell", "one value", "got"): (
        "opt.tell((), 1.0)",
        'opt.tell(OLD, OLD["y"][:3])',
        "opt.tell([first, second], 0.5)",
        "opt.tell([first, second], [0.5])",
        "opt.tell([first, second], [0.5, 0.6, 0.7])",
        "opt.tell(first, [])",
        "opt.tell(first, [1.0, 2.0])",
        "opt.tell(first, torch.zeros(0))",
    ),
    ("InputError", "temp, gas", "temp, gas is missing"): (
        "opt.tell({}, 1.0)",
        'opt.tell(OLD["temp"], OLD["y"])',
    ),
    ("InputError", "setting", "dict", "got"): (
        'opt.tell([40.0, "air"], 0.5)',
        "opt.tell([first, None], [1.0, 2.0])",
    ),
    ("InputError", "temp, gas", "gas is missing"): (
        'opt.tell({"temp": 40.0}, 0.5)',
        'opt.tell(OLD[["temp"]], OLD["y"])',
    ),
    ("InputError", "temp, gas", "temp is missing"): (
        'opt.tell({"gas": "air"}, 0.5)',
        'opt.tell({"Temp": 40.0, "gas": "air"}, 0.5)',
    ),
    ("InputError", "'gas'", "air, argon", "got"): (
        'opt.tell({"temp": 40.0, "gas": "helium"}, 0.5)',
        'opt.tell({"temp": 40.0, "gas": None}, 0.5)',
        'opt.tell({"temp": 40.0, "gas": nan}, 0.5)',
        'opt.tell({"temp": 40.0, "gas": ["air"]}, 0.5)',
        'opt.tell({"temp": 40.0, "gas": ("air",)}, 0.5)',
        'opt.tell({"temp": 40.0, "gas": {"a": 1}}, 0.5)',
        'opt.tell({"temp": 40.0, "gas": 0}, 0.5)',
        'opt.tell(OLD.assign(gas=[["air"]] * 12), OLD["y"])',
        'opt.tell([first, {"temp": 40.0}], [1.0, 2.0])',
    ),
    ("InputError", "'temp'", "between", "search space"): (
        'opt.tell({"temp": 400.0, "gas": "air"}, 0.5)',
        'opt.tell({"temp": -1e300, "gas": "air"}, 0.5)',
        'opt.tell({"temp": inf, "gas": "air"}, 0.5)',
        'opt.tell({"temp": True, "gas": "air"}, 0.5)',
        'opt.tell([first, {"temp": 4000.0, "gas": "air"}], [1.0, 2.0])',
    ),
    ("InputError", "'temp'", "number", "rows 0"): (
        'opt.tell({"temp": nan, "gas": "air"}, 0.5)',
        'opt.tell({"temp": None, "gas": "air"}, 0.5)',
        'opt.tell(OLD.assign(temp=OLD.temp.where(OLD.temp > 40)), OLD["y"])',
    ),
    ("InputError", "'temp'", "numbers", "got"): (
        'opt.tell({"temp": "warm", "gas": "air"}, 0.5)',
        'opt.tell({"temp": "", "gas": "air"}, 0.5)',
        'opt.tell({"temp": [40.0], "gas": "air"}, 0.5)',
        'opt.tell({"temp": np.array([40.0]), "gas": "air"}, 0.5)',
        'opt.tell({"temp": 10**400, "gas": "air"}, 0.5)',
        'opt.tell({"temp": 1j, "gas": "air"}, 0.5)',
    ),
    ("InputError", "'temp'", "numbers", "date or duration"): (
        'opt.tell({"temp": np.datetime64("2020-01-01"), "gas": "air"}, 0.5)',
        'opt.tell({"temp": pd.Timestamp("2020-01-01"), "gas": "air"}, 0.5)',
        'opt.tell({"temp": pd.Timedelta("1h"), "gas": "air"}, 0.5)',
        'opt.tell(OLD.assign(temp=pd.date_range("2020", periods=12)), OLD["y"])',
    ),
    ("InputError", "one number", "each setting", "shape"): (
        "opt.tell(OLD, OLD)",
        "opt.tell([first, second], torch.zeros(2, 2))",
        "opt.tell([first, second], np.zeros((1, 2)))",
        "opt.tell([first, second], np.zeros((2, 1, 1)))",
    ),
    ("InputError", "tell", "value", "failed=True"): (
        "opt.tell(OLD)",
        "opt.tell(first)",
        "opt.tell(first, None)",
    ),
    ("InputError", "text", "number", "point"): (
        'opt.tell(OLD, "y")',
        'opt.tell([first, second], [0.5, "0.6"])',
        'opt.tell(first, "")',
        'opt.tell(first, "0.42")',
        'opt.tell(first, "failed")',
        'opt.tell(first, np.array(["0.5"]))',
    ),
    ("InputError", "temp, gas", "several columns temp"): (
        'opt.tell(pd.concat([OLD, OLD[["temp"]]], axis=1), OLD["y"])',
    ),
    ("InputError", "trial", "'one'"): ('opt.tell(OLD.assign(trial="one"), OLD["y"])',),
    ("InputError", "trial", "whole number", "1"): (
        'opt.tell(OLD.assign(trial=-1), OLD["y"])',
        'opt.tell(OLD.assign(trial=1.5), OLD["y"])',
    ),
    ("InputError", "history", "rename"): (
        'opt.tell(OLD.assign(state="great"), OLD["y"])',
        'opt.tell(OLD.assign(asked="perhaps"), OLD["y"])',
        'opt.tell(OLD.assign(direction="north"), OLD["y"])',
    ),
    ("InputError", "values", "finite", "NaN", "got"): ("opt.tell(first, 10**400)",),
    ("InputError", "one number", "each setting", "in order", "got"): ("opt.tell([first, second], {0.5, 0.6})",),
    ("InputError", "values", "numbers", "NaN", "got"): (
        "opt.tell([first, second], (v for v in (0.5, 0.6)))",
        "opt.tell([first, second], [[1.0, 2.0], [3.0, 4.0]])",
        'opt.tell(first, b"0.42")',
        "opt.tell(first, 1j)",
        "opt.tell(first, object())",
        "opt.tell(first, lambda: 1.0)",
        'opt.tell(first, pd.Timestamp("2020-01-01"))',
        'opt.tell(first, np.datetime64("2020-01-01"))',
        'opt.tell(first, np.timedelta64(3, "D"))',
        'opt.tell(first, __import__("datetime").timedelta(1))',
    ),
    ("InputError", "failed", "True", "False", "got"): (
        'opt.tell(first, 1.0, failed="no")',
        'opt.tell(first, 1.0, failed="False")',
        "opt.tell(first, 1.0, failed=None)",
        "opt.tell(first, 1.0, failed=2)",
        "opt.tell(first, 1.0, failed=nan)",
    ),
    ("InputError", "failed", "one", "1 settings", "got"): (
        "opt.tell(first, 1.0, failed=[True, False])",
        "opt.tell(first, 1.0, failed=[])",
    ),
    ("InputError", "note", "text", "got"): (
        "opt.tell(first, 1.0, note=3)",
        "opt.tell(first, 1.0, note=None)",
    ),
    ("InputError", "trial", "number", "got"): (
        'opt.tell(first, 1.0, trial="1")',
        "opt.tell(first, 1.0, trial=1.0)",
        "opt.tell(first, 1.0, trial=True)",
        "opt.tell(first, 1.0, trial=[1])",
    ),
    ("InputError", "trial", "pending", "(1, 2)", "got"): (
        "opt.tell(first, 1.0, trial=99)",
        "opt.tell(first, 1.0, trial=0)",
        "opt.tell(first, 1.0, trial=-1)",
    ),
    ("InputError", "trial", "number", "2 settings"): ("opt.tell([first, second], [1.0, 2.0], trial=1)",),
    ("InputError", "trial", "pending", "none", "got 1"): (
        'o = Optimizer(SPACE, direction="maximize", seed=0); s = o.ask(); o.tell(s, 1.0); o.tell(s, 2.0, trial=1)',
    ),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("OddResultWarning", "inf", "failed run"): (
        "opt.tell([first, second], [0.5, inf])",
        "opt.tell(first, inf)",
        "opt.tell(first, -inf)",
        "opt.tell(first, torch.tensor(inf))",
    ),
    ("OddResultWarning", "too large"): (
        "opt.tell(first, 1e308)",
        (
            'opt.tell([first, second], [1e308, -1e308]); opt.tell({"temp": 50.0, "gas": "air"}, 0.0); opt.ask(); '
            "opt.predict(first)"
        ),
    ),
    ("OddResultWarning", "too small"): (
        (
            'opt.tell([first, second], [5e-324, 0.0]); opt.tell({"temp": 50.0, "gas": "air"}, 0.0); opt.ask(); '
            "opt.predict(first)"
        ),
    ),
    ("OddResultWarning", "trial 1", "another run"): ("opt.tell(first, 1.0); opt.tell(first, 2.0)",),
}

TAKEN: tuple[str, ...] = (
    "opt.tell([], [])",
    "opt.tell(OLD.iloc[:0], [])",
    'opt.tell({"temp": 40.0, "gas": "air", "color": "red"}, 0.5); assert opt.history["color"][0] == "red"',
    'opt.tell({"temp": "40", "gas": "air"}, 0.5)',
    'opt.tell({"temp": torch.tensor(40.0), "gas": "air"}, 0.5)',
    (
        'opt.tell({"temp": torch.tensor(40.0, requires_grad=True), "gas": "air"}, 0.5); assert type('
        'opt.best.setting["temp"]) is float'
    ),
    'opt.tell({"temp": __import__("decimal").Decimal("40"), "gas": "air"}, 0.5)',
    'opt.tell({"temp": np.float32(40), "gas": np.str_("air")}, 0.5)',
    'opt.tell({"temp": 40.0, "gas": "AIR"}, 0.5)',
    'opt.tell({"temp": 40.0, "gas": "air "}, 0.5)',
    'opt.tell(OLD.assign(note=3), OLD["y"])',
    "opt.tell([first, first], [1.0, 2.0])",
    "opt.tell([first, second], pd.Series([0.3, nan])); assert opt.trials.told[1].failed",
    "opt.tell(first, [[1.0]])",
    "opt.tell(first, pd.NaT); assert opt.trials.told[0].failed",
    "opt.tell(first, pd.NA); assert opt.trials.told[0].failed",
    "opt.tell(first, torch.tensor(0.5, requires_grad=True)); assert opt.best.value == 0.5",
    "opt.tell(first, torch.tensor([[0.5]], dtype=torch.bfloat16)); assert opt.best.value == 0.5",
    "opt.tell(first, np.float16(0.5)); assert opt.best.value == 0.5",
    "opt.tell(first, np.ma.masked); assert opt.trials.told[0].failed",
    "opt.tell(first, 5e-324)",
    "opt.tell(first, 1.0, True); assert opt.trials.told[0].failed",
    "opt.tell(first, 1.0, trial=first)",
    'opt.tell(Optimizer(SPACE, direction="maximize", seed=9).ask(), 1.0)',
)
