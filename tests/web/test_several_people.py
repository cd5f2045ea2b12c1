"""Several people, several clicks, several servers: each result is taken once, and whoever comes late is told."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from support.served import page_of
from tunedprior.errors import InputError
from tunedprior.web import idempotency
from tunedprior.web.entries import Entry, FormConflictError, ResultForm
from tunedprior.web.shared import SharedCampaign

pytestmark = pytest.mark.usefixtures("calm")


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as threads:
        return [one.result() for one in [threads.submit(call) for call in calls]]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except InputError as error:
        return error


def test_a_double_click_is_one_result(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    form = {**ada.form(f"/trials/{number}/result"), "r0": "2"}
    people = [lab.ada for _ in range(6)]
    for one in people:
        one.client.cookies = ada.client.cookies
    at_once(*(partial(one.send, "", form, to=f"/trials/{number}/result") for one in people))
    assert [(one.status, one.url) for one in people] == [(200, f"/trials/{number}")] * 6
    assert [one.value for one in lab.record.trials.told] == [2.0]


def test_who_comes_late_sees_what_was_told(lab) -> None:
    ada, bob = lab.ada, lab.ada
    (number,) = ada.ask()
    bob.open("/")
    ada.send(f"/trials/{number}/result", r0="2", who="Ada")
    bob.send(f"/trials/{number}/result", r0="3", note="mine", who="Bob")
    assert bob.status == 409
    assert f"Trial {number} has a result meanwhile" in bob.page.words
    assert "What is recorded yield 2 (Ada)" in bob.page.words
    assert "What you typed yield 3 mine" in bob.page.words
    assert [one.value for one in lab.record.trials.told] == [2.0]


def test_somebody_elses_form_from_before_an_undo_is_a_result_of_its_own(lab) -> None:
    ada, bob = lab.ada, lab.ada
    (number,) = ada.ask()
    bob.open("/")
    ada.send(f"/trials/{number}/result", r0="2")
    ada.send(f"/trials/{number}/undo")
    bob.send(f"/trials/{number}/result", r0="3")
    assert bob.status == 200  # the suggestion is open again
    assert [(one.id, one.value) for one in lab.record.trials.told] == [(number, 3.0)]


def test_a_suggestion_that_was_run_after_all_is_not_cancelled(lab) -> None:
    ada, bob = lab.ada, lab.ada
    (number,) = ada.ask()
    form = bob.open("/").form(f"/trials/{number}/result")
    ada.send(f"/trials/{number}/result", r0="2")
    bob.send("", form, to=f"/trials/{number}/cancel")
    assert bob.status == 409
    assert "was run after all" in bob.page.words
    assert len(lab.record.trials.told) == 1


def test_two_servers_take_a_result_once(lab) -> None:
    servers = [SharedCampaign(lab.opened) for _ in range(2)]
    for round_ in range(5):
        suggestion = lab.record.ask()
        entries = [Entry(dict(suggestion), {"yield": value}) for value in (1.0, 2.0)]
        calls = [partial(one.tell, suggestion.trial, entry) for one, entry in zip(servers, entries, strict=True)]
        found = at_once(*(partial(outcome, call) for call in calls))
        assert len(lab.record.trials.told) == round_ + 1
        assert sum(isinstance(one, FormConflictError) for one in found) >= 1


def test_two_servers_take_a_run_of_ones_own_once(lab) -> None:
    servers = [SharedCampaign(lab.opened) for _ in range(2)]
    entry = Entry({"heat": 40, "acid": 0.5}, {"yield": 1.0})
    for round_ in range(5):
        form = idempotency.make_form_number()
        at_once(*(partial(outcome, partial(one.tell_unasked, form, entry)) for one in servers * 2))
        assert len(lab.record.trials.told) == round_ + 1
        assert servers[1].tell_unasked(form, entry).id == lab.record.trials.told[-1].id


def test_servers_that_were_held_up_take_a_run_once_all_the_same(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "LEASE", 0.0)  # every claim has lapsed at once
    servers = [SharedCampaign(lab.opened) for _ in range(3)]
    form, entry = idempotency.make_form_number(), Entry({"heat": 40, "acid": 0.5}, {"yield": 1.0})
    at_once(*(partial(outcome, partial(one.tell_unasked, form, entry)) for one in servers))
    history = lab.record.trials
    assert [one.id for one in history.told] == [1]
    assert all(one.note == "recorded twice" for one in history.set_aside)


def test_a_run_that_is_refused_can_be_sent_again(lab) -> None:
    campaign, form = SharedCampaign(lab.opened), idempotency.make_form_number()
    with pytest.raises(InputError, match="heat"):
        campaign.tell_unasked(form, Entry({"heat": 4000, "acid": 0.5}, {"yield": 1.0}))
    assert campaign.tell_unasked(form, Entry({"heat": 40, "acid": 0.5}, {"yield": 1.0})).id == 1
    with pytest.raises(InputError, match="no number of its own"):
        campaign.tell_unasked("7", Entry({"heat": 40, "acid": 0.5}, {"yield": 1.0}))


def test_a_form_survives_a_server_that_is_started_anew(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    form = {**ada.form(f"/trials/{number}/result"), "r0": "2"}
    ada.client.app = ada.client._transport.app = page_of(lab.path)
    ada.send("", form, to=f"/trials/{number}/result")
    assert ada.status == 200
    assert lab.record.trials.told[0].value == 2


def test_what_others_write_into_the_file_is_seen_at_once(lab) -> None:
    ada = lab.ada.open()
    version = ada.client.get("/state").json()["version"]
    lab.record.tell({"heat": 40, "acid": 0.5}, 7.5)
    assert ada.client.get("/state").json()["version"] != version
    assert "yield 7.5" in ada.open().page.words


def test_the_same_result_is_recognised(lab) -> None:
    form = ResultForm(lab.record.space, lab.record.suggester.goals)
    lab.record.tell({"heat": 40, "acid": 0.5}, 7.5, note="so")
    told = lab.record.trials.told[0]
    same = form.parse_entry({"p0": "40", "p1": "0,5", "r0": "7.50", "note": " so "})
    assert same.is_told_by(told, form.goals)
    others = ({"r0": "7.6"}, {"p0": "45"}, {"note": "no"}, {"r0": "", "outcome": "failed"})
    for other in others:
        entry = form.parse_entry({"p0": "40", "p1": "0,5", "r0": "7.50", "note": "so", **other})
        assert not entry.is_told_by(told, form.goals)
