"""docs/flow.md shows the packages as they are."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tunedprior"
PAGE = (ROOT / "docs" / "flow.md").read_text()


def list_drawn_packages() -> list[str]:
    """The packages and modules that the first picture of the page lists, in its order."""
    return re.findall(r"^(\w+)/? ", PAGE.split("```")[1], flags=re.MULTILINE)


def test_every_package_is_on_the_page_and_there() -> None:
    there = {path.stem for path in SOURCE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert set(list_drawn_packages()) - {"errors", "checks"} == there


def test_the_order_is_that_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    assert list_drawn_packages() == [name for layer in layers[::-1] for name in layer.split(" : ")[::-1]]


def test_every_path_in_the_text_exists() -> None:
    for path in re.findall(r"`(\w+/\w+\.py)`", PAGE):
        assert (SOURCE / path).exists(), path
