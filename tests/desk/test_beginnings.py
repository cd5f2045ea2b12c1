import pytest

from tunedprior.desk.beginnings import goals_of, old_data_of, requirements_of
from tunedprior.errors import InputError
from tunedprior.problem.goals import Target


def test_goals_come_from_the_file_and_from_what_is_typed() -> None:
    found = goals_of({"yield": "maximize"}, [], ["cost"], ["length=500"])
    assert found == {"yield": "maximize", "cost": "minimize", "length": Target(500.0)}
    assert goals_of({"yield": "maximize"}, ["yield"], [], []) == {"yield": "maximize"}
    with pytest.raises(InputError, match="--maximize yield"):
        goals_of({}, [], [], [])


def test_requirements() -> None:
    assert requirements_of(["a<=3", "a b > 2", "by pass pass"]) == {"a": "<=3", "a b": "> 2", "by pass": "pass"}
    for wrong in ("pass", ">= 3", "", "purity"):
        with pytest.raises(InputError, match="A requirement is written"):
            requirements_of([wrong])


def test_old_data_is_called_as_its_file_or_as_typed(tmp_path) -> None:
    (tmp_path / "a=b.csv").touch()
    assert old_data_of([f"{tmp_path}/a=b.csv"]) == {"a=b": f"{tmp_path}/a=b.csv"}
    assert old_data_of(["pilot=runs/a.csv", "b.csv"]) == {"pilot": "runs/a.csv", "b": "b.csv"}
    assert old_data_of([]) is None
    with pytest.raises(InputError, match="two old data sets called 'a'"):
        old_data_of(["x/a.csv", "y/a.csv"])
