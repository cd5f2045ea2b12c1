import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from tunedprior.cli.app import app
from tunedprior.cli.output import ExitCode
from tunedprior.cli.program import STOPPED, end_when_stopped, raise_when_stopped

# Sends itself Ctrl-C when it comes to a module.
STOPPED_AT = """
import signal, sys
from tunedprior.cli.program import main
wanted = sys.argv.pop(1)
signal.signal(signal.SIGINT, signal.default_int_handler)  # tests in the background ignore it, and so would this

class Stop:
    def find_spec(self, name, *_):
        if name == wanted:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Stop())
main()
"""


def test_help_comes_without_pytorch() -> None:
    code = (
        "import sys; sys.argv = ['tunedprior', '--help']\n"
        "from tunedprior.cli.program import main\n"
        "try: main()\nexcept SystemExit as done: assert done.code == 0\n"
        "slow = {'torch', 'pandas', 'optuna', 'scipy', 'sklearn', 'plotly', 'matplotlib'} & set(sys.modules)\n"
        "assert not slow, slow"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage: tunedprior" in done.stdout


def test_the_version_is_that_of_the_package(shell) -> None:
    assert shell("--version") == f"tunedprior {version('tunedprior')}\n"


@pytest.fixture
def python_s_own() -> Iterator[None]:
    """What Ctrl-C does is as it was afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("module", ["typer", "rich", "tunedprior.cli.commands.auditing", "tunedprior.errors"])
def test_ctrl_c_while_the_commands_are_imported_ends_it_quietly(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_AT, module, "status", "a.db"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (ExitCode.STOPPED, "", "")


def test_ctrl_c_while_a_command_imports_what_it_needs_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STOPPED_AT, "torch", "status", "a.db"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (ExitCode.STOPPED, "")
    assert " ".join(done.stderr.split()).startswith("Error: Stopped. What was recorded before stays")
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("python_s_own")
def test_ctrl_c_is_an_exception_within_a_command_alone() -> None:
    end_when_stopped()
    ends = signal.getsignal(signal.SIGINT)
    assert ends is not signal.default_int_handler
    with pytest.raises(KeyboardInterrupt), raise_when_stopped():
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is ends


@pytest.mark.usefixtures("python_s_own")
@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_somebody_else_chose_for_ctrl_c_stays(handler: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    end_when_stopped()
    with raise_when_stopped():
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


def test_one_code_for_ctrl_c() -> None:
    assert ExitCode.STOPPED == STOPPED == 130


def test_a_misspelt_command_or_option_is_answered_with_the_one_that_was_meant() -> None:
    for typed, meant in (("sugest a.db", "suggest"), ("suggest a.db --opne", "--open"), ("--verson", "--version")):
        done = CliRunner().invoke(app, typed.split(), env={"COLUMNS": "100"})
        assert done.exit_code == 2
        assert f"Did you mean {meant}" in done.output.replace("'", "")


def test_help_shows_what_is_to_be_typed() -> None:
    said = CliRunner().invoke(app, ["new", "--help"], env={"COLUMNS": "100"}).output
    assert "Usage: tunedprior new [OPTIONS] CAMPAIGN" in said.replace("root", "tunedprior")
    assert not [sign for sign in ("<str>", "<path>", "{", "x>=") if sign in said]
    assert all(word in said for word in ("FILE", "RESPONSE", "NUMBER"))
