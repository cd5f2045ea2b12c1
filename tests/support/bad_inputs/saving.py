"""`save` and `load`."""

REFUSED: dict[str, tuple[str, ...]] = {
    "There must be the name of a file … ; got ": (
        "opt.save(None)",
        'opt.save("")',
        "opt.save(3)",
        'opt.save(b"campaign")',
        "Optimizer.load(None)",
        "Optimizer.load(3)",
        'Optimizer.load("")',
        'with open(folder / "x.json", "w") as file: opt.save(file)',
    ),
    "is a folder. Name ": (
        "opt.save(folder)",
        "Optimizer.load(folder)",
    ),
    "There is no folder  … Make it first, or name another": ('opt.save(folder / "no such folder" / "a.json")',),
    "cannot be the name of a file. Choose a shorter one": (
        r'opt.save("\0")',
        'opt.save("a" * 5000)',
        r'Optimizer.load("\0")',
        'Optimizer.load("a" * 5000)',
    ),
    "'x' has the category  … Name categories by text or numbers": (
        'Optimizer({"x": [b"a", b"b"]}).save(folder / "a.json")',
        'Optimizer({"x": [print, len]}).save(folder / "a.json")',
        'Optimizer({"x": [pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01")]}).save(folder / "a.json")',
    ),
    "has text that is no Unicode, so it cannot be saved": (
        r'Optimizer({"x": ["\ud800", "b"]}).save(folder / "a.json")',
    ),
    "There is no file  … Name a file that opt.save(path) wrote": ('Optimizer.load("nosuch.json")',),
    "is not a campaign that opt.save(path) wrote, or is damaged": (
        'Optimizer.load(csv("", "a.json"))',
        'Optimizer.load(csv("[]", "a.json"))',
        'Optimizer.load(csv("null", "a.json"))',
        r'Optimizer.load(csv("temp,gas,y\n", "a.json"))',
        r'Optimizer.load(csv(b"\xff\xfe\x00", "a.json"))',
        'Optimizer.load(csv("[" * 100000, "a.json"))',
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace("complete", '
            '"great"), "b.json"))'
        ),
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace("90.0", '
            '"1e999"), "b.json"))'
        ),
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"seed": 0\', \'"seed": -5\'), "b.json"))'
        ),
    ),
    "is damaged: it ends in the middle … Take a whole copy": (
        'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text()[:-40], "b.json"))',
    ),
    "does not hold a campaign. Make one with opt.save(path)": (
        'Optimizer.load(csv("{}", "a.json"))',
        'Optimizer.load(csv(\'{"format": "other", "version": 1}\', "a.json"))',
    ),
    "has format version 99 … Update it": (
        'Optimizer.load(csv(\'{"format": "tunedprior campaign", "version": 99}\', "a.json"))',
    ),
    "the search space makes no sense (": (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace("30.0", '
            '"90000.0"), "b.json"))'
        ),
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"argon"\', \'"air"\'), "b.json"))'
        ),
    ),
    "trial 1 is there 2 times": (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"id": 2\', \'"id": 1\'), "b.json"))'
        ),
    ),
    "was changed since it was saved: its checksum is not that of its arguments … Undo the change": (
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"average"\', \'"avarage"\'), "b.json"))'
        ),
        (
            'told.save(folder / "a.json"); Optimizer.load(csv((folder / "a.json").read_text().replace('
            '\'"ei"\', \'"EI"\'), "b.json"))'
        ),
    ),
    "belongs to the campaign and cannot be changed. Make a new Optimizer": (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", space=SPACE)',
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", direction="minimize")',
    ),
    "The campaign had no old data … Make a new Optimizer": (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", old_data=OLD)',
    ),
    "seed must be a whole number, 0 or more; got ": (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", seed="1")',
    ),
    "suggester must be a Suggester, such as opt.suggester; got ": (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", suggester=3)',
    ),
    "model must be a Surrogate … such as TunedPrior(prior); got ": (
        'told.save(folder / "a.json"); Optimizer.load(folder / "a.json", model="gp")',
    ),
    "The old data 'old data' was no file. Give it again": (
        'Optimizer(SPACE, OLD).save(folder / "a.json"); Optimizer.load(folder / "a.json")',
    ),
    "The campaign's old data is called … Give it by these names": (
        (
            'Optimizer(SPACE, OLD).save(folder / "a.json"); Optimizer.load(folder / "a.json", old_data={"a": OLD, '
            '"b": OLD})'
        ),
    ),
    "there is no such file. Give it again": (
        (
            'OLD.to_csv(folder / "o.csv", index=False); Optimizer(SPACE, folder / "o.csv").save('
            'folder / "a.json"); (folder / "o.csv").unlink(); Optimizer.load(folder / "a.json")'
        ),
    ),
    "objects that no file can hold. Give them again: Optimizer.load(path, kernel=…)": (
        'Optimizer(SPACE, kernel=SquaredExponential()).save(folder / "a.json"); Optimizer.load(folder / "a.json")',
    ),
}

WARNED: dict[str, tuple[str, ...]] = {
    "Old data is not what it was when the campaign was saved": (
        (
            'Optimizer(SPACE, OLD).save(folder / "a.json"); Optimizer.load(folder / "a.json", old_data=OLD.assign('
            "y=-OLD.y))"
        ),
    ),
}

TAKEN: tuple[str, ...] = (
    'Optimizer({"x": [(1, 2), (3, 4)]}).save(folder / "a.json"); Optimizer.load(folder / "a.json")',
    'Optimizer({"x": ["air", nan]}).save(folder / "a.json"); Optimizer.load(folder / "a.json")',
    (
        'o = Optimizer(SPACE); o.tell(OLD.assign(when=pd.Timestamp("2020-01-01"), what=[object()] * 12), '
        'OLD["y"]); o.save(folder / "a.json")'
    ),
)
