"""Old data in memory: tables of every form, good and bad."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "pandas.DataFrame(array", "'temp'"): (
        "read(OLD.to_numpy())",
        'read(OLD[["temp", "y"]].to_numpy(), {"temp": (30.0, 90.0)})',
        "read(torch.zeros(4, 3))",
        'read([[30.0, "air", 1.0]])',
        "read([OLD, OLD.to_numpy()])",
    ),
    ("InputError", "no file's name"): (
        'read("")',
        'read("   ")',
    ),
    ("InputError", "pandas.DataFrame", "path", "got"): (
        "read(0)",
        "read(3.5)",
        "read(True)",
        "read(object())",
        "read(lambda: OLD)",
        "read([OLD, None])",
        'read({"a": OLD, "b": None})',
        "read([OLD, []])",
        "read(iter([OLD]))",
    ),
    ("InputError", "Series", "table"): ('read(OLD["y"])',),
    ("InputError", "old data", "dict", "lists"): ("read(OLD.to_dict())",),
    ("InputError", "columns", "missing", "there are", "target="): (
        'read({"a": OLD, "b": OLD.rename(columns={"y": "z"})})',
        "read(pd.DataFrame())",
        'read(OLD.drop(columns="y"))',
        'read(OLD.drop(columns=["temp", "gas"]))',
        'read(OLD, target="yield")',
    ),
    ("InputError", "no file", "looked for in"): ('read([OLD, "missing.csv"])',),
    ("InputError", "old data", "names", "text", "got"): (
        'read({"a": OLD, 3: OLD})',
        'read({"": OLD})',
        'read({OLD["y"][0]: OLD})',
    ),
    ("InputError", "old data", "table", "list", "number"): ("read([OLD, 3])",),
    ("InputError", "column", "name of its own"): (
        'read(pd.concat([OLD, OLD[["y"]]], axis=1))',
        'read(pd.concat([OLD, OLD[["temp"]]], axis=1))',
    ),
    ("InputError", "columns", "missing", "first line"): ("read(OLD.set_axis([0, 1, 2], axis=1))",),
    ("InputError", "several levels"): ('read(OLD.set_axis(pd.MultiIndex.from_product([["a"], OLD.columns]), axis=1))',),
    ("InputError", "old data", "'temp'", "numbers"): (
        'read(OLD.assign(temp="warm"))',
        'read(OLD.assign(temp=OLD.temp.astype(str).str.replace(".", ",")))',
        'read(OLD.assign(temp=pd.timedelta_range("1s", periods=12)))',
        "read(OLD.assign(temp=OLD.y > 0))",
        "read(OLD.assign(temp=[10**400] + [40] * 11))",
        "read(OLD.assign(temp=[(1, 2)] * 12))",
    ),
    ("InputError", "'temp'", "numbers", "dates"): ('read(OLD.assign(temp=pd.Timestamp("2020-01-01")))',),
    ("InputError", "'y'", "numbers", "dates"): ('read(OLD.assign(y=pd.date_range("2020", periods=12)))',),
    ("InputError", "old data", "'y'", "numbers"): (
        'read(OLD.assign(y=pd.timedelta_range("1s", periods=12)))',
        "read(OLD.assign(y=inf))",
        "read(OLD.assign(y=OLD.y.where(OLD.y > 0, inf)))",
        "read(OLD.assign(y=OLD.y.where(OLD.y > 0, -inf)))",
        "read(OLD.assign(y=[10**400] * 12))",
        "read(OLD.assign(y=1j))",
        "read(OLD.assign(y=[[1.0]] * 12))",
        'read(OLD.assign(y=[{"a": 1}] * 12))',
        "read(OLD.assign(y=[object()] * 12))",
        'read(OLD.assign(y=b"1.0"))',
        'read(OLD.assign(y=pd.Categorical(["a", "b"] * 6)))',
        'read(OLD.assign(y=["pass", "maybe"] * 6))',
        'read(OLD.assign(y=["low", "medium", "high"] * 4))',
        'read(OLD.assign(y=OLD.y.astype(object).where(OLD.y > 0, "<0.1")))',
        'read(OLD.assign(y=OLD.y.astype(str) + " %"))',
    ),
    ("InputError", "'y'", "blank", "every row", "target="): (
        "read(OLD.assign(y=nan))",
        "read(OLD.assign(y=None))",
        'read(OLD.assign(y=""))',
    ),
    ("InputError", "old data", "'gas'", "text", "numbers"): ('read(OLD.assign(gas=[["a"]] * 12))',),
    ("InputError", "1", "'1', '01'", "text"): (
        'read(OLD.assign(gas=[1, 2] * 6), {"temp": (30.0, 90.0), "gas": ["1", "01"]})',
    ),
    ("InputError", "'temp'", "parameter", "target="): ('read(OLD, target="temp")',),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("OldDataWarning", "taken for 'temp'"): ('read(OLD.rename(columns={"temp": "Temp [°C]", "y": "Y"}))',),
    ("OldDataWarning", "old data", "'temp'", "temperature"): ('read(OLD.rename(columns={"temp": "temperature"}))',),
    ("OldDataWarning", "old data", "'gas'", "every 'gas'"): (
        'assert read(OLD.drop(columns="gas")).used == 12',
        'Optimizer(SPACE, OLD.drop(columns="gas"), direction="maximize", seed=0).ask()',
    ),
    ("OldDataWarning", "columns", "search space", "averaged over"): (
        "read(OLD.assign(Temp=OLD.temp))",
        "read(OLD.assign(batch=[[row] for row in range(12)]))",
    ),
    ("OldDataWarning", "columns", "search space", "ignored"): ("read(OLD.assign(operator=1))",),
    ("OldDataWarning", "index", "'temp'", "column"): ('read(OLD.set_index("temp"))',),
    ("OldDataWarning", "'gas'", "old data", "search space"): (
        "read(OLD.assign(gas=OLD.y > 0))",
        'read(OLD.assign(gas=[("a", 1)] * 12))',
        'read(OLD.assign(gas="helium"))',
        "read(OLD.assign(gas=[str(k) for k in range(12)]))",
    ),
    ("OldDataWarning", "'y'", "'not measured'", "left out"): ("read(OLD.assign(y=OLD.y.where(OLD.y > 0, -9999)))",),
    ("OldDataWarning", "'temp'", "-9999", "8 of 12", "too many"): (
        "read(OLD.assign(temp=OLD.temp.where(OLD.y > 0, -9999)))",
    ),
    ("OldDataWarning", "'temp'", "-9999", "2 of 12", "row 0, row 1", "filled in"): (
        "read(OLD.assign(temp=OLD.temp.where(OLD.temp > 40, -9999)))",
    ),
    ("OldDataWarning", "never varies"): ('Optimizer(SPACE, OLD.assign(y=3.0), direction="maximize", seed=0)',),
    ("OldDataWarning", "empty", "no rows"): ('Optimizer(SPACE, OLD.iloc[:0], direction="maximize", seed=0)',),
    ("OldDataWarning", "2", "settings", "1"): ('Optimizer(SPACE, OLD.iloc[:1], direction="maximize", seed=0)',),
    ("OldDataWarning", "'y'", "blank", "left out"): (
        'read(OLD.assign(y=OLD.y.astype("Float64").where(OLD.y > 0)))',
        'read(OLD.assign(y=OLD.y.astype(object).where(OLD.y > 0, "n/a")))',
    ),
    ("OldDataWarning", "'gas'", "blank", "6 of 12", "filled in"): ('read(OLD.assign(gas=["NA", "air"] * 6))',),
    ("OldDataWarning", "nothing is learnt"): (
        "read(OLD.assign(temp=OLD.temp * 1000))",
        "read(OLD.assign(temp=OLD.temp + 273.15))",
    ),
    ("OldDataWarning", "search space", "30 to 90", "left out", "2 of 12", "6200"): (
        "read(OLD.assign(temp=OLD.temp.where(OLD.temp > 40, 6200.0)))",
    ),
    ("OldDataWarning", "'temp'", "blank", "12 of 12", "too many"): ("read(OLD.assign(temp=nan))",),
    ("OldDataWarning", "'temp'", "inf", "12 of 12", "too many"): ("read(OLD.assign(temp=inf))",),
    ("OldDataWarning", "'temp'", "inf", "2 of 12", "row 0, row 1", "filled in"): (
        "read(OLD.assign(temp=OLD.temp.where(OLD.temp > 40, inf)))",
        'read(OLD.assign(temp=OLD.temp.astype(object).where(OLD.temp > 40, "inf")))',
    ),
    ("OldDataWarning", "'temp'", "blank", "2 of 12", "row 0, row 1", "filled in"): (
        "read(OLD.assign(temp=OLD.temp.where(OLD.temp > 40)))",
    ),
    ("OldDataWarning", "logarithmic", "above 0"): (
        (
            'read(OLD.assign(temp=0.0), {"temp": optuna.distributions.FloatDistribution(1.0, 90.0, log=True), '
            '"gas": ["air", "argon"]})'
        ),
        (
            'read(OLD.assign(temp=-OLD.temp), {"temp": optuna.distributions.FloatDistribution(1.0, 90.0, '
            'log=True), "gas": ["air", "argon"]})'
        ),
    ),
    ("OldDataWarning", "taken for 'Y'"): ('read(OLD, target="Y")',),
}

TAKEN: tuple[str, ...] = (
    "read(OLD.iloc[0])",
    'read(OLD.to_dict("records"))',
    'read(OLD.to_dict("list"))',
    "read(OLD.to_records(index=False))",
    "read([OLD, OLD])",
    "read((OLD, OLD))",
    'read({OLD.columns[0]: 33, "gas": "air", "y": 1.0})',
    'read(OLD.set_axis([0, 1, 2], axis=1), {0: (30.0, 90.0), 1: ["air", "argon"]}, target="2")',
    "read(OLD.iloc[:0])",
    "read(OLD.iloc[:1])",
    "read(OLD.iloc[:2])",
    "read(OLD.assign(temp=OLD.temp.astype(str)))",
    "read(OLD.assign(y=True))",
    "read(OLD.assign(y=OLD.y > 0))",
    "read(OLD.assign(y=OLD.y.where(OLD.y > 0, 1e300)))",
    "read(OLD.assign(y=OLD.y * 1e300))",
    "read(OLD.assign(y=OLD.y * 1e308))",
    "read(OLD.assign(y=OLD.y * 1e-300))",
    "read(OLD.assign(y=5e-324 * np.arange(12)))",
    'Optimizer(SPACE, OLD.assign(y=OLD.y * 1e300), direction="maximize", seed=0).ask()',
    'Optimizer(SPACE, OLD.assign(y=OLD.y * 1e-300), direction="maximize", seed=0).ask()',
    "read(OLD.assign(y=3.0))",
    'read(OLD.assign(gas=OLD.gas.astype("category")))',
    'read(OLD.assign(y=OLD.y.astype("Float64")))',
    'read(OLD.assign(y=OLD.y.astype("float16")))',
    'read(OLD.assign(y=OLD.y.map(__import__("decimal").Decimal)))',
    'read(OLD.assign(y=["pass", "fail"] * 6))',
    'read(OLD.assign(y=OLD.y.astype(object).where(OLD.y > 0, "failed")))',
    'read(OLD.assign(gas=["NA", "air"] * 6), {"temp": (30.0, 90.0), "gas": ["NA", "air"]})',
    'read(OLD.assign(gas=[None, "air"] * 6), {"temp": (30.0, 90.0), "gas": ["None", "air"]})',
    'read(OLD.assign(gas=["1", "01"] * 6), {"temp": (30.0, 90.0), "gas": ["1", "01"]})',
    'read(OLD.assign(gas=[nan, "air"] * 6), {"temp": (30.0, 90.0), "gas": [nan, "air"]})',
    'read(OLD.assign(gas=["AIR", " argon "] * 6))',
)
