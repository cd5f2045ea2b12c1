"""A whole campaign in one file: it goes on as if there had been no break, and a damaged file is refused."""

import json
import math
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from botorch.acquisition import UpperConfidenceBound

from support.builders import MIXED, SPACE, mixed, smooth
from support.cases import table
from support.errors import raises
from support.optimizers import make_optimizer
from tunedprior import CampaignConfig, Goals, Optimizer, SearchConfig, Target, TransferConfig, pretrain
from tunedprior.errors import FileFormatError, InputError, OldDataWarning, TunedPriorError
from tunedprior.goals.goal import Requirement
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import History
from tunedprior.kernels import Polynomial, SquaredExponential
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.space.encoding import Box
from tunedprior.space.parameters import Categorical, Numeric
from tunedprior.space.search_space import Space
from tunedprior.storage.databases import get_study_attributes, set_study_attribute
from tunedprior.storage.file_guard import FileGuard

pytestmark = pytest.mark.usefixtures("short_search")


def old(count: int = 12) -> pd.DataFrame:
    points = table(count, 2).numpy()
    rows = pd.DataFrame({"a": points[:, 0], "b": 2.5 + 2.5 * points[:, 1]})
    return rows.assign(y=[smooth(row) for row in rows.to_dict("records")])


def campaign(**options) -> Optimizer:
    """With a failed run, a note, a column of the user's own, one withdrawn, one cancelled and one pending."""
    opt = make_optimizer(MIXED, direction="minimize", seed=5, noise_std=0.1, target="loss", initial=3, **options)
    batch = opt.ask(n=5)
    opt.tell(
        pd.DataFrame(batch[:2]).assign(operator=["Ada", None], start=[pd.Timestamp("2026-01-02"), None]),
        [1.5, math.nan],
    )
    opt.tell(batch[2] | {"x": 0.123}, 0.1 + 0.2, trial=batch[2], note="new bottle")
    opt.withdraw(1)
    opt.cancel(batch[3])
    return opt


def test_a_campaign_goes_on_as_if_there_had_been_no_break(tmp_path) -> None:
    path, opt = tmp_path / "campaign.json", campaign(acquisition="ucb", beta=2.0)
    opt.save(path)
    again = Optimizer.load(path)
    assert again.config == opt.config
    assert (again.suggester.initial, again.config.search.beta) == (3, 2.0)
    assert again.trials.told == opt.trials.told
    assert again.trials.pending == opt.trials.pending
    assert [trial.state for trial in again.trials.set_aside] == ["withdrawn", "cancelled"]
    assert again.trials.set_aside[0].extra == {"operator": "Ada", "start": "2026-01-02 00:00:00"}
    assert [type(value) for value in again.pending[0].values()] == [type(value) for value in opt.pending[0].values()]
    assert again.ask() == opt.ask()
    again.save(path)
    once_more = Optimizer.load(path)
    assert once_more.trials == again.trials


@pytest.mark.parametrize("choices", [["1", "01"], ["", "NA", None], [(1, 2), (3, (4,))], [math.nan, 2.5, "a"]], ids=str)
def test_every_kind_of_category_comes_back(choices: list, tmp_path) -> None:
    opt = Optimizer({"x": (0.0, 1.0), "n": choices}, direction="maximize", seed=0)
    opt.tell([{"x": 0.5, "n": choice} for choice in choices], np.arange(len(choices)))
    opt.save(tmp_path / "campaign.json")
    assert Optimizer.load(tmp_path / "campaign.json").trials == opt.trials


def test_a_category_that_no_file_can_hold_is_named(tmp_path) -> None:
    opt = Optimizer({"x": (0.0, 1.0), "n": [pd.Timestamp("2026-01-02"), "never"]}, direction="maximize", seed=0)
    with raises(InputError, "'n'", "category", "Timestamp", "saved"):
        opt.save(tmp_path / "campaign.json")
    assert list(tmp_path.iterdir()) == []


