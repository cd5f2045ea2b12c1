"""Campaigns, histories and priors that earlier versions wrote load, and go on as they would have gone on then.

`tests/support/saved` has files of format 3, and in `expected_v3.json` what the version that wrote them suggested and
predicted next: a setting, and mean, standard deviations and more of one at (heat 40, flow 1, gas air).
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tunedprior import Optimizer

SAVED = Path(__file__).parents[1] / "support" / "saved"
EXPECTED = json.loads((SAVED / "expected_v3.json").read_text())
SPACE = {"heat": (20.0, 90.0), "flow": (0.1, 4.0, "log"), "gas": ["air", "argon"]}
pytestmark = pytest.mark.filterwarnings("ignore:.*averaged over. cost")
ASKED = [{"heat": 40.0, "flow": 1.0, "gas": "air"}]


def measure(setting: dict) -> float:
    """The response that the campaigns were run with."""
    gas = 2 * (setting["gas"] == "air")
    return round(float(-20 * np.sin(setting["heat"] / 20) + 3 * np.log(setting["flow"]) + gas), 3)


def assert_goes_on(opt: Optimizer, suggested: dict, name: str) -> None:
    expected, predicted = EXPECTED[name]
    assert suggested["gas"] == expected["gas"]
    numbers = ("heat", "flow")
    assert [suggested[one] for one in numbers] == pytest.approx([expected[one] for one in numbers], rel=1e-6)
    assert opt.predict(ASKED).iloc[0].tolist() == pytest.approx(predicted, rel=1e-6)


def test_a_campaign_in_a_file() -> None:
    opt = Optimizer.load(SAVED / "campaign_v3.json")
    assert (len(opt.trials.told), opt.trials.trials[0].note, len(opt.journal)) == (6, "checked", 17)
    assert_goes_on(opt, opt.ask(), "campaign_v3.json")


def test_a_campaign_in_a_database(tmp_path: Path) -> None:
    shutil.copy(SAVED / "campaign_v3.db", tmp_path)
    opt = Optimizer.load(f"sqlite:///{tmp_path / 'campaign_v3.db'}", name="two")
    assert len(opt.trials.told) == 5
    assert_goes_on(opt, opt.suggester.suggest(opt.trials, seed=11), "campaign_v3.db")


def test_a_history_as_a_table() -> None:
    opt = Optimizer(SPACE, SAVED / "old_v3.csv", target="yield", direction="maximize", seed=7)
    opt.resume(SAVED / "history_v3.csv")
    assert len(opt.trials.told) == 6
    assert set(opt.ask()) == set(SPACE)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("prior")])
def test_a_prior(name: str) -> None:
    space = SPACE | ({"flow": (0.1, 4.0)} if "anonymous" in name else {})
    opt = Optimizer(space, SAVED / name, prior="reweighted", seed=2)
    for _ in range(4):
        setting = opt.ask()
        opt.tell(setting, measure(setting))
    assert_goes_on(opt, opt.ask(), name)
