"""`tunedprior report`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tunedprior import Optimizer
from tunedprior.cli.app import app
from tunedprior.cli.output import ExitCode

pytestmark = pytest.mark.usefixtures("short_search", "coarse_pictures")


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    opt = Optimizer(
        {"x": (0.0, 1.0)},
        direction="maximize",
        storage=f"sqlite:///{tmp_path / 'campaign.db'}",
        name="fibres & <co>",
        seed=0,
    )
    opt.tell([{"x": 0.1}, {"x": 0.6}], [1.0, 2.0])
    return tmp_path / "campaign.db"


def test_a_page_is_written(campaign: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", str(campaign), "-o", str(page), "--json"])
    assert done.exit_code == ExitCode.FINE, done.output
    assert json.loads(done.stdout)["report"] == str(page)
    text = page.read_text()
    assert "<h1>fibres &amp; &lt;co&gt;</h1>" in text
    assert "Plotly.newPlot" in text
    again = CliRunner().invoke(app, ["report", str(campaign), "-o", str(page)])
    assert again.exit_code == ExitCode.FINE  # a report may replace a report
    assert "Wrote" in again.output


def test_nothing_but_a_page_is_replaced(campaign: Path, tmp_path: Path) -> None:
    before = campaign.read_bytes()
    for wrong in (campaign, tmp_path, tmp_path / "nowhere" / "report.html"):
        done = CliRunner().invoke(app, ["report", str(campaign), "-o", str(wrong), "--json"])
        assert done.exit_code == ExitCode.REFUSED
        assert json.loads(done.stdout)["error"]["kind"] == "InputError"
    assert campaign.read_bytes() == before
