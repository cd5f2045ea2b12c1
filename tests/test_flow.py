"""docs/flow.md shows the packages as they are: all, in the order of the import contract, with arrows that exist."""

import ast
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.site_tables import tables_of

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tunedprior"
PAGE = (ROOT / "docs" / "flow.md").read_text("utf-8")
LIST, PICTURE = tables_of("flow.md")["packages"], PAGE.split("```")[1]


def list_drawn_packages() -> list[str]:
    """What the page lists, in its order."""
    return re.findall(r"^\| `(\w+)` ", LIST, flags=re.MULTILINE)


def list_arrows() -> list[tuple[str, str]]:
    """Both ends of every arrow of the picture."""
    chains = [re.split(r"\s{2,}", line)[0].split(" → ") for line in PICTURE.splitlines() if "→" in line]
    return sorted({arrow for chain in chains for arrow in pairwise(chain)})


def list_imported_packages(package: str) -> set[str]:
    """The packages of ours that the modules of one import from."""
    nodes = [node for path in (SOURCE / package).rglob("*.py") for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {module.split(".")[1] for module in modules if module.startswith("tunedprior.")}


def test_every_package_is_listed_in_the_order_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert list_drawn_packages() == [name for layer in layers[::-1] for name in layer.split(" : ")[::-1]]


def test_every_listed_package_is_there() -> None:
    assert [name for name in list_drawn_packages() if not list(SOURCE.glob(f"{name}*"))] == []
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} <= set(list_drawn_packages())


@pytest.mark.parametrize(("used", "user"), list_arrows())
def test_arrows_lead_down_the_list_to_a_package_that_imports_the_other(used: str, user: str) -> None:
    order = list_drawn_packages()
    assert used in list_imported_packages(user)
    assert order.index(used) < order.index(user)
