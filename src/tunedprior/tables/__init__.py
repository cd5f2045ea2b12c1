"""Files and tables as users have them: read in any usual dialect, and written without ever being half there."""

from tunedprior.discovery import import_modules
from tunedprior.tables.atomic import check_file_name, lock_for_writing, write_atomically
from tunedprior.tables.cells import (
    describe_non_number,
    is_infinite,
    is_spreadsheet_error,
    is_unmeasured,
    parse_numbers,
)
from tunedprior.tables.content import ReadTable
from tunedprior.tables.names import is_variant_name
from tunedprior.tables.reading import read_table

__all__ = [
    "ReadTable",
    "check_file_name",
    "describe_non_number",
    "is_infinite",
    "is_spreadsheet_error",
    "is_unmeasured",
    "is_variant_name",
    "lock_for_writing",
    "parse_numbers",
    "read_table",
    "write_atomically",
]

import_modules(__name__)  # formats register themselves
