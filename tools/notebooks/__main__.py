"""`python -m tools.notebooks`: run the notebooks of examples/, and store with them what their cells show.

Cells run in their order in one process, as tests/test_notebooks.py runs them: what is printed, and the value of the
last line as text or picture.
"""

import ast
import base64
import contextlib
import io
import json
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
from PIL import Image

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "notebooks"


def main() -> None:
    """Those that are named on the command line, or all."""
    mpl.use("Agg")
    for path in [FOLDER / name for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        with TemporaryDirectory() as made:
            work = Path(made) / "notebooks"
            work.mkdir()
            shutil.copytree(FOLDER.parent / "reactor", Path(made) / "reactor")
            os.chdir(work)
            notebook = json.loads(path.read_text(encoding="utf-8"))
            run(notebook)
            os.chdir(ROOT)
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"wrote {path}")


def run(notebook: dict[str, Any]) -> None:
    """Run every cell, and put its outputs into it."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, start=1):
        lines = ast.parse("".join(cell["source"])).body
        value = lines.pop().value if lines and isinstance(lines[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(ast.Module(lines, []), "cell", "exec"), names)
            shown = None if value is None else eval(compile(ast.Expression(value), "cell", "eval"), names)
        cell["execution_count"] = number
        cell["outputs"] = [*streamed(printed.getvalue()), *([] if hides(shown) else [displayed(shown, number)])]


def hides(value: Any) -> bool:
    """Whether there is nothing to show: no value, or one that says only where it is in memory."""
    return value is None or (not hasattr(value, "savefig") and " at 0x" in repr(value))


def streamed(text: str) -> list[dict[str, Any]]:
    """What was printed."""
    return [{"output_type": "stream", "name": "stdout", "text": text.splitlines(keepends=True)}] if text else []


def displayed(value: Any, number: int) -> dict[str, Any]:
    """A figure as a picture in few colours, anything else as text."""
    data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
    if hasattr(value, "savefig"):
        drawn, small = io.BytesIO(), io.BytesIO()
        value.savefig(drawn, dpi=90, bbox_inches="tight")
        Image.open(drawn).convert("RGB").quantize(64).save(small, "PNG", optimize=True)
        data = {"image/png": base64.b64encode(small.getvalue()).decode(), "text/plain": ["<Figure>"]}
    return {"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data}


if __name__ == "__main__":
    main()
