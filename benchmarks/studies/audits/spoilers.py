"""Twenty ways to spoil a table, each as people and programs do it, with a seed."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pandas as pd

from benchmarks.studies.audits.spoiled import (
    TARGET,
    Clean,
    Copy,
    Spoiler,
    as_bytes,
    as_text,
    lines_of,
    some_rows,
    with_values,
)

#: Inputs in °C, and inputs that are times.
TEMPERATURES, TIMES = ("temperature",), ("time", "t_res", "src_equib", "dst_equib")


def _converted(names: Callable[[Clean], list[str]], convert: Callable[[np.ndarray], np.ndarray]) -> Spoiler:
    def spoil(clean: Clean, rng: np.random.Generator) -> Copy:
        name = str(rng.choice(names(clean)))
        return Copy(as_bytes(with_values(clean.cells, name, convert(clean.values(name)))), ("other units",), (name,))

    return spoil


def _thousandfold(clean: Clean, rng: np.random.Generator) -> Copy:
    name, factor = str(rng.choice(clean.numeric)), float(rng.choice([1000.0, 0.001]))
    return Copy(as_bytes(with_values(clean.cells, name, factor * clean.values(name))), ("other units",), (name,))


def _outlier(clean: Clean, rng: np.random.Generator) -> Copy:
    """A number of one row times 100: the point was forgotten."""
    name = str(rng.choice([*clean.numeric, TARGET]))
    values = clean.values(name).copy()
    row = int(rng.choice(np.flatnonzero(np.abs(values) >= np.quantile(np.abs(values), 0.25))))
    values[row] *= 100
    return Copy(as_bytes(with_values(clean.cells, name, values)), ("far off",), (name,), lines_of([row]))


def _sentinels(clean: Clean, rng: np.random.Generator) -> Copy:
    name = str(rng.choice([*clean.numeric, TARGET]))
    rows, cells = some_rows(rng, len(clean.cells), 0.04), clean.cells.copy()
    cells.loc[rows, name] = str(rng.choice(["-9999", "-999", "99999"]))
    return Copy(as_bytes(cells), ("sentinel",), (name,), lines_of(rows))


def _swapped(clean: Clean, rng: np.random.Generator) -> Copy:
    pairs = [pair for pair in combinations([*clean.numeric, *clean.categorical], 2) if clean.differ(*pair)]
    one, other = pairs[int(rng.integers(len(pairs)))]
    cells = clean.cells.assign(**{one: clean.cells[other], other: clean.cells[one]})
    return Copy(as_bytes(cells), ("swapped columns",), (one, other))


def _mixed_decimals(clean: Clean, rng: np.random.Generator) -> Copy:
    """Rows of a colleague whose computer writes decimal commas, pasted into a file with semicolons."""
    rows, cells = some_rows(rng, len(clean.cells), 0.3), clean.cells.copy()
    names = [*clean.numbers, TARGET]
    cells.loc[rows, names] = cells.loc[rows, names].map(lambda cell: cell.replace(".", ","))
    changed = (cells != clean.cells).any(axis=1)
    columns = [name for name in names if (cells[name] != clean.cells[name]).any()]
    return Copy(as_bytes(cells, ";"), ("mixed decimal signs",), tuple(columns), lines_of(np.flatnonzero(changed)))


def _thousands_separators(clean: Clean, rng: np.random.Generator) -> Copy:
    """An export as in Germany: semicolons, decimal commas, points between thousands."""
    del rng
    names = [*clean.numbers, TARGET]
    grouped = {name: np.abs(clean.values(name)) >= 1000 for name in names}
    cells = clean.cells.assign(
        **{
            name: [f"{float(cell):,.3f}".translate(str.maketrans(",.", ".,")) for cell in clean.cells[name]]
            for name in names
        }
    )
    columns = tuple(name for name in names if grouped[name].any())
    rows = np.flatnonzero(np.any([grouped[name] for name in columns], axis=0))
    return Copy(as_bytes(cells, ";"), ("thousands separators",), columns, lines_of(rows))


def _shifted_response(clean: Clean, rng: np.random.Generator) -> Copy:
    """The response moved by a row, as when a cell is inserted or deleted at its top."""
    step = int(rng.choice([1, -1]))
    return Copy(
        as_bytes(clean.cells.assign(**{TARGET: np.roll(clean.cells[TARGET], step)})), ("shifted rows",), (TARGET,)
    )


def _shifted_cells(clean: Clean, rng: np.random.Generator) -> Copy:
    """Cells of some rows moved one column to the right; the last is lost."""
    rows, cells = some_rows(rng, len(clean.cells), 0.05), clean.cells.copy()
    start = int(rng.integers(max(1, cells.shape[1] - 2)))
    for row in rows:
        old = cells.iloc[row].tolist()
        cells.iloc[row] = [*old[:start], "", *old[start:-1]]
    return Copy(as_bytes(cells), ("shifted cells",), (), lines_of(rows))


def _duplicated(clean: Clean, rng: np.random.Generator) -> Copy:
    """A block of rows pasted twice."""
    count = max(3, round(0.06 * len(clean.cells)))
    start, at = (int(rng.integers(len(clean.cells) - count)) for _ in range(2))
    order = np.insert(np.arange(len(clean.cells)), at, np.arange(start, start + count))
    seen: set[int] = set()
    later = [place for place, row in enumerate(order) if row in seen or seen.add(row)]
    return Copy(as_bytes(clean.cells.iloc[order]), ("copied rows",), (), lines_of(later))


def _part_in_other_units(clean: Clean, rng: np.random.Generator) -> Copy:
    name = str(rng.choice(clean.numeric))
    rows, values = some_rows(rng, len(clean.cells), 0.5), clean.values(name).copy()
    values[rows] *= 1000
    lines = lines_of(rows[values[rows] != 0])
    return Copy(as_bytes(with_values(clean.cells, name, values)), ("part in other units",), (name,), lines)


def _mixed_encodings(clean: Clean, rng: np.random.Generator) -> Copy:
    """Two exports put together, in UTF-8 and in cp1252."""
    cells = clean.cells.assign(operator=rng.choice(["Jürgen", "Zoë", "Ann"], size=len(clean.cells)))
    lines = as_text(cells).splitlines(keepends=True)
    cut = int(rng.integers(round(0.6 * len(lines)), round(0.9 * len(lines))))
    content = "".join(lines[:cut]).encode() + "".join(lines[cut:]).encode("cp1252")
    odd = [k + 1 for k in range(cut, len(lines)) if not lines[k].isascii()]
    return Copy(content, ("mixed encodings",), (), tuple(odd))


def _spellings(clean: Clean, rng: np.random.Generator) -> Copy:
    name = str(rng.choice(clean.categorical))
    usual = str(rng.choice(sorted(set(clean.cells[name]))))
    where = np.flatnonzero(clean.cells[name] == usual)
    rows = rng.choice(where, size=max(1, len(where) // 3), replace=False)
    change = [str.lower, str.upper, lambda text: ".".join(text) + ".", lambda text: f"{text} ."]
    other = next(new for k in rng.permutation(len(change)) if (new := change[k](usual)) != usual)
    cells = clean.cells.copy()
    cells.loc[rows, name] = other
    return Copy(as_bytes(cells), ("spelling",), (name,), lines_of(rows))


def _flipped_sign(clean: Clean, rng: np.random.Generator) -> Copy:
    """A part of the responses with the other sign, as of one who records losses for gains."""
    rows, values = some_rows(rng, len(clean.cells), 0.3), clean.values(TARGET).copy()
    values[rows] *= -1
    lines = lines_of(rows[values[rows] != 0])
    return Copy(as_bytes(with_values(clean.cells, TARGET, values)), ("sign of the response",), (TARGET,), lines)


def _no_header(clean: Clean, rng: np.random.Generator) -> Copy:
    del rng
    return Copy(as_text(clean.cells, header=False).encode(), ("no header",), (), (1,))


def _cut_off(clean: Clean, rng: np.random.Generator) -> Copy:
    """The end of the file is missing: the last line ends before its last cell."""
    text = as_text(clean.cells).rstrip("\n")
    start = text.rindex("\n") + 1
    end = text.rindex(",")
    return Copy(text[: int(rng.integers(start + 1, end + 1))].encode(), ("cut-off line",), (), (len(clean.cells) + 1,))


def _contradictory(clean: Clean, rng: np.random.Generator) -> Copy:
    """Some rows once more, with a response from the other end of its range."""
    values = clean.values(TARGET)
    ends = np.quantile(values, [0.02, 0.98])
    rows = some_rows(rng, len(values), 0.0, 2)
    far = [ends[1] if values[row] < ends.mean() else ends[0] for row in rows]
    again = with_values(clean.cells.iloc[rows], TARGET, np.array(far))
    cells = pd.concat([clean.cells, again], ignore_index=True)
    lines = lines_of([*rows, *range(len(values), len(cells))])
    return Copy(as_bytes(cells), ("contradictory repeats",), (TARGET,), lines)


def _repeated_header(clean: Clean, rng: np.random.Generator) -> Copy:
    """Two exports one after the other, each with its header."""
    lines = as_text(clean.cells).splitlines(keepends=True)
    cut = int(rng.integers(2, len(lines)))
    return Copy("".join([*lines[:cut], lines[0], *lines[cut:]]).encode(), ("repeated header",), (), (cut + 1,))


def _among(*wanted: str) -> Callable[[Clean], list[str]]:
    return lambda clean: [name for name in clean.numeric if name in wanted]


#: What is done to a table, and for which tables it can be done.
SPOILERS: dict[str, tuple[Spoiler, Callable[[Clean], bool]]] = {
    "a column × or / 1,000": (_thousandfold, lambda clean: bool(clean.numeric)),
    "°C → K": (
        _converted(_among(*TEMPERATURES), lambda values: values + 273.15),
        lambda c: bool(_among(*TEMPERATURES)(c)),
    ),
    "°C → °F": (
        _converted(_among(*TEMPERATURES), lambda values: 1.8 * values + 32),
        lambda c: bool(_among(*TEMPERATURES)(c)),
    ),
    "minutes → hours": (_converted(_among(*TIMES), lambda values: values / 60), lambda c: bool(_among(*TIMES)(c))),
    "a number of one row × 100": (_outlier, lambda clean: bool(clean.numeric)),
    "-9999 in some rows": (_sentinels, lambda clean: bool(clean.numeric)),
    "two columns swapped": (
        _swapped,
        lambda c: any(c.differ(*pair) for pair in combinations([*c.numeric, *c.categorical], 2)),
    ),
    "decimal commas among points": (
        _mixed_decimals,
        lambda c: any(c.cells[name].str.contains(".", regex=False).any() for name in [*c.numeric, TARGET]),
    ),
    "thousands separators": (
        _thousands_separators,
        lambda c: any((np.abs(c.values(name)) >= 1000).any() for name in [*c.numeric, TARGET]),
    ),
    "response moved by a row": (_shifted_response, lambda _clean: True),
    "cells moved by a column": (
        _shifted_cells,
        lambda c: all(c.differ(*pair) for pair in combinations(c.pair.space, 2)) or bool(c.categorical),
    ),
    "rows pasted twice": (_duplicated, lambda _clean: True),
    "half of a column × 1,000": (_part_in_other_units, lambda clean: bool(clean.numeric)),
    "two encodings": (_mixed_encodings, lambda _clean: True),
    "spellings of a category": (_spellings, lambda clean: bool(clean.categorical)),
    "sign of some responses": (_flipped_sign, lambda clean: (clean.values(TARGET) >= 0).all()),
    "no header": (_no_header, lambda clean: bool(clean.numeric)),
    "cut off in the last line": (_cut_off, lambda _clean: True),
    "repeats that contradict": (_contradictory, lambda _clean: True),
    "two files with their headers": (_repeated_header, lambda _clean: True),
}
