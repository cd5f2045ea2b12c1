"""`python -m tools.screenshots`: play the start in the lab, and photograph its web page and its report.

It needs Chromium and what the extra `lab` installs. Pictures go to docs/pictures; look at them. Run it when the page or
the report has changed: nothing else notices.
"""

import json
import os
import shutil
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

ROOT = Path(__file__).parents[2]
OUT = ROOT / "docs" / "pictures"
#: Each picture: its width and its height. Narrow, so that it is readable on a telephone.
SHOTS = {"lab_page.png": (560, 690), "lab_report.png": (560, 828)}
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--virtual-time-budget=8000",
)  # fmt: skip
_PROGRAM = (sys.executable, "-W", "ignore", "-c", "from tunedprior.cli.program import main; main()")


def main() -> None:
    """Make all of them."""
    browser = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if browser is None:
        raise SystemExit("There is no Chromium (Debian: apt-get install chromium).")
    with TemporaryDirectory() as made:
        folder = Path(made)
        for path in (ROOT / "examples" / "reactor").iterdir():
            shutil.copy(path, folder)
        play(folder)
        _photograph(browser, (folder / "report.html").as_uri(), "lab_report.png", folder)
        with _serving(folder) as server:
            try:
                _photograph(browser, _address(server), "lab_page.png", folder)
            finally:
                server.terminate()


def play(folder: Path) -> None:
    """A campaign with three sheets of results, and two open suggestions."""
    _run(folder, "space", "old_reactor.xlsx", "-o", "space.yaml")
    _run(folder, "new", "campaign.db", "--space", "space.yaml", "--old", "old_reactor.xlsx", "--seed", "0")
    for day in ("monday", "tuesday", "wednesday"):
        _run(folder, "suggest", "campaign.db", "-n", "4", "-o", f"{day}.xlsx")
        subprocess.run([sys.executable, "-W", "ignore", "laboratory.py", f"{day}.xlsx"], cwd=folder, check=True)
        _run(folder, "record", "campaign.db", f"{day}.xlsx")
    _run(folder, "suggest", "campaign.db", "-n", "2")
    _run(folder, "report", "campaign.db", "-o", "report.html")


def _run(folder: Path, *words: str) -> None:
    subprocess.run([*_PROGRAM, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _serving(folder: Path) -> subprocess.Popen[str]:
    command = [*_PROGRAM, "serve", "campaign.db", "--port", "0", "--no-open", "--json"]
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


def _photograph(browser: str, address: str, name: str, folder: Path) -> None:
    """In few colours, which is enough for text and small."""
    width, height = SHOTS[name]
    shot = folder / name
    subprocess.run(
        [browser, *_QUIET, f"--user-data-dir={folder / 'browser'}", f"--window-size={width},{height}",
         f"--screenshot={shot}", address],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with Image.open(BytesIO(shot.read_bytes())) as image:
        image.convert("RGB").quantize(96).save(OUT / name, optimize=True)
    print(f"wrote {OUT / name}")


if __name__ == "__main__":
    main()
