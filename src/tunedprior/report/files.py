"""The file that a report is written into."""

from pathlib import Path

from tunedprior.errors import InputError

_BEGINNING = b"<!doctype html>"


def refuse_other_pages(path: Path) -> None:
    """An `InputError` for a place where no page can be, or a file that is no page: a typing slip must cost no data."""
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder. Name a file, such as {str(path / 'report.html')!r}.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"There is no folder {str(path.absolute().parent)!r} to write the report into. Make it first.")
    if path.exists():
        with path.open("rb") as file:
            beginning = file.read(len(_BEGINNING))
        if beginning and beginning.lower() != _BEGINNING:
            raise InputError(f"{str(path)!r} is there already, and is no report. Name another file.")
