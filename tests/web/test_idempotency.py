"""A form counts once, and is never said to be recorded when it is not, whatever goes wrong in between."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import optuna
import pytest
import sqlalchemy as sa
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

from support.postgres import needs_postgres
from support.served import SECONDS, Visitor, page_of
from tunedprior import Optimizer
from tunedprior.errors import InputError
from tunedprior.storage.databases import get_engine, open_database
from tunedprior.web import idempotency
from tunedprior.web.entries import Entry, FormConflictError
from tunedprior.web.idempotency import FormRegister, make_register
from tunedprior.web.shared import SharedCampaign

pytestmark = pytest.mark.usefixtures("calm")
RUN = Entry({"heat": 40, "acid": 0.5}, {"yield": 1.0})
OWNER = "somebody else"


class CutError(Exception):
    """The connection to the database was cut."""


def failing(method: Callable[..., object], error: Exception, *, after: bool) -> Callable[..., object]:
    """A method that fails once, before or after it did what it does."""
    left = [error]

    def used(*arguments: object, **options: object) -> object:
        if after:
            found = method(*arguments, **options)
        if left:
            raise left.pop()
        return found if after else method(*arguments, **options)

    return used


@pytest.fixture(params=["sqlite", "journal", pytest.param("postgresql", marks=needs_postgres)])
def register(request: pytest.FixtureRequest, tmp_path: Path) -> FormRegister:
    if request.param == "journal":
        journal = JournalStorage(JournalFileBackend(str(tmp_path / "forms.log")))
        return make_register(optuna.create_study(storage=journal))
    is_file = request.param == "sqlite"
    url = f"sqlite:///{tmp_path / 'forms.db'}" if is_file else request.getfixturevalue("postgres").new_database()
    return make_register(optuna.create_study(storage=open_database(url)))


# -- whatever goes wrong -----------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [InputError("no"), CutError("no"), OSError("no"), AssertionError("no")], ids=repr)
def test_a_run_that_was_not_recorded_can_be_sent_again(lab, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    campaign, form = SharedCampaign(lab.opened), idempotency.make_form_number()
    monkeypatch.setattr(Optimizer, "tell", failing(Optimizer.tell, error, after=False))
    with pytest.raises(type(error)):
        campaign.tell_unasked(form, RUN)
    assert not lab.record.trials.told
    assert campaign.tell_unasked(form, RUN).id == 1
    assert [one.value for one in lab.record.trials.told] == [1.0]


def test_a_run_that_was_written_before_the_fault_is_said_to_be_recorded(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign, form = SharedCampaign(lab.opened), idempotency.make_form_number()
    monkeypatch.setattr(Optimizer, "tell", failing(Optimizer.tell, CutError(), after=True))
    assert campaign.tell_unasked(form, RUN).id == 1
    assert campaign.tell_unasked(form, RUN).id == 1
    assert len(lab.record.trials.told) == 1


def test_a_server_that_ends_between_writing_and_saying_so(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    form = idempotency.make_form_number()
    with monkeypatch.context() as patch:
        for name in ("settle", "release"):  # as when the power fails
            patch.setattr(idempotency.TableRegister, name, lambda *_: None)
        SharedCampaign(lab.opened).tell_unasked(form, RUN)
    assert make_register(lab.record.study).is_claimed(form, idempotency.LEASE)
    assert SharedCampaign(lab.opened).tell_unasked(form, RUN).id == 1
    assert len(lab.record.trials.told) == 1


def test_a_server_that_ends_before_writing(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "PATIENCE", 0.0)
    form = idempotency.make_form_number()
    assert make_register(lab.record.study).claim(form, OWNER, idempotency.LEASE)
    with pytest.raises(FormConflictError, match="is not in the campaign yet") as refused:
        SharedCampaign(lab.opened).tell_unasked(form, RUN)
    assert "recorded already" not in str(refused.value)
    assert not lab.record.trials.told
    monkeypatch.setattr(idempotency, "LEASE", 0.0)  # the claim has lapsed
    assert SharedCampaign(lab.opened).tell_unasked(form, RUN).id == 1


def test_a_fault_is_said_and_the_page_takes_the_same_form_again(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = lab.ada
    ada.client = type(ada.client)(lab.page, base_url=str(ada.client.base_url), raise_server_exceptions=False)
    ada.open("/run")
    form = {**ada.form("/run"), "p0": "40", "p1": "0.5", "r0": "1"}
    with monkeypatch.context() as patch:
        patch.setattr(Optimizer, "tell", failing(Optimizer.tell, CutError(), after=False))
        ada.send("/run", form)
    assert ada.status == 500
    assert "Whether this form was recorded is not known here" in ada.page.words
    for _ in range(2):
        ada.send("", form, to="/run")
        assert (ada.status, ada.url) == (200, "/trials/1")
    assert len(lab.record.trials.told) == 1


# -- the same form again -----------------------------------------------------------------------------------


def test_a_form_that_says_something_else_by_now_changes_nothing(lab) -> None:
    campaign, form = SharedCampaign(lab.opened), idempotency.make_form_number()
    campaign.tell_unasked(form, RUN)
    with pytest.raises(FormConflictError, match="as trial 1, which says something else"):
        campaign.tell_unasked(form, Entry(RUN.setting, {"yield": 2.0}))
    campaign.withdraw(1)
    with pytest.raises(FormConflictError, match="as trial 1, and taken back since"):
        campaign.tell_unasked(form, RUN)
    assert not lab.record.trials.told


def test_a_form_of_a_result_that_was_taken_back_records_it_no_second_time(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    form = {**ada.form(f"/trials/{number}/result"), "r0": "2"}
    ada.send("", form, to=f"/trials/{number}/result")
    assert lab.record.trials.told
    ada.send(f"/trials/{number}/undo")
    ada.send("", form, to=f"/trials/{number}/result")  # the back button, and the button once more
    assert ada.status == 409
    assert not lab.record.trials.told


# -- several at once ---------------------------------------------------------------------------------------


def test_eight_threads_and_two_servers_act_once_on_each_of_fifty_forms(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LEASE", "PATIENCE"):
        monkeypatch.setattr(idempotency, name, 600.0)  # however busy the machine is
    servers = [SharedCampaign(lab.opened) for _ in range(2)]
    forms = {idempotency.make_form_number(): Entry({"heat": 40, "acid": k / 100}, {"yield": k / 7}) for k in range(50)}
    sent = [(server, form) for form in forms for server in servers for _ in range(2)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda one: (one[1], one[0].tell_unasked(one[1], forms[one[1]]).id), sent))
    history = lab.record.trials
    assert len(history.told) == len(forms)
    assert not history.set_aside
    assert len(set(found)) == len(forms)  # each form leads to one trial, whoever sent it


def test_of_all_who_claim_a_form_one_has_it(register) -> None:
    for _ in range(10):
        form, together = idempotency.make_form_number(), Barrier(6)

        def claim(number: int, form: str = form, together: Barrier = together) -> bool:
            together.wait()
            return register.claim(form, f"{number}", idempotency.LEASE)

        with ThreadPoolExecutor(6) as threads:
            assert sum(threads.map(claim, range(6))) == 1


def test_who_waits_for_a_form_has_it_when_it_is_given_back(register) -> None:
    form, has_it, go_on = idempotency.make_form_number(), Event(), Event()

    def first() -> None:
        with idempotency.acquire_claim(register, form):
            has_it.set()
            assert go_on.wait(SECONDS)
            raise CutError

    with ThreadPoolExecutor(1) as threads:
        held = threads.submit(first)
        assert has_it.wait(SECONDS)
        with idempotency.acquire_claim(register, form, patience=0.0) as settle:
            assert settle is None
        go_on.set()
        with idempotency.acquire_claim(register, form, patience=SECONDS) as settle:
            settle([3, 4])
        assert isinstance(held.exception(), CutError)
    assert register.get_outcome(form) == (3, 4)
    with idempotency.acquire_claim(register, form) as settle:
        assert settle is None


def test_a_claim_lapses_and_who_lost_it_changes_nothing(register) -> None:
    form = idempotency.make_form_number()
    assert register.claim(form, "first", idempotency.LEASE)
    assert register.is_claimed(form, idempotency.LEASE)
    assert not register.is_claimed(form, 0.0)
    assert not register.claim(form, "second", idempotency.LEASE)
    assert register.claim(form, "second", 0.0)
    register.release(form, "first")
    assert not register.claim(form, "third", idempotency.LEASE)
    register.settle(form, "second", [7])
    register.release(form, "second")
    assert register.get_outcome(form) == (7,)
    assert not register.claim(form, "third", 0.0)
    assert register.get_outcome(idempotency.make_form_number()) is None


# -- the table ---------------------------------------------------------------------------------------------


def test_looking_needs_no_right_to_write_and_leaves_no_table(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.record.tell(dict(RUN.setting), 1.0)
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda _path, mode: mode != os.W_OK)  # then SQLite itself is told to refuse
        ada = Visitor(page_of(lab.path))
        for path in ("/", "/trials", "/trials/1", f"/suggestions/{idempotency.make_form_number()}"):
            assert ada.open(path).status == (404 if "suggestions" in path else 200)
        ada.open("/run").send("/run", p0="40", p1="0.5", r0="1")
        assert ada.status == 422
        assert "may be looked at, and not written" in ada.page.words
    assert "tunedprior_forms" not in sa.inspect(get_engine(lab.opened().study)).get_table_names()


def test_several_servers_make_the_table_at_once(lab) -> None:
    registers = [make_register(lab.opened().study) for _ in range(4)]
    form, together = idempotency.make_form_number(), Barrier(4)

    def claim(one: FormRegister) -> bool:
        together.wait()
        return one.claim(form, f"{id(one)}", idempotency.LEASE)

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(claim, registers)) == 1


def test_a_form_of_another_campaign_in_the_same_database_is_unknown(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'two.db'}"
    first, second = (make_register(optuna.create_study(storage=url, study_name=name)) for name in "ab")
    form = idempotency.make_form_number()
    assert first.claim(form, OWNER, idempotency.LEASE)
    first.settle(form, OWNER, [1])
    assert second.get_outcome(form) is None
