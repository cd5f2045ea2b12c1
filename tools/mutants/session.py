"""The whole run: collect the tests once, learn what they execute, and try mutant after mutant in forked children."""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tools.mutants.patching import live_functions
from tools.mutants.pool import forked
from tools.mutants.sites import Mutant
from tools.mutants.test_map import TestMap, digest, traced
from tools.mutants.trial import PATIENCE, QUIET, chosen_tests, no_shrinking, try_afresh, try_imported

#: Where the tests are that are run against mutants: those of the package, and the examples in its docstrings.
TESTS = ("space", "goals", "history", "source_data", "numerics", "kernels", "machines", "beliefs", "models",
         "weight_prior", "model_averaging", "acquisition", "explain", "suggestion", "campaign")  # fmt: skip
_MAPPED_WITHIN = 900.0


@dataclass
class Run:
    """What is tried, with what, and what came of it.

    Attributes:
        root: The repository.
        record: A file with one line of JSON per mutant; what it has is not tried again.
        store: Where it is kept which test executes what.
        jobs: How many children at once.
        budget: How many seconds of tests a mutant must survive.
        again: Whether mutants that survived before are tried again.
        tests: The folders of tests that are run.
    """

    root: Path
    record: Path
    store: Path
    jobs: int = 1
    budget: float = 30.0
    again: bool = False
    tests: tuple[str, ...] = TESTS

    def results(self) -> dict[tuple[int, str], dict[str, Any]]:
        """The last line of the record for each mutant of a module that has not changed since."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        found = {}
        for line in map(json.loads, lines):
            file = self.root / line["path"]
            if file.exists() and line["source"] == digest([file]):
                found[line["line"], line["name"]] = line
        return found

    def untried(self, mutants: list[Mutant]) -> list[Mutant]:
        """Those that the record does not answer for."""
        known = self.results()
        done = {key for key, line in known.items() if not (self.again and line["state"] in ("survived", "uncovered"))}
        return [one for one in mutants if key_of(one) not in done]

    def try_all(self, mutants: list[Mutant]) -> None:
        """Functions first, in a process that has imported and collected everything; then what needs a fresh import."""
        _in_child(lambda: self._collected([one for one in mutants if one.where]))
        tests = self._near(TestMap(self.store, self.root).tests())
        states = {key: line["state"] for key, line in self.results().items()}
        rest = [one for one in mutants if not one.where or states.get(key_of(one)) == "unpatched"]
        seconds = {name: test["seconds"] for name, test in tests.items()}
        self._pool(rest, tests, lambda one, names: try_afresh(one, names, seconds, self.root), 60.0)

    def _near(self, tests: dict[str, Any]) -> dict[str, Any]:
        folders = ("src/", *(f"tests/{name}/" for name in self.tests))
        return {name: test for name, test in tests.items() if name.startswith(folders)}

    def _collected(self, mutants: list[Mutant]) -> None:
        folders = [str(self.root / "tests" / name) for name in self.tests]
        arguments = ["-s", "-q", *QUIET, "-p", "no:cacheprovider", "--no-header", "--durations=0", *folders]
        pytest.main([*arguments, str(self.root / "src")], plugins=[_Loop(self, mutants)])

    def loop(self, session: pytest.Session, mutants: list[Mutant]) -> None:
        """With all tests collected: trace those that are not known, then try the mutants."""
        known = TestMap(self.store, self.root)
        by_file: dict[Path, list[pytest.Item]] = {}
        for item in session.items:
            by_file.setdefault(item.path, []).append(item)
        new = {file: known.content(file) for file in by_file if not known.is_known(file)}
        for file, found in forked(
            new, lambda file: traced(by_file[file], self.root), lambda _: _MAPPED_WITHIN, self.jobs
        ):
            print(f"traced {file.relative_to(self.root)}: {len(found)}", flush=True)
            known.add(file, new[file], found if isinstance(found, dict) else {})
        items = {item.nodeid: item for item in session.items}
        tests = {name: test for name, test in self._near(known.tests()).items() if name in items}
        functions = live_functions(self.root / "src")
        seconds = {name: test["seconds"] for name, test in tests.items()}
        self._pool(
            mutants, tests, lambda one, names: try_imported(one, names, items, seconds, functions, self.root), 10.0
        )

    def _pool(
        self, mutants: list[Mutant], tests: dict[str, Any], work: Callable[[Mutant, list[str]], Any], more: float
    ) -> None:
        chosen = {one: chosen_tests(one, tests, self.budget) for one in mutants}
        for one in mutants:
            if not chosen[one]:
                self._note(one, {"state": "uncovered"})

        def limit(one: Mutant) -> float:
            factor, least = PATIENCE
            longest = max(tests[name]["seconds"] for name in chosen[one])
            return 3 * sum(tests[name]["seconds"] for name in chosen[one]) + factor * longest + least + more

        covered = [one for one in mutants if chosen[one]]
        start = time.monotonic()
        for count, (one, found) in enumerate(forked(covered, lambda one: work(one, chosen[one]), limit, self.jobs), 1):
            self._note(one, found if isinstance(found, dict) else {"state": {"crash": "killed"}.get(found, found)})
            if count % 50 == 0:
                print(f"{count} of {len(covered)} after {time.monotonic() - start:.0f} s", flush=True)

    def _note(self, one: Mutant, found: dict[str, Any]) -> None:
        line = {"path": one.path, "line": one.lines[0], "name": one.name,
                "source": digest([self.root / one.path]), **found}  # fmt: skip
        with self.record.open("a") as file:
            file.write(json.dumps(line) + "\n")


class _Loop:
    """Takes the place of pytest's own loop over the tests."""

    def __init__(self, run: Run, mutants: list[Mutant]) -> None:
        self.run, self.mutants = run, mutants

    def pytest_collection(self) -> None:
        """After conftest has chosen its profile, before test modules are imported."""
        no_shrinking()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Nothing is left for pytest to run."""
        self.run.loop(session, self.mutants)
        return True


def key_of(one: Mutant) -> tuple[int, str]:
    """What a mutant has in the record: its line and its name."""
    return one.lines[0], one.name


def _in_child(work: Callable[[], None]) -> None:
    """So that this process stays without the package and its tests."""
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        return
    try:
        work()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
