"""Which tests execute which lines of the source, and how long they take; kept in a file, as it takes minutes."""

import hashlib
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

Lines = dict[str, list[int]]


class Tracer:
    """Notes the lines of a folder's files that are executed while it is switched on."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        self.seen: dict[str, set[int]] = {}

    def __enter__(self) -> "Tracer":
        sys.settrace(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _called(self, frame: FrameType, _event: str, _arg: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(self.folder):
            return None
        lines = self.seen.setdefault(name, set())
        lines.add(frame.f_lineno)

        def line(frame: FrameType, _event: str, _arg: Any) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line


def run_item(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one collected test with its fixtures; whether it passed."""
    outcomes = []

    class Listener:
        @staticmethod
        def pytest_runtest_logreport(report: pytest.TestReport) -> None:
            outcomes.append(report.outcome)

    item.config.pluginmanager.register(Listener, "listener")
    try:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    finally:
        item.config.pluginmanager.unregister(Listener)
    return "failed" not in outcomes and "passed" in outcomes


def traced(items: list[pytest.Item], root: Path) -> dict[str, Any]:
    """Seconds and lines of each test that passes."""
    found: dict[str, Any] = {}
    for item, following in zip(items, [*items[1:], None], strict=True):
        start = time.perf_counter()
        with Tracer(root / "src") as tracer:
            passed = run_item(item, following)
        if passed:
            lines = {Path(name).relative_to(root).as_posix(): sorted(seen) for name, seen in tracer.seen.items()}
            found[item.nodeid] = {"seconds": round(time.perf_counter() - start, 4), "lines": lines}
    return found


def digest(files: Iterable[Path]) -> str:
    """A short name of the files' content."""
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(file.read_bytes())
    return total.hexdigest()[:16]


class TestMap:
    """What is known of every test, by test file; a file is traced again when it or the source has changed."""

    __test__ = False  # not a test, whatever pytest may think of its name

    def __init__(self, store: Path, root: Path) -> None:
        self.store, self.root = store, root
        self.common = digest((root / "src").rglob("*.py"))
        self.files: dict[str, Any] = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}

    def is_known(self, file: Path) -> bool:
        """Whether this test file was traced as it is."""
        return self.files.get(self._name(file), {}).get("digest") == self.content(file)

    def add(self, file: Path, content: str, tests: dict[str, Any]) -> None:
        """Keep what was found of a file that had this content (its digest) when it was imported."""
        self.files[self._name(file)] = {"digest": content, "tests": tests}
        self.store.parent.mkdir(parents=True, exist_ok=True)
        self.store.write_text(json.dumps(self.files))

    def tests(self) -> dict[str, Any]:
        """Everything known of the tests of files that are as they were, by node id."""
        return {
            name: test
            for file, known in self.files.items()
            if (self.root / file).exists() and known["digest"] == self.content(self.root / file)
            for name, test in known["tests"].items()
        }

    def _name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()

    def content(self, file: Path) -> str:
        """The digest of a test file together with the source."""
        return self.common + digest([file])
