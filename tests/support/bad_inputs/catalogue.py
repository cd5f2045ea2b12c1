"""Bad inputs, as users, reviewers and attackers type them, each with its verdict.

In every part `REFUSED` has the kind of an error and the facts its message must name, in any order, and pieces of code
that are refused with it; `WARNED` the kind and the facts of a warning, and code that works with it; `TAKEN` code that
works without a warning, with assertions where they are cheap. What the code may use is in `runner.py`.
"""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from support.bad_inputs import (
    arguments,
    asking,
    correcting,
    kernels_and_machines,
    learning,
    loops,
    old_files,
    old_tables,
    resuming,
    saving,
    spaces,
    telling,
)

PARTS: tuple[ModuleType, ...] = (
    spaces,
    arguments,
    old_tables,
    old_files,
    asking,
    telling,
    correcting,
    resuming,
    saving,
    loops,
    learning,
    kernels_and_machines,
)


@dataclass(frozen=True)
class Case:
    """A piece of code, and what must come of it.

    Attributes:
        part: The module that it is in.
        code: What is run.
        verdict: "refused", "warned" or "taken".
        kind: The name of the error's or warning's class.
        facts: What its message must name.
    """

    part: str
    code: str
    verdict: str
    kind: str = ""
    facts: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.part.rsplit('.')[-1]}: {self.code[:100]}"


def _cases(part: ModuleType) -> list[Case]:
    name = part.__name__
    found = [Case(name, code, "taken") for code in part.TAKEN]
    for verdict, table in (("refused", part.REFUSED), ("warned", part.WARNED)):
        for (kind, *facts), codes in table.items():
            found += [Case(name, code, verdict, kind, tuple(facts)) for code in codes]
    return found


CASES = tuple(case for part in PARTS for case in _cases(part))


def outcomes() -> dict[str, Any]:
    """What came of each piece of code, half of them in each of two processes, for others wait for it meanwhile."""
    codes = [case.code for case in CASES]
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(_run, (codes[::2], codes[1::2]))
    return one | other


def _run(codes: list[str]) -> dict[str, Any]:
    """What came of each, in a process of their own, without the type checks of the tests."""
    path = os.pathsep.join([str(Path(__file__).parents[2]), *(folder for folder in sys.path if folder)])
    run = subprocess.run(
        [sys.executable, "-m", "support.bad_inputs.runner"],
        input=json.dumps(codes),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    return dict(zip(codes, map(json.loads, run.stdout.splitlines()), strict=True))
