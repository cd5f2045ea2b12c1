"""Bad inputs, as users, reviewers and attackers type them, each with its verdict.

In every part `REFUSED` has the kind of an error and the facts its message must name, in any order, and pieces of code
that are refused with it; `WARNED` the kind and the facts of a warning, and code that works with it; `TAKEN` code that
works without a warning, with assertions where they are cheap. What the code may use is in `runner.py`.
"""

from dataclasses import dataclass
from types import ModuleType

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
