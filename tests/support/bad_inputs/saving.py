"""`save` and `load`."""

REFUSED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("InputError", "name of a file", "got"): (
        "opt.save(None)",
        'opt.save("")',
        "opt.save(3)",
        'opt.save(b"campaign")',
        "Optimizer.load(None)",
        "Optimizer.load(3)",
        'Optimizer.load("")',
        'with open(folder / "x.json", "w") as file: opt.save(file)',
    ),
    ("InputError", "folder"): (
        "opt.save(folder)",
        "Optimizer.load(folder)",
    ),
    ("InputError", "no folder"): ('opt.save(folder / "no such folder" / "a.json")',),
    ("InputError", "name of a file", "shorter"): (
        r'opt.save("\0")',
        'opt.save("a" * 5000)',
        r'Optimizer.load("\0")',
        'Optimizer.load("a" * 5000)',
    ),
    ("InputError", "'x'", "category", "text", "numbers"): (
        'Optimizer({"x": [b"a", b"b"]}, direction="maximize", seed=0).save(folder / "a.json")',
        'Optimizer({"x": [print, len]}, direction="maximize", seed=0).save(folder / "a.json")',
        'Optimizer({"x": [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01")]}, direction="maximize", seed=0).save(folder / "a.json")',
    ),
    ("InputError", "text", "Unicode", "saved"): (
        'Optimizer({"x": ["\\ud800", "b"]}, direction="maximize", seed=0).save(folder / "a.json")',
    ),
    ("InputError", "no file", "opt.save(path)"): ('Optimizer.load("nosuch.json")',),
    ("FileFormatError", "campaign", "opt.save(path)", "damaged"): (
        'Optimizer.load(csv("", "a.json"))',
        'Optimizer.load(csv("[]", "a.json"))',
        'Optimizer.load(csv("null", "a.json"))',
        r'Optimizer.load(csv("temp,gas,y\n", "a.json"))',
        r'Optimizer.load(csv(b"\xff\xfe\x00", "a.json"))',
        'Optimizer.load(csv("[" * 100000, "a.json"))',
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace("90.0", '
            '"1e999"), "b.json"))'
        ),
    ),
    ("FileFormatError", "b.json", "damaged", "state", "great"): (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace("complete", '
            '"great"), "b.json"))'
        ),
    ),
    ("FileFormatError", "b.json", "damaged", "seed", "whole number"): (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"seed": 0\', \'"seed": -5\'), "b.json"))'
        ),
    ),
    ("FileFormatError", "damaged", "ends in the middle", "copy"): (
        'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text()[:-40], "b.json"))',
    ),
    ("FileFormatError", "not hold a campaign", "opt.save(path)"): (
        'Optimizer.load(csv("{}", "a.json"))',
        'Optimizer.load(csv(\'{"format": "other", "version": 1}\', "a.json"))',
    ),
    ("FileFormatError", "version 99"): (
        'Optimizer.load(csv(\'{"format": "tunedprior campaign", "version": 99}\', "a.json"))',
    ),
    ("FileFormatError", "search space", "no sense"): (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace("30.0", '
            '"90000.0"), "b.json"))'
        ),
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"argon"\', \'"air"\'), "b.json"))'
        ),
    ),
    ("FileFormatError", "trial 1", "2 times"): (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"id": 2\', \'"id": 1\'), "b.json"))'
        ),
    ),
    ("FileFormatError", "b.json", "damaged", "prior", "avarage"): (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"average"\', \'"avarage"\'), "b.json"))'
        ),
    ),
    ("FileFormatError", "b.json", "damaged", "acquisition", "EI"): (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"ei"\', \'"EI"\'), "b.json"))'
        ),
    ),
    ("FileFormatError", "changed", "checksum", "configuration"): (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"average"\', \'"aligned"\'), "b.json"))'
        ),
    ),
    ("InputError", "no old data", "new Optimizer"): (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", old_data=OLD)',
    ),
    ("InputError", "seed", "whole number", "0", "got"): (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", seed="1")',
    ),
    ("InputError", "suggester", "opt.suggester", "got"): (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", suggester=3)',
    ),
    ("InputError", "model", "Surrogate", "TunedPrior(prior)", "got"): (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", model="gp")',
    ),
    ("InputError", "'old data'", "no file"): (
        'Optimizer(SPACE, OLD, direction="maximize", seed=0).save(folder / "a.json"); Optimizer.load(folder / "a.json")',
    ),
    ("InputError", "old data", "called", "names"): (
        (
            'Optimizer(SPACE, OLD, direction="maximize", seed=0).save(folder / "a.json"); Optimizer.load(folder / "a.json", old_data={"a": OLD, "b": OLD})'
        ),
    ),
    ("InputError", "no such file"): (
        (
            'OLD.to_csv(folder / "o.csv", index=False); Optimizer(SPACE, folder / "o.csv", direction="maximize", seed=0).save(folder / "a.json"); (folder / "o.csv").unlink(); Optimizer.load(folder / "a.json")'
        ),
    ),
    ("InputError", "Optimizer.load(path, kernel=…)"): (
        'Optimizer(SPACE, direction="maximize", transfer=TransferConfig(kernel=type("Own", (SquaredExponential,), {})()), seed=0).save(folder / "a.json"); Optimizer.load(folder / "a.json")',
    ),
}

WARNED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("OldDataWarning", "old data", "saved"): (
        (
            'Optimizer(SPACE, OLD, direction="maximize", seed=0).save(folder / "a.json"); Optimizer.load(folder / "a.json", old_data=OLD.assign(y=-OLD.y))'
        ),
    ),
}

TAKEN: tuple[str, ...] = (
    'Optimizer({"x": [(1, 2), (3, 4)]}, direction="maximize", seed=0).save(folder / "a.json"); Optimizer.load(folder / "a.json")',
    'Optimizer({"x": ["air", nan]}, direction="maximize", seed=0).save(folder / "a.json"); Optimizer.load(folder / "a.json")',
    (
        'o = Optimizer(SPACE, direction="maximize", seed=0); o.tell(OLD.assign(when=pd.Timestamp("2020-01-01"), what=[object()] * 12), OLD["y"]); o.save(folder / "a.json")'
    ),
)
