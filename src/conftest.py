"""Which modules pytest reads for their examples."""

from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out modules without an example: pytest would import them, and what they integrate with, to find none."""
    if collection_path.suffix == ".py" and ">>>" not in collection_path.read_text(encoding="utf-8"):
        return True
    return None
