"""Numbers as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunedprior.errors import InputError
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.space.search_space import Space
from tunedprior.web.entries import InvalidFormError, ResultForm, format_hint, format_short, parse_number


@pytest.mark.parametrize(
    ("text", "number"),
    [("3,5", 3.5), ("3.5", 3.5), (" 1e-3 ", 1e-3), ("−2", -2), ("+,5", 0.5), ("0,123", 0.123), ("12,3456", 12.3456),
     ("1.234", 1.234), ("5.", 5), ("1,5e3", 1500), ("1234,567", 1234.567)],
)  # fmt: skip
def test_numbers_with_points_and_commas(text: str, number: float) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize(
    "text",
    ["", "x", "1,234", "-12,345", "1.234,5", "1 234", "1'234.5", "1,2,3", "1.2.3", "0x10", "1_000", "inf", "nan",
     "1e400", "٣", "1 2", "--1", "5 g"],
)  # fmt: skip
def test_what_is_no_number_or_may_be_two(text: str) -> None:
    with pytest.raises(InputError):
        parse_number(text)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_come_back(number: float) -> None:
    assert parse_number(repr(number)) == number
    assert parse_number(format_short(number)) == pytest.approx(number, rel=1e-5)


def form_of(log: bool = False, **space: object) -> ResultForm:
    return ResultForm(Space.parse(space), Goals((Objective("y", log=log),)))


def test_what_may_be_set_is_said() -> None:
    space = Space.parse({"a": (20, 90, 5), "b": (0.0, 0.5), "c": [1.0, 2.5, 4.0], "d": ["x", "y"]})
    assert [format_hint(one) for one in space.parameters] == ["20 to 90 in steps of 5", "0 to 0.5", "1, 2.5, 4", ""]


def test_every_mistake_is_named_at_once() -> None:
    form = form_of(a=(0.0, 1.0), b=["x", "y"])
    with pytest.raises(InvalidFormError, match="3 entries need") as error:
        form.parse_entry({"p0": "a lot", "p1": "7", "r0": "?"})
    assert set(error.value.fields) == {"p0", "p1", "r0"}


def test_numbers_that_were_left_as_they_stood_keep_their_digits() -> None:
    form = form_of(a=(0.0, 1.0))
    shown = {"a": 0.123456789012345}
    (field,) = form.build_parameter_fields(shown)
    assert field.text == "0.123457"
    assert form.parse_entry({"p0": field.text, "r0": "1"}, shown).setting == shown
    assert form.parse_entry({"p0": "0.1234567", "r0": "1"}, shown).setting == {"a": 0.1234567}


def test_what_a_response_cannot_be() -> None:
    with pytest.raises(InvalidFormError) as error:
        form_of(log=True, a=(0.0, 1.0)).parse_entry({"p0": "0.5", "r0": "-1"})
    assert "above 0" in error.value.fields["r0"]


def test_what_has_no_place_in_a_line_is_left_out() -> None:
    entry = form_of(a=(0.0, 1.0)).parse_entry({"p0": "0.5", "r0": "1", "note": "a\x00b\nc", "who": "\tÄda "})
    assert (entry.note, entry.who) == ("a b c", "Äda")


def test_a_result_beyond_its_limits_is_sent_twice() -> None:
    form = ResultForm(Space.parse({"a": (0.0, 1.0)}), Goals((Objective("y", limits=(0.0, 100.0)),)))
    with pytest.raises(InvalidFormError) as error:
        form.parse_entry({"p0": "0.5", "r0": "130"})
    assert "0 to 100" in error.value.fields["r0"]
    assert "send it again" in error.value.fields["r0"]
    assert form.parse_entry({"p0": "0.5", "r0": "130", "refused-r0": "130"}).values == {"y": 130.0}
    with pytest.raises(InvalidFormError):
        form.parse_entry({"p0": "0.5", "r0": "140", "refused-r0": "130"})
