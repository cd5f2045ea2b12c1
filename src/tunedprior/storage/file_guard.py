"""Guard the file of a campaign against changes by others before it is replaced."""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path

from tunedprior.errors import InputError, StorageError
from tunedprior.tables import lock_for_writing, write_atomically


@dataclass(frozen=True)
class FileGuard:
    """A file and the digest of its content, to notice changes by others.

    Attributes:
        path: The file, in full; None: none is known.
        digest: Of its content, when it was last read or written.
    """

    path: Path | None = None
    digest: str = ""

    @classmethod
    def from_path(cls, path: str | PathLike[str], content: bytes | None = None) -> "FileGuard":
        """Guard the file with this content (by default its present content)."""
        file = Path(path)
        if content is None:
            content = file.read_bytes() if file.is_file() else b""
        return cls(file.resolve(), sha256(content).hexdigest())

    def replace_file(self, path: str | PathLike[str], content: bytes, overwrite: bool) -> "FileGuard":
        """Write the content, whole or not at all, unless the file there is another or was changed by others."""
        with lock_for_writing(path):
            self.refuse_unknown(path, overwrite)
            try:
                write_atomically(path, content)
            except OSError as error:
                raise StorageError(
                    f"Saving {str(path)!r} failed ({error.strerror or error}). The file holds what it held before, or "
                    "all of it; nothing in memory was changed. Save it again, or to another place."
                ) from error
        return FileGuard.from_path(path, content)

    def recognise(self, path: str | PathLike[str], content: bytes) -> "FileGuard":
        """The guard of the file with this content if it is there, though writing it failed; otherwise this one."""
        with suppress(OSError):
            written = FileGuard.from_path(path, content)
            return written if FileGuard.from_path(path) == written else self
        return self

    def refuse_unknown(self, path: str | PathLike[str], overwrite: bool) -> None:
        """Raise an `InputError` if the file at this path is another one, or has changed since."""
        if overwrite or not Path(path).is_file():
            return
        if Path(path).resolve() != self.path:
            raise InputError(
                f"There is a file {str(path)!r} already, which this Optimizer neither saved nor loaded. Load it, "
                "choose another name, or write save(path, overwrite=True)."
            )
        if FileGuard.from_path(path) != self:
            raise InputError(
                f"{str(path)!r} was changed since this Optimizer saved or loaded it: somebody else's results may be in "
                "it. Load it again and tell the new results there, or save to another name."
            )
