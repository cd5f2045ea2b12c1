"""The file format of a saved campaign: JSON with the configuration, the trials, and the journal.

Parts of a configuration that are objects (a model, a function, an acquisition class that cannot be found again) cannot
be stored. The file names them, and the user passes them again when the campaign is loaded. Each campaign has a random
identifier, which its sheets carry too.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import botorch
import msgspec
import torch

from tunedprior.errors import FileFormatError, InputError
from tunedprior.history.trials import Trial
from tunedprior.space.search_space import Space
from tunedprior.storage import earlier_formats
from tunedprior.storage.converter import decode, encode_config, encode_trial, list_functions, list_objects
from tunedprior.suggestion.config import CampaignConfig

FORMAT, VERSION = "tunedprior campaign", 4


@dataclass(frozen=True)
class SavedCampaign:
    """The content of a file.

    Attributes:
        config: The configuration as plain values, without what no file can hold.
        objects: The names of what is to be given again.
        functions: The names of constraints that are functions.
        trials: The trials as plain values.
        journal: The entries of the journal as plain values.
        versions: The versions of the libraries that wrote it.
        entries: How many entries the journal has.
        checksum: Of all that defines the campaign.
        format: What the file calls itself.
        version: The version of the format.
        is_intact: Whether the checksum is right, or the file is from before there were any.
    """

    config: Any
    objects: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    trials: tuple[Any, ...] = ()
    journal: tuple[Any, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    entries: int | None = None
    checksum: str = ""
    format: str = FORMAT
    version: int = VERSION
    is_intact: bool = True

    def decode_config(self, where: str, without: Iterable[str] = ()) -> CampaignConfig:
        """Return the configuration; a `FileFormatError` if it is damaged.

        Args:
            where: What the file is called.
            without: Parts that are replaced, and need not be read: `"search"`, or of it the `"acquisition"`.
        """
        plain = self.config
        if isinstance(plain, dict) and isinstance(plain.get("search"), dict):
            search = {name: one for name, one in plain["search"].items() if name not in without}
            plain = plain | {"search": {} if "search" in without else search}
        return decode(plain, CampaignConfig, f"{where} is damaged")

    def decode_space(self, where: str) -> Space:
        """Return the search space, without constraints that are functions."""
        plain = self.config.get("space") if isinstance(self.config, dict) else None
        return decode(plain, Space, f"{where} is damaged")


def encode_campaign(
    config: CampaignConfig,
    trials: Iterable[Trial] = (),
    journal: Sequence[Any] = (),
    *,
    folder: Path | None = None,
    objects: Sequence[str] | None = None,
    indent: bool = False,
) -> bytes:
    """Return the content of a file; an `InputError` names a category that cannot be saved.

    Args:
        config: The configuration.
        trials: The trials.
        journal: The journal's entries, as the ledger encodes them.
        folder: The folder of the file: paths of old data within it are written relative to it.
        objects: What is to be given again; what no file can hold, when left out.
        indent: Whether people are to read it.
    """
    import tunedprior

    sources = tuple(replace(one, path=_convert_path(folder, one.path)) for one in config.transfer.sources)
    config = replace(config, transfer=replace(config.transfer, sources=sources))
    versions = {"tunedprior": tunedprior.__version__, "torch": torch.__version__, "botorch": botorch.__version__}
    content = SavedCampaign(
        config=encode_config(config),
        objects=tuple(list_objects(config) if objects is None else objects),
        functions=tuple(list_functions(config.space)),
        trials=tuple(encode_trial(trial, config.space) for trial in trials),
        journal=tuple(msgspec.to_builtins(journal)),
        versions={name: str(version) for name, version in versions.items()},  # torch has a class of its own
        entries=len(journal),
    )
    try:
        data = encode_content(content)
    except UnicodeError as error:
        raise InputError(f"The campaign has text that is no Unicode, so it cannot be saved: {error}.") from error
    return msgspec.json.format(data, indent=1) if indent else data


def encode_content(content: SavedCampaign) -> bytes:
    """Return the bytes of a file of the present version, with its checksum."""
    plain = {name: one for name, one in vars(content).items() if name != "is_intact"} | {"version": VERSION}
    return msgspec.json.encode(plain | {"checksum": compute_checksum(plain)})


def decode_campaign(data: bytes, given: str) -> SavedCampaign:
    """Parse the bytes of a campaign of any version; errors name the file as `given`."""
    try:
        plain = msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        if "truncated" not in str(error) or not data.strip():
            raise _make_format_error(given, error) from error
        raise FileFormatError(
            f"{given} is damaged: it ends in the middle, as if it had been cut off when it was copied. Take a whole "
            "copy of it."
        ) from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError) as error:
        raise _make_format_error(given, error) from error
    if not isinstance(plain, dict):
        raise _make_format_error(given, ValueError("it holds no JSON object"))
    if plain.get("format") != FORMAT:
        raise FileFormatError(f"{given} does not hold a campaign. Make one with opt.save(path).")
    version = plain.get("version")
    if type(version) is not int:
        raise _make_format_error(given, ValueError(f"its version is {str(version)[:40]!r}"))
    if version > VERSION:
        raise FileFormatError(
            f"{given} has format version {version}; this tunedprior reads up to {VERSION}. Update it."
        )
    try:
        if version < VERSION:
            intact, plain = earlier_formats.is_intact(plain), earlier_formats.convert(plain)
        else:
            intact = plain.get("checksum") == compute_checksum(plain)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _make_format_error(given, error) from error
    found = decode(plain, SavedCampaign, f"{given} is not a campaign that opt.save(path) wrote, or is damaged")
    return replace(found, version=version, is_intact=intact)


def _make_format_error(given: str, error: Exception) -> FileFormatError:
    return FileFormatError(f"{given} is not a campaign that opt.save(path) wrote, or is damaged: {error}.")


def compute_checksum(plain: Mapping[str, Any]) -> str:
    """Compute a checksum of the configuration, of what is to be given again, and of the end of the journal.

    Trials follow from the journal, whose entries have checksums of their own. Where old data lies, and versions of
    libraries, may be changed by anybody.
    """
    config, journal = dict(plain["config"]), plain["journal"]
    transfer = dict(config.get("transfer", {}))
    transfer["sources"] = [{**one, "path": None} for one in transfer.get("sources", ())]
    last = journal[-1]["checksum"] if journal else ""
    named = [list(plain[name]) for name in ("objects", "functions")]
    return hash_plain([plain["version"], {**config, "transfer": transfer}, *named, plain["entries"], last])


def hash_plain(value: Any) -> str:
    """A short digest of plain values; Python's own JSON writes a number in one way, whatever library reads it."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _convert_path(folder: Path | None, path: str | None) -> str | None:
    if path is None or folder is None:
        return path
    inside = Path(path).is_relative_to(folder)
    return (Path(path).relative_to(folder) if inside else Path(path)).as_posix()
