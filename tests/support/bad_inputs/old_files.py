"""Old data in files and studies."""

REFUSED: dict[str, tuple[str, ...]] = {
    "there is no file … (Looked for in ": (
        'read("nosuch.csv")',
        r'read("\0")',
    ),
    "there is no file … Download it first": ('read("https://example.org/old.csv")',),
    "is a folder. Name a file in it": (
        "read(str(folder))",
        "read(folder)",
    ),
    "there is no file … Pass io.StringIO(text)": (r'read("temp,gas,y\n30,air,1\n")',),
    "cannot be read: File name too long. Name another file": ('read("a" * 5000)',),
    "must be a pandas.DataFrame, the path of a file … ; got ": (
        'read(b"old.csv")',
        "read(opt)",
        "read(opt.trials)",
    ),
    "Call file.seek(0) if it was read before": (
        r'f = __import__("io").StringIO("temp,gas,y\n30,air,1\n"); f.read(); read(f)',
    ),
    "the open file cannot be read … Pass its path instead": (
        r'f = open(csv("temp,gas,y\n30,air,1\n")); f.close(); read(f)',
        'with open(folder / "new.csv", "w") as file: read(file)',
    ),
    "is empty. A line with the columns' names comes first": (
        'read(csv(""))',
        r'read(csv("\n\n\n"))',
    ),
    "holds comments only. Add a line with the columns' names": (r'read(csv("# nothing here\n"))',),
    "line 2 of old.csv has 4  … Mend that line, or save the file with ';' or tabs": (
        r'read(csv("temp,gas,y\n30,air,1,5\n90,argon,2,5\n"))',
        r'read(csv("temp,gas,y\n30,air,1.000,5\n"))',
    ),
    " has 2  … Mend that line": (r'read(csv("temp,gas,y\n30,air,1\n90,argon\n"))',),
    "must have columns … is missing … The first line must hold the columns' names": (
        r'read(csv("30,air,1\n90,argon,2\n"))',
    ),
    "must have columns … is missing (there are  … Rename columns, name the response with target=": (
        r'read(csv("import pandas\n", "old.py"))',
    ),
    "without thousands separators; 'y' has  … Write 1234.5": (
        r'read(csv("temp;gas;y\n30;air;1.000,5\n40;air;2.000,5\n"))',
        r'read(csv("temp,gas,y\n30,air,1 000\n40,argon,2 000\n"))',
    ),
    "every column must have a name of its own … Rename or drop one of them": (
        r'read(csv("temp,gas,y,y\n30,air,1,2\n"))',
    ),
    "Old data's 'y' must be numbers;  … Correct them, or leave them blank": (
        r'read(csv("temp,gas,y\n30,air,one\n"))',
        r'read(csv("temp,gas,y\n30,air," + "9" * 400 + "\n40,air,2\n"))',
        r'read(csv("temp,gas,y\n30,air,1e400\n40,air,2\n"))',
        r'read(csv("temp,gas,y\n30,air,#DIV/0!\n40,air,2\n"))',
    ),
    "Old data's 'temp' must be numbers;  … Correct them, or leave them blank": (
        r'read(csv("temp,gas,y\n2020-01-01,air,1\n2020-01-02,air,2\n"))',
    ),
    "look for a quote that is not closed": (r'read(csv("temp,gas,y\n30,\"air,1\n40,air,2\n"))',),
    "is not a text file (nor Excel or Parquet), or it is damaged. Save it as CSV in UTF-8": (
        r'read(csv(b"\x00\x01\x02\xff\xfe\xfd" * 100))',
        "read(csv(bytes(range(256)) * 20))",
        r'read(csv(b"\x89PNG\r\n\x1a\n" + b"\0" * 200, "photo.png"))',
        'read(csv(__import__("pickle").dumps(OLD), "old.pkl"))',
    ),
    "is a PDF document, not a table. Save it as CSV": ('read(csv(b"%PDF-1.4 something", "paper.pdf"))',),
    "is damaged or misnamed: it ends in … Rename it, or save it again": (
        r'read(csv("temp,gas,y\n30,air,1\n", "old.xlsx"))',
        r'read(csv("temp,gas,y\n30,air,1\n", "old.parquet"))',
        r'read(csv("temp,gas,y\n30,air,1\n40,argon,2\n", "old.csv.gz"))',
    ),
    "is a damaged zip archive or Excel file … Copy it again": (r'read(csv(b"PK\x03\x04 not really", "old.xlsx"))',),
    "is not a Parquet file that can be read, or is damaged": ('read(csv(b"PAR1 not really", "old.parquet"))',),
    "is a damaged or protected  … Copy it again, or unpack it yourself": (
        r'read(csv(b"\x1f\x8b damaged", "old.csv.gz"))',
        r'read(csv(__import__("gzip").compress(b"temp,gas,y\n30,air,1\n40,argon,2\n")[:-9], "old.csv.gz"))',
        'read(csv(b"BZh9 damaged", "old.csv.bz2"))',
        r'read(csv(b"\xfd7zXZ\x00 damaged", "old.csv.xz"))',
    ),
    "is JSON, not a table. Save it as CSV": (
        r'read(csv("{\"temp\": [30]}", "old.json"))',
        'opt.save(folder / "campaign.json"); read(folder / "campaign.json")',
    ),
    "is a web page, not a table. Save it as CSV": ('read(csv("<html><table></table></html>", "old.html"))',),
    "is empty. A row with the columns' names comes first": (
        'pd.DataFrame().to_excel(folder / "old.xlsx"); read(folder / "old.xlsx")',
    ),
    "The weight prior was learnt for ('temp', 'gas') and does not cover … Learn it again with pretrain": (
        'pretrain(OLD, SPACE).save(folder / "a.prior"); Optimizer({"x": (0.0, 1.0)}, folder / "a.prior")',
    ),
    "the study has 2 objectives. Choose one": (
        'study = optuna.create_study(directions=["maximize", "minimize"]); read(study)',
    ),
    "'y' is blank in every row. Name the right column with target=": ("read(opt.history)",),
    'A search space is a dict of names … such as {"speed": (10.0, 90.0)}; got ': ("read(OLD, None)",),
}

