"""One mutant against the tests that execute its lines, in a child process."""

import signal
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from tools.mutants.patching import Key, patch, patch_before_import
from tools.mutants.sites import Mutant
from tools.mutants.test_map import run_item

#: A test may take this many times as long as without the mistake, and this many seconds more.
PATIENCE = (10.0, 5.0)
#: pytest would rewrite the assertions of Hypothesis, which is imported already.
QUIET = ("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")


class TooLongError(Exception):
    """A test that passes in a moment goes on and on."""


def no_shrinking() -> None:
    """A property that fails need not fail by the shortest example."""
    quick = settings(settings.get_profile("repeatable"), phases=(Phase.explicit, Phase.generate), database=None)
    settings.register_profile("mutants", quick, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
    settings.load_profile("mutants")


def chosen_tests(mutant: Mutant, tests: dict[str, Any], budget: float) -> list[str]:
    """Tests that execute the statement, soonest first, those of the same package before others; up to a budget."""
    first, last = mutant.lines
    package = Path(mutant.path).parts[2]

    def executes(test: dict[str, Any]) -> bool:
        lines = test["lines"].get(mutant.path, ())
        return any(first <= line <= last for line in lines) if mutant.where else bool(lines)

    def order(name: str) -> float:
        near = f"tests/{package}/" in name or mutant.path in name
        return float(tests[name]["seconds"]) * (0.1 if near else 1.0)

    found, total = [], 0.0
    for name in sorted((name for name, test in tests.items() if executes(test)), key=order):
        total += tests[name]["seconds"]
        if found and total > budget:
            break
        found.append(name)
    return found


def try_imported(
    mutant: Mutant, names: list[str], items: dict[str, pytest.Item], seconds: dict[str, float],
    functions: dict[Key, list[FunctionType]], root: Path,
) -> dict[str, Any]:  # fmt: skip
    """Change functions that are already imported, and run tests that are already collected."""
    if not patch(root / mutant.path, mutant.number, mutant.where, functions):
        return {"state": "unpatched"}
    late = _Alarm()
    chosen = [items[name] for name in names]
    for item, following in zip(chosen, [*chosen[1:], None], strict=True):
        with late.after(seconds[item.nodeid]):
            passed = run_item(item, following)
        if not passed:
            return {"state": "timeout" if late.rang else "killed", "by": item.nodeid}
    return {"state": "survived", "tests": len(names)}


def try_afresh(mutant: Mutant, names: list[str], seconds: dict[str, float], root: Path) -> dict[str, Any]:
    """Import everything with the mistake in it, for those in constants, default values and classes."""
    patch_before_import(root / mutant.path, mutant.number)
    late, failed = _Alarm(), []

    class Chosen:
        def pytest_collection(self) -> None:
            no_shrinking()

        def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
            by_name = {item.nodeid: item for item in items}
            items[:] = [by_name[name] for name in names if name in by_name]

        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
            with late.after(seconds[item.nodeid]):
                yield

        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            if report.failed:
                failed.append(report.nodeid)

    files = list(dict.fromkeys(name.split("::")[0] for name in names))
    code = pytest.main(["-x", "-s", "-q", *QUIET, "-p", "no:cacheprovider", *files], plugins=[Chosen()])
    if code == pytest.ExitCode.OK:
        return {"state": "survived", "tests": len(names)}
    return {"state": "timeout" if late.rang else "killed", "by": failed[0] if failed else "import"}


class _Alarm:
    """Interrupts what takes too long."""

    def __init__(self) -> None:
        self.rang = False
        signal.signal(signal.SIGPROF, self._ring)

    def after(self, seconds: float) -> "_Alarm":
        factor, more = PATIENCE
        signal.setitimer(signal.ITIMER_PROF, factor * seconds + more)
        return self

    def __enter__(self) -> "_Alarm":
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _ring(self, *_: object) -> None:
        self.rang = True
        raise TooLongError
