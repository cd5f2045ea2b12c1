"""Use an installed tunedprior as people do, away from its source: `python -I smoke.py README.md [lab]`.

It needs nothing of this repository but the README, works in the present folder, and stops at the first thing that is
wrong. Without `lab` it also asks for everything that takes an extra, each of which must be refused by the extra's name.
"""

import csv
import importlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

SPACE = """\
parameters:
  temperature: 30 to 90
  flow: [0.5, 1.5, 2.5]
  catalyst: [A, B]
goals:
  yield: maximize
"""
OLD = [
    {"temperature": 30 + 4 * k, "flow": (0.5, 1.5, 2.5)[k % 3], "catalyst": "AB"[k % 2], "yield": k * (15 - k) + k % 3}
    for k in range(16)
]
#: What comes with extras only, by the modules that must be absent for the refusals to mean anything.
EXTRAS = {
    "files": ("pyarrow", "python_calamine"),
    "plots": ("plotly", "matplotlib"),
    "lab": ("openpyxl", "fastapi", "starlette", "uvicorn", "python_multipart"),
    "postgres": ("psycopg2",),
    "ax": ("ax",),
    "baybe": ("baybe",),
}
#: The first bytes of an Excel file of 1997, and of a Parquet file: enough to be told what reading them takes.
EXCEL, PARQUET = b"\xd0\xcf\x11\xe0", b"PAR1"


def main(readme: Path, extra: str) -> None:
    """Everything, in the order in which people would meet it."""
    importing()
    first_example(readme.read_text(encoding="utf-8"))
    campaign("csv")
    if extra == "lab":
        campaign("xlsx")
        report()
        served()
    else:
        refusals()
    print(f"tunedprior {version('tunedprior')} works here{f' with [{extra}]' if extra else ''}.")


def importing() -> None:
    """It is the installed one, it has its types, and every module can be imported, but those that take an extra."""
    import tunedprior

    home = Path(tunedprior.__file__).parent
    assert home.is_relative_to(sys.prefix), f"{home} is not of this environment, {sys.prefix}."
    assert tunedprior.__version__ == version("tunedprior")
    assert (home / "py.typed").is_file()
    for path in sorted(home.rglob("*.py")):
        name = ".".join(path.relative_to(home.parent).with_suffix("").parts).removesuffix(".__init__")
        try:
            importlib.import_module(name)
        except ImportError as error:
            is_told = isinstance(error, tunedprior.TunedPriorError) and 'pip install "tunedprior[' in str(error)
            lacking = (error.name or "").split(".")[0]
            if not is_told and not any(lacking in modules for modules in EXTRAS.values()):
                raise AssertionError(f"{name} needs {lacking}, which nothing declares.") from error


def first_example(readme: str) -> None:
    """The first program of the README, without a warning."""
    block = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)[0]
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(compile(block, "README.md", "exec"), names)
    assert len(names["opt"].trials) == 1


def program(*words: str, code: int = 0) -> str:
    """What the program says to stdout and stderr; it must end with this code."""
    found = shutil.which("tunedprior", path=str(Path(sys.executable).parent))
    assert found is not None, "The program `tunedprior` was not installed."
    done = subprocess.run([found, *words], capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == code, f"tunedprior {' '.join(words)} ended with {done.returncode}:\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout + done.stderr


def campaign(ending: str) -> None:
    """A campaign at the command line, with sheets that are filled in."""
    assert "suggest" in program("--help")
    Path("space.yaml").write_text(SPACE, encoding="utf-8")
    with Path("old.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(OLD[0]))
        table.writeheader()
        table.writerows(OLD)
    place = f"{ending}.db"
    program("new", place, "--space", "space.yaml", "--old", "old.csv")
    for turn in range(2):
        sheet = f"next_{turn}.{ending}"
        program("suggest", place, "-n", "2", "-o", sheet)
        filled_in(sheet)
        program("record", place, sheet)
    assert json.loads(program("best", place, "--json"))


def filled_in(sheet: str) -> None:
    """Write a result into each line of a sheet, as people do."""
    import pandas as pd

    is_text = sheet.endswith(".csv")
    table = pd.read_csv(sheet) if is_text else pd.read_excel(sheet, engine="calamine")
    table["yield"] = [50.0 + k for k in range(len(table))]
    table.to_csv(sheet, index=False) if is_text else table.to_excel(sheet, index=False)


def refusals() -> None:
    """Everything that takes an extra says which one, and how to install it."""
    for modules in EXTRAS.values():
        for module in modules:
            assert importlib.util.find_spec(module) is None, f"{module} is installed: this says nothing of its absence."
    Path("old.xls").write_bytes(EXCEL)
    Path("old.parquet").write_bytes(PARQUET)
    for words, extra in (
        (("audit", "old.xls", "--space", "space.yaml"), "files"),
        (("audit", "old.parquet", "--space", "space.yaml"), "files"),
        (("suggest", "csv.db", "-o", "next.xlsx"), "lab"),
        (("report", "csv.db", "-o", "report.html"), "plots"),
        (("serve", "csv.db", "--port", "0", "--no-open"), "lab"),
        (("status", "postgresql://lab@127.0.0.1/campaigns"), "postgres"),
    ):
        _names(" ".join(program(*words, code=2).split()), extra)
    for extra in ("ax", "baybe"):
        _names(_said_by(importlib.import_module, f"tunedprior.integrations.{extra}"), extra)
    from tunedprior import Optimizer, plots

    opt = Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0)
    opt.tell([{"x": 0.2}, {"x": 0.7}], [1.0, 2.0])
    for backend in ("plotly", "matplotlib"):
        _names(_said_by(plots.progress, opt, backend=backend), "plots")


def _said_by(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    from tunedprior.errors import MissingExtraError

    try:
        call(*given, **named)
    except MissingExtraError as error:
        return str(error)
    raise AssertionError(f"{call} did not miss its extra.")


def _names(message: str, extra: str) -> None:
    assert f'pip install "tunedprior[{extra}]"' in message, f"[{extra}] is not named: {message}"


def report() -> None:
    """The report, with its pictures."""
    program("report", "xlsx.db", "-o", "report.html")
    assert "plotly" in Path("report.html").read_text(encoding="utf-8").lower()


def served() -> None:
    """The page, asked for over HTTP: its templates and its style are installed."""
    found = shutil.which("tunedprior", path=str(Path(sys.executable).parent))
    command = [str(found), "serve", "xlsx.db", "--port", "0", "--no-open", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as server:
        assert server.stdout is not None
        try:
            said = ""
            while "}" not in said:
                line = server.stdout.readline()
                assert line, f"The page was not served; it said {said!r}."
                said += line
            url = json.loads(said)["url"]
            fetch = urllib.request.build_opener(urllib.request.HTTPCookieProcessor()).open
            with fetch(url, timeout=60):  # greets, and gives a cookie for the token
                pass
            with fetch(urllib.parse.urljoin(url, "/"), timeout=60) as answer:
                page = answer.read().decode("utf-8")
            assert "temperature" in page, page
            linked = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
            assert linked, "The page names no file of its own."
            for name in linked:
                with fetch(urllib.parse.urljoin(url, name), timeout=60) as answer:
                    assert answer.read()
        finally:
            server.terminate()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
