"""One reader for whatever holds a table, and one clear error for whatever does not."""

import gzip
import os
import zipfile
from contextlib import suppress
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest
import torch

from support.errors import raises
from tunedprior.errors import FileFormatError, InputError
from tunedprior.tables import parse_numbers, read_table

NAMES = ("temp", "flow", "y")
TABLE = pd.DataFrame({"temp": [20.0, 30.0], "flow": [1.0, 2.5], "y": [0.5, 0.7]})
CSV = TABLE.to_csv(index=False)


class Foreign:
    """A table of another package."""

    def to_pandas(self) -> pd.DataFrame:
        return TABLE


SOURCES = {
    "table": (TABLE, "row 1"),
    "table with an index": (TABLE.set_axis(["run 3", "run 7"]), "row 'run 7'"),
    "table with whole numbers as an index": (TABLE.set_axis([3, 7]), "row 7"),
    "column in the index": (TABLE.set_index("temp"), "row 30.0"),
    "two columns in the index": (TABLE.set_index(["temp", "flow"]), "row (30.0, 2.5)"),
    "text": (StringIO(CSV), "line 3"),
    "bytes": (BytesIO(CSV.encode()), "line 3"),
    "packed bytes": (BytesIO(gzip.compress(CSV.encode())), "line 3"),
    "records": (TABLE.to_dict("records"), "row 1"),
    "columns": (TABLE.to_dict("list"), "row 1"),
    "columns of arrays": ({name: TABLE[name].to_numpy() for name in NAMES}, "row 1"),
    "columns of tensors": ({name: torch.tensor(TABLE[name].to_numpy(), requires_grad=True) for name in NAMES}, "row 1"),
    "columns of unlike indices": ({name: TABLE[name].set_axis([k, k + 1]) for k, name in enumerate(NAMES)}, "row 1"),
    "structured array": (TABLE.to_records(index=False), "row 1"),
    "big-endian": (np.array([(20, 1, 0.5), (30, 2.5, 0.7)], dtype=[(name, ">f8") for name in NAMES]), "row 1"),
    "foreign table": (Foreign(), "row 1"),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_is_the_same_table(kind: str) -> None:
    source, where = SOURCES[kind]
    found = read_table(source, NAMES, "Old data")
    assert {name: parse_numbers(found.table[name])[0].tolist() for name in NAMES} == TABLE.to_dict("list")
    assert found.table.index.tolist() == [0, 1]
    assert found.format_place(1) == where
    assert all("index" in sentence for sentence in found.remarks)


def write_workbook(path: Path, sheets: dict[str, pd.DataFrame], first_row: int = 0) -> None:
    with pd.ExcelWriter(path) as writer:
        for name, table in sheets.items():
            table.to_excel(writer, sheet_name=name, index=False, startrow=first_row)


def write_zip(path: Path, **members: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)


FILES = {
    "x.csv": lambda path: path.write_text(CSV),
    "x": lambda path: path.write_text(CSV),
    "x.txt": lambda path: path.write_text(CSV.replace(",", "\t")),
    "x.csv.gz": lambda path: TABLE.to_csv(path, index=False),
    "x.csv.bz2": lambda path: TABLE.to_csv(path, index=False),
    "x.csv.xz": lambda path: TABLE.to_csv(path, index=False),
    "x.csv.zip": lambda path: TABLE.to_csv(path, index=False),
    "x.parquet": lambda path: TABLE.to_parquet(path),
    "y.parquet": lambda path: TABLE.set_index("flow").to_parquet(path),
    "x.xlsx": lambda path: write_workbook(path, {"data": TABLE}),
    "y.xlsx": lambda path: write_workbook(path, {"notes": pd.DataFrame({"y": ["hello"]}), "data": TABLE}, 3),
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_the_same_table(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    FILES[name](path)
    for source in (path, str(path), path.open("rb")):
        found = read_table(source, NAMES, "Old data")
        assert {one: parse_numbers(found.table[one])[0].tolist() for one in NAMES} == TABLE.to_dict("list")
        assert found.origin == name
    source.close()


UNREAD = (
    "Sheet 'data' is read, and not 'notes', which also holds rows. To learn from another sheet, save it as a file of "
    "its own."
)


def test_sheets_without_rows_are_not_worth_a_word(tmp_path: Path) -> None:
    sheets = {"data": TABLE, "empty": pd.DataFrame(), "title": pd.DataFrame(columns=["y"])}
    write_workbook(tmp_path / "x.xlsx", sheets)
    assert read_table(tmp_path / "x.xlsx", NAMES, "Old data").remarks == ()
    write_workbook(tmp_path / "x.xlsx", sheets | {"more": TABLE, "notes": TABLE[["flow"]]})
    (said,) = read_table(tmp_path / "x.xlsx", NAMES, "Old data").remarks
    assert said.startswith("Sheet 'data' is read, and not 'more', 'notes', which also hold rows.")


def test_a_sheet_is_chosen_by_its_names_and_rows_are_the_sheets(tmp_path: Path) -> None:
    FILES["y.xlsx"](tmp_path / "y.xlsx")
    found = read_table(tmp_path / "y.xlsx", NAMES, "Old data")
    assert found.remarks == (UNREAD,)
    assert [found.format_place(0), found.format_place(1)] == ["row 5", "row 6"]


def test_cells_of_a_sheet_keep_their_types(tmp_path: Path) -> None:
    kinds = pd.DataFrame({"kind": ["NA", "01", 2, None, pd.Timestamp(2020, 1, 2)], "y": [1, 0.5, 0, 3, 4]})
    write_workbook(tmp_path / "x.xlsx", {"data": kinds})
    found = read_table(tmp_path / "x.xlsx", ["kind", "y"], "Old data")
    assert found.table["kind"].tolist() == ["NA", "01", 2, None, pd.Timestamp(2020, 1, 2)]
    assert parse_numbers(found.table["y"])[0].tolist() == [1, 0.5, 0, 3, 4]


def test_an_opendocument_sheet(tmp_path: Path) -> None:
    cells = [["temp", "y"], ["20", "0.5"]]
    rows = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p></table:table-cell>' for cell in row
        )
        + "</table:table-row>"
        for row in cells
    )
    spaces = " ".join(
        f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "table", "text")
    )
    content = (
        f"<office:document-content {spaces}><office:body><office:spreadsheet>"
        f'<table:table table:name="data">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    write_zip(tmp_path / "x.ods", **{"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})
    found = read_table(tmp_path / "x.ods", ["temp", "y"], "Old data")
    assert found.table.to_dict("records") == [{"temp": "20", "y": "0.5"}]


def test_columns_with_whole_numbers_for_names_are_known() -> None:
    found = read_table(pd.DataFrame([[1, 2, 3]]), ["0", "1", "y"], "Old data")
    assert found.table.columns.tolist() == ["0", "1", "2"]
    assert found.remarks == ()


def test_one_row() -> None:
    for row in (TABLE.iloc[1], TABLE.iloc[1].to_dict(), TABLE.to_records(index=False)[1]):
        assert read_table(row, NAMES, "Old data").table.to_dict("records") == [{"temp": 30.0, "flow": 2.5, "y": 0.7}]


def test_the_table_is_a_copy() -> None:
    mine = TABLE.copy()
    found = read_table(mine, NAMES, "Old data")
    mine.loc[0, "y"] = 99.0
    assert found.table["y"].tolist() == [0.5, 0.7]


def test_a_study_is_a_table_of_its_finished_trials() -> None:
    space = {
        "temp": optuna.distributions.FloatDistribution(0, 100),
        "gas": optuna.distributions.CategoricalDistribution(["NA", None]),
    }
    study = optuna.create_study(study_name="old")
    states = optuna.trial.TrialState
    for gas, state, value in [("NA", states.COMPLETE, 1.5), (None, states.FAIL, None), ("NA", states.PRUNED, None)]:
        params = {"temp": 20.0, "gas": gas}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, state=state, value=value))
    study.ask()
    study.add_trial(optuna.trial.create_trial(params={"temp": 30.0, "gas": None}, distributions=space, value=2.5))
    found = read_table(study, ["temp", "gas", "y"], "Old data")
    assert found.table.to_dict("list") == {
        "temp": [20.0, 20.0, 30.0],
        "gas": ["NA", None, None],
        "y": [1.5, "failed", 2.5],
    }
    assert found.format_place(2) == "trial 4"
    assert "left out: 2" in found.remarks[0]
    assert read_table(optuna.create_study(), NAMES, "Old data").table.shape == (0, 3)
    with pytest.raises(InputError, match="parameter 'temp'"):
        read_table(study, ["temp"], "Old data")
    with pytest.raises(InputError, match="2 objectives"):
        read_table(optuna.create_study(directions=["minimize", "maximize"]), NAMES, "Old data")