def test_what_came_from_elsewhere_still_does(tmp_path) -> None:
    history = History().append_pending({"a": 0.5, "b": 2.0}, substitute=True)
    told = history.append_result({"a": 0.5, "b": 2.0}, 1.0, history.pending[0]).append_pending({"a": -0.5, "b": 1.0})
    assert [trial.substitute for trial in told.trials] == [True, False]
    Optimizer(SPACE, direction="maximize", seed=0).resume(told).save(tmp_path / "campaign.json")
    assert Optimizer.load(tmp_path / "campaign.json").trials == told


@pytest.mark.parametrize(
    "kind", [Numeric, Categorical, Objective, Requirement, TransferConfig, SearchConfig, CampaignConfig]
)
def test_every_field_is_saved(kind: type, tmp_path) -> None:
    """A field that is added later comes back, without anything to be done for it."""
    goals = Goals.parse(objectives={"loss": "minimize", "y": Target(1.0)}, requirements={"pure": "pass"})
    opt = make_optimizer(MIXED, objectives=goals)
    opt.save(tmp_path / "campaign.json")
    config = json.loads((tmp_path / "campaign.json").read_text())["config"]
    parameters = {one["type"]: one for one in config["space"]["parameters"]}
    saved = {
        Numeric: parameters["number"],
        Categorical: parameters["category"],
        Objective: config["goals"]["objectives"][0],
        Requirement: config["goals"]["requirements"][0],
        TransferConfig: config["transfer"],
        SearchConfig: config["search"] | dict.fromkeys(("model", "cost")),  # which are given again
        CampaignConfig: config,
    }
    assert set(saved[kind]) - {"type"} == {field.name for field in fields(kind)}


# -- old data ------------------------------------------------------------------------------------------


def test_old_data_is_read_again_from_where_it_was(tmp_path) -> None:
    (tmp_path / "lab").mkdir()
    path = tmp_path / "lab" / "campaign.json"
    old().to_csv(tmp_path / "lab" / "old.csv", index=False)
    opt = Optimizer(SPACE, tmp_path / "lab" / "old.csv", direction="maximize", seed=1)
    opt.tell({"a": 0.0, "b": 1.0}, 1.0)
    opt.save(path)
    assert Optimizer.load(path).ask() == opt.ask()
    moved = (tmp_path / "lab").rename(tmp_path / "elsewhere")  # with all that is in it
    assert (
        Optimizer.load(moved / "campaign.json").config.transfer.sources[0].fingerprint
        == opt.config.transfer.sources[0].fingerprint
    )
    Optimizer.load(moved / "campaign.json", old_data=old())  # the same as a table: no warning
    old(11).to_csv(moved / "old.csv", index=False)
    with pytest.warns(OldDataWarning, match="not what it was when the campaign was saved"):
        Optimizer.load(moved / "campaign.json")
    (moved / "old.csv").unlink()
    with raises(InputError, "'old data'", "no such file"):
        Optimizer.load(moved / "campaign.json")


@pytest.mark.filterwarnings("ignore:.*(no column 'b'|nothing about b):tunedprior.errors.OldDataWarning")
def test_old_data_that_lacks_a_column_comes_back(tmp_path) -> None:
    old().drop(columns="b").to_csv(tmp_path / "old.csv", index=False)
    opt = Optimizer(SPACE, tmp_path / "old.csv", direction="maximize", seed=1)
    opt.tell({"a": 0.0, "b": 1.0}, 1.0)
    opt.save(tmp_path / "campaign.json")
    assert Optimizer.load(tmp_path / "campaign.json").ask() == opt.ask()
    with pytest.warns(OldDataWarning, match="not what it was when the campaign was saved"):
        Optimizer.load(tmp_path / "campaign.json", old_data=old().assign(b=2.5))  # the same numbers, but they count


