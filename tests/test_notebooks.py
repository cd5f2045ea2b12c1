"""Every cell of the notebooks is run, in their order, in one process, and they say what they should.

That is what a kernel does with them, without the half minute that starting one takes: notebooks here have no magics.
"""

import ast
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def run(notebook: str) -> tuple[dict[str, Any], list[Any]]:
    """The names that a notebook leaves, and what its cells show: the value of their last line, if it is one."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in json.loads((ROOT / "examples" / "notebooks" / notebook).read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines = ast.parse("".join(cell["source"]), f"{notebook}, {cell['id']}").body
        value = lines.pop().value if isinstance(lines[-1], ast.Expr) else None
        exec(compile(ast.Module(lines, []), cell["id"], "exec"), names)
        if value is not None:
            shown.append(eval(compile(ast.Expression(value), cell["id"], "eval"), names))
    return names, [one for one in shown if one is not None]


@pytest.fixture
def beside_the_reactor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples, to work in as a notebook does."""
    mpl.use("Agg")
    shutil.copytree(ROOT / "examples" / "reactor", tmp_path / "reactor")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return folder


@pytest.mark.filterwarnings("ignore::tunedprior.errors.OldDataWarning")  # which columns were taken for which
@pytest.mark.usefixtures("coarse_pictures", "short_search")
def test_the_lab_goes_from_a_spreadsheet_to_a_report(beside_the_reactor: Path) -> None:
    names, shown = run("lab_campaign.ipynb")
    sys.modules.pop("laboratory")
    assert names["audit"].verdict.startswith("Use it")
    assert shown[1] == [("part in other units", ("Time",), 20)]
    assert names["laboratory"].coupling(*names["use"].setting.values()) > 0.9 * 78.39  # the best there is
    relations = names["opt"].trust.relations.set_index("old data")
    assert set(relations.index) == {"old reactor", "notebook"}
    assert relations.trust.sum() > 0.4
    assert "<html" in (beside_the_reactor / "report.html").read_text()[:200]
    assert sum(hasattr(one, "savefig") for one in shown) == 2


@pytest.mark.usefixtures("beside_the_reactor", "coarse_pictures", "short_search")
def test_the_engineer_learns_from_the_right_old_study() -> None:
    names, shown = run("optuna_old_studies.ipynb")
    assert len(names["study"].trials) == 12
    assert names["study"].best_value < 0.12  # guessing would be wrong in nine of ten
    trust = names["optimizer"].trust.relations.set_index("old data").trust
    assert trust["wine"] > 10 * trust["unrelated"]
    assert sum(hasattr(one, "savefig") for one in shown) == 3


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_stored_with_what_they_show(path: Path) -> None:
    """`make notebooks`; no address in memory, which would be another one each time."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    assert sum("image/png" in one.get("data", {}) for cell in code for one in cell["outputs"]) >= 2
    assert " at 0x" not in json.dumps([cell["outputs"] for cell in code])
    assert len({cell["id"] for cell in cells}) == len(cells)
