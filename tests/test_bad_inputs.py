"""More than a thousand bad inputs: each works, or is refused by an error of ours that says what to do."""

from collections import Counter

import pytest

from support.bad_inputs.catalogue import CASES, PARTS, Case
from support.bad_inputs.runner import USERS, outcome_of
from support.errors import lacks, raises


def test_there_are_many_and_of_every_kind() -> None:
    assert len(CASES) >= 1000
    assert max(Counter(case.code for case in CASES).values()) == 1
    assert Counter(case.part for case in CASES).keys() == {part.__name__ for part in PARTS}
    assert min(Counter(case.verdict for case in CASES)[verdict] for verdict in ("refused", "warned", "taken")) > 40


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_works_or_says_what_to_do(case: Case) -> None:
    outcome = outcome_of(case.code)
    said = [text for _, _, text in outcome["warnings"]]
    assert all(package == "tunedprior" for package, _, _ in outcome["warnings"]), said
    assert all(file == USERS for _, file, _ in outcome["warnings"]), "warnings name the line of the user's code"
    if case.verdict == "refused":
        assert outcome["error"], "it was taken"
        assert outcome["ours"], f"{outcome['error']}: {outcome['message']} ({outcome['where']})"
        assert outcome["error"] == case.kind
        assert lacks(outcome["message"], *case.facts) == [], outcome["message"]
        assert len(outcome["message"]) < 1500
        assert outcome["harm"] == ""
    else:
        assert outcome["error"] == "", outcome["message"]
        assert bool(said) == (case.verdict == "warned"), said
        assert any(text.startswith(f"{case.kind}:") for text in said) == (case.verdict == "warned"), said
        assert lacks(" ".join(said), *case.facts) == [], said


@pytest.mark.parametrize(
    ("fact", "message", "named"),
    [
        ("'x'", "Parameter 'x' is wrong", True),
        ("x", "the maximum is wrong", False),
        ("temp", "TEMP is wrong", True),
        ("1", "got 10", False),
        ("1", "got 1.5", False),
        ("1", "got 0.1", False),
        ("1", "got 1. Write 2", True),
        ("-1", "got -1", True),
    ],
)
def test_facts_are_whole_words_and_numbers(fact: str, message: str, named: bool) -> None:
    assert (lacks(message, fact) == []) == named


def test_an_error_must_be_of_the_kind_and_name_the_facts() -> None:
    with raises(ValueError, "seed", "-1"):
        raise ValueError("seed must be 0 or more; got -1")
    with pytest.raises(AssertionError, match="-2"), raises(ValueError, "seed", "-2"):
        raise ValueError("seed must be 0 or more; got -1")
