"""Runs pieces of code as a user would, and says what came of each.

Each is given `SPACE`, `OLD` (old data for it), `opt` with two pending settings `first` and `second`, `told` with four
results, `folder`, an empty one, `csv(text)`, which writes a file and gives its path, and `read(old data)`, which says
what an Optimizer makes of it, without learning from it.
"""

import pickle
import traceback
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import optuna
import pandas as pd
import torch

import tunedprior
from tunedprior import Optimizer, kernels, machines
from tunedprior.campaign import simulate
from tunedprior.errors import TunedPriorError
from tunedprior.space.search_space import Space

#: The file name of the user's code, which warnings must name.
USERS = "<the user's code>"
# A function of the user's own, so that warnings name it.
_READ = """
def read(source, space=SPACE, **options):
    usual = {"direction": "maximize", "seed": 0, "transfer": TransferConfig("uninformed")}
    return Optimizer(space, source, **usual | options).old_data_report.sets[-1]
"""


def _space_and_old_data() -> tuple[dict[str, Any], Any]:
    temp = np.linspace(30.0, 90.0, 12)
    old = pd.DataFrame({"temp": temp, "gas": ["air", "argon"] * 6, "y": np.sin(temp / 15)})
    return {"temp": (30.0, 90.0), "gas": ["air", "argon"]}, old


@cache
def _optimisers() -> tuple[bytes, bytes]:
    """`opt` with its two settings, and `told`, as bytes: making them takes longer than reading them for each case."""
    space, old = _space_and_old_data()
    opt, told = Optimizer(space, direction="maximize", seed=0), Optimizer(space, direction="maximize", seed=0)
    asked = opt.ask(n=2)
    told.tell(old[["temp", "gas"]][::3], old["y"][::3])
    return pickle.dumps((opt, asked)), pickle.dumps(told)


def _names(folder: Path, code: str) -> dict[str, Any]:
    space, old = _space_and_old_data()

    def csv(content: str | bytes, name: str = "old.csv", encoding: str = "utf-8") -> str:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return str(path)

    new, told = _optimisers()
    opt, (first, second) = pickle.loads(new)
    names: dict[str, Any] = {"np": np, "pd": pd, "torch": torch, "optuna": optuna, "Space": Space, "simulate": simulate}
    names |= {name: getattr(tunedprior, name) for name in tunedprior.__all__}
    names |= {name: getattr(kernels, name) for name in kernels.__all__}
    names |= {name: getattr(machines, name) for name in machines.__all__}
    names |= {"SPACE": space, "OLD": old, "folder": folder, "csv": csv, "Path": Path, "tunedprior": tunedprior}
    names |= {"opt": opt, "first": first, "second": second, "nan": float("nan"), "inf": float("inf")}
    if "told" in code:
        names["told"] = pickle.loads(told)
    exec(compile(_READ, USERS, "exec"), names)
    return names


def outcome_of(code: str) -> dict[str, Any]:
    """What came of it: the error if there was one, warnings, and whether an optimiser is worse off after an error."""
    found: dict[str, Any] = {"error": "", "message": "", "ours": True, "where": "", "harm": ""}
    with TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as caught:
        names = _names(Path(folder), code)
        before = {name: names[name].trials for name in ("opt", "told") if name in names}
        warnings.simplefilter("always")
        try:
            exec(compile(code, USERS, "exec"), names)
        except Exception as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            found |= {"error": type(error).__name__, "message": str(error), "ours": isinstance(error, TunedPriorError)}
            found["where"] = f"{Path(at.filename).name}:{at.lineno}"
            found["harm"] = _harm(names, before)
    found["warnings"] = [
        [one.category.__module__.split(".")[0], one.filename, f"{one.category.__name__}: {one.message}"]
        for one in caught
        if not (issubclass(one.category, DeprecationWarning) and "torch.jit.script" in str(one.message))
    ]
    return found


def _harm(names: dict[str, Any], before: dict[str, Any]) -> str:
    """What an error did to the optimisers: nothing, or a sentence."""
    for name, trials in before.items():
        if names[name].trials is not trials:
            return f"the history of {name} was changed"
    try:
        names["opt"].ask()
    except Exception as error:
        return f"it can no longer be asked: {error!r}"
    return ""