WARNED: dict[str, tuple[str, ...]] = {
    "The separator is ": (
        r'read(csv("temp;gas;y\n30;air;1\n90;argon;2\n"))',
        r'read(csv("temp\tgas\ty\n30\tair\t1\n90\targon\t2\n"))',
        r'read(csv("temp|gas|y\n30|air|1\n90|argon|2\n"))',
        r'read(csv("temp;gas;y\n30;air;1.000\n40;air;2.000\n"))',
    ),
    "Numbers have decimal commas": (r'read(csv("temp;gas;y\n30,5;air;1,5\n90;argon;2,5\n"))',),
    "Separators at the ends of lines are dropped": (r'read(csv("temp,gas,y\n30,air,1,\n90,argon,2,\n"))',),
    "A separator at the end of the header is dropped": (r'read(csv("temp,gas,y,\n30,air,1\n90,argon,2\n"))',),
    "The units in line 2 are skipped": (r'read(csv("temp,gas,y\n°C,-,%\n30,air,1\n90,argon,2\n"))',),
    "'y' is blank, which is taken for 'not measured', and left out in ": (
        r'read(csv("temp,gas,y\n30,air,\n40,air,2\n"))',
    ),
    "'gas' is blank in 1 of 2 rows (line 2): filled in from the most similar rows": (
        r'read(csv("temp,gas,y\n30,,1\n40,air,2\n"))',
    ),
    "'temp' is blank and left out in 1 of 2 rows: line 2": (r'read(csv("temp,gas,y\n,argon,1\n40,air,2\n"))',),
    "Every setting is blank in 1 of 3 rows, which are left out: line 3": (
        r'read(csv("temp,gas,y\n30,air,1\n,,2\n40,argon,3\n"))',
    ),
    "Old data has no column 'temp' (there is °C; rename it if it is the same): what it says is taken to hold": (
        r'read(csv("°C,gas,y\n30,air,1\n"))',
    ),
    "Old data has no column 'gas': what it says is taken to hold for every 'gas'": (
        (
            "study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0)); "
            'study.optimize(lambda t: t.suggest_float("temp", 30, 90), 3); assert read(study).used == 3'
        ),
    ),
    "'y' is taken to mean 'not measured' and left out in ": (
        r'read(csv("temp,gas,y\n30,air,-9999\n40,air,2\n50,air,3\n60,argon,4\n"))',
    ),
    "is taken for 'temp'": (r'read(csv("Temp,Gas,Y\n30,air,1\n40,argon,2\n"))',),
    "The encoding is UTF-16": (r'read(csv("temp,gas,y\n30,air,1\n40,argon,2\n", encoding="utf-16"))',),
    "The encoding is cp1252": (r'read(csv("temp,gas,y\n30,Öl,1\n40,air,2\n", encoding="cp1252"))',),
    "Columns that the search space does not name are averaged over: ": (
        "read(told.history)",
        'told.history.to_csv(folder / "h.csv", index=False); assert read(folder / "h.csv").used == 4',
    ),
}

TAKEN: tuple[str, ...] = (
    r'read(__import__("io").StringIO("temp,gas,y\n30,air,1\n90,argon,2\n"))',
    r'read(__import__("io").BytesIO(b"temp,gas,y\n30,air,1\n90,argon,2\n"))',
    r'read(csv("temp,gas,y\n"))',
    r'read(csv("temp,gas,y\n30,air,1\n90,argon,2\n"))',
    r'read(csv("temp,gas,y\n30,NA,1\n40,air,2\n"), {"temp": (30.0, 90.0), "gas": ["NA", "air"]})',
    r'read(csv("temp,gas,y\n30,None,1\n40,air,2\n"), {"temp": (30.0, 90.0), "gas": ["None", "air"]})',
    r'read(csv("temp,gas,y\n30,01,1\n40,1,2\n"), {"temp": (30.0, 90.0), "gas": ["1", "01"]})',
    r'read(csv("temp,gas,y\n30,air,1\n40,argon,2\n", encoding="utf-8-sig"))',
    r'read(csv(__import__("gzip").compress(b"temp,gas,y\n30,air,1\n40,argon,2\n"), "old.csv.gz"))',
    'OLD.to_excel(folder / "old.xlsx", index=False); assert read(folder / "old.xlsx").used == 12',
    'OLD.to_parquet(folder / "old.parquet"); assert read(folder / "old.parquet").used == 12',
    'pretrain(OLD, SPACE).save(folder / "a.prior"); Optimizer(SPACE, folder / "a.prior")',
    'pretrain(OLD, SPACE).save(folder / "a.csv"); Optimizer(SPACE, folder / "a.csv")',
    'Optimizer(SPACE, pretrain(OLD, SPACE), prior="uninformed")',
    "read(optuna.create_study())",
    (
        "study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0)); "
        'study.optimize(lambda t: t.suggest_float("temp", 30, 90) * ('
        't.suggest_categorical("gas", ["air", "argon"]) == "air"), 5); assert read(study).used == 5'
    ),
    "assert Optimizer(SPACE, []).old_sources == ()",
    "assert Optimizer(SPACE, {}).old_sources == ()",
    r'with open(csv("temp,gas,y\n30,air,1\n90,argon,2\n")) as file: assert read(file).used == 2',
)
