"""Every example runs as a user would run it, and says what it should."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_xor_example_shows_the_corrected_figures(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "01_xor.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    said = {line[:18].strip(): line[18:] for line in lines}
    assert said["alpha"] == "[-1.0, 1.0, 1.0, -1.0] / 8"
    assert said["g(1, 1)"] == "-1.0"
    assert said["prior variances"] == "[0.0, 0.0, 0.0, 0.0, 0.5, 0.0]"
    assert said["coefficients of g"] == "[0.0, 0.0, 0.0, 0.0, -1.0, 0.0]"
    left, right = said["K(x, x')"].split(" = ")
    assert left == right == "-0.054"
    assert lines[-1].endswith("is -1.0")
