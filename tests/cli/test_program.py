import subprocess
import sys


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
