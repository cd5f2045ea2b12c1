"""The content of tables: the value `ReadTable`, and how it comes out of text, however that is written.

A text file's encoding, separator, comments and header are detected. Text is UTF-8, UTF-16 with or without a byte order
mark, or else cp1252, the encoding of old Windows programs. Decimal commas in columns of numbers are converted; a comma
that may be a decimal comma or a thousands separator is refused. Also: an Optuna study as such a table.
"""

import codecs
import csv
import re
from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

import pandas as pd
from optuna.study import Study, StudyDirection
from optuna.trial import TrialState

from tunedprior.errors import InputError
from tunedprior.tables.cells import is_unmeasured
from tunedprior.tables.names import (
    collect_units,
    describe_renamings,
    is_line_of_units,
    is_number,
    match_columns,
    refuse_duplicates,
)


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
            "pass study.trials_dataframe(), with its column such as 'values_0' for the response."
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
    said = _describe_left_out(left_out)
    table = pd.DataFrame(rows, dtype=object) if rows else pd.DataFrame(columns=list(names), dtype=object)
    return ReadTable(
        table, f"the study {study.study_name!r}", said, numbers, "trial", get_directions(study, [response])
    )


def _describe_left_out(count: int) -> tuple[str, ...]:
    return (f"Trials without settings or result (pruned, running, waiting) are left out: {count}.",) if count else ()


_PARAMETER, _VALUE, _VALUES, _STATE = "params_", "value", "values_", "state"


def convert_trials_table(read: ReadTable, names: Sequence[str]) -> ReadTable:
    """Return what `study.trials_dataframe()` gave as a table of settings and responses; any other table as it is.

    `params_x` is x, `values_y` is y, and `value` is the response, the last of the names. Trials that failed are kept as
    failures; those that were pruned, are running or waiting are left out, as they have no result.
    """
    columns = [str(one) for one in read.table.columns]
    values = [one for one in columns if one == _VALUE or one.startswith(_VALUES)]
    parameters = [one for one in columns if one.startswith(_PARAMETER)]
    if _STATE not in columns or not values or not parameters:
        return read
    plain = {one: one.removeprefix(_PARAMETER) for one in parameters}
    if _VALUE in values and names:
        plain[_VALUE] = names[-1]
    plain |= {one: one.removeprefix(_VALUES) for one in values if one.removeprefix(_VALUES) in names}
    if len(set(plain.values())) < len(plain) or any(one in columns and one != old for old, one in plain.items()):
        return read
    states = [str(cell).rpartition(".")[2] for cell in read.table[_STATE]]
    kept = [row for row, state in enumerate(states) if state in ("COMPLETE", "FAIL")]
    table = read.table.loc[:, parameters + values].rename(columns=plain).iloc[kept].reset_index(drop=True)
    failed = [k for k, row in enumerate(kept) if states[row] == "FAIL"]
    for name in (plain.get(one, one) for one in values) if failed else ():
        cells = table[name].tolist()
        for k in failed:
            cells[k] = FAILED
        table[name] = pd.Series(cells, dtype=object)
    renamed = ", ".join(f"{old!r} for {one!r}" for old, one in plain.items())
    said = (
        f"Columns are taken for those of an Optuna study's trials: {renamed}.",
        *_describe_left_out(len(states) - len(kept)),
    )
    labels = [read.labels[row] for row in kept]
    return ReadTable(table, read.origin, (*read.remarks, *said), labels, read.unit)


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


_MARKS = {
    codecs.BOM_UTF8: ("utf-8-sig", None),
    codecs.BOM_UTF32_LE: ("utf-32", "UTF-32"),  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: ("utf-32", "UTF-32"),
    codecs.BOM_UTF16_LE: ("utf-16", "UTF-16"),
    codecs.BOM_UTF16_BE: ("utf-16", "UTF-16"),
}
_ENOUGH = 4096  # bytes that decide
#: A file of UTF-16 has a zero in at least this share of its high bytes; text in others has none.
_ZEROS = 0.3


def decode_text(data: bytes, what: str, origin: str) -> tuple[str, list[str]]:
    """Decode bytes; return the text, and a sentence about the encoding unless it is UTF-8."""
    encoding, name = next((to for mark, to in _MARKS.items() if data.startswith(mark)), (None, None))
    guessed = encoding is None and b"\0" in data[:_ENOUGH]
    if guessed:
        encoding, name = _guess_encoding(data[:_ENOUGH]), "UTF-16"
    to_try = [(encoding, name)] if encoding else [("utf-8", None), ("cp1252", "cp1252")]
    for codec, known_as in to_try:
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        if "\0" in text or (guessed and not {"\n", "\r"} & set(text)):  # no table has a single line
            break
        return text, [f"The encoding is {known_as}."] if known_as else []
    raise InputError(
        f"{what} must be a table; {origin!r} is not a text file (nor Excel or Parquet), or it is damaged. "
        "Save it as CSV in UTF-8."
    )


