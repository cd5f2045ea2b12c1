"""Write a file atomically: a reader finds either the previous content or the new content, never a part."""

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from os import PathLike
from pathlib import Path, PurePath
from typing import Any

from filelock import FileLock

from tunedprior.checks import format_value
from tunedprior.errors import InputError

try:
    import fcntl
except ImportError:  # Windows, where a folder cannot be locked; a file beside is, and goes with the turn
    fcntl = None  # type: ignore[assignment]

_LONGEST = 255  # characters in the name of a file, on every usual system
# Seconds to wait for somebody who writes in the same folder, and between looks.
_PATIENCE, _PAUSE = 10.0, 0.01


def check_file_name(path: Any) -> str:
    """Return the path as text; raise an `InputError` if it cannot be the name of a file."""
    given = os.fspath(path) if isinstance(path, str | PathLike) else path
    if not isinstance(given, str):
        raise InputError(
            f"There must be the name of a file, as text or a Path; got {type(path).__name__} {format_value(path)}."
        )
    if not given.strip():
        raise InputError(f"There must be the name of a file; got {given!r}.")
    if "\0" in given or len(PurePath(given).name) > _LONGEST:
        raise InputError(
            f"{format_value(given)} cannot be the name of a file. Choose a shorter one, of letters and digits."
        )
    return given


def write_atomically(path: str | PathLike[str], data: bytes) -> None:
    """Write the bytes into a temporary file beside `path`, force them onto the disk, and rename it to `path`.

    An existing file keeps its mode; a new one gets the usual mode. A link is followed, as `open` would. After an error
    (a full disk, an interrupt) nothing is left behind, and what `path` held before is still there.
    """
    target = Path(os.path.realpath(check_file_name(path)))
    if target.is_dir():
        raise InputError(f"{os.fspath(path)!r} is a folder. Name a file to write to.")
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {str(target.parent)!r} to write to. Make it first, or name another.")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    # A name that nobody can foresee, and only if nothing is there: no link is followed, no other file is touched.
    # Not `mkstemp`, whose files are private: the usual mode depends on the umask, which cannot be read without
    # changing it for the whole process.
    beside = target.with_name(f".{secrets.token_hex(8)}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(beside, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            beside.chmod(mode)
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    _sync_folder(target.parent)


@contextmanager
def lock_for_writing(path: str | PathLike[str]) -> Iterator[None]:
    """Keep others who call this from writing in the folder of `path`, if the system and the drive can lock.

    Whoever ends gives the turn back; one that is held up for long is passed over.
    """
    with ExitStack() as held:
        with suppress(OSError):  # some network drives have no locks
            target = Path(os.path.realpath(path))
            held.enter_context(_lock_folder(target.parent) if fcntl else FileLock(f"{target}.lock", timeout=_PATIENCE))
        yield


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder itself, so that no file is left beside what people save."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_PAUSE)
        yield
    finally:
        with suppress(OSError):
            os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Force the folder's entries onto the disk, where the system can (Windows cannot open a folder)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network drives refuse; the rename itself is done
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
