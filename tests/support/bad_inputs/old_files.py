"""Old data in files and studies."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "no file", "looked for in"): (
        'read("nosuch.csv")',
        r'read("\0")',
    ),
    ("InputError", "no file", "download"): ('read("https://example.org/old.csv")',),
    ("InputError", "folder"): (
        "read(str(folder))",
        "read(folder)",
    ),
    ("InputError", "no file", "io.StringIO(text)"): (r'read("temp,gas,y\n30,air,1\n")',),
    ("InputError", "file name too long"): ('read("a" * 5000)',),
    ("InputError", "pandas.DataFrame", "path", "got"): (
        'read(b"old.csv")',
        "read(opt)",
        "read(opt.trials)",
    ),
    ("InputError", "file.seek(0)"): (r'f = __import__("io").StringIO("temp,gas,y\n30,air,1\n"); f.read(); read(f)',),
    ("InputError", "open file", "path"): (
        r'f = open(csv("temp,gas,y\n30,air,1\n")); f.close(); read(f)',
        'with open(folder / "new.csv", "w") as file: read(file)',
    ),
    ("InputError", "empty", "line", "names"): (
        'read(csv(""))',
        r'read(csv("\n\n\n"))',
    ),
    ("InputError", "comments", "line", "names"): (r'read(csv("# nothing here\n"))',),
    ("InputError", "line 2", "old.csv", "4", "';'"): (
        r'read(csv("temp,gas,y\n30,air,1,5\n90,argon,2,5\n"))',
        r'read(csv("temp,gas,y\n30,air,1.000,5\n"))',
    ),
    ("InputError", "line", "has 2"): (r'read(csv("temp,gas,y\n30,air,1\n90,argon\n"))',),
    ("InputError", "columns", "missing", "first line"): (r'read(csv("30,air,1\n90,argon,2\n"))',),
    ("InputError", "columns", "missing", "there are", "target="): (r'read(csv("import pandas\n", "old.py"))',),
    ("InputError", "thousands", "'y'", "1234.5"): (
        r'read(csv("temp;gas;y\n30;air;1.000,5\n40;air;2.000,5\n"))',
        r'read(csv("temp,gas,y\n30,air,1 000\n40,argon,2 000\n"))',
    ),
    ("InputError", "column", "name of its own"): (r'read(csv("temp,gas,y,y\n30,air,1,2\n"))',),
    ("InputError", "old data", "'y'", "numbers"): (
        r'read(csv("temp,gas,y\n30,air,one\n"))',
        r'read(csv("temp,gas,y\n30,air," + "9" * 400 + "\n40,air,2\n"))',
        r'read(csv("temp,gas,y\n30,air,1e400\n40,air,2\n"))',
        r'read(csv("temp,gas,y\n30,air,#DIV/0!\n40,air,2\n"))',
    ),
    ("InputError", "old data", "'temp'", "numbers"): (
        r'read(csv("temp,gas,y\n2020-01-01,air,1\n2020-01-02,air,2\n"))',
    ),
    ("InputError", "quote"): (r'read(csv("temp,gas,y\n30,\"air,1\n40,air,2\n"))',),
    ("InputError", "text file", "Excel", "Parquet", "CSV", "UTF-8"): (
        r'read(csv(b"\x00\x01\x02\xff\xfe\xfd" * 100))',
        "read(csv(bytes(range(256)) * 20))",
        r'read(csv(b"\x89PNG\r\n\x1a\n" + b"\0" * 200, "photo.png"))',
        'read(csv(__import__("pickle").dumps(OLD), "old.pkl"))',
    ),
    ("FileFormatError", "PDF", "table", "CSV"): ('read(csv(b"%PDF-1.4 something", "paper.pdf"))',),
    ("FileFormatError", "misnamed", "ends in"): (
        r'read(csv("temp,gas,y\n30,air,1\n", "old.xlsx"))',
        r'read(csv("temp,gas,y\n30,air,1\n", "old.parquet"))',
        r'read(csv("temp,gas,y\n30,air,1\n40,argon,2\n", "old.csv.gz"))',
    ),
    ("FileFormatError", "damaged", "zip", "Excel"): (r'read(csv(b"PK\x03\x04 not really", "old.xlsx"))',),
    ("FileFormatError", "Parquet", "damaged"): ('read(csv(b"PAR1 not really", "old.parquet"))',),
    ("FileFormatError", "damaged", "protected", "unpack"): (
        r'read(csv(b"\x1f\x8b damaged", "old.csv.gz"))',
        r'read(csv(__import__("gzip").compress(b"temp,gas,y\n30,air,1\n40,argon,2\n")[:-9], "old.csv.gz"))',
        'read(csv(b"BZh9 damaged", "old.csv.bz2"))',
        r'read(csv(b"\xfd7zXZ\x00 damaged", "old.csv.xz"))',
    ),
    ("FileFormatError", "JSON", "table", "CSV"): (
        r'read(csv("{\"temp\": [30]}", "old.json"))',
        'opt.save(folder / "campaign.json"); read(folder / "campaign.json")',
    ),
    ("FileFormatError", "web page", "table", "CSV"): ('read(csv("<html><table></table></html>", "old.html"))',),
    ("InputError", "empty", "row", "names"): (
        'pd.DataFrame().to_excel(folder / "old.xlsx"); read(folder / "old.xlsx")',
    ),
    ("InputError", "weight prior", "('temp', 'gas')", "pretrain"): (
        'pretrain(OLD, SPACE).save(folder / "a.prior"); Optimizer({"x": (0.0, 1.0)}, folder / "a.prior", direction="maximize", seed=0)',
    ),
    ("InputError", "study", "2 objectives"): (
        'study = optuna.create_study(directions=["maximize", "minimize"]); read(study)',
    ),
    ("InputError", "'y'", "blank", "every row", "target="): ("read(opt.history)",),
    ("InputError", "search space", "dict"): ("read(OLD, None)",),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("OldDataWarning", "separator"): (
        r'read(csv("temp;gas;y\n30;air;1\n90;argon;2\n"))',
        r'read(csv("temp\tgas\ty\n30\tair\t1\n90\targon\t2\n"))',
        r'read(csv("temp|gas|y\n30|air|1\n90|argon|2\n"))',
        r'read(csv("temp;gas;y\n30;air;1.000\n40;air;2.000\n"))',
    ),
    ("OldDataWarning", "decimal commas"): (r'read(csv("temp;gas;y\n30,5;air;1,5\n90;argon;2,5\n"))',),
    ("OldDataWarning", "separators", "ends of lines"): (r'read(csv("temp,gas,y\n30,air,1,\n90,argon,2,\n"))',),
    ("OldDataWarning", "separator", "header"): (r'read(csv("temp,gas,y,\n30,air,1\n90,argon,2\n"))',),
    ("OldDataWarning", "units", "line 2"): (r'read(csv("temp,gas,y\n°C,-,%\n30,air,1\n90,argon,2\n"))',),
    ("OldDataWarning", "'y'", "blank", "left out"): (r'read(csv("temp,gas,y\n30,air,\n40,air,2\n"))',),
    ("OldDataWarning", "'gas'", "blank", "1 of 2", "line 2", "filled in"): (
        r'read(csv("temp,gas,y\n30,,1\n40,air,2\n"))',
    ),
    ("OldDataWarning", "'temp'", "blank", "left out", "1 of 2", "line 2"): (
        r'read(csv("temp,gas,y\n,argon,1\n40,air,2\n"))',
    ),
    ("OldDataWarning", "setting", "blank", "left out", "1 of 3", "line 3"): (
        r'read(csv("temp,gas,y\n30,air,1\n,,2\n40,argon,3\n"))',
    ),
    ("OldDataWarning", "old data", "'temp'", "°C"): (r'read(csv("°C,gas,y\n30,air,1\n"))',),
    ("OldDataWarning", "old data", "'gas'", "every 'gas'"): (
        (
            "study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0)); "
            'study.optimize(lambda t: t.suggest_float("temp", 30, 90), 3); assert read(study).used == 3'
        ),
    ),
    ("OldDataWarning", "'y'", "'not measured'", "left out"): (
        r'read(csv("temp,gas,y\n30,air,-9999\n40,air,2\n50,air,3\n60,argon,4\n"))',
    ),
    ("OldDataWarning", "taken for 'temp'"): (r'read(csv("Temp,Gas,Y\n30,air,1\n40,argon,2\n"))',),
    ("OldDataWarning", "encoding", "UTF-16"): (r'read(csv("temp,gas,y\n30,air,1\n40,argon,2\n", encoding="utf-16"))',),
    ("OldDataWarning", "encoding", "cp1252"): (r'read(csv("temp,gas,y\n30,Öl,1\n40,air,2\n", encoding="cp1252"))',),
    ("OldDataWarning", "columns", "search space", "averaged over"): (
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
    'pretrain(OLD, SPACE).save(folder / "a.prior"); Optimizer(SPACE, folder / "a.prior", direction="maximize", seed=0)',
    'pretrain(OLD, SPACE).save(folder / "a.csv"); Optimizer(SPACE, folder / "a.csv", direction="maximize", seed=0)',
    'Optimizer(SPACE, pretrain(OLD, SPACE), direction="maximize", transfer=TransferConfig(prior="uninformed"), seed=0)',
    "read(optuna.create_study())",
    (
        "study = optuna.create_study(sampler=optuna.samplers.RandomSampler(0)); "
        'study.optimize(lambda t: t.suggest_float("temp", 30, 90) * ('
        't.suggest_categorical("gas", ["air", "argon"]) == "air"), 5); assert read(study).used == 5'
    ),
    'assert Optimizer(SPACE, [], direction="maximize", seed=0).config.transfer.sources == ()',
    'assert Optimizer(SPACE, {}, direction="maximize", seed=0).config.transfer.sources == ()',
    r'with open(csv("temp,gas,y\n30,air,1\n90,argon,2\n")) as file: assert read(file).used == 2',
)
