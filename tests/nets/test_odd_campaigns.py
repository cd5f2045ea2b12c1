"""The quick size of `make campaigns`: a few steps of each kind of response."""

import pytest

from nets.odd_campaigns import RESPONSES, Campaign


@pytest.mark.usefixtures("short_search")
@pytest.mark.parametrize("name", RESPONSES)
def test_odd_responses_do_no_harm(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nets.odd_campaigns.ASKED_UP_TO", 3)
    inputs = 1 + len(name) % 2
    found = Campaign(name, inputs, with_old=False).run(steps=8)
    assert found.problems == []
    assert (found.steps, found.asks) == (8, 3)


@pytest.mark.usefixtures("short_search")
def test_nor_with_old_data() -> None:
    assert Campaign("30 % fail", 2, with_old=True).run(steps=5).problems == []


def test_a_problem_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks themselves can fail."""
    monkeypatch.setattr("nets.odd_campaigns.Optimizer.ask", lambda _self: {"x0": 7.0})
    found = Campaign("constant", 1, with_old=False).run(steps=1)
    assert found.problems == ["step 0: x0 = 7.0 outside -1.0 to 1.0", "step 0: InputError: " + found.problems[1][20:]]
