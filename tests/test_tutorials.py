"""Every command of the tutorials is run, in the order of the page, and says what the page says."""

import re
import shlex
import shutil
import sys
from importlib import util
from math import exp
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from tunedprior import Optimizer
from tunedprior.cli.app import app

ROOT = Path(__file__).parents[1]
#: Pages of docs/howto with commands that are run.
HOW_TOS = [path for path in sorted((ROOT / "docs" / "howto").glob("*.md")) if "```console" in path.read_text("utf-8")]
#: Exit codes by what is said behind a command.
CODES = {"refused": 2, "exit code 3": 3}
BLOCKS = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def module_at(path: Path):
    spec = util.spec_from_file_location(path.stem, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def said_by(command: str) -> str:
    """What a command of a page says; `# refused` or `# exit code 3` behind it says how it must end."""
    command, _, remark = command.partition("  # ")
    program, *words = shlex.split(command)
    if program == "python":
        module_at(Path(words[0])).fill_in(Path(words[1]))
        return ""
    assert program == "tunedprior"
    done = CliRunner().invoke(app, words, env={"COLUMNS": "160"})
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == next((code for told, code in CODES.items() if remark.startswith(told)), 0), done.output
    return done.output


def followed(page: str) -> list[str]:
    """Run all commands of a page, write its files; the commands."""
    commands: list[str] = []
    names: dict[str, object] = {}
    for kind, name, content in BLOCKS.findall((ROOT / "docs" / page).read_text()):
        if name:
            Path(name).write_text(content, encoding="utf-8")
        elif kind == "python" and not content.startswith(">>>"):  # sessions are doctests
            exec(compile(content, page, "exec"), names)
        if kind != "console":
            continue
        said = ""
        for line in content.splitlines():
            if line.startswith("$ "):
                commands.append(line[2:])
                said = " ".join(said_by(line[2:]).split())
            else:
                assert " ".join(line.split()) in said, f"{commands[-1]} did not say: {line}\n{said}"
    return commands


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_chemist_finds_the_best_conditions(folder: Path) -> None:
    for path in (ROOT / "examples" / "reactor").iterdir():
        shutil.copy(path, folder)
    commands = followed("tutorial_chemist.md")
    assert {command.split()[1] for command in commands} >= {"space", "audit", "new", "suggest", "record", "report"}
    laboratory = module_at(Path("laboratory.py"))
    use = Optimizer.load("sqlite:///campaign.db").recommend().setting
    assert laboratory.coupling(*use.values()) > 0.9 * 78.39  # as the page says
    assert "http://" not in Path("report.html").read_text(encoding="utf-8")[:5000]


@pytest.mark.usefixtures("coarse_pictures", "short_search")
def test_five_minutes_are_enough_for_a_first_sheet(folder: Path) -> None:
    for path in (ROOT / "examples" / "reactor").iterdir():
        shutil.copy(path, folder)
    commands = followed("start_lab.md")
    assert [command.split()[1] for command in commands][:4] == ["space", "audit", "new", "suggest"]
    assert len(Optimizer.load("sqlite:///campaign.db").trials) == 4
    assert Path("report.html").stat().st_size > 100_000


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("page", HOW_TOS, ids=lambda page: page.stem)
def test_how_to_pages_say_what_commands_say(page: Path) -> None:
    assert followed(f"howto/{page.name}")


@pytest.mark.usefixtures("short_search")
def test_the_list_of_commands_shows_what_they_say(folder: Path) -> None:
    for path in (ROOT / "examples" / "reactor").iterdir():
        shutil.copy(path, folder)
    commands = followed("commands.md")
    assert {command.split()[1] for command in commands} >= {
        "space",
        "audit",
        "new",
        "suggest",
        "record",
        "undo",
        "trust",
    }


def test_the_old_records_are_what_the_laboratory_writes(folder: Path) -> None:
    laboratory = module_at(ROOT / "examples" / "reactor" / "laboratory.py")
    laboratory.write_old_records(folder)
    assert (folder / "notebook.csv").read_bytes() == (ROOT / "examples" / "reactor" / "notebook.csv").read_bytes()


@pytest.mark.usefixtures("short_search")
def test_the_engineer_tunes_a_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    commands = followed("tutorial_engineer.md")
    sys.modules.pop("train")
    assert any(command.startswith("tunedprior run") for command in commands)
    opt = Optimizer.load("sqlite:///tuning.db")
    assert len(opt.trials) == 13
    assert opt.best.value < 0.06  # guessing would be wrong in nine of ten
    assert (folder / "effects.png").stat().st_size > 5_000
    assert "plotly" in (folder / "progress.html").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("short_search")
def test_what_people_know_becomes_old_data(folder: Path) -> None:
    for path in (ROOT / "examples" / "reactor").iterdir():
        shutil.copy(path, folder)
    commands = followed("tutorial_knowledge.md")
    assert [command.split()[1] for command in commands][:2] == ["new", "suggest"]
    opt = Optimizer.load("sqlite:///campaign.db")
    assert list(opt.trust.relations["old data"]) == ["handbook", "patent", "sketches"]
    assert len(opt.trials) == 4
    # The simulation's constants, per hour; and the ranges of the old reactor's best six runs.
    laboratory, handbook = module_at(Path("laboratory.py")), pd.read_csv("handbook.csv")
    for catalyst, temperature, constant in handbook.itertuples(index=False):
        speed, _ = laboratory.CATALYSTS[catalyst]
        assert constant == pytest.approx(
            60 * 0.045 * speed * exp(8500 * (1 / 333.15 - 1 / (temperature + 273.15))), rel=0.06
        )
    best = laboratory.old_records()[0].nlargest(6, "yield")
    text = (ROOT / "docs" / "tutorial_knowledge.md").read_text("utf-8")
    for name, told in (("temperature", "{:g} to {:g} °C"), ("time", "{:g} to {:g} minutes")):
        assert told.format(best[name].min(), best[name].max()) in text
    assert set(best["catalyst"]) == set(laboratory.CATALYSTS)


def test_nothing_of_the_tutorials_stays_in_the_path() -> None:
    assert "laboratory" not in sys.modules
