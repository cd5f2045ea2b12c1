"""More than a thousand bad inputs: each works, or is refused by an error of ours that says what to do."""

import json
import os
from collections import Counter
from typing import Any

import pytest
from filelock import FileLock  # comes with PyTorch

from support.bad_inputs.catalogue import CASES, PARTS, Case, outcomes, says
from support.bad_inputs.runner import USERS


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of each case; all are run once, by whichever worker of pytest-xdist comes first."""
    base = tmp_path_factory.getbasetemp()
    file = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "bad_inputs.json"
    with FileLock(file.with_suffix(".lock")):
        if not file.exists():
            file.write_text(json.dumps(outcomes()))
    return json.loads(file.read_text())


def test_there_are_many_and_of_every_kind() -> None:
    assert len(CASES) >= 1000
    assert max(Counter(case.code for case in CASES).values()) == 1
    assert Counter(case.part for case in CASES).keys() == {part.__name__ for part in PARTS}
    assert min(Counter(case.verdict for case in CASES)[verdict] for verdict in ("refused", "warned", "taken")) > 40


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_works_or_says_what_to_do(case: Case, found: dict[str, Any]) -> None:
    outcome = found[case.code]
    said = [text for _, _, text in outcome["warnings"]]
    assert all(package == "tunedprior" for package, _, _ in outcome["warnings"]), said
    assert all(file == USERS for _, file, _ in outcome["warnings"]), "warnings name the line of the user's code"
    if case.verdict == "refused":
        assert outcome["error"], "it was taken"
        assert outcome["ours"], f"{outcome['error']}: {outcome['message']} ({outcome['where']})"
        assert says(outcome["message"], case.words), outcome["message"]
        assert len(outcome["message"]) < 1500
        assert outcome["harm"] == ""
    else:
        assert outcome["error"] == "", outcome["message"]
        assert bool(said) == (case.verdict == "warned"), said
        assert says(" ".join(said), case.words), said


@pytest.mark.parametrize(("text", "words", "held"), [("a b c", "a … c", True), ("a b c", "c … a", False)])
def test_words_are_looked_for_in_order(text: str, words: str, held: bool) -> None:
    assert says(text, words) is held