def test_old_data_that_was_no_file_is_given_again(tmp_path) -> None:
    path, sets = tmp_path / "campaign.json", {"A": old(12), "B": old(9)}
    Optimizer(SPACE, sets, direction="maximize", seed=0).save(path)
    with raises(InputError, "'A'", "no file"):
        Optimizer.load(path)
    with raises(InputError, "'B'", "no file"):
        Optimizer.load(path, old_data={"A": sets["A"]})
    with raises(InputError, "A, B", "C"):
        Optimizer.load(path, old_data={"C": sets["A"]})
    assert [one.name for one in Optimizer.load(path, old_data=sets).config.transfer.sources] == ["A", "B"]
    with pytest.warns(OldDataWarning, match=r"saved \(B\)"):
        Optimizer.load(path, old_data=sets | {"B": sets["B"].assign(y=-sets["B"]["y"])})


def test_a_learnt_prior_has_a_fingerprint_too(tmp_path) -> None:
    prior = pretrain(old(), SPACE)
    prior.save(tmp_path / "a.prior")
    opt = Optimizer(SPACE, prior, direction="maximize", transfer=TransferConfig(prior="reweighted"), seed=0)
    opt.save(tmp_path / "campaign.json")
    again = Optimizer.load(tmp_path / "campaign.json", old_data=type(prior).load(tmp_path / "a.prior"))
    assert again.config.transfer.sources == opt.config.transfer.sources
    with pytest.warns(OldDataWarning, match="not what it was"):
        Optimizer.load(tmp_path / "campaign.json", old_data=pretrain(old(11), SPACE))


# -- what no file can hold -----------------------------------------------------------------------------


def test_objects_are_given_again(tmp_path) -> None:
    path, model = tmp_path / "campaign.json", StandardSurrogate(Box.enclose(Space.parse(SPACE)))
    for options in (
        {"model": model},
        {"acquisition": partial(UpperConfidenceBound, beta=2.0)},
        {"cost": lambda setting: 1.0 + abs(setting["a"])},
        {"kernel": OwnKernel(), "old_data": old()},
    ):
        make_optimizer(SPACE, seed=3, **options).save(path, overwrite=True)
        name = next(iter(options))
        with pytest.raises(InputError, match=f"Give them again: .*{name}=…"):
            Optimizer.load(path, old_data=options.get("old_data"))
        assert Optimizer.load(path, **options).seed == 3
    shared = Optimizer(SPACE, direction="minimize", seed=0).suggester
    Optimizer.from_suggester(shared, seed=4).save(path, overwrite=True)
    assert Optimizer.load(path, suggester=shared).seed == 4
    with raises(InputError, "suggester", "another space"):
        Optimizer.load(path, suggester=Optimizer(SPACE, direction="maximize", seed=0).suggester)


class OwnKernel(SquaredExponential):
    """A kernel that does not say how it is saved."""


class OwnAcquisition(UpperConfidenceBound):
    """An acquisition function of a user's own, in a module."""


@pytest.mark.parametrize("acquisition", [UpperConfidenceBound, OwnAcquisition])
def test_acquisition_classes_and_kernels_are_found_again(acquisition: type, tmp_path) -> None:
    path, options = tmp_path / "campaign.json", {"kernel": Polynomial(degree=3, offset=0.5), "acquisition": acquisition}
    make_optimizer(SPACE, old(), **options).save(path)
    again = Optimizer.load(path, old_data=old())
    assert again.config.search.acquisition is acquisition
    assert str(again.config.transfer.kernel) == str(options["kernel"])
    content = path.read_text()
    for named in ("os:system", "tunedprior:Optimizer", f"{__name__}:NoSuchClass", "nowhere.to_be_found:Class"):
        path.write_text(content.replace(f"{acquisition.__module__}:{acquisition.__qualname__}", named))
        with raises(FileFormatError, named, "Import its module"):
            Optimizer.load(path, old_data=old())
    assert "nowhere" not in sys.modules


def test_a_class_within_a_function_is_given_again(tmp_path) -> None:
    class Local(UpperConfidenceBound):
        pass

    make_optimizer(SPACE, acquisition=Local).save(tmp_path / "campaign.json")
    with raises(InputError, "Give them again", "acquisition=…"):
        Optimizer.load(tmp_path / "campaign.json")


