"""What must be in a wheel and in an sdist, and what must not."""

import subprocess
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath

PACKAGE = "tunedprior"
#: Read at run time, or by type checkers: without them everything can be imported, and some of it fails.
BESIDE_THE_CODE = (".html", ".css", ".js", ".typed")
#: Beside the package itself, what people who get the source are to find.
WITH_THE_SOURCE = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "docs/index.md")


def contents(archive: Path) -> dict[str, bytes]:
    """Every file in a wheel or an sdist; the folder that all of an sdist lies in is left out of the names."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    with tarfile.open(archive) as sdist:
        opened = ((PurePosixPath(member.name), sdist.extractfile(member)) for member in sdist.getmembers())
        return {str(PurePosixPath(*name.parts[1:])): file.read() for name, file in opened if file is not None}


def tracked_in(source: Path) -> set[str]:
    """What of a folder belongs into a wheel: code and what is read beside it, if git knows it, by paths from there."""
    listed = subprocess.run(["git", "ls-files", PACKAGE], cwd=source, check=True, capture_output=True, text=True)
    return {name for name in listed.stdout.splitlines() if name.endswith((".py", *BESIDE_THE_CODE))}


def faults_of_wheel(files: Mapping[str, bytes], wanted: Iterable[str]) -> list[str]:
    """What is wrong with the files of a wheel, in sentences.

    Args:
        files: By name, as `contents` has them.
        wanted: What of the package must be there, as `tracked_in` has it.
    """
    wanted = set(wanted)
    own = {name for name in files if name.startswith(f"{PACKAGE}/")}
    others = {name for name in files if name not in own and ".dist-info/" not in name}
    found = [f"The wheel lacks {name}." for name in sorted(wanted - own)]
    found += [f"The wheel has {name}, which is not the package's." for name in sorted((own - wanted) | others)]
    for name in ("METADATA", "entry_points.txt", "licenses/LICENSE"):
        if not any(one.endswith(f".dist-info/{name}") for one in files):
            found.append(f"The wheel lacks {name}.")
    return found


def faults_of_sdist(files: Mapping[str, bytes], wanted: Iterable[str]) -> list[str]:
    """What an sdist lacks, in sentences."""
    needed = [f"src/{name}" for name in sorted(wanted)] + list(WITH_THE_SOURCE)
    return [f"The sdist lacks {name}." for name in needed if name not in files]


def faults_of_version(files: Mapping[str, bytes], version: str) -> list[str]:
    """Whether the metadata of a wheel has this version, and a text for people to read."""
    [metadata] = [text for name, text in files.items() if name.endswith(".dist-info/METADATA")]
    read = HeaderParser().parsestr(metadata.decode())
    found = []
    if read["Version"] != version:
        found.append(f"The wheel is of version {read['Version']}; the source is of {version}.")
    if read["Description-Content-Type"] != "text/markdown" or not str(read.get_payload()).strip():
        found.append("The metadata has no description in Markdown.")
    return found
