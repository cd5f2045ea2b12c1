"""What came of each case: it was taken as it is, refused by an error of this package, or neither."""

import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.studies.hostile import attribute_cases, sqlite_cases, text_cases
from tunedprior.errors import TunedPriorError
from tunedprior.space.constraints import parse_constraints
from tunedprior.space.search_space import Space
from tunedprior.workspace.space_file import read_space_file

#: Taken as it is: a file that says the same as before, a text that can be understood, a study that goes on.
TAKEN = "taken"
#: An error of this package.
REFUSED = "refused"
#: Taken, and something else than it was, without a word.
DIFFERENT = "different without a word"
#: An error or a warning of somebody else's.
INSIDE = "errors from inside"
OUTCOMES = (TAKEN, REFUSED, DIFFERENT, INSIDE)
#: The number of cases of each kind.
COUNTS = {
    "damaged SQLite files": 1000,
    "crafted SQLite files": 30,
    "space files": 200,
    "constraints": 100,
    "attributes": 50,
}


def outcome_of(act: Callable[[], bool], may_refuse: bool = True) -> str:
    """What comes of it; `act` says whether all is as it was."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for own in _own_warnings():
                warnings.simplefilter("ignore", own)
            return TAKEN if act() else DIFFERENT
    except TunedPriorError:
        return REFUSED if may_refuse else INSIDE
    except Exception:
        return INSIDE


def _own_warnings() -> list[type[Warning]]:
    from tunedprior import errors

    return [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, Warning)]


def judge(kind: str, first: int, count: int, say: Callable[[str], None] | None = None) -> Counter[str]:
    """How many of these cases had each outcome.

    Args:
        kind: One of `COUNTS`.
        first: The first case.
        count: How many.
        say: Called with what is wrong with a case, for whoever looks for the reason.
    """
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, act) in enumerate(_cases(kind, first, count, Path(folder))):
            outcome = outcome_of(act, may_refuse=kind != "attributes")
            found[outcome] += 1
            if say is not None and outcome in (DIFFERENT, INSIDE):
                say(f"{kind} {first + number} ({name}): {outcome}")
    return found


def _cases(kind: str, first: int, count: int, folder: Path) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Each with its name, and what is to be done with it."""
    numbers = range(first, first + count)
    if kind in ("damaged SQLite files", "crafted SQLite files"):
        sqlite_cases.quiet()
        path = folder / "original.db"
        sqlite_cases.make_campaign(path)
        sound, data = sqlite_cases.loaded_from(path), path.read_bytes()
        for number in numbers:
            hostile = folder / f"{number}.db"
            if kind.startswith("damaged"):
                damage = sqlite_cases.DAMAGES[number % len(sqlite_cases.DAMAGES)]
                hostile.write_bytes(damage(data, np.random.default_rng(number)))
                name = damage.__name__
            else:
                name, change = list(sqlite_cases.CRAFTED.items())[number]
                hostile.write_bytes(data)
                change(hostile)
            yield name, lambda hostile=hostile: sqlite_cases.loaded_from(hostile) == sound
    elif kind == "space files":
        for number, data in enumerate(list(text_cases.space_files(first + count))[first:], first):
            path = folder / f"space{number}.yaml"
            path.write_bytes(data)
            yield repr(data[:60]), lambda path=path: bool(read_space_file(path).space.names)
    elif kind == "constraints":
        space = Space.parse({"a": (0.0, 10.0), "b": (0.1, 10.0, "log"), "flow rate": (1.0, 9.0)})
        for text in text_cases.constraint_texts(first + count)[first:]:
            yield repr(text[:60]), lambda text=text: bool(parse_constraints([text], space.parameters))
    else:
        for number in numbers:
            name = str(attribute_cases.ATTRIBUTES[number])[:80]
            yield name, lambda number=number: attribute_cases.goes_on(number)
