"""Which modules pytest reads for their examples."""

import re
from importlib.util import find_spec
from pathlib import Path

# What only some people install (`pip install "tunedprior[all]"`), by the names that are imported.
EXTRAS = ("ax", "baybe", "dask", "distributed", "ray")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out modules without an example, and those of tools that are not here, which cannot be imported."""
    if collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    tools = re.findall(rf"^(?:from|import) ({'|'.join(EXTRAS)})\b", text, flags=re.MULTILINE)
    return True if ">>>" not in text or not all(map(find_spec, tools)) else None
