"""Files and tables as users have them: read in any usual dialect, and written without ever being half there."""

from tunedprior.files.atomic import name_of_file, turn_to_write, write_atomically
from tunedprior.files.cells import is_blank, numbers
from tunedprior.files.content import ReadTable
from tunedprior.files.tables import read_table

__all__ = ["ReadTable", "is_blank", "name_of_file", "numbers", "read_table", "turn_to_write", "write_atomically"]
