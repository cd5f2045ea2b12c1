"""Every kind of thing that docs/adding.md says how to add is added from the files that it shows, and used."""

import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from botorch.acquisition import qUpperConfidenceBound
from typer.testing import CliRunner

import tunedprior.beliefs
from tunedprior import Optimizer, SearchConfig, TransferConfig, WeightPrior, pretrain
from tunedprior.acquisition.functions import forget_acquisition, register_acquisition
from tunedprior.audit import run_audit
from tunedprior.beliefs import forget
from tunedprior.cli import commands
from tunedprior.cli.app import make_app
from tunedprior.cli.registry import forget_command, register_command
from tunedprior.discovery import import_modules
from tunedprior.errors import FileFormatError, InputError
from tunedprior.kernels import WithBias, forget_kernel
from tunedprior.source_data.findings import Fault, Sheet, forget_check, register_check
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.tables import read_table
from tunedprior.tables.formats import TableFormat, forget_format

ROOT = Path(__file__).parents[1]
SHOWN = re.findall(r"^<!-- file: (\S+) -->$", (ROOT / "docs" / "adding.md").read_text("utf-8"), re.MULTILINE)
FILES = {Path(name).stem: (ROOT / name).read_text("utf-8") for name in SHOWN}
OLD = pd.DataFrame({"x": [k / 10 for k in range(11)], "y": [(k / 5 - 1) ** 2 + 0.2 * (k % 2) for k in range(11)]})
SPACE = {"x": (0.0, 1.0)}
#: With one input, the largest ν that are tried give matrices of low rank.
low_rank = pytest.mark.filterwarnings("ignore::tunedprior.errors.JitterWarning")


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Any]]:
    """Write a file of the page as it stands there, and import it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    added = []

    def add_file(name: str) -> Any:
        (tmp_path / f"{name}.py").write_text(FILES[name], encoding="utf-8")
        added.append(name)
        return import_module(name)

    yield add_file
    for name in added:
        sys.modules.pop(name, None)


def test_a_belief_makes_suggestions_by_its_name(add: Callable[[str], Any]) -> None:
    add("as_smooth_belief")
    try:
        opt = Optimizer(SPACE, OLD, direction="maximize", seed=0, transfer=TransferConfig(prior="as smooth"))
        opt.tell([{"x": 0.1}, {"x": 0.6}], [1.0, 2.0])
        assert 0 <= opt.ask()["x"] <= 1
    finally:
        forget("as smooth")
    with pytest.raises(InputError, match="as smooth"):
        Optimizer(SPACE, OLD, direction="maximize", transfer=TransferConfig(prior="as smooth"), seed=0)


def test_a_file_in_the_folder_of_beliefs_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "as_smooth.py").write_text(FILES["as_smooth_belief"], encoding="utf-8")
    monkeypatch.setattr(tunedprior.beliefs, "__path__", [*tunedprior.beliefs.__path__, str(tmp_path)])
    import_modules("tunedprior.beliefs")
    sys.modules.pop("tunedprior.beliefs.as_smooth")
    forget("as smooth")  # refuses a name that is not there


@low_rank
def test_a_kernel_is_learnt_with_saved_and_loaded(add: Callable[[str], Any], tmp_path: Path) -> None:
    path, x = tmp_path / "prior", torch.tensor([[0.2], [-0.7]], dtype=torch.float64)
    kind = add("cosh_kernel").Cosh
    try:
        assert (kind(2.0).compute_weights(3, num_inputs=1)[1::2] == 0).all()  # nothing that is odd
        for kernel in (kind(), WithBias(kind())):
            prior = pretrain(OLD, SPACE, kernel=kernel)
            prior.save(path)
            again = WeightPrior.load(path)
            assert type(again.base) is type(kernel)
            torch.testing.assert_close(again.fit(x), prior.fit(x))
            assert torch.equal(again.make_kernel()(x).to_dense(), prior.make_kernel()(x).to_dense())
    finally:
        forget_kernel("Cosh")
    with pytest.raises(FileFormatError, match=r"names a kernel 'Cosh'; known are .* or import the module"):
        WeightPrior.load(path)


@low_rank
def test_a_campaign_with_a_kernel_of_ones_own_goes_on(add: Callable[[str], Any], tmp_path: Path) -> None:
    kind = add("cosh_kernel").Cosh
    try:
        pretrain(OLD, SPACE, kernel=kind()).save(tmp_path / "prior")
        opt = Optimizer(
            SPACE, str(tmp_path / "prior"), direction="maximize", seed=0, transfer=TransferConfig(prior="reweighted")
        )
        opt.tell(opt.ask(), 1.0)
        opt.save(tmp_path / "campaign.json")
        assert Optimizer.load(tmp_path / "campaign.json").ask() == opt.ask()
    finally:
        forget_kernel("Cosh")


def test_an_acquisition_function_is_chosen_by_its_name(add: Callable[[str], Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="acquisition must be 'ei', 'ucb' or a BoTorch"):
        Optimizer(SPACE, direction="maximize", search=SearchConfig(acquisition="cautious"), seed=0)
    kind = add("cautious").Cautious
    try:
        by_name, by_class = (
            Optimizer(SPACE, OLD, direction="maximize", seed=0, search=SearchConfig(acquisition=one))
            for one in ("cautious", kind)
        )
        for opt in (by_name, by_class):
            opt.tell([{"x": 0.1}, {"x": 0.4}, {"x": 0.6}, {"x": 0.9}], [1.0, 2.0, 1.5, 1.2])
        setting = by_name.ask()
        assert setting == by_class.ask()
        assert "(cautious)" in str(by_name.explain(setting))
        by_name.save(tmp_path / "campaign.json")
        assert Optimizer.load(tmp_path / "campaign.json", old_data=OLD).ask() == by_name.ask()
        with pytest.raises(InputError, match="There is an acquisition function 'ei' already"):
            register_acquisition("ei")(kind)
    finally:
        forget_acquisition("cautious")


def test_an_acquisition_class_with_fixed_arguments_has_a_name_in_explanations() -> None:
    opt = Optimizer(
        SPACE,
        direction="maximize",
        seed=0,
        search=SearchConfig(acquisition=partial(qUpperConfidenceBound, beta=0.5), initial=2, design="sobol"),
    )
    opt.tell([{"x": 0.1}, {"x": 0.4}, {"x": 0.9}], [1.0, 2.0, 1.5])
    assert "qUpperConfidenceBound" in str(opt.explain(opt.ask()))


def test_a_model_makes_suggestions(add: Callable[[str], Any]) -> None:
    kind = add("linear_model").LinearModel
    opt = Optimizer(
        SPACE, direction="maximize", seed=0, search=SearchConfig(model=kind(Box.enclose(Space.parse(SPACE))))
    )
    opt.tell([{"x": 0.1}, {"x": 0.4}, {"x": 0.9}], [1.1, 1.9, 3.0])
    assert opt.ask()["x"] > 0.9  # straight on
    low, middle, high = opt.predict([{"x": 0.0}, {"x": 0.5}, {"x": 1.0}])["mean"]
    assert middle == pytest.approx((low + high) / 2)


def test_a_reader_reads_a_file(add: Callable[[str], Any], tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text(OLD.to_json(orient="records", lines=True), encoding="utf-8")
    with pytest.raises(FileFormatError, match="is JSON, not a table"):
        read_table(path, ["x", "y"], "Old data")
    add("json_lines")
    try:
        read = read_table(path, ["x", "y"], "Old data")
        pd.testing.assert_frame_equal(read.table.astype(float), OLD)
        assert read.format_place(2) == "line 3"
        assert [one.used for one in Optimizer(SPACE, path, direction="maximize", seed=0).old_data_report.sets] == [
            len(OLD)
        ]
        path.write_text('{"x": 1}\nnothing\n', encoding="utf-8")
        with pytest.raises(FileFormatError, match=r"line 2 of 'old.jsonl'"):
            read_table(path, ["x", "y"], "Old data")
        path.write_text("x,y\n1,2\n", encoding="utf-8")
        with pytest.raises(FileFormatError, match=r"damaged or misnamed: it ends in .jsonl \(JSON Lines\)"):
            read_table(path, ["x", "y"], "Old data")
        with pytest.raises(InputError, match="There is a format 'JSON Lines' already"):
            sys.modules["json_lines"].register_format(TableFormat("Other", (".jsonl",), (b"o",), read_table))
    finally:
        forget_format("JSON Lines")


def test_a_check_is_in_the_audit(add: Callable[[str], Any]) -> None:
    old = pd.DataFrame({"dry mass": [0.1, 0.9, -0.2, 0.5, 0.3], "y": [1.0, 3.0, 0.5, 2.0, 1.2]})
    space = {"dry mass": (-1.0, 1.0)}
    assert run_audit(old, space, rehearse=False).faults == ()
    add("mass_check")
    try:
        faults = run_audit(old, space, rehearse=False).faults
        assert [(one.kind, one.columns, one.rows) for one in faults] == [("negative mass", ("dry mass",), ("row 2",))]

        def find_row_numbers(_: Sheet) -> list[Fault]:
            return []

        with pytest.raises(InputError, match="There is a check 'find_row_numbers' already"):
            register_check(find_row_numbers)
    finally:
        forget_check("find_negative_masses")


def test_a_command_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "counting.py").write_text(FILES["counting"], encoding="utf-8")
    monkeypatch.setattr(commands, "__path__", [*commands.__path__, str(tmp_path)])
    (tmp_path / "space.yaml").write_text("parameters:\n  x: 0 to 1\ngoals:\n  y: maximize\n", encoding="utf-8")
    place = str(tmp_path / "campaign.db")
    try:
        program, run = make_app(), CliRunner()
        run.invoke(program, ["new", place, "--space", str(tmp_path / "space.yaml")])
        for x in ("x=0.1", "x=0.6"):
            run.invoke(program, ["record", place, x, "y=1"])
        assert run.invoke(program, ["count", place], catch_exceptions=False).output == "2 results.\n"
        assert run.invoke(program, ["count", place, "--json"]).output.split() == ["{", '"results":', "2", "}"]
        assert "Say how many results there are." in run.invoke(program, ["--help"]).output
        with pytest.raises(InputError, match="There is a command 'status' already"):
            register_command("status", panel="See")(make_app)
    finally:
        forget_command("count")
        sys.modules.pop("tunedprior.cli.commands.counting", None)