def test_some_arguments_may_change_and_some_may_not(tmp_path) -> None:
    make_optimizer(SPACE, beta=2.0).save(path := tmp_path / "campaign.json")
    changed = Optimizer.load(path, acquisition="ucb")
    assert (changed.config.search.acquisition, changed.config.search.beta) == ("ucb", 2.0)
    assert Optimizer.load(path, search=SearchConfig("ucb"), seed=7).config.search.beta == "brochu"
    assert Optimizer.load(path, transfer=TransferConfig("uninformed")).config.transfer.prior == "uninformed"
    with pytest.raises(TypeError, match="direction"):
        Optimizer.load(path, direction="minimize")


def test_a_configuration_makes_the_same_campaign_again() -> None:
    opt = make_optimizer(SPACE, old(), prior="reweighted", initial=3, relation="unknown", target="y")
    again = Optimizer.from_config(opt.config, old())
    assert again.config == opt.config
    assert [again.ask(), again.ask()] == [opt.ask(), opt.ask()]


def test_a_seed_that_is_left_out_is_drawn_and_recorded(tmp_path) -> None:
    one, other = Optimizer(SPACE, direction="maximize"), Optimizer(SPACE, direction="maximize")
    assert one.seed != other.seed
    one.save(tmp_path / "campaign.json")
    assert Optimizer.load(tmp_path / "campaign.json").seed == one.seed
    url = f"sqlite:///{tmp_path / 'a.db'}"
    assert (
        Optimizer(SPACE, direction="maximize", storage=url).seed
        == Optimizer(SPACE, direction="maximize", storage=url).seed
    )


def test_what_is_wanted_must_be_said() -> None:
    with raises(InputError, "direction", "no default"):
        Optimizer(SPACE)


# -- files that are none -------------------------------------------------------------------------------


def test_a_file_that_was_cut_off_says_so(tmp_path) -> None:
    path = tmp_path / "campaign.json"
    campaign().save(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with raises(FileFormatError, "campaign.json", "damaged", "ends in the middle"):
        Optimizer.load(path)


def test_a_damaged_file_is_refused(tmp_path) -> None:
    path = tmp_path / "campaign.json"
    campaign().save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(whole), 60):
        path.write_bytes(whole[:position])
        with raises(FileFormatError, "damaged"):
            Optimizer.load(path)
    for position in rng.integers(0, len(whole), 150):
        path.write_bytes(whole[:position] + bytes([rng.integers(256)]) + whole[position + 1 :])
        with suppress(TunedPriorError):
            Optimizer.load(path)  # a digit may have become another


