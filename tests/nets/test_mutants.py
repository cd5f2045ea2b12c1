"""The mutation run itself: which mistakes are made, where, and that they are really put in."""

import ast
import time
from pathlib import Path

import pytest

from tools.mutants.patching import live_functions, patch
from tools.mutants.pool import forked
from tools.mutants.report import reason, report
from tools.mutants.sites import Mutant, mutants, mutated
from tools.mutants.trial import chosen_tests

SOURCE = '''"""A module."""
LIMIT = 0.25

def f(x, scale=2):
    """Docstring with 1 < 2."""
    if x < 0 and not scale:
        raise ValueError(f"x is {x + 1}")
    x = -x
    return max(x, 3) + LIMIT

class Thing:
    def __repr__(self):
        return "1" + "2"

    @property
    def size(self) -> int:
        return 7
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    return path


def test_mistakes_are_those_that_are_meant(module: Path) -> None:
    found = [(one.where, one.after) for one in mutants(module, module.parent)]
    assert found == [
        ("", "LIMIT = 1.25"),
        ("", "LIMIT = 0.5"),
        ("", "def f(x, scale=3)"),
        ("", "def f(x, scale=1)"),
        ("f", "if True:"),
        ("f", "if False:"),
        ("f", "if x < 0 or not scale:"),
        ("f", "if x <= 0 and (not scale):"),
        ("f", "if x >= 0 and (not scale):"),
        ("f", "if x < 1 and (not scale):"),
        ("f", "if x < -1 and (not scale):"),
        ("f", "if x < 0 and (not not scale):"),
        ("f", "pass"),
        ("f", "x = +x"),
        ("f", "return max(x, 3) - LIMIT"),
        ("f", "return min(x, 3) + LIMIT"),
        ("f", "return max(x, 4) + LIMIT"),
        ("f", "return max(x, 2) + LIMIT"),
        ("Thing.size", "return 8"),
        ("Thing.size", "return 6"),
    ]


def test_every_mistake_of_the_package_makes_another_program() -> None:
    root = Path(__file__).parents[2]
    for path in [root / "src/tunedprior/space/encoding.py", root / "src/tunedprior/kernels/table1.py"]:
        source = path.read_text()
        for one in mutants(path, root)[::20]:
            wrong = mutated(source, one.number)
            compile(wrong, str(path), "exec")
            assert ast.unparse(wrong) != ast.unparse(ast.parse(source))


def test_a_mistake_is_put_into_a_function_that_is_there(module: Path) -> None:
    names: dict = {"__name__": "module"}
    exec(compile(SOURCE, str(module), "exec"), names)
    wanted = next(one for one in mutants(module, module.parent) if one.after == "return min(x, 3) + LIMIT")
    assert names["f"](-5.0) == 5.25
    assert patch(module, wanted.number, wanted.where, live_functions(module.parent))
    assert names["f"](-5.0) == 3.25


def test_children_answer_in_their_own_time() -> None:
    def work(task: float) -> float:
        if task == 3.0:
            raise ValueError
        time.sleep(120 if task == 2.0 else 0)
        return task + 1

    assert sorted(forked([1.0, 2.0, 3.0], work, lambda task: 2.0 if task == 2.0 else 60.0, jobs=3), key=str) == [
        (1.0, 2.0),
        (2.0, "timeout"),
        (3.0, "crash"),
    ]


def test_tests_that_execute_the_line_come_first_and_within_the_budget() -> None:
    one = Mutant("src/tunedprior/space/encoding.py", 0, "f", (10, 12), "a", "b")
    tests = {
        "tests/campaign/test_x.py::quick": {"seconds": 1.0, "lines": {one.path: [11]}},
        "tests/space/test_x.py::near": {"seconds": 2.0, "lines": {one.path: [12]}},
        "tests/space/test_x.py::elsewhere": {"seconds": 0.1, "lines": {one.path: [13]}},
        "tests/campaign/test_x.py::slow": {"seconds": 9.0, "lines": {one.path: [10]}},
    }
    assert chosen_tests(one, tests, budget=5.0) == ["tests/space/test_x.py::near", "tests/campaign/test_x.py::quick"]


def test_a_report_counts_and_lists() -> None:
    lines = [
        {"path": "src/tunedprior/space/encoding.py", "line": line, "state": state, "name": f"box.py::f: a -> {line}"}
        for line, state in enumerate(["killed", "timeout", "survived", "uncovered"])
    ]
    allowed = [{"path": lines[0]["path"], "before": "a", "after": "2", "reason": "rounding"}]
    assert reason(lines[2], allowed) == "rounding"
    assert reason(lines[3], allowed) is None
    table, _, survivors = report(lines, allowed).partition("\n\n")
    assert table.splitlines()[1].split() == ["space", "1", "1", "1", "1", "50.0%"]
    assert survivors == "src/tunedprior/space/encoding.py:3 (uncovered) f: a -> 3"
