"""What takes time is worked out aside."""

import re
import threading
import time

import pandas as pd
import pytest

from support.served import SECONDS
from tunedprior import Optimizer
from tunedprior.errors import InputError
from tunedprior.web import idempotency
from tunedprior.web.background import SuggestionWorker

# Threads share what is said of warnings: what one keeps quiet may be an error in another.
pytestmark = [pytest.mark.usefixtures("short_search"), pytest.mark.filterwarnings("ignore")]


def worker_of(lab) -> SuggestionWorker:
    return SuggestionWorker(lab.opened, lab.record.study)


def test_what_is_expected_is_worked_out_aside_and_compared(lab) -> None:
    ada = lab.ada
    for number, value in zip(ada.ask(3), ("1", "2", "1.5"), strict=True):
        ada.open("/").send(f"/trials/{number}/result", r0=value)
    (number,) = ada.ask()
    for _ in range(50 * SECONDS):
        if "Being worked out" not in ada.open("/").page.words:
            break
        time.sleep(0.02)
    assert re.search(r"Predicted: [\d.-]+ \([\d.-]+ to [\d.-]+\)", ada.page.words)
    assert "Recommended setting (by the model)" in ada.page.words
    ada.send(f"/trials/{number}/result", r0="999")
    assert "and it lies above that: a surprise" in ada.page.words


def test_pages_are_read_while_it_thinks_and_the_form_counts_once(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()
    ask = Optimizer.ask

    def slowly(self, *args, **kwargs):
        begun.set()
        assert go_on.wait(SECONDS)
        return ask(self, *args, **kwargs)

    monkeypatch.setattr(Optimizer, "ask", slowly)
    ada, bob = lab.ada.open(), lab.ada
    form = ada.form("/suggestions")
    ada.send("/suggestions", form, count="2")
    assert begun.wait(SECONDS)
    assert ada.url == f"/suggestions/{form['form']}"
    assert "Thinking" in ada.page.words
    assert "http-equiv" in ada.text  # so that it goes on without scripts, too
    assert "Thinking about what to run next" in bob.open("/").page.words
    before = bob.client.get("/state").json()
    ada.send("/suggestions", form, count="2")
    go_on.set()
    for _ in range(50 * SECONDS):
        if ada.open(f"/suggestions/{form['form']}").url == "/":
            break
        time.sleep(0.02)
    assert [one.id for one in lab.record.trials.pending] == [1, 2]
    assert bob.client.get("/state").json() != before
    ada.send("/suggestions", form, count="2")
    assert len(lab.record.trials.pending) == 2


def test_why_there_is_no_suggestion_is_said(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise InputError("There is nothing left to try.")

    monkeypatch.setattr(Optimizer, "ask", refuse)
    suggester = worker_of(lab)
    form = idempotency.make_form_number()
    suggester.ask(form, 1)
    assert suggester.wait(SECONDS)
    assert suggester.get_request(form).refusal == "There is nothing left to try."
    assert worker_of(lab).get_request(form) is None  # nobody else waits for it


def test_a_fault_while_suggesting_ends_nothing(lab, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    suggester, ask = worker_of(lab), Optimizer.ask
    monkeypatch.setattr(Optimizer, "ask", lambda *_: 1 / 0)
    monkeypatch.setattr("tunedprior.web.background._summarise_campaign", lambda *_: 1 / 0)
    first, second = idempotency.make_form_number(), idempotency.make_form_number()
    suggester.ask(first, 1)
    suggester.get_model_summary(lab.record.trials)
    assert suggester.wait(SECONDS)
    assert "ZeroDivisionError" in suggester.get_request(first).refusal
    assert suggester.get_model_summary(lab.record.trials).trust == ()
    monkeypatch.setattr(Optimizer, "ask", ask)
    suggester.ask(second, 1)
    assert suggester.wait(SECONDS)
    assert suggester.get_request(second).trials == (1,)
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_form_counts_once_for_two_servers_and_after_a_restart(lab) -> None:
    form = idempotency.make_form_number()
    servers = [worker_of(lab), worker_of(lab)]
    for one in servers:
        one.ask(form, 1)
    assert all(one.wait(SECONDS) for one in servers)
    assert [one.get_request(form).trials for one in servers] == [(1,), (1,)]
    assert worker_of(lab).get_request(form).trials == (1,)  # a third that was not there
    later = worker_of(lab)
    later.ask(form, 1)
    assert later.wait(SECONDS)
    assert len(lab.record.trials.pending) == 1
    assert later.get_request(idempotency.make_form_number()) is None


def test_trust_is_told_for_old_data(tmp_path) -> None:
    old = pd.DataFrame({"x": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], "y": [0.0, 0.3, 0.7, 0.9, 0.6, 0.1]})
    opt = Optimizer({"x": (0.0, 1.0)}, old, direction="maximize", storage=f"sqlite:///{tmp_path / 'old.db'}", seed=0)
    opt.tell([{"x": 0.1}, {"x": 0.6}, {"x": 0.9}], [0.1, 0.9, 0.3])
    suggester = SuggestionWorker(lambda: opt, opt.study)
    assert suggester.get_model_summary(opt.trials) is None
    assert suggester.wait(SECONDS)
    summary = suggester.get_model_summary(opt.trials)
    assert summary.trust == tuple(opt.trust.sentences)
    assert summary.recommended.setting == opt.recommend().setting
