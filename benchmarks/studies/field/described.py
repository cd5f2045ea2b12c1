"""Who takes part: the version of each peer, from the pins, and what it does, from its class; nothing is imported."""

import ast
import re
from pathlib import Path

import pandas as pd

import benchmarks.peers.kinds
from benchmarks.peers.by_name import ALL_PEERS, HERE, Entry
from benchmarks.tables import markdown

_KINDS = Path(benchmarks.peers.kinds.__file__).parent
_ROOT = _KINDS.parents[2]


# The version of this package that the stored results are of.
_MEASURED = "0.1.0"


def who_takes_part() -> str:
    """A row for each peer."""
    rows = [
        {
            "peer": name,
            "version": version_of(entry),
            "old data": "yes" if entry.uses_old else "no",
            "begins with": f"{entry.first} shared settings" if entry.first != 1 else "1 shared setting",
            "what it is": what_it_is(entry),
        }
        for name, entry in ALL_PEERS.items()
    ]
    return markdown(pd.DataFrame(rows).set_index("peer"))


def version_of(entry: Entry) -> str:
    """As it is pinned where the peer runs."""
    if entry.package is None:
        return f"tunedprior {_MEASURED}"
    requirements = _KINDS.parent / "requirements" / f"{entry.environment.removeprefix('.venv-')}.txt"
    pins = _ROOT / "constraints.txt" if entry.environment == HERE else requirements
    found = re.search(rf"^{re.escape(entry.package)}==(\S+)", pins.read_text(), re.MULTILINE)
    if found is None:
        raise LookupError(f"{pins.name} does not pin {entry.package}.")
    return f"{entry.package} {found[1]}"


def what_it_is(entry: Entry) -> str:
    """The first line of its class's docstring, as a cell of a table."""
    tree = ast.parse((_KINDS / f"{entry.module}.py").read_text())
    (found,) = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == entry.kind]
    return ast.get_docstring(found).splitlines()[0].replace("|", "\\|")
