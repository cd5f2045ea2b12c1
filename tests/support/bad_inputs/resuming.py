"""`resume`: histories, damaged in every way."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "pandas.DataFrame", "path", "got"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(None)',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(3)',
        'Optimizer(SPACE, direction="maximize", seed=0).resume([])',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(opt)',
    ),
    ("InputError", "no file", "looked for in"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume("nosuch.csv")',
    ),
    ("InputError", "folder"): ('Optimizer(SPACE, direction="maximize", seed=0).resume(folder)',),
    ("InputError", "history", "columns", "temp, gas"): ('Optimizer(SPACE, direction="maximize", seed=0).resume({})',),
    ("InputError", "pandas.DataFrame(array", "'temp'"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(OLD.to_numpy())',
    ),
    ("InputError", "resume", "Optimizer", "new"): (
        "opt.resume(told.history)",
        "told.resume(told.history)",
    ),
    ("InputError", "empty", "line", "names"): ('Optimizer(SPACE, direction="maximize", seed=0).resume(csv(""))',),
    ("InputError", "opt.history", "columns", "tell"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(csv("temp,gas,y\\n"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(pd.DataFrame())',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(OLD)',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.drop(columns="y"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.drop(columns="temp"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.drop(columns="state"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.drop(columns="asked"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.rename(columns={"y": "yield"}))',
        'Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0).resume(told.history)',
    ),
    ("InputError", "text file", "Excel", "Parquet", "CSV", "UTF-8"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(csv(b"\\x00\\x01\\x02" * 50))',
    ),
    ("InputError", "direction", "history"): (
        'Optimizer(SPACE, direction="minimize", seed=0).resume(told.history)',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(direction="north"))',
    ),
    ("InputError", "'temp'", "between", "search space"): (
        'Optimizer({"temp": (0.0, 10.0), "gas": ["air", "argon"]}, direction="maximize", seed=0).resume(told.history)',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(temp=400.0))',
    ),
    ("InputError", "'gas'", "air", "'argon'"): (
        'Optimizer({"temp": (30.0, 90.0), "gas": ["air"]}, direction="maximize", seed=0).resume(told.history)',
    ),
    ("InputError", "row 0", "y is"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(y="high"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(y=inf))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(y=10**400))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(y=True))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(y=[[1.0]] * 4))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(opt.history.assign(y=["1,5", ""]))',
    ),
    ("InputError", "complete", "y", "blank"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(y=nan))',
    ),
    ("InputError", "row 0", "temp is"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(temp="warm"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(temp=10**400))',
    ),
    ("InputError", "date", "1 January 2020", "number"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(y=pd.Timestamp("2020-01-01")))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(temp=pd.Timestamp("2020-01-01")))',
    ),
    ("InputError", "row 0", "temp", "blank"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(temp=nan))',
    ),
    ("InputError", "'gas'", "air, argon", "got"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(gas="helium"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(gas=[["air"]] * 4))',
    ),
    ("InputError", "row 0", "gas", "blank"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(gas=None))',
    ),
    ("InputError", "state", "complete", "failed", "pending", "cancelled", "withdrawn"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(state="great"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(state=3))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(state=[["complete"]] * 4))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(csv(told.history.to_csv(index=False).replace("complete", "compleat")))',
    ),
    ("InputError", "failed", "y is"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(state="failed"))',
    ),
    ("InputError", "asked is", "true", "false"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(asked="perhaps"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(asked=7))',
    ),
    ("InputError", "trial number"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial=1))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial=[1, 2, 2, 4]))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(pd.concat([told.history, told.history]))',
    ),
    ("InputError", "trial is", "whole number", "1"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial=-1))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial=[1.5, 2, 3, 4]))',
    ),
    ("InputError", "row 0", "trial is"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial="one"))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial=10**400))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial=inf))',
        'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial=True))',
    ),
    ("InputError", "column", "name of its own"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(pd.concat([told.history, told.history[["y"]]], axis=1))',
    ),
    ("InputError", "line", "has 5"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(csv(told.history.to_csv(index=False)[:-15]))',
    ),
    ("InputError", "line", "has 2"): (
        'Optimizer(SPACE, direction="maximize", seed=0).resume(csv(told.history.to_csv(index=False) + "40,air\\n"))',
    ),
    ("InputError", "1", "'1', '01'", "text"): (
        (
            's = {"x": (0.0, 1.0), "g": ["1", "01"]}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.5, "g": "01"}, 1.0); o.history.to_csv(folder / "h.csv", index=False); Optimizer(s, direction="maximize", seed=0).resume(pd.read_csv(folder / "h.csv"))'
        ),
    ),
    ("InputError", "parameters", "different names"): (
        (
            's = {"x": (0.0, 1.0), "x ": (0.0, 1.0)}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.25, "x ": 0.75}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting == {"x": 0.25, "x ": 0.75}'
        ),
    ),
    ("InputError", "parameters", "names", "text"): (
        (
            's = {"": (0.0, 1.0)}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"": 0.25}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.value == 1.0'
        ),
    ),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {}

TAKEN: tuple[str, ...] = (
    'Optimizer(SPACE, direction="maximize", seed=0).resume(opt.history.assign(y=["failed", ""]))',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.drop(columns="trial"))',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(state="pending"))',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(asked=None))',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(trial=nan))',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.assign(direction=None))',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.iloc[:0])',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(told.history.sample(frac=1, random_state=1))',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(opt.history.assign(y=[1.0, nan]))',
    (
        'told.history.to_csv(folder / "h.csv", sep=";", decimal=",", index=False); assert len(Optimizer(SPACE, direction="maximize", seed=0).resume(folder / "h.csv").trials) == 4'
    ),
    (
        'told.history.to_csv(folder / "h.csv", index=False, encoding="utf-16"); assert len(Optimizer(SPACE, direction="maximize", seed=0).resume(folder / "h.csv").trials) == 4'
    ),
    'told.history.to_csv(folder / "h.csv"); assert len(Optimizer(SPACE, direction="maximize", seed=0).resume(folder / "h.csv").trials) == 4',
    (
        'told.history.to_excel(folder / "h.xlsx", index=False); assert len(Optimizer(SPACE, direction="maximize", seed=0).resume(folder / "h.xlsx").trials) == 4'
    ),
    'Optimizer(SPACE, direction="maximize", seed=0).resume(csv(told.history.to_csv(index=False).replace("complete", "COMPLETE")))',
    'Optimizer(SPACE, direction="maximize", seed=0).resume(csv(told.history.to_csv(index=False).replace("air", "AIR")))',
    (
        's = {"x": (0.0, 1.0), "g": ["NA", "air"]}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.5, "g": "NA"}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting["g"] == "NA"'
    ),
    (
        's = {"x": (0.0, 1.0), "g": ["None", "air"]}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.5, "g": "None"}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting["g"] == "None"'
    ),
    (
        's = {"x": (0.0, 1.0), "g": ["1", "01"]}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.5, "g": "01"}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting["g"] == "01"'
    ),
    (
        's = {"x": (0.0, 1.0), "g": [(1, 2), (3, 4)]}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.5, "g": (1, 2)}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting["g"] == (1, 2)'
    ),
    (
        's = {"x": (0.0, 1.0), "g": [nan, "air"]}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.5, "g": nan}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting["g"] != "air"'
    ),
    (
        's = {"x": (0.0, 1.0), "g": [True, False]}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.5, "g": True}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting["g"] is True'
    ),
    (
        's = {"x": (0.0, 1.0), "X": (0.0, 1.0)}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x": 0.25, "X": 0.75}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting == {"x": 0.25, "X": 0.75}'
    ),
    (
        's = {"x [m]": (0.0, 1.0), "x [s]": (0.0, 1.0)}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"x [m]": 0.25, "x [s]": 0.75}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting["x [m]"] == 0.25'
    ),
    (
        's = {"a,b": (0.0, 1.0), \'c"d\': (0.0, 1.0)}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"a,b": 0.25, \'c"d\': 0.75}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.setting["a,b"] == 0.25'
    ),
    (
        's = {"trial": (0.0, 1.0), "state": ["a", "b"], "y": (0.0, 1.0)}; o = Optimizer(s, direction="maximize", seed=0); o.tell({"trial": 0.25, "state": "a", "y": 0.5}, 1.0); o.history.to_csv(folder / "h.csv", index=False); assert Optimizer(s, direction="maximize", seed=0).resume(folder / "h.csv").best.value == 1.0'
    ),
)
