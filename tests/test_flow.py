"""docs/flow.md shows the packages as they are."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tunedprior"
PAGE = (ROOT / "docs" / "flow.md").read_text()


def drawn() -> dict[str, list[str]]:
    """The modules of each package, as the first picture of the page lists them, in its order."""
    picture = PAGE.split("```")[1]
    found: dict[str, list[str]] = {}
    outer = ""
    for line in picture.splitlines():
        package = re.match(r"(\s*)(\w+)/ ", line)
        if package:
            outer = package[2] if not package[1] else outer
            name = f"{outer}/{package[2]}" if package[1] else package[2]
        elif not found:
            continue
        modules = re.split(r"\s{3,}", line.strip().removeprefix(f"{name.split('/')[-1]}/").strip())[0]
        found.setdefault(name, []).extend(modules.split(" · "))
    return found


def test_every_module_is_on_the_page_and_there() -> None:
    there: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        package = path.parent.relative_to(SOURCE).as_posix()
        if package != "." and path.stem != "__init__":
            there.setdefault(package, set()).add(path.stem)
    assert {package: set(modules) for package, modules in drawn().items()} == there


def test_the_order_is_that_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    packages = [name for name in drawn() if "/" not in name]
    assert ["errors", "checks", *packages] == layers[::-1]


def test_every_path_in_the_text_exists() -> None:
    for path in re.findall(r"`(\w+/\w+\.py)`", PAGE):
        assert (SOURCE / path).exists(), path
