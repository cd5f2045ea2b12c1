"""The README and the package's description: what they show can be pasted, and nothing in them breaks elsewhere."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tunedprior import Optimizer
from tunedprior.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
DESCRIPTION = (ROOT / "PACKAGE.md").read_text("utf-8")
REACTOR = ROOT / "examples" / "reactor"


def blocks(kind: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.usefixtures("short_search")
def test_the_python_and_the_optuna_door_open() -> None:
    names: dict[str, object] = {}
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), names)
    assert len(names["opt"].trials) == 1

    def objective(trial) -> float:
        return trial.suggest_float("rate", 1e-5, 1e-1, log=True) + trial.suggest_float("dropout", 0.0, 0.6)

    names["study"].optimize(objective, n_trials=3)
    assert len(names["study"].trials) == 3


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
def test_the_door_of_the_lab_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in REACTOR.iterdir():
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = [line for block in blocks("") for line in block.splitlines()]
    assert f"cd {REACTOR.relative_to(ROOT).as_posix()}" in lines
    commands = [line.partition(" #")[0].split()[1:] for line in lines if line.startswith("tunedprior ")]
    assert [words[0] for words in commands] == ["space", "new", "suggest", "record"]
    for words in commands:
        if words[0] == "record":
            import pandas as pd

            sheet = pd.read_excel("next.xlsx", engine="calamine")
            sheet.assign(Yield=[50.0, 60.0, 55.0, 40.0]).to_excel("next.xlsx", index=False)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    assert len(Optimizer.load("sqlite:///campaign.db").trials) == 4


def test_the_readme_is_short_and_names_what_people_search_for() -> None:
    assert len(README.split()) <= 900
    for words in ("Bayesian optimisation", "transfer learning", "warm start", "negative transfer", "simple regret"):
        assert words in " ".join(README.split())
    assert set(re.findall(r"^make (\w+)", README, re.MULTILINE)) == {"demo", "docs", "test"}


def test_links_of_the_readme_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)\s#]+)|src=\"([^\"]+)\"", README)
    assert len(links) > 20
    assert [one for pair in links for one in pair if one and not (ROOT / one).exists()] == []


def test_the_description_of_the_package_breaks_nowhere() -> None:
    """A package index knows neither the other files nor an address that they are at."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["readme"] == "PACKAGE.md"
    assert not re.search(r"\]\(|<img|\]:", DESCRIPTION)
    assert DESCRIPTION.split("\n\n")[:3] == README.split("\n\n")[:3]  # the same first words
    for block in blocks("python", DESCRIPTION):
        compile(block, "PACKAGE.md", "exec")
