"""What the tests have checked while they run: shapes, types, and nothing that one call leaves to the next."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import pytest
import torch
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float
from torch import Tensor

from support.typecheck import NUMERICAL, SWITCH, checker, is_numerical, jaxtyped
from tunedprior.numerics import linalg
from tunedprior.space.parameters import Numeric

checked = jaxtyped(typechecker=checker)


@pytest.fixture(autouse=True)
def _checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SWITCH, "on", True)


@checked
def product(left: Float[Tensor, "n k"], right: "Float[Tensor, 'k m'] | None" = None) -> Float[Tensor, "n m"]:
    return left if right is None else left @ right


@checked
def halved(number: float) -> float:
    return number / 2 if number else "nothing"


@checked
@dataclass(frozen=True)
class Pair:
    one: Float[Tensor, "n 1"]
    other: Float[Tensor, "n 1"]
    name: str = ""


@checked
def counted(upto: int) -> Iterator[int]:
    yield from range(upto)


def test_axes_have_one_length_in_a_call_and_another_in_the_next() -> None:
    assert product(torch.ones(2, 3), torch.ones(3, 4)).shape == (2, 4)
    assert product(torch.ones(5, 1), right=torch.ones(1, 2)).shape == (5, 2)
    with pytest.raises(BeartypeCallHintViolation, match="right"):
        product(torch.ones(2, 3), torch.ones(4, 3))
    with pytest.raises(BeartypeCallHintViolation, match="left"):
        product(torch.ones(2, 3, dtype=torch.int64), torch.ones(3, 4))


def test_axes_are_those_of_the_innermost_call() -> None:
    @checked
    def outer(x: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        product(x.T, x)
        return x

    assert outer(torch.ones(2, 3)).shape == (2, 3)


def test_results_are_checked_too() -> None:
    @checked
    def shorter(x: Float[Tensor, "n 1"]) -> Float[Tensor, "n 1"]:
        return x[1:]

    with pytest.raises(BeartypeCallHintViolation, match="return"):
        shorter(torch.ones(3, 1))
    with pytest.raises(BeartypeCallHintViolation, match="return"):
        halved(0.0)


def test_whole_numbers_will_do_but_text_will_not() -> None:
    assert halved(3) == 1.5
    assert list(counted(2)) == [0, 1]
    with pytest.raises(BeartypeCallHintViolation, match="number"):
        halved("3")


def test_dataclasses_are_checked_as_they_are_made() -> None:
    for length in (2, 3):
        assert len(Pair(torch.ones(length, 1), torch.ones(length, 1), "pair").one) == length
    with pytest.raises(BeartypeCallHintViolation, match="other"):
        Pair(torch.ones(2, 1), torch.ones(3, 1))
    with pytest.raises(BeartypeCallHintViolation, match="name"):
        Pair(torch.ones(2, 1), torch.ones(2, 1), 3)


def test_the_package_is_checked() -> None:
    with pytest.raises(BeartypeCallHintViolation):
        linalg.cholesky(torch.ones(2, 3))
    with pytest.raises(BeartypeCallHintViolation):
        Numeric.scale(Numeric("x", 0.0, 1.0), "half")


def test_what_is_checked_is_there() -> None:
    """A package that is renamed must not go unchecked."""
    assert [name for name in NUMERICAL if find_spec(name) is None] == []


def test_only_tests_of_numerical_packages_are_checked() -> None:
    assert is_numerical("tests/kernels/test_theorem.py::test_it")
    assert is_numerical("src/tunedprior/numerics/linalg.py::tunedprior.numerics.linalg.cholesky")
    assert not is_numerical("tests/web/test_pages.py::test_models")
    assert not is_numerical("docs/models.md::models.md")


def test_nothing_is_checked_while_the_switch_is_off() -> None:
    SWITCH.on = False
    assert halved(0.0) == "nothing"
    assert product(torch.ones(2, 3), None).shape == (2, 3)
    SWITCH.on = True
    with pytest.raises(BeartypeCallHintViolation, match="return"):
        halved(0.0)
