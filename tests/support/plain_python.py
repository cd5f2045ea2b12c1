"""What users see who pass things of the wrong type: in a process of its own, without the type checks of the tests."""

import json
import subprocess
import sys
from functools import cache

_RUNNER = """
import json, sys
import numpy as np, pandas as pd, torch
from tunedprior import Optimizer, optimize
from tunedprior.space.search_space import Space
SPACE = {"x": (0.0, 1.0), "gas": ["air", "argon"]}
for code in json.loads(sys.stdin.read()):
    opt = Optimizer(SPACE, seed=0)
    first, second = opt.ask(n=2)
    before = opt.trials
    try:
        exec(code)
        said = "nothing was raised"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        said += "" if opt.trials is before else " AND SOMETHING WAS CHANGED"
    print(json.dumps(said))
"""


@cache
def said_of(codes: tuple[str, ...]) -> dict[str, str]:
    """The exception of each piece of code; `opt` has two pending settings, `first` and `second`."""
    command = [sys.executable, "-W", "error::UserWarning", "-c", _RUNNER]
    run = subprocess.run(command, input=json.dumps(codes), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return dict(zip(codes, map(json.loads, run.stdout.splitlines()), strict=True))
