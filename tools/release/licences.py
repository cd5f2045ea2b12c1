"""`python -m tools.release.licences`: licences.csv, from the metadata of what is installed with every extra."""

import csv
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LISTED = Path(__file__).with_name("licences.csv")
#: What packages are for, as the list has it.
KINDS = ("use", "development")
#: What comes with every installation.
ALWAYS = "always"
#: What users install, and what only those need who work on the package.
USED, DEVELOPED = ("files", "plots", "lab", "postgres", "ray", "dask", "ax", "baybe"), ("docs", "browser", "dev")

_SELF = "tunedprior"
_COPYLEFT = re.compile(r"\b(?:A?GPL|LGPL|MPL|EPL|CDDL|General Public|Mozilla Public)", re.IGNORECASE)
_TEXT = 60  # a licence field that is longer is the licence itself, not its name
#: Where the metadata names none: what the licence file says.
_READ_BY_HAND = {"graphemeu": "MIT", "mergedeep": "MIT", "ptyprocess": "ISC"}
#: What requirements can ask of a system.
_SYSTEMS: tuple[dict[str, str], ...] = (
    {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
    {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
)


@dataclass(frozen=True)
class Licence:
    """A package, and under what it is.

    Attributes:
        name: As its authors write it.
        version: The one that is installed.
        licence: In a few words, or as an SPDX expression.
        extras: Which extras bring it, or `ALWAYS`.
    """

    name: str
    version: str
    licence: str
    extras: tuple[str, ...]

    @property
    def is_copyleft(self) -> bool:
        """Whether passing a changed copy on takes passing its source on."""
        return _COPYLEFT.search(self.licence) is not None

    @property
    def row(self) -> str:
        """A line of the table."""
        brought = ", ".join(one if one == ALWAYS else f"`{one}`" for one in self.extras)
        return (
            f"| {self.name} | {self.version} | {self.licence} | {brought} | {'copyleft' if self.is_copyleft else ''} |"
        )


def declared() -> dict[str, list[Requirement]]:
    """What pyproject.toml asks for, by extra; "" for what is always needed. An extra of ours stands for its parts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    written = {"": project["dependencies"], **project["optional-dependencies"]}

    def parts(extra: str) -> Iterator[Requirement]:
        for one in map(Requirement, written[extra]):
            if canonicalize_name(one.name) == _SELF:
                for other in sorted(one.extras):
                    yield from parts(other)
            else:
                yield one

    return {extra: list(parts(extra)) for extra in written}


def closure(
    wanted: Iterable[Requirement], absent: set[str] | None = None, *, on_any_system: bool = False
) -> dict[str, Distribution]:
    """What is installed for these requirements, and for what they require in turn, by canonical name.

    Args:
        wanted: Where to begin.
        absent: Gets the names of what is not installed; without it that is an error.
        on_any_system: Whether to add what is needed on other systems than this.
    """
    systems = _SYSTEMS if on_any_system else ({},)
    found: dict[str, Distribution] = {}
    waiting = [(one, frozenset(one.extras)) for one in wanted]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        one, extras = waiting.pop()
        name = canonicalize_name(one.name)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            if absent is None:
                raise SystemExit(f"{name} is not installed. Run `make licences`, which installs every extra.") from None
            absent.add(name)
            continue
        for needed in map(Requirement, found[name].requires or []):
            told = ({**system, "extra": extra} for system in systems for extra in (extras or {""}))
            if needed.marker is None or any(map(needed.marker.evaluate, told)):
                waiting.append((needed, frozenset(needed.extras)))
    return found


def licence_of(found: Distribution) -> str:
    """The licence in the words of the metadata: the expression, else a short field, else the classifiers."""
    name, metadata = canonicalize_name(found.name), found.metadata
    if name in _READ_BY_HAND:
        return _READ_BY_HAND[name]
    field = (metadata.get("License") or "").strip()
    classified = [
        one.split(" :: ")[-1]
        for one in metadata.get_all("Classifier") or []
        if one.startswith("License :: OSI Approved")
    ]
    said = metadata.get("License-Expression") or (field if "\n" not in field and len(field) <= _TEXT else "")
    said = said or ", ".join(one for one in classified if one != "OSI Approved")
    if not said or said == "UNKNOWN":
        raise SystemExit(f"{found.name} names no licence in its metadata. Read its licence file, and add it by hand.")
    return said.replace("|", "/")


def licences(extras: Iterable[str]) -> list[Licence]:
    """Everything that the extras bring, with what every installation has if `ALWAYS` is among them, by name."""
    requirements, brought = declared(), {}
    for extra in extras:
        for name, found in closure(requirements["" if extra == ALWAYS else extra]).items():
            brought.setdefault(name, (found, []))[1].append(extra)
    return [
        Licence(found.name, found.version.split("+")[0], licence_of(found), (ALWAYS,) if ALWAYS in by else tuple(by))
        for _, (found, by) in sorted(brought.items())
    ]


def stored() -> dict[str, list[Licence]]:
    """What was found when it was last looked at, by what it is for."""
    with LISTED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        kind: [
            Licence(row["package"], row["version"], row["licence"], tuple(row["extras"].split()))
            for row in rows
            if row["for"] == kind
        ]
        for kind in KINDS
    }


def licence_tables() -> dict[str, str]:
    """What is stored, as tables in Markdown."""
    head = "| package | version | licence | comes with | |\n| --- | --- | --- | --- | --- |\n"
    return {kind: head + "\n".join(one.row for one in found) for kind, found in stored().items()}


def main() -> int:
    """Command line."""
    used = licences((ALWAYS, *USED))
    names = {one.name for one in used}
    found = dict(zip(KINDS, (used, [one for one in licences(DEVELOPED) if one.name not in names]), strict=True))
    with LISTED.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("package", "version", "licence", "extras", "for"))
        for kind, each in found.items():
            table.writerows((one.name, one.version, one.licence, " ".join(one.extras), kind) for one in each)
    return 0


if __name__ == "__main__":
    sys.exit(main())