@pytest.mark.parametrize(
    ("where", "what", "facts"),
    [
        (("format",), "something else", ("not hold a campaign",)),
        (("version",), 5, ("version 5", "up to 4")),
        (("trials", 1, "value"), 3.5, ("trials", "journal")),
        (("journal", 1, "who"), "nobody", ("entry 2", "checksum")),
        (("more",), 1, ("extra field", "more")),
        (("config", "seed"), -1, ("seed",)),
        (("config", "seed"), "0", ("seed",)),
        (("config", "space", "parameters"), [], ("search space",)),
        (("config", "space", "parameters", 0, "low"), 7, ("search space", "(x)")),
        (("config", "space", "parameters", 0, "high"), "inf", ("search space", "(x)")),
        (("config", "space", "parameters", 2, "step"), 0, ("search space", "(layers)")),
        (("config", "space", "parameters", 4, "choices"), [], ("search space", "(gas)")),
        (("trials", 0, "value"), "high", ("value",)),
        (("trials", 0, "value"), 3.5, ("value", "'complete'")),
        (("trials", 1, "value"), None, ("'complete'", "no value")),
        (("trials", 0, "id"), 3, ("trial 3", "2 times")),
        (("trials", 0, "setting"), [0.5], ("setting", "search space")),
        (("trials", 0, "setting", 0), "0.5", ("setting", "search space")),
        (("trials", 2, "suggested"), None, ("trial 5", "'pending'", "suggested")),
    ],
)
def test_what_makes_no_sense_is_refused(where: tuple, what: object, facts: tuple[str, ...], tmp_path) -> None:
    path = tmp_path / "campaign.json"
    campaign().save(path)
    content = json.loads(path.read_text())
    inner = content
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = what
    path.write_text(json.dumps(content))
    with raises(FileFormatError, *facts):
        Optimizer.load(path)


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (("config", "space", "parameters", 0, "high"), 1.1),
        (("config", "space", "parameters", 0, "low"), -0.1),
        (("config", "space", "parameters", 4, "choices", 0), "ari"),
        (("config", "seed"), 6),
        (("config", "goals", "objectives", 0, "direction"), "maximize"),
        (("config", "search", "beta"), 2.5),
        (("config", "goals", "objectives", 0, "noise_std"), 0.2),
        (("config", "search", "initial"), 4),
        (("config", "goals", "objectives", 0, "name"), "lots"),
        (("config", "search", "failures"), "worst"),
        (("config", "id"), "bcdfghjkmn"),
        (("config", "transfer", "sources"), [{"name": "A", "path": None, "fingerprint": "0"}]),
        (("checksum",), ""),
        (("entries",), 3),
    ],
)
def test_an_argument_that_was_changed_in_the_file_is_noticed(where: tuple, what: object, tmp_path) -> None:
    """It makes sense, and the campaign would go on as another one."""
    path = tmp_path / "campaign.json"
    campaign(acquisition="ucb", beta=2.0).save(path)
    content = json.loads(path.read_text())
    inner = content
    for step in where[:-1]:
        inner = inner[step]
    assert inner[where[-1]] != what
    inner[where[-1]] = what
    path.write_text(json.dumps(content))
    given = {"old_data": {"A": pd.DataFrame()}} if where[-1] == "sources" else {}
    with raises(FileFormatError, "campaign.json", "changed since", "copy"):
        Optimizer.load(path, **given)


def test_what_does_not_define_a_campaign_may_be_changed(tmp_path) -> None:
    """The form of the JSON, versions of libraries, and where old data lies."""
    old().to_csv(tmp_path / "old.csv", index=False)
    opt = Optimizer(SPACE, tmp_path / "old.csv", direction="maximize", seed=1)
    opt.tell({"a": 0.0, "b": 1.0}, 1.0)
    opt.save(tmp_path / "campaign.json")
    content = json.loads((tmp_path / "campaign.json").read_text())
    (tmp_path / "old.csv").rename(tmp_path / "moved.csv")
    content["config"]["transfer"]["sources"][0]["path"] = "moved.csv"
    content["versions"]["torch"] = "0"
    (tmp_path / "campaign.json").write_text(json.dumps(content, indent=4, sort_keys=True))
    assert Optimizer.load(tmp_path / "campaign.json").trials == opt.trials


def test_arguments_that_were_changed_in_a_database_are_noticed(tmp_path) -> None:
    opt = Optimizer(SPACE, direction="maximize", storage=f"sqlite:///{tmp_path}/a.db", seed=0)
    key, piece = next((key, one) for key, one in get_study_attributes(opt.study).items() if ":piece:" in key)
    middle = len(piece) // 2  # of the last letter, some bits are padding
    set_study_attribute(opt.study, key, piece[:middle] + chr(ord(piece[middle]) ^ 1) + piece[middle + 1 :])
    with raises(FileFormatError, "damaged", "copy"):
        Optimizer.load(f"sqlite:///{tmp_path}/a.db")