@pytest.mark.parametrize("form", ["table", "file"])
def test_a_table_of_trials_is_the_study(form: str, tmp_path: Path) -> None:
    """As `study.trials_dataframe()` gives it."""
    space = {
        "temp": optuna.distributions.FloatDistribution(0, 100),
        "gas": optuna.distributions.CategoricalDistribution(["argon", "air"]),
    }
    study, states = optuna.create_study(), optuna.trial.TrialState
    for gas, state, value in [("air", states.COMPLETE, 1.5), ("argon", states.FAIL, None), ("air", states.PRUNED, 9.0)]:
        params = {"temp": 20.5, "gas": gas}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, state=state, value=value))
    source, names = study.trials_dataframe(), ["temp", "gas", "loss"]
    if form == "file":
        source.to_csv(tmp_path / "trials.csv")
        source = tmp_path / "trials.csv"
    found = read_table(source, names, "Old data")
    assert found.table.astype(str).to_dict("list") == {
        "gas": ["air", "argon"],
        "temp": ["20.5", "20.5"],
        "loss": ["1.5", "failed"],
    }
    assert "'params_temp' for 'temp'" in found.remarks[-2]
    assert "left out: 1" in found.remarks[-1]
    other = pd.DataFrame({"params_temp": [1.0], "value": [2.0], "y": [3.0]})
    assert list(read_table(other, NAMES, "Old data").table) == ["params_temp", "value", "y"]


