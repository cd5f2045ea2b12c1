"""Old data in memory: tables of every form, good and bad."""

REFUSED: dict[str, tuple[str, ...]] = {
    "Write pandas.DataFrame(array, columns=['temp', ": (
        "read(OLD.to_numpy())",
        'read(OLD[["temp", "y"]].to_numpy(), {"temp": (30.0, 90.0)})',
        "read(torch.zeros(4, 3))",
        'read([[30.0, "air", 1.0]])',
        "read([OLD, OLD.to_numpy()])",
    ),
    "which is no file's name": (
        'read("")',
        'read("   ")',
    ),
    "must be a pandas.DataFrame, the path of a file … ; got ": (
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
    "got a Series … Pass the table that it comes from": ('read(OLD["y"])',),
    "Old data must be a dict of lists … Pass the table itself": ("read(OLD.to_dict())",),
    "must have columns … is missing (there are  … Rename columns, name the response with target=": (
        'read({"a": OLD, "b": OLD.rename(columns={"y": "z"})})',
        "read(pd.DataFrame())",
        'read(OLD.drop(columns="y"))',
        'read(OLD.drop(columns=["temp", "gas"]))',
        'read(OLD, target="yield")',
    ),
    "there is no file … (Looked for in ": ('read([OLD, "missing.csv"])',),
    "Old data sets need names, as text, to tell them apart; got ": (
        'read({"a": OLD, 3: OLD})',
        'read({"": OLD})',
        'read({OLD["y"][0]: OLD})',
    ),
    "Old data must be a table, or several of them; got a list with a number": ("read([OLD, 3])",),
    "every column must have a name of its own … Rename or drop one of them": (
        'read(pd.concat([OLD, OLD[["y"]]], axis=1))',
        'read(pd.concat([OLD, OLD[["temp"]]], axis=1))',
    ),
    "must have columns … is missing … The first line must hold the columns' names": (
        "read(OLD.set_axis([0, 1, 2], axis=1))",
    ),
    "names of several levels. Flatten them": (
        'read(OLD.set_axis(pd.MultiIndex.from_product([["a"], OLD.columns]), axis=1))',
    ),
    "Old data's 'temp' must be numbers;  … Correct them, or leave them blank": (
        'read(OLD.assign(temp="warm"))',
        'read(OLD.assign(temp=OLD.temp.astype(str).str.replace(".", ",")))',
        'read(OLD.assign(temp=pd.timedelta_range("1s", periods=12)))',
        "read(OLD.assign(temp=OLD.y > 0))",
        "read(OLD.assign(temp=[10**400] + [40] * 11))",
        "read(OLD.assign(temp=[(1, 2)] * 12))",
    ),
    "'temp' must be numbers;  … are dates … Correct them, or leave them blank": (
        'read(OLD.assign(temp=pd.Timestamp("2020-01-01")))',
    ),
    "'y' must be numbers;  … are dates … Correct them, or leave them blank": (
        'read(OLD.assign(y=pd.date_range("2020", periods=12)))',
    ),
    "Old data's 'y' must be numbers;  … Correct them, or leave them blank": (
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
    "'y' is blank in every row. Name the right column with target=": (
        "read(OLD.assign(y=nan))",
        "read(OLD.assign(y=None))",
        'read(OLD.assign(y=""))',
    ),
    "Old data's 'gas' must be single values, text or numbers": ('read(OLD.assign(gas=[["a"]] * 12))',),
    "1 may be any of the choices '1', '01'. Read the file as text": (
        'read(OLD.assign(gas=[1, 2] * 6), {"temp": (30.0, 90.0), "gas": ["1", "01"]})',
    ),
    "'temp' is a parameter, so it cannot be the response too. Name the response with target=": (
        'read(OLD, target="temp")',
    ),
}

WARNED: dict[str, tuple[str, ...]] = {
    "is taken for 'temp'": ('read(OLD.rename(columns={"temp": "Temp [°C]", "y": "Y"}))',),
    "Old data has no column 'temp' (there is temperature; rename it if it is the same): what it says is": (
        'read(OLD.rename(columns={"temp": "temperature"}))',
    ),
    "Old data has no column 'gas': what it says is taken to hold for every 'gas'": (
        'assert read(OLD.drop(columns="gas")).used == 12',
        'Optimizer(SPACE, OLD.drop(columns="gas")).ask()',
    ),
    "Columns that the search space does not name are averaged over: ": (
        "read(OLD.assign(Temp=OLD.temp))",
        "read(OLD.assign(batch=[[row] for row in range(12)]))",
    ),
    "Columns that the search space does not name are ignored: ": ("read(OLD.assign(operator=1))",),
    "The index 'temp' is taken for a column": ('read(OLD.set_index("temp"))',),
    "'gas' has  … in old data, which the search space does not offer": (
        "read(OLD.assign(gas=OLD.y > 0))",
        'read(OLD.assign(gas=[("a", 1)] * 12))',
        'read(OLD.assign(gas="helium"))',
        "read(OLD.assign(gas=[str(k) for k in range(12)]))",
    ),
    "'y' is taken to mean 'not measured' and left out in ": ("read(OLD.assign(y=OLD.y.where(OLD.y > 0, -9999)))",),
    "'temp' is 'not measured' (-9999) in 8 of 12 rows, too many to fill in": (
        "read(OLD.assign(temp=OLD.temp.where(OLD.y > 0, -9999)))",
    ),
    "'temp' is 'not measured' (-9999) in 2 of 12 rows (row 0, row 1): filled in": (
        "read(OLD.assign(temp=OLD.temp.where(OLD.temp > 40, -9999)))",
    ),
    "never varies. Going on without": ("Optimizer(SPACE, OLD.assign(y=3.0))",),
    "is empty: there are no rows to learn from. Going on without": ("Optimizer(SPACE, OLD.iloc[:0])",),
    "needs 2 different settings or more; it has 1. Going on without": ("Optimizer(SPACE, OLD.iloc[:1])",),
    "'y' is blank, which is taken for 'not measured', and left out in ": (
        'read(OLD.assign(y=OLD.y.astype("Float64").where(OLD.y > 0)))',
        'read(OLD.assign(y=OLD.y.astype(object).where(OLD.y > 0, "n/a")))',
    ),
    "'gas' is blank in 6 of 12 rows ( … ): filled in from the most similar rows": (
        'read(OLD.assign(gas=["NA", "air"] * 6))',
    ),
    "Nothing is learnt from it until the column is corrected": (
        "read(OLD.assign(temp=OLD.temp * 1000))",
        "read(OLD.assign(temp=OLD.temp + 273.15))",
    ),
    "is far outside the search space (30 to 90) and left out in 2 of 12 rows (6200)": (
        "read(OLD.assign(temp=OLD.temp.where(OLD.temp > 40, 6200.0)))",
    ),
    "'temp' is blank in 12 of 12 rows, too many to fill in: what old data says is taken to hold for every 'temp'": (
        "read(OLD.assign(temp=nan))",
    ),
    "'temp' is 'not measured' (inf) in 12 of 12 rows, too many to fill in: what old data says is taken to hold": (
        "read(OLD.assign(temp=inf))",
    ),
    "'temp' is 'not measured' (inf) in 2 of 12 rows (row 0, row 1): filled in from the most similar rows": (
        "read(OLD.assign(temp=OLD.temp.where(OLD.temp > 40, inf)))",
        'read(OLD.assign(temp=OLD.temp.astype(object).where(OLD.temp > 40, "inf")))',
    ),
    "'temp' is blank in 2 of 12 rows (row 0, row 1): filled in from the most similar rows": (
        "read(OLD.assign(temp=OLD.temp.where(OLD.temp > 40)))",
    ),
    "its scale is logarithmic and they are not above 0": (
        (
            'read(OLD.assign(temp=0.0), {"temp": optuna.distributions.FloatDistribution(1.0, 90.0, log=True), '
            '"gas": ["air", "argon"]})'
        ),
        (
            'read(OLD.assign(temp=-OLD.temp), {"temp": optuna.distributions.FloatDistribution(1.0, 90.0, '
            'log=True), "gas": ["air", "argon"]})'
        ),
    ),
    "is taken for 'Y'": ('read(OLD, target="Y")',),
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
    "Optimizer(SPACE, OLD.assign(y=OLD.y * 1e300)).ask()",
    "Optimizer(SPACE, OLD.assign(y=OLD.y * 1e-300)).ask()",
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
