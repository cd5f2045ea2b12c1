"""The value `ReadTable`: a table that was read, the assumptions made while reading, and the place of each row.

Also: an Optuna study as such a table, and the conversion of decimal commas in columns of numbers. A comma that may be a
decimal comma or a thousands separator is refused.
"""

import re
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd
from optuna.study import Study, StudyDirection
from optuna.trial import TrialState

from tunedprior.errors import InputError
from tunedprior.tables.cells import is_unmeasured


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table, its source, and the assumptions made while it was read.

    Attributes:
        table: The rows, numbered from 0. Cells of text files are text, just as it stands there.
        origin: The file's name without folders, or what else it was.
        remarks: One sentence for every thing that was detected or assumed; empty for a plain table.
        labels: For each row, its number or name in the source.
        unit: What the labels count: lines of a file, rows of a table or sheet, trials of a study.
        directions: By column, "maximize" or "minimize" where the source says what was wanted of it, as a study does.
        percentages: By column, the rows (from 0) with a number that the sheet shows as per cent: 0.1 as 10%.
        units: By column, the unit that its header has and its name has not: "%" of "yield [%]", known as "yield".
        unread_sheets: By sheet, for those that were not read: which of the hoped-for columns hold something there.
    """

    table: pd.DataFrame
    origin: str
    remarks: tuple[str, ...]
    labels: Sequence[Any] | pd.Index
    unit: str = "row"
    directions: Mapping[str, str] = field(default_factory=dict)
    percentages: Mapping[str, Sequence[int]] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    unread_sheets: Mapping[str, Collection[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def format_percentages(self, names: Collection[str]) -> "ReadTable":
        """Return the table with the text 10% for the number 0.1 where the sheet shows per cent."""
        table = self.table.copy()
        for name in set(names) & set(self.percentages):
            cells = table[name].tolist()
            for row in self.percentages[name]:
                cells[row] = f"{100 * cells[row]:.15g}%"
            table[name] = pd.Series(cells, dtype=object)
        return replace(self, table=table)

    def format_place(self, row: int) -> str:
        """Return the place of a row (counted from 0) in the source, such as "line 7"."""
        label = self.labels[row]
        if isinstance(label, tuple):
            return f"{self.unit} ({', '.join(map(str, label))})"
        return f"{self.unit} {label!r}" if isinstance(label, str) else f"{self.unit} {label}"


#: What stands for the value of a trial that failed.
FAILED = "failed"


def read_study(study: Study, names: Sequence[str], what: str) -> ReadTable:
    """Return an Optuna study as a table: parameters and values as columns, a row for each trial with a result."""
    if len(study.directions) > 1:
        raise InputError(
            f"{what} must have one response; the study has {len(study.directions)} objectives. Choose one: "
            "pass study.trials_dataframe() with its columns renamed."
        )
    response = names[-1]
    rows, numbers, left_out = [], [], 0
    for trial in study.get_trials(deepcopy=False):
        failed = trial.state == TrialState.FAIL
        if not (failed or trial.state == TrialState.COMPLETE) or not trial.params:
            left_out += 1
            continue
        if response in trial.params:
            raise InputError(
                f"{what}: the study has a parameter {response!r}, so its values cannot have that name. "
                "Name the response with target=."
            )
        rows.append({**trial.params, response: FAILED if failed else trial.value})
        numbers.append(trial.number)
    said = (
        (f"Trials without settings or result (pruned, running, waiting) are left out: {left_out}.",) if left_out else ()
    )
    table = pd.DataFrame(rows, dtype=object) if rows else pd.DataFrame(columns=list(names), dtype=object)
    return ReadTable(
        table, f"the study {study.study_name!r}", said, numbers, "trial", get_directions(study, [response])
    )


def get_directions(study: Study, responses: Sequence[str]) -> dict[str, str]:
    """Return for each response whether the study maximises or minimises it."""
    words = {StudyDirection.MAXIMIZE: "maximize", StudyDirection.MINIMIZE: "minimize"}
    return {name: words[one] for name, one in zip(responses, study.directions, strict=True) if one in words}


#: What is said of a table whose numbers are written in that way.
DECIMAL_COMMAS = "Numbers have decimal commas."

_SIGN, _TAIL = r"\s*[+\-−]?", r"(?:[eE][+-]?\d+)?\s*"
#: Notations of numbers: with a decimal comma, with a decimal point, and whole.
WITH_COMMA = re.compile(rf"{_SIGN}(?:\d+,\d*|,\d+){_TAIL}")
WITH_POINT = re.compile(rf"{_SIGN}(?:\d+\.\d*|\.\d+){_TAIL}")
_WHOLE = re.compile(rf"{_SIGN}\d+{_TAIL}")
#: What can be nothing but groups of thousands: 1,234.5 and 1,234,567; the same with commas for points; 1 234.5 and
#: 1'234.5.
COMMA_GROUPS = re.compile(rf"{_SIGN}(?:\d{{1,3}}(?:,\d{{3}})+\.\d*|\d{{1,3}}(?:,\d{{3}}){{2,}})\s*")
POINT_GROUPS = re.compile(rf"{_SIGN}(?:\d{{1,3}}(?:\.\d{{3}})+,\d*|\d{{1,3}}(?:\.\d{{3}}){{2,}})\s*")
_SPACE_GROUPS = re.compile(rf"{_SIGN}\d{{1,3}}(?:[ '’\u00a0\u2009\u202f]\d{{3}})+(?:[.,]\d*)?\s*")
GROUPS = (COMMA_GROUPS, POINT_GROUPS, _SPACE_GROUPS)
#: What may be groups of thousands: 1,234 and 1.234.
MAYBE_COMMA_GROUP = re.compile(rf"{_SIGN}[1-9]\d{{0,2}},\d{{3}}\s*")
MAYBE_POINT_GROUP = re.compile(rf"{_SIGN}[1-9]\d{{0,2}}\.\d{{3}}\s*")
NOTATIONS = (*GROUPS, WITH_COMMA, WITH_POINT, _WHOLE)
# What every such number holds; found fast, because it begins with a character.
_SOME_THOUSANDS = re.compile(r"[,.]\d{3}[,.]|[ '’\u00a0\u2009\u202f]\d{3}")


def convert_decimal_commas(
    read: ReadTable, names: Sequence[str], separator: str, what: str
) -> tuple[pd.DataFrame, bool]:
    """Replace 1,5 by 1.5 in the named columns of text; also return whether there was any such cell.

    In files whose separator is a comma, a number with a decimal comma stands between quotes, and only columns of
    numbers are changed. There "1,234" may have a thousands separator as well: a column that has commas like that one
    and no other is refused. So are thousands separators, and decimal commas beside decimal points.
    """
    return _replace_commas(
        read, {name: read.table[name].tolist() for name in names if name in read.table}, separator, what
    )


def convert_sheet_commas(read: ReadTable, names: Sequence[str], what: str) -> ReadTable:
    """Replace the text 1,5 by 1.5 in the named columns of a sheet, and add a remark that says so.

    Cells that are numbers stay, as does text that may have thousands separators: 1,234 and nothing else.
    """
    columns = {}
    for name in names:
        cells = [cell if isinstance(cell, str) else "" for cell in read.table[name]] if name in read.table else []
        filled = [cell for cell in cells if not is_unmeasured(cell)]
        if filled and 2 * len(find_matching_rows(filled, NOTATIONS)) >= len(filled):
            columns[name] = cells
    commas = [cell for cells in columns.values() for cell in cells if WITH_COMMA.fullmatch(cell)]
    if all(MAYBE_COMMA_GROUP.fullmatch(cell) for cell in commas):
        return read
    table, found = _replace_commas(read, columns, "", what)
    for name, cells in columns.items() if found else ():  # numbers stand beside the text
        mended = [new if old else was for new, old, was in zip(table[name], cells, read.table[name], strict=True)]
        table = table.assign(**{name: pd.Series(mended, dtype=object)})
    return replace(read, table=table, remarks=(*read.remarks, DECIMAL_COMMAS)) if found else read


def _replace_commas(
    read: ReadTable, columns: dict[str, list[str]], separator: str, what: str
) -> tuple[pd.DataFrame, bool]:
    columns = {name: list(cells) for name, cells in columns.items()}
    commas: dict[str, list[int]] = {}
    for name, cells in columns.items():
        if _are_plain_numbers(cells):
            continue
        together = "\n".join(cells)  # one search in all of them is faster than one in each
        rows = find_matching_rows(cells, [WITH_COMMA]) if "," in together else []
        doubtful = rows if separator == "," and all(MAYBE_COMMA_GROUP.fullmatch(cells[row]) for row in rows) else []
        if doubtful or _SOME_THOUSANDS.search(together):
            _refuse_thousands(cells, doubtful, read, name, what)
        if rows and (separator != "," or _are_numbers(cells)):
            commas[name] = rows
    if not commas:
        return read.table, False
    for cells in columns.values():
        points = find_matching_rows(cells, [WITH_POINT]) if any("." in cell for cell in cells) else []
        if points:
            name, rows = next(iter(commas.items()))
            raise InputError(
                f"{what}: numbers must have decimal points or decimal commas, not both; {read.origin} has "
                f"{columns[name][rows[0]]!r} in {read.format_place(rows[0])} and {cells[points[0]]!r} in "
                f"{read.format_place(points[0])}. Write all of them in one way."
            )
    mended = {}
    for name, rows in commas.items():
        for row in rows:
            columns[name][row] = columns[name][row].replace(",", ".")
        mended[name] = pd.Series(columns[name], dtype=object)
    return read.table.assign(**mended), True


def _are_plain_numbers(cells: Sequence[str]) -> bool:
    """Return whether every cell is a number as Python writes it, without a comma; stops at the first other."""
    try:
        deque(map(float, cells), maxlen=0)
    except ValueError:
        return False
    return True


def find_matching_rows(cells: Sequence[str], notations: Sequence[re.Pattern[str]]) -> list[int]:
    """Find the cells that are written in one of these notations."""
    return [row for row, cell in enumerate(cells) if any(one.fullmatch(cell) for one in notations)]


def _are_numbers(cells: Sequence[str]) -> bool:
    """Return whether a column holds only numbers, ignoring failed runs."""
    return all(
        is_unmeasured(cell) or any(one.fullmatch(cell) for one in NOTATIONS) or cell.strip().casefold() == FAILED
        for cell in cells
    )


def _refuse_thousands(cells: Sequence[str], doubtful: Sequence[int], read: ReadTable, name: str, what: str) -> None:
    """An error if a column of numbers has cells such as 1,234.5, or such as 1,234 in these rows."""
    rows = sorted({*find_matching_rows(cells, GROUPS), *doubtful})
    if not rows or not _are_numbers(cells):
        return
    seen = cells[rows[0]].strip()
    also, advice = "", ". Write 1234.5 for 1,234.5 or 1.234,5."
    if rows[0] in doubtful:
        also = ", and with decimal points"
        advice = f", which may be {seen.replace(',', '.')} or {seen.replace(',', '')}. Write what it is."
    raise InputError(
        f"{what}: numbers must be written without thousands separators{also}; {name!r} has {seen!r} in "
        f"{read.format_place(rows[0])} of {read.origin}{advice}"
    )
