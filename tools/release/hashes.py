"""`python -m tools.release.hashes`: the hashes that `pip install --require-hashes` compares downloaded files with.

Two files have them. `tools/release/requirements.txt` is what `make package` works with: its pins are written by hand,
their hashes by this command. `requirements-hashed.txt` is what the package and its extras need at run time, with the
versions of `constraints.txt`: this command writes all of it. Run it after a pin changed, where all extras are
installed (`make licences` installs them). It asks the index that pip is configured with.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from tools.release.licences import USED, closure, declared

ROOT = Path(__file__).parents[2]
RELEASING = ROOT / "tools" / "release" / "requirements.txt"
HASHED = ROOT / "requirements-hashed.txt"
CONSTRAINTS = ROOT / "constraints.txt"
#: Has builds for processors alone and for every CUDA, in files of their own, so that no list fits all users.
CHOSEN_BY_USERS = {"torch"}

_HASH = re.compile(r"\s*\\?\s*--hash=\S+")
_INTRODUCTION = """\
# What the package and all its extras need, with the versions of constraints.txt and the hashes of their files, for
# `pip install --require-hashes` (docs/supported.md). PyTorch is left out: its builds differ, and are installed first.
# `python -m tools.release.hashes` writes this file.
"""


def main(files: Iterable[str] = ()) -> int:
    """Command line: refresh the hashes in these files, or write both of ours."""
    texts = {Path(file): Path(file).read_text(encoding="utf-8") for file in files}
    if not texts:
        texts = {RELEASING: RELEASING.read_text(encoding="utf-8"), HASHED: _INTRODUCTION + "\n".join(run_time_pins())}
    for file, text in texts.items():
        file.write_text(with_hashes(text), encoding="utf-8")
    return 0


def run_time_pins() -> list[str]:
    """The lines of `constraints.txt` that are of what users install, on any system."""
    needed = {name for extra in ("", *USED) for name in closure(declared()[extra], on_any_system=True)}
    written = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    pins = {canonicalize_name(Requirement(line).name): line for line in written if line and not line.startswith("#")}
    return [line for name, line in pins.items() if name in needed - CHOSEN_BY_USERS]


def without_hashes(text: str) -> str:
    """A file of requirements with its comments, its pins and their markers, but no hashes."""
    return _HASH.sub("", text)


def with_hashes(text: str) -> str:
    """The same file, with the sha256 of every file that the index has of each pinned version."""
    lines = without_hashes(text).splitlines()
    pins = {line: Requirement(line) for line in lines if line and not line.startswith("#")}
    found = hashes(pins.values())
    return (
        "\n".join(
            " \\\n    --hash=sha256:".join([line, *(found[pins[line]] if line in pins else [])]) for line in lines
        )
        + "\n"
    )


def hashes(pins: Iterable[Requirement]) -> dict[Requirement, list[str]]:
    """The sha256 of every file of each pinned version, in order.

    pip's own parts ask, so that its settings hold: which index, its certificate, how to log in. They are not public,
    and pip may change them.
    """
    from pip._internal.commands import create_command
    from pip._internal.index.collector import LinkCollector, parse_links
    from pip._internal.models.link import Link

    command = create_command("download")
    options, _ = command.parse_args([])
    found = {}
    with command._build_session(options) as session:
        collector = LinkCollector.create(session, options)
        for pin in pins:
            address = f"{options.index_url.rstrip('/')}/{canonicalize_name(pin.name)}/"
            page = collector.fetch_response(Link(address))
            links = [] if page is None else [link for link in parse_links(page) if is_of(link.filename, pin)]
            if not links:
                raise SystemExit(f"The index has no file of {pin}.")
            if any(link.hash_name != "sha256" for link in links):
                raise SystemExit(f"The index names no sha256 for a file of {pin}.")
            found[pin] = sorted(link.hash for link in links)
    return found


def is_of(filename: str, pin: Requirement) -> bool:
    """Whether a file is an sdist or a wheel of the pinned version; pip installs no others."""
    try:
        version = (parse_wheel_filename if filename.endswith(".whl") else parse_sdist_filename)(filename)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return False
    return pin.specifier.contains(version, prereleases=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
