"""Campaigns, histories and priors that earlier versions wrote load, and go on as they would have gone on then.

`tests/support/saved` has files of format 3, and in `expected_v3.json` what the version that wrote them suggested and
predicted next: a setting, and mean, standard deviations and more of one at (heat 40, flow 1, gas air). The
files of goals are of the version before a campaign had one configuration.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from support.errors import raises
from tunedprior import Optimizer, TransferConfig
from tunedprior.errors import FileFormatError, InputError

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
    opt = Optimizer(space, SAVED / name, direction="maximize", seed=2, transfer=TransferConfig(prior="reweighted"))
    for _ in range(4):
        setting = opt.ask()
        opt.tell(setting, measure(setting))
    assert_goes_on(opt, opt.ask(), name)


GOALS = json.loads((SAVED / "expected_goals_v3.json").read_text())
ASKED_OF_GOALS = [{"heat": 40.0, "flow": 1.0, "count": 3, "level": 1.0, "gas": "air"}]


@pytest.mark.filterwarnings("ignore:.*says nothing about gas:tunedprior.errors.OldDataWarning")
@pytest.mark.parametrize("name", ["goals_v3.json", "goals_v3.db"])
def test_goals_constraints_and_relations(name: str, tmp_path: Path) -> None:
    """Everything that a configuration may have, as the version before there was one wrote it."""
    shutil.copy(SAVED / name, tmp_path)
    shutil.copy(SAVED / "old_goals_v3.csv", tmp_path)
    path = tmp_path / name
    opt = Optimizer.load(path if name.endswith("json") else f"sqlite:///{path}")
    goals, transfer, search = opt.config.goals, opt.config.transfer, opt.config.search
    assert opt.id == (GOALS["id"] if name.endswith("json") else opt.config.id)
    assert (
        goals.describe() == "maximize yield, minimize cost, bring length to 4 to 5, where purity >= 0.5, works passes"
    )
    assert [one.limits for one in goals.objectives] == [(0, 100), (-np.inf, np.inf), (0, np.inf)]
    assert (goals.bounds, [one.log for one in goals.objectives]) == ({"yield": 20, "cost": -40}, [False, True, False])
    assert str(opt.space.constraints[0]) == "heat + 2*count <= 100"
    assert (transfer.relations, search.design, search.failures, search.initial) == (
        {"last year": "opposite"},
        "sobol",
        "worst",
        4,
    )
    setting, predicted = GOALS[name]
    suggested = list(opt.ask().values())
    assert suggested[4] == (tuple(setting[4]) if isinstance(setting[4], list) else setting[4])
    assert suggested[:4] == pytest.approx(setting[:4], rel=1e-6)
    assert opt.predict(ASKED_OF_GOALS).iloc[0].tolist() == pytest.approx(predicted, rel=1e-6)
    if name.endswith("json"):
        opt.save(tmp_path / "again.json")
        assert Optimizer.load(tmp_path / "again.json").config == opt.config


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (("seed",), 5),
        (("aims", "bounds", "yield"), 21.0),
        (("space", 0, "low"), 19.0),
        (("relations", "last year"), "same"),
    ],
)
def test_a_changed_argument_is_noticed(where: tuple, what: object, tmp_path: Path) -> None:
    content = json.loads((SAVED / "goals_v3.json").read_text())
    inner = content["arguments"]
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = what
    (tmp_path / "a.json").write_text(json.dumps(content))
    with raises(FileFormatError, "changed since"):
        Optimizer.load(tmp_path / "a.json", old_data=SAVED / "old_goals_v3.csv")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """Whatever is missing or of another type: an error of ours names the file."""
    whole = json.loads((SAVED / "goals_v3.json").read_text())
    for name in whole["arguments"]:
        for what in (None, 3, "x", [], {}, [None], [{}]):
            content = whole | {"arguments": whole["arguments"] | {name: what}}
            if content != whole:
                (tmp_path / "a.json").write_text(json.dumps(content))
                with pytest.raises((FileFormatError, InputError)) as caught:
                    Optimizer.load(tmp_path / "a.json", old_data=SAVED / "old_goals_v3.csv")
                assert isinstance(caught.value, FileFormatError) or name in ("objects", "constraints"), name
