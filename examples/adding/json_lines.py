"""JSON Lines: a record in each line."""

import json
from dataclasses import replace

from tunedprior.errors import FileFormatError
from tunedprior.tables.formats import TableFormat, register_format
from tunedprior.tables.reading import from_records


def read_json_lines(data, names, what, origin):
    """The table in these bytes; a line that is no record is an error that names it."""
    rows, lines = [], []
    for number, line in enumerate(data.decode("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append(dict(json.loads(line)))
        except (ValueError, TypeError) as error:
            raise FileFormatError(f"{what}: line {number} of {origin!r} must be a JSON object ({error}).") from error
        lines.append(number)
    return replace(from_records(rows, names, what, origin), labels=lines, unit="line")


register_format(TableFormat("JSON Lines", endings=(".jsonl",), beginnings=(b'{"',), read=read_json_lines))
