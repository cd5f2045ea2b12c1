import pytest

from tunedprior.errors import InputError
from tunedprior.goals.goal import Target
from tunedprior.workspace.beginnings import collect_goals, parse_old_data_options, parse_requirement_options


def test_goals_come_from_the_file_and_from_what_is_typed() -> None:
    found = collect_goals({"yield": "maximize"}, [], ["cost"], ["length=500"])
    assert found == {"yield": "maximize", "cost": "minimize", "length": Target(500.0)}
    assert collect_goals({"yield": "maximize"}, ["yield"], [], []) == {"yield": "maximize"}
    with pytest.raises(InputError, match="--maximize yield"):
        collect_goals({}, [], [], [])


def test_requirements() -> None:
    assert parse_requirement_options(["a<=3", "a b > 2", "by pass pass"]) == {
        "a": "<=3",
        "a b": "> 2",
        "by pass": "pass",
    }
    for wrong in ("pass", ">= 3", "", "purity"):
        with pytest.raises(InputError, match="A requirement is written"):
            parse_requirement_options([wrong])


def test_old_data_is_called_as_its_file_or_as_typed(tmp_path) -> None:
    (tmp_path / "a=b.csv").touch()
    assert parse_old_data_options([f"{tmp_path}/a=b.csv"]) == {"a=b": f"{tmp_path}/a=b.csv"}
    assert parse_old_data_options(["pilot=runs/a.csv", "b.csv"]) == {"pilot": "runs/a.csv", "b": "b.csv"}
    assert parse_old_data_options([]) is None
    with pytest.raises(InputError, match="two old data sets called 'a'"):
        parse_old_data_options(["x/a.csv", "y/a.csv"])
