"""The file that a campaign was saved to or loaded from, so that nobody else's results are replaced."""

from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path

from tunedprior.errors import InputError


@dataclass(frozen=True)
class FileGuard:
    """A file and what was in it.

    Attributes:
        path: The file, in full; None: none is known.
        digest: Of its content, when it was last read or written.
    """

    path: Path | None = None
    digest: str = ""

    @classmethod
    def from_path(cls, path: str | PathLike[str], content: bytes | None = None) -> "FileGuard":
        """The file with this content; with what is in it now, when left out."""
        file = Path(path)
        if content is None:
            content = file.read_bytes() if file.is_file() else b""
        return cls(file.resolve(), sha256(content).hexdigest())

    def refuse_unknown(self, path: str | PathLike[str], overwrite: bool) -> None:
        """An `InputError` if there is a file at this path that is not this one, or that was changed since."""
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
