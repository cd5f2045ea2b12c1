"""Tables in text files of any usual dialect: CSV and its relatives."""

from collections.abc import Sequence
from dataclasses import replace

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.files.cells import unguard_formula
from tunedprior.files.content import ReadTable
from tunedprior.files.decimals import DECIMAL_COMMAS, convert_decimal_commas
from tunedprior.files.dialect import find_header, infer_separator
from tunedprior.files.grid import build_table
from tunedprior.files.packed import MOST_CELLS, MOST_COLUMNS, refuse_many_cells
from tunedprior.files.records import read_records

_BROAD = 64  # letters in a cell, about: the first lines are looked at


def read_text(text: str, names: Sequence[str], what: str, origin: str, said: Sequence[str] = ()) -> ReadTable:
    """The table in this text; cells stay text, but for decimal commas in the columns that are hoped for."""
    text = text.removeprefix("\ufeff")
    if not text or text.isspace():
        raise InputError(f"{what} must be a table; {origin} is empty. A line with the columns' names comes first.")
    _refuse_long_text(text, origin)
    text, separator, on_separator = infer_separator(text, names)
    try:
        found = read_records(text, separator)
    except InputError as error:
        raise InputError(f"{what}: {origin}, {error}.") from error
    if "'" in text:
        found = replace(found, rows=[list(map(unguard_formula, row)) for row in found.rows])
    header = find_header(found, separator, names)
    if not header.fields:
        raise InputError(f"{what} must be a table; {origin} holds comments only. Add a line with the columns' names.")
    told = [*said, *on_separator, *_describe_comments(found.comments), *header.remarks]
    rows, lines = found.rows[header.first :], found.lines[header.first :]
    fields, rows, trailing = _align_rows(header.fields, rows, lines, separator, what, origin)
    if len(fields) > 1 and not all(map(any, rows)):
        kept = [k for k, row in enumerate(rows) if any(row)]
        told.append(f"Lines without any entry are left out ({len(rows) - len(kept)}).")
        rows, lines = [rows[k] for k in kept], [lines[k] for k in kept]
    read = build_table(fields, rows, lines, unit="line", names=names, what=what, origin=origin, said=[*told, *trailing])
    table, commas = convert_decimal_commas(read, names, separator, what)
    return replace(read, table=table, remarks=(*read.remarks, DECIMAL_COMMAS)) if commas else read


def _refuse_long_text(text: str, origin: str) -> None:
    """Count cells under the separator that there is most of, which is at least as many as there are."""
    separators = ",;\t|"
    lines = text.count("\n") + text.count("\r") + 1
    beginning = text[: MOST_COLUMNS * _BROAD]
    widest = max((max(map(line.count, separators)) for line in beginning.splitlines()), default=0)
    refuse_many_cells(min(lines, MOST_CELLS + 1), widest + 1, origin)
    separated_by = max(separators, key=beginning.count)
    refuse_many_cells(text.count(separated_by) + lines, 1, origin)


def _describe_comments(lines: Sequence[int]) -> list[str]:
    if not lines:
        return []
    return [f"Comments are skipped ({'line' if len(lines) == 1 else 'lines'} {format_list(lines)})."]


def _align_rows(
    header: list[str], rows: list[list[str]], lines: list[int], separator: str, what: str, origin: str
) -> tuple[list[str], list[list[str]], list[str]]:
    """Header and rows of one length: without a separator at the end of all of them, or an error with the line."""
    width, said = len(header), []
    lengths = set(map(len, rows))
    if lengths == {width + 1} and not any(row[-1].strip() for row in rows):
        rows, said = [row[:-1] for row in rows], ["Separators at the ends of lines are dropped."]
    elif lengths == {width - 1} and not header[-1].strip():
        header, said = header[:-1], ["A separator at the end of the header is dropped."]
    elif lengths - {width}:
        row = next(k for k, row in enumerate(rows) if len(row) != width)
        count = len(rows[row])
        advice = "Mend that line"
        if separator == "," and count > width:
            advice += ", or save the file with ';' or tabs between columns if its numbers have decimal commas"
        raise InputError(
            f"{what}: every line must have as many fields as the header, {width} ({format_list(header)}); line "
            f"{lines[row]} "
            f"of {origin} has {count} ({format_list(map(repr, rows[row]))}). {advice}."
        )
    return header, rows, said
