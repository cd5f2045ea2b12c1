"""`python -m tools.screenshots`: play the start in the lab and both tutorials, and photograph what people see.

That is the terminal, the sheet, the web page and the report. It needs Chromium and what the extra `lab` installs.
Pictures go to docs/pictures; look at them. Run it when one of these has changed: nothing else notices.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from html import escape
from io import BytesIO, StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from openpyxl import load_workbook
from openpyxl.utils import get_column_letter
from PIL import Image
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs" / "pictures"
DAYS = ("monday", "tuesday", "wednesday", "thursday")
#: Pixels of a picture for each of the page's: narrow pages, so that they are readable on a telephone, and sharp.
_SCALE = 2
_COLUMNS = 62
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--virtual-time-budget=8000",
    f"--force-device-scale-factor={_SCALE}",
)  # fmt: skip
_PROGRAM = (sys.executable, "-W", "ignore", "-c", "from tunedprior.cli.program import main; main()")
_TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #1e2127; color: #d7dae0; }}
header {{ background: #30343c; padding: 8px 12px; }}
header i {{ display: inline-block; width: 11px; height: 11px; border-radius: 6px; margin-right: 6px; }}
header i {{ background: #6b717d; }}
pre {{ margin: 0; padding: 10px 12px; font: 13px/1.4 "DejaVu Sans Mono", monospace; }}
</style><header><i></i><i></i><i></i></header><pre>{}</pre>"""
_SHEET = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #fff; color: #222; font: 13px/1.3 "Liberation Sans", Arial, sans-serif; }}
header {{ background: #217346; color: #fff; padding: 8px 12px; }}
table {{ border-collapse: collapse; }}
td, th {{ border: 1px solid #d0d4d9; padding: 4px 8px; white-space: nowrap; text-align: left; }}
th {{ background: #eef0f2; color: #667; font-weight: normal; text-align: center; }}
.number {{ text-align: right; }}
.head {{ font-weight: bold; background: #f7f8f9; }}
</style><header>{}</header><table>{}</table>"""


def main() -> None:
    """Make all of them."""
    browser = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit("There is no Chromium (Debian: apt-get install chromium).")
    with TemporaryDirectory() as made:
        start, week, sweep = (Path(made) / name for name in ("start", "week", "sweep"))
        start_in_the_lab(browser, start)
        chemists_week(browser, week)
        engineers_afternoon(browser, sweep)


def start_in_the_lab(browser: str, folder: Path) -> None:
    """Three sheets of results and two open suggestions: the terminal, a sheet, the report and the page."""
    _reactor(folder)
    _run(folder, "space", "old_reactor.xlsx", "-o", "space.yaml")
    said = [_said(folder, "new", "campaign.db", "--space", "space.yaml", "--old", "old_reactor.xlsx", "--seed", "0")]
    for day in DAYS[:3]:
        told = _said(folder, "suggest", "campaign.db", "-n", "4", "-o", f"{day}.xlsx")
        _measured(folder, day)
        if day == DAYS[0]:
            said.append(told)
            _sheet(browser, folder, f"{day}.xlsx", "lab_sheet.png")
        _run(folder, "record", "campaign.db", f"{day}.xlsx")
    _terminal(browser, folder, said, "lab_terminal.png")
    _run(folder, "suggest", "campaign.db", "-n", "2")
    _run(folder, "report", "campaign.db", "-o", "report.html")
    _photograph(browser, (folder / "report.html").as_uri(), "lab_report.png", folder, (430, 760))
    _page(browser, folder, "campaign.db", "lab_page.png", (430, 700))


def chemists_week(browser: str, folder: Path) -> None:
    """Two old records and sixteen experiments: the terminal on Monday and on Friday, the sheet, the page."""
    _reactor(folder)
    _run(folder, "space", "old_reactor.xlsx", "-o", "space.yaml")
    draft = (folder / "space.yaml").read_text(encoding="utf-8")
    finer = re.sub(r"(?m)^(  equivalents:) .*$", r"\1 1 to 2.5 step 0.1", draft)
    finer = re.sub(r"(?m)^(  Temperature:) .*$", r"\1 40 to 115 step 5", finer)
    (folder / "space.yaml").write_text(re.sub(r"(?m)^(  Time:) .*$", r"\1 1 to 10 step 1", finer), encoding="utf-8")
    old = ("--old", "old_reactor.xlsx", "--old", "notebook.csv")
    _run(folder, "new", "campaign.db", "--space", "space.yaml", *old, "--seed", "0")
    said = []
    for day in DAYS:
        told = _said(folder, "suggest", "campaign.db", "-n", "4", "-o", f"{day}.xlsx")
        _measured(folder, day)
        taken = _said(folder, "record", "campaign.db", f"{day}.xlsx")
        if day == DAYS[0]:
            said = [told, taken]
            _sheet(browser, folder, f"{day}.xlsx", "chemist_sheet.png")
    _terminal(browser, folder, said, "chemist_monday.png")
    _terminal(browser, folder, [_said(folder, one, "campaign.db") for one in ("trust", "best")], "chemist_friday.png")
    _run(folder, "report", "campaign.db", "-o", "report.html")
    _photograph(browser, (folder / "report.html").as_uri(), "chemist_report.png", folder, (430, 760))


def engineers_afternoon(browser: str, folder: Path) -> None:
    """The files and commands of the tutorial, as they stand there: the terminal."""
    folder.mkdir()
    page = (ROOT / "docs" / "tutorial_engineer.md").read_text(encoding="utf-8")
    for name, text in re.findall(r"^```\w+ (\S+\.\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(text, encoding="utf-8")
    sweep = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    subprocess.run([sys.executable, "-W", "ignore", "-c", sweep], cwd=folder, check=True)
    commands = [line.split()[2:] for line in page.splitlines() if line.startswith("$ tunedprior ")]
    _terminal(browser, folder, [_said(folder, *words) for words in commands], "engineer_terminal.png")


def _reactor(folder: Path) -> None:
    shutil.copytree(ROOT / "examples" / "reactor", folder)


def _measured(folder: Path, day: str) -> None:
    subprocess.run([sys.executable, "-W", "ignore", "laboratory.py", f"{day}.xlsx"], cwd=folder, check=True)


def _run(folder: Path, *words: str) -> None:
    subprocess.run([*_PROGRAM, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _said(folder: Path, *words: str) -> str:
    """A command as it is typed, and what it says in colours."""
    own = {**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(_COLUMNS), "TERM": "xterm-256color", "PYTHONPATH": _path()}
    done = subprocess.run(
        [*_PROGRAM, *words],
        cwd=folder,
        check=True,
        env=own,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    typed = " ".join(["tunedprior", *words])
    return f"\x1b[1;36m$\x1b[0m \x1b[1m{typed}\x1b[0m\n{done.stdout.rstrip()}"


def _path() -> str:
    return os.environ.get("PYTHONPATH", "")


def _terminal(browser: str, folder: Path, said: list[str], name: str) -> None:
    """What was typed and said, as a terminal shows it."""
    console = Console(record=True, file=StringIO(), width=_COLUMNS + 1, force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi("\n\n".join(said)))
    lines = len(console.export_text(clear=False).rstrip().splitlines())
    shown = console.export_html(inline_styles=True, code_format="{code}")
    page = folder / f"{name}.html"
    page.write_text(_TERMINAL.format(shown.rstrip()), encoding="utf-8")
    _photograph(
        browser, page.as_uri(), name, folder, (int(7.83 * (_COLUMNS + 1)) + 24, 27 + 20 + int(18.2 * lines) + 2)
    )


def _sheet(browser: str, folder: Path, sheet: str, name: str) -> None:
    """The first sheet of a workbook, as a spreadsheet shows it, without the column that tells campaigns apart."""
    rows = [row for row in load_workbook(folder / sheet).worksheets[0].iter_rows(values_only=True) if any(row)]
    shown = [place for place, head in enumerate(rows[0]) if head != "campaign"]
    letters = "".join(f"<th>{get_column_letter(place + 1)}</th>" for place in shown)
    lines = [f"<tr><th></th>{letters}</tr>"]
    for number, row in enumerate(rows, start=1):
        cells = ["" if row[place] is None else row[place] for place in shown]
        kinds = ["head" if number == 1 else "number" if isinstance(cell, int | float) else "" for cell in cells]
        inside = "".join(
            f'<td class="{kind}">{escape(str(cell))}</td>' for kind, cell in zip(kinds, cells, strict=True)
        )
        lines.append(f"<tr><th>{number}</th>{inside}</tr>")
    page = folder / f"{name}.html"
    page.write_text(_SHEET.format(escape(sheet), "".join(lines)), encoding="utf-8")
    _photograph(browser, page.as_uri(), name, folder, (520, 35 + 27 * len(lines)))


def _page(browser: str, folder: Path, campaign: str, name: str, size: tuple[int, int]) -> None:
    with _serving(folder, campaign) as server:
        try:
            _photograph(browser, _address(server), name, folder, size)
        finally:
            server.terminate()


def _serving(folder: Path, campaign: str) -> subprocess.Popen[str]:
    command = [*_PROGRAM, "serve", campaign, "--port", "0", "--no-open", "--json"]
    own = {**os.environ, "XDG_CONFIG_HOME": str(folder)}
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=own)


def _address(server: subprocess.Popen[str]) -> str:
    assert server.stdout is not None
    said = ""
    while not said.rstrip().endswith("}"):
        line = server.stdout.readline()
        if not line:
            raise SystemExit(f"The page was not served: {said}")
        said += line
    return str(json.loads(said)["url"])


def _photograph(browser: str, address: str, name: str, folder: Path, size: tuple[int, int]) -> None:
    """The upper part of a larger window, as Chromium may leave the end of a small one out; in few colours."""
    width, height = size
    shot = folder / name
    subprocess.run(
        [browser, *_QUIET, f"--user-data-dir={folder / 'browser'}", f"--window-size={width},{height + 400}",
         f"--screenshot={shot}", address],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with Image.open(BytesIO(shot.read_bytes())) as image:
        image.crop((0, 0, width * _SCALE, height * _SCALE)).convert("RGB").quantize(96).save(OUT / name, optimize=True)
    print(f"wrote {OUT / name}")


if __name__ == "__main__":
    main()
