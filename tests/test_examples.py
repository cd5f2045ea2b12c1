"""Every example runs as a user would run it, and says what it should."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
# What an example needs besides the package itself, where that is an extra.
NEEDS = {"ray_tune.py": "ray", "dask_workers.py": "optuna_integration"}
long = pytest.mark.skipif("TUNEDPRIOR_INTEGRATIONS" not in os.environ, reason="takes long: make test-integrations")


def said_by(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def said_by_processes(name: str) -> str:
    """What an example says that starts processes of its own, and has one itself."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers_after(words: str, text: str) -> list[float]:
    return [float(found) for found in re.findall(rf"{words}\s*(-?\d+\.\d+)", text)]


def test_xor_example_shows_the_corrected_figures(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said_by("01_xor.py", capsys).splitlines()
    said = {line[:18].strip(): line[18:] for line in lines}
    assert said["alpha"] == "[-1.0, 1.0, 1.0, -1.0] / 8"
    assert said["g(1, 1)"] == "-1.0"
    assert said["prior variances"] == "[0.0, 0.0, 0.0, 0.0, 0.5, 0.0]"
    assert said["coefficients of g"] == "[0.0, 0.0, 0.0, 0.0, -1.0, 0.0]"
    left, right = said["K(x, x')"].split(" = ")
    assert left == right == "-0.054"
    assert lines[-1].endswith("is -1.0")


def test_the_p_norm_example_solves_dual_and_primal(capsys: pytest.CaptureFixture[str]) -> None:
    text = said_by("02_p_norm.py", capsys)
    said = {line[:18].strip(): line[18:] for line in text.splitlines()}
    dual, primal = map(float, said["dual = primal"].split(" = "))
    assert dual == pytest.approx(primal, abs=1e-5)
    assert dual > 0
    for name, most in (("gradient off by", 1e-4), ("weights off by", 1e-5), ("fixed point off by", 1e-6)):
        assert float(said[name]) < most, name
    (spread,), (sparse,) = (numbers_after("others up to", said[name]) for name in ("p = 2", "p = 4/3"))
    assert sparse < 0.3 * spread
    (before,), (after,) = (numbers_after("error", said[name]) for name in ("p = 2", "p = 4/3"))
    assert after < 0.3 * before
    (product,), (moments,) = numbers_after("g\\(x'\\)", text), numbers_after("=", said["g(x) g(x')"])
    (aligned,), (left_open,) = numbers_after("aligned", text), numbers_after("\\+", said["aligned"])
    assert product == moments
    assert aligned == pytest.approx(moments + left_open, abs=2e-6)


def test_every_example_is_run_here() -> None:
    named = set(re.findall(r"[\"/](\w+\.py)\"", Path(__file__).read_text(encoding="utf-8")))
    assert {path.name for path in EXAMPLES.glob("*.py")} <= named


def test_the_botorch_loop_is_faster_with_old_data(capsys: pytest.CaptureFixture[str]) -> None:
    informed, uninformed = numbers_after("runs:", said_by("botorch_loop.py", capsys))
    assert informed > 38
    assert informed > uninformed


def test_scikit_learn_predicts_better_with_old_data(capsys: pytest.CaptureFixture[str]) -> None:
    informed, uninformed = numbers_after("error", said_by("scikit_learn.py", capsys))
    assert informed < 0.5 * uninformed


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of BayBE
def test_the_baybe_campaign_comes_near_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("baybe")
    said = said_by("baybe_campaign.py", capsys)
    (found,), (most,) = numbers_after("runs:", said), numbers_after("of", said)[-1:]
    assert found > 0.9 * most


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of Ax
def test_the_ax_client_comes_near_the_best(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ax")
    (found,) = numbers_after("runs:", said_by("ax_client.py", capsys))
    assert found < -0.28


def test_an_old_study_helps_a_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    said = said_by("optuna_study.py", capsys)
    (informed,), (uninformed,) = numbers_after("with old data:", said), numbers_after("without:", said)
    assert informed > 52 > uninformed
    assert "Old data explains" in said


@long
def test_workers_without_the_old_file() -> None:
    said = said_by_processes("joblib_workers.py")
    assert "13 trials, 13 different settings" in said
    assert numbers_after("best yield:", said)[0] > 60
    assert "Old data explains" in said


@long
def test_ray_tune_finds_good_settings() -> None:
    assert numbers_after("twelve trials:", said_by_processes("ray_tune.py"))[0] > 0.9


@long
def test_dask_workers_find_better_than_the_old_best() -> None:
    said = said_by_processes("dask_workers.py")
    assert "12 trials, 12 different settings" in said
    (found,), (before,) = numbers_after("error found:", said), numbers_after("light oven's best:", said)
    assert found < before