def test_of_several_values_each_has_its_name() -> None:
    table = pd.DataFrame(
        {"number": [0], "values_cost": [1.0], "values_0": [2.0], "params_temp": [3.0], "state": ["TrialState.COMPLETE"]}
    )
    found = read_table(table, ["temp", "cost"], "Old data").table
    assert found.to_dict("list") == {"temp": [3.0], "cost": [1.0], "values_0": [2.0]}


@pytest.mark.parametrize(
    ("source", "facts"),
    [
        (None, ("NoneType",)),
        (3.5, ("float",)),
        ([], ("empty",)),
        ({}, ("empty dict",)),
        (TABLE.to_numpy(), ("shape (2, 3)", "pandas.DataFrame(array, columns=['temp', 'flow', 'y'])")),
        (torch.ones(2, 3), ("pandas.DataFrame",)),
        ([[1, 2, 3]], ("pandas.DataFrame",)),
        ([TABLE, TABLE], ("pandas.DataFrame",)),
        (TABLE[["temp", "flow", "y", "y"]], ("'y'", "more than once")),
        (pd.DataFrame([[1, 2]], columns=[0, "0"]), ("'0'", "more than once")),
        (pd.concat({"a": TABLE}, axis=1), ("several levels",)),
        ({"temp": [1, 2], "y": [1]}, ("'temp' has 2", "'y' has 1")),
        ({"temp": [1, 2], "y": 1}, ("'y'", "list")),
        ({"temp": np.ones((2, 2)), "y": [1, 2]}, ("shape (2, 2)",)),
        ("nowhere.csv", ("no file", "'nowhere.csv'")),
        ("temp,y\n1,2", ("io.StringIO",)),
        ("https://example.org/x.csv", ("https://example.org/x.csv", "download")),
        ("x" * 5000, ("'xxx",)),
        ("\0", ("file",)),
        (os.curdir, ("folder",)),
        (os.devnull, ("no file",)),
        (StringIO(""), ("empty",)),
    ],
    ids=lambda value: repr(value)[:20] if not isinstance(value, str) else value[:20],
)
def test_what_is_no_table_is_refused(source, facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        read_table(source, NAMES, "Old data")


def test_files_that_are_closed_or_opened_for_writing_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "x.csv").open("w+") as file:
        file.write(CSV)
    with pytest.raises(InputError, match="closed"):
        read_table(file, NAMES, "Old data")
    with (tmp_path / "x.csv").open("w") as file, pytest.raises(InputError, match="not readable"):
        read_table(file, NAMES, "Old data")


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zip", ".xlsx", ".parquet"])
def test_misnamed_and_damaged_files_are_named(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"x{ending}"
    path.write_text(CSV)
    with pytest.raises(FileFormatError, match="damaged or misnamed"):
        read_table(path, NAMES, "Old data")
    FILES[{".xlsx": "x.xlsx", ".parquet": "x.parquet"}.get(ending, f"x.csv{ending}")](path)
    whole = path.read_bytes()
    (tmp_path / "x.csv").write_bytes(whole)
    with pytest.raises(FileFormatError, match=f"which ends in {ending}"):
        read_table(tmp_path / "x.csv", NAMES, "Old data")
    generator = np.random.default_rng(0)
    for _ in range(40):
        cut = bytearray(whole[: generator.integers(1, len(whole))] if generator.random() < 0.5 else whole)
        for place in generator.integers(len(cut), size=3):
            cut[place] = generator.integers(256)
        path.write_bytes(cut)
        with suppress(FileFormatError, InputError):
            read_table(path, NAMES, "Old data")


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.tables.formats.MOST_BYTES", 10_000)
    for name in FILES:
        if name.startswith("x.csv."):
            (tmp_path / name).write_bytes(b"")
            pd.DataFrame({"y": np.zeros(10_000)}).to_csv(tmp_path / name, index=False)
            assert (tmp_path / name).stat().st_size < 1000
            with pytest.raises(InputError, match="holds more than"):
                read_table(tmp_path / name, NAMES, "Old data")


def test_an_archive_of_several_files_is_refused(tmp_path: Path) -> None:
    write_zip(tmp_path / "x.zip", **{"a.csv": CSV, "b.csv": CSV})
    with pytest.raises(InputError, match="must hold one file"):
        read_table(tmp_path / "x.zip", NAMES, "Old data")
    write_zip(tmp_path / "y.zip", **{"a.csv": CSV, "__MACOSX/._a.csv": "", "folder/": ""})
    assert len(read_table(tmp_path / "y.zip", NAMES, "Old data")) == 2


def test_a_missing_reader_is_told_before_anything_of_a_workbook_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "old.xls"
    path.write_bytes(b"\xd0\xcf\x11\xe0")
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(InputError, match=r'pip install "tunedprior\[files\]"'):
        read_table(path, ["x"], "Old data")


@pytest.mark.parametrize(("name", "package"), [("x.xlsx", "python_calamine"), ("x.parquet", "pyarrow")])
def test_a_missing_package_is_named(name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FILES[name](tmp_path / name)
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(InputError, match=r'pip install "tunedprior\[files\]"'):
        read_table(tmp_path / name, NAMES, "Old data")