def _guess_encoding(beginning: bytes) -> str:
    """UTF-16 without a mark, by where its zeros are; UTF-8 if it is not that (and then refused for its zeros)."""
    half = max(1, len(beginning) // 2)
    low, high = beginning[0::2].count(0) / half, beginning[1::2].count(0) / half
    if high >= _ZEROS > low:
        return "utf-16-le"
    return "utf-16-be" if low >= _ZEROS > high else "utf-8"


#: Lines that begin so are comments.
MARKS = ("#", "%", "//")
# A comment, or a line of spaces; with the end of the line before it, which is found fast.
_NO_RECORD = re.compile(r"\n[ \t]*(?:#|%|//)|\n[^\S\r\n]+(?:\r|\n|$)")


@dataclass(frozen=True)
class Records:
    """The records of a text file as rows of cells, with the line of each record and the comments.

    Attributes:
        rows: The cells of each record.
        lines: The line, from 1, on which each record begins.
        opening: The comments (line and text) before the first record.
        comments: The lines of all comments.
    """

    rows: list[list[str]]
    lines: list[int]
    opening: list[tuple[int, str]]
    comments: list[int]


class _Lines:
    """The lines of a text without blank ones and comments, unless these stand inside a quoted cell."""

    def __init__(self, text: str, separator: str) -> None:
        self._lines = StringIO(text, newline="")  # leaves the ends of lines inside cells as they are
        self._spaces = separator == " "
        self.number = 0
        self.first = 0  # the line on which the present record begins
        self.begins = True  # whether the next line begins a record
        self.comments: list[tuple[int, str]] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        for line in self._lines:
            self.number += 1
            if not self.begins:
                return line
            bare = line.strip()
            if not bare:
                continue
            if bare.startswith(MARKS):
                self.comments.append((self.number, bare))
                continue
            self.begins, self.first = False, self.number
            # Spaces at the ends separate nothing.
            return bare.replace("\t", " ") + "\n" if self._spaces else line
        raise StopIteration


def read_records(text: str, separator: str, most: int | None = None) -> Records:
    """Split the text at a separator; return all records, or the first `most`."""
    if most is None and separator != " " and _is_plain(text):
        return _read_plain(text, separator)
    lines = _Lines(text, separator)
    reader = csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    rows: list[list[str]] = []
    numbers: list[int] = []
    opening: list[tuple[int, str]] = []
    try:
        for row in reader:
            if not rows:
                opening = list(lines.comments)
            rows.append(row)
            numbers.append(lines.first)
            lines.begins = True
            if most is not None and len(rows) == most:
                break
    except csv.Error as error:
        raise InputError(f"line {lines.first} cannot be read ({error}); look for a quote that is not closed") from error
    return Records(rows, numbers, opening or list(lines.comments), [number for number, _ in lines.comments])


def _is_plain(text: str) -> bool:
    """Whether every line is a record: no quotes, no comments, no lines of spaces, no unusual ends of lines."""
    if '"' in text or text.count("\r") != text.count("\r\n") or text[:1].isspace():
        return False
    return not text.startswith(MARKS) and not _NO_RECORD.search(text)


def _read_plain(text: str, separator: str) -> Records:
    """Split a text without quotes and comments into records, one for each line: several times as fast."""
    every = list(csv.reader(StringIO(text, newline=""), delimiter=separator, skipinitialspace=True))
    lines = [number for number, row in enumerate(every, 1) if row]
    return Records([row for row in every if row], lines, [], [])


def split_fields(line: str, separator: str) -> list[str]:
    """Return the cells of one line, such as a header in a comment; nothing if it cannot be split."""
    try:
        return next(csv.reader([line.strip()], delimiter=separator, skipinitialspace=True, strict=True), [])
    except csv.Error:
        return []


#: Separators in the order of preference, where they fit equally well.
_SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'", " ": "spaces"}
_SAMPLE = 40  # records that decide
_BEGINNING = 2**18  # characters that hold them
_DECLARED = re.compile(r"sep=([,;\t| ])[ \t]*(?=\r|\n|$)", re.IGNORECASE)  # a first line that Excel writes and hides


@dataclass(frozen=True)
class TableHeader:
    """The names of the columns and where they stand.

    Attributes:
        fields: The names, as they stand there.
        first: The first record after it.
        remarks: Sentences on an unusual place.
    """

    fields: list[str]
    first: int
    remarks: tuple[str, ...] = ()


def infer_separator(text: str, names: Sequence[str]) -> tuple[str, str, list[str]]:
    """Return the text without its line `sep=…`, the separator, and a sentence unless it is a comma."""
    declared = _DECLARED.match(text)
    if declared:
        text = text[declared.end() :]  # the end of that line stays, and so does the count of lines
        separator = declared[1]
    else:
        separator = max(_SEPARATORS, key=lambda one: _score_separator(text, one, names))
    return text, separator, [] if separator == "," else [f"The separator is {_SEPARATORS[separator]}."]


def find_header(found: Records, separator: str, names: Sequence[str]) -> TableHeader:
    """Find the header: the first record, unless only a later one or a comment has the expected names."""
    place = find_header_row(found.rows, names)
    if place:
        skipped = f"Lines before the header (line {found.lines[place]}) are skipped."
        return TableHeader(found.rows[place], place + 1, (skipped,))
    first = found.rows[0] if found.rows else []
    if not match_columns(first, names):
        for line, comment in reversed(found.opening):
            bare = comment.lstrip("".join(MARKS))
            fields = max(
                (split_fields(one, separator) for one in (bare, comment)),
                key=lambda one: len(match_columns(one, names)),
            )
            if match_columns(fields, names):
                return TableHeader(fields, 0, (f"The header is the comment in line {line}.",))
    return TableHeader(first, 1)


def find_header_row(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> int:
    """Return the number of the header's row; rows of titles before it are skipped."""
    if not rows or match_columns(rows[0], names):
        return 0
    every = len(set(names))
    named = (k for k, row in enumerate(rows[:_SAMPLE]) if every and len(match_columns(row, names)) == every)
    return next(named, _find_row_below_titles(rows[:_SAMPLE]))


def _find_row_below_titles(rows: Sequence[Sequence[Any]]) -> int:
    """The first row of different texts that fills most of the columns, below rows that do not, and above numbers.

    >>> _find_row_below_titles([["Reactor B, spring", None, None], [None, None, "2024"], ["T", "gas", "y"], [20,
    ...     "air", 0.5]])
    2
    >>> _find_row_below_titles([["T", "gas", "y"], [20, "air", 0.5]])
    0
    """
    filled = [[cell for cell in row if not is_unmeasured(cell)] for row in rows]
    width = max(map(len, filled))
    place = next((k for k, cells in enumerate(filled) if 2 * len(cells) > width), 0)
    names = filled[place]
    is_header = len(names) > 1 and len(set(map(str, names))) == len(names) and not any(map(is_number, names))
    below = [cell for cells in filled[place + 1 :] for cell in cells]
    return place if is_header and any(map(is_number, below)) else 0


def _score_separator(text: str, separator: str, names: Sequence[str]) -> tuple[int, bool, float]:
    """Hoped-for names in the header, whether it has several fields at all, and the share of rows as long as it."""
    sample = _read_sample(text, separator)
    header = find_header(sample, separator, names)
    width, rows = len(header.fields), sample.rows[header.first :]
    even = sum(len(row) == width or (len(row) == width + 1 and not row[-1].strip()) for row in rows)
    return (len(match_columns(header.fields, names)), width > 1, even / max(1, len(rows)))


def _read_sample(text: str, separator: str) -> Records:
    """The first records; fewer, if one of them cannot be read under this separator."""
    for most in (_SAMPLE, 1):
        try:
            return read_records(text[:_BEGINNING], separator, most)
        except InputError:
            continue
    return Records([], [], [], [])


def build_table(
    header: Sequence[Any],
    rows: list[list[Any]],
    labels: list[int],
    *,
    unit: str,
    names: Sequence[str],
    what: str,
    origin: str,
    remarks: Sequence[str],
) -> ReadTable:
    """Build a `ReadTable` from rows of one length; drop a line of units and columns without a name."""
    remarks = list(remarks)
    titles = ["" if cell is None else str(cell).strip() for cell in header]
    found = match_columns(titles, names)
    remarks += describe_renamings(titles, found)
    if len(rows) > 1 and is_line_of_units(rows[0], rows[1]):
        remarks.append(f"The units in {unit} {labels[0]} are skipped.")
        rows, labels = rows[1:], labels[1:]
    columns = list(zip(*rows, strict=True)) if rows else [() for _ in titles]
    kept: dict[str, pd.Series[Any]] = {}
    refuse_duplicates([title for title in titles if title in names], what, origin)
    count: Counter[str] = Counter()
    for k, (title, cells) in enumerate(zip(titles, columns, strict=True)):
        if not title:
            remarks += _describe_unnamed_column(k, k == len(titles) - 1, cells)
            continue
        name = found.get(k, title)
        count[name] += 1
        if count[name] > 1:
            remarks.append(
                f"Column {k + 1} has the name of another, {name!r}; it is taken for '{name} ({count[name]})'."
            )
            name = f"{name} ({count[name]})"
        kept[name] = pd.Series(cells, dtype=object)
    table = pd.DataFrame(kept, dtype=object)
    return ReadTable(table, origin, tuple(remarks), labels, unit, units=collect_units(titles, found))


def _describe_unnamed_column(position: int, last: bool, cells: Sequence[Any]) -> list[str]:
    if all(cell is None or str(cell).strip() == "" for cell in cells):
        return ["Separators at the ends of lines are dropped."] if last else []
    if position == 0:
        return ["The first column has no name; it is taken for the rows' numbers and left out."]
    return [f"Column {position + 1} has no name and is left out."]