@pytest.mark.parametrize("content", [b"", b"null", b"[" * 100_000, b"\xff\xfe", b"x,y\n1,2\n", b'{"format": 3}'])
def test_other_files_are_refused(content: bytes, tmp_path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(FileFormatError):
        Optimizer.load(tmp_path / "other")


def test_folders_and_missing_files_are_named(tmp_path) -> None:
    with raises(InputError, "folder"):
        Optimizer(SPACE, direction="maximize", seed=0).save(tmp_path)
    with raises(InputError, "no file"):
        Optimizer.load(tmp_path / "campaign.json")


# -- in words ------------------------------------------------------------------------------------------


def test_an_optimiser_in_a_few_lines() -> None:
    text = repr(campaign())
    assert text.splitlines()[0] == "<Optimizer"
    assert "goal: minimize loss" in text
    assert "results: 2, 1 of them failed" in text
    assert "best: 0.3 at x=0.123," in text
    assert "open: 1 (trial 5)" in text
    assert "cancelled or withdrawn: 2 (trials 1, 4)" in text
    assert "prior: average, without old data" in text
    assert "best: none yet" in repr(Optimizer(SPACE, direction="maximize", seed=0))
    assert "6 settings" in repr(
        Optimizer({"speed": [98, 63, 48], "gas": ["air", "argon"]}, direction="maximize", seed=0)
    )
    assert "prior: average, with old data>" in repr(Optimizer(SPACE, old(), direction="maximize", seed=0))
    assert "prior: the model Average" in repr(
        Optimizer.from_suggester(Optimizer(SPACE, direction="maximize", seed=0).suggester)
    )


def test_in_a_notebook_names_are_text() -> None:
    html = Optimizer(
        {"<b>x</b>": (0.0, 1.0), "y": (0.0, 1.0)}, direction="maximize", target="<script>", seed=0
    )._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in html
    assert "<script>" not in html


def test_trials_and_histories_in_a_line() -> None:
    opt = campaign()
    assert repr(opt.trials) == "<History: 2 told, 1 pending, 2 set aside>"
    assert repr(opt.trials.told[1]).startswith("<Trial 3: x=0.123, ")
    assert repr(opt.trials.told[1]).endswith(": complete 0.3 (new bottle)>")
    assert mixed(opt.best.setting) is not None


# -- under a kill --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_kill_while_saving_loses_nothing() -> None:
    """In a process of its own: what is forked must have no other threads."""
    tool = Path(__file__).parents[1] / "nets" / "kill_while_saving.py"
    run = subprocess.run([sys.executable, str(tool), "5"], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("5 kills, ")


# -- nobody's results are replaced ---------------------------------------------------------------------


def test_two_sessions_do_not_replace_each_others_results(tmp_path) -> None:
    path = tmp_path / "campaign.json"
    Optimizer(SPACE, direction="maximize", seed=1).save(path)
    mine, theirs = Optimizer.load(path), Optimizer.load(path)
    mine.tell(mine.ask(), 77.7)
    mine.save(path)
    mine.save(path)  # as often as one likes
    theirs.tell(theirs.ask(), 1.0)
    with raises(InputError, "changed since"):
        theirs.save(path)
    assert Optimizer.load(path).best.value == 77.7
    theirs.save(path, overwrite=True)
    assert Optimizer.load(path).best.value == 1.0


def test_a_file_of_another_kind_is_not_replaced(tmp_path) -> None:
    path = tmp_path / "history.csv"
    path.write_text("my notebook")
    with raises(InputError, "saved", "loaded"):
        Optimizer(SPACE, direction="maximize", seed=0).save(path)
    assert path.read_text() == "my notebook"


def test_two_who_save_at_the_same_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is refused, as the first one's results are in the file by then."""
    path = tmp_path / "a.json"
    Optimizer({"x": (0.0, 1.0)}, direction="maximize", seed=0).save(path)
    both = [Optimizer.load(path) for _ in range(2)]
    for value, opt in enumerate(both):
        opt.tell({"x": 0.5}, float(value))
    check = FileGuard.refuse_unknown

    def slowly(self: FileGuard, *arguments: object) -> None:
        check(self, *arguments)
        time.sleep(0.3)

    def saved(opt: Optimizer) -> str:
        try:
            opt.save(path)
        except InputError as error:
            return str(error)
        return "saved"

    monkeypatch.setattr(FileGuard, "refuse_unknown", slowly)
    with ThreadPoolExecutor(2) as pool:
        said = sorted(pool.map(saved, both))
    assert (said[1], "was changed since" in said[0]) == ("saved", True)
    assert len(Optimizer.load(path).trials) == 1
    assert list(tmp_path.iterdir()) == [path]
