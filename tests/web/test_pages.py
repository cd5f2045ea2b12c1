"""A day at the page, form by form, as a browser without scripts sends them."""

from types import SimpleNamespace

import pytest

from tunedprior import Optimizer

pytestmark = pytest.mark.usefixtures("calm")
SEVERAL = pytest.mark.parametrize("lab", ["several"], indirect=True)


def test_a_suggestion_is_asked_for_run_and_told(lab) -> None:
    ada = lab.ada.open()
    assert ada.status == 200
    assert "No suggestion is open" in ada.page.words
    assert "maximize yield" in ada.page.words
    assert ada.ask(2) == [1, 2]
    ada.send("/trials/1/result", r0="0,62", note="a bit brown", who="Ada", outcome="worked")
    assert (ada.status, ada.url) == (200, "/trials/1")
    assert "first result that counts" in ada.page.words
    told = lab.record.trials.told
    assert [(one.id, one.value, one.note, one.extra) for one in told] == [(1, 0.62, "a bit brown", {"who": "Ada"})]
    assert told[0].setting == told[0].suggested  # to the last digit, though six are shown
    ada.open("/").send("/trials/2/result", outcome="failed")
    assert "The run failed" in ada.page.words
    assert [one.state for one in lab.record.trials.told] == ["complete", "failed"]
    ada.open("/trials")
    assert "a bit brown" in ada.page.words
    assert "complete, best" in ada.page.words


def test_what_changed_is_said(lab) -> None:
    ada = lab.ada
    first, second, third = ada.ask(3)
    ada.open("/").send(f"/trials/{first}/result", r0="1.5")
    ada.open("/").send(f"/trials/{second}/result", r0="2.25")
    assert "best so far: 2.25. The best was 1.5 (trial 1)" in ada.page.words
    ada.open("/").send(f"/trials/{third}/result", r0="2")
    assert "The best stays as it was: 2.25 (trial 2)" in ada.page.words
    ada.open("/")
    assert "Best so far yield 2.25" in ada.page.words


def test_what_was_really_run_can_be_said(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    asked = lab.record.trials.pending[0].setting
    run = "33" if asked["heat"] != 33 else "34"
    ada.send(f"/trials/{number}/result", r0="1", p0=run)
    told = lab.record.trials.told[0]
    assert told.setting == {**asked, "heat": float(run)}
    assert told.suggested == asked
    assert "Suggested was" in ada.page.words


WRONG = [
    ({"r0": ""}, "Type what was measured here"),
    ({"r0": "lots"}, "'lots' is no number"),
    ({"r0": "1,234"}, "may be 1.234 or 1234"),
    ({"r0": "1,234.5"}, "separator for thousands"),
    ({"r0": "nan"}, "is no number"),
    ({"r0": "1e999"}, "too large"),
    ({"r0": "1", "p0": ""}, "Say what it was set to"),
    ({"r0": "1", "p0": "9000"}, "heat"),
    ({"r0": "1", "outcome": "failed"}, "A run that failed has no result"),
    ({"r0": "1", "note": "x" * 3000}, "there is room for 2000"),
]


def test_a_wrong_entry_is_refused_in_words_and_nothing_typed_is_lost(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    action = f"/trials/{number}/result"
    form = ada.form(action)
    for typed, said in WRONG:
        ada.send(action, {**form, "who": "Ada", "note": "seen twice", **typed})
        assert ada.status == 422
        assert said in ada.page.words
        assert 'role="alert"' in ada.text
        kept = ada.form(action)
        assert all(kept[name] == text for name, text in typed.items() if name != "outcome")
        assert kept["who"] == "Ada"
        assert not lab.record.trials.told
    ada.send(action, r0="1.5", note="", outcome="worked")  # mended on the page that complains
    assert ada.status == 200
    assert lab.record.trials.told[0].value == 1.5


def test_a_suggestion_that_will_not_be_run(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    form = ada.form(f"/trials/{number}/result")
    for _ in range(2):
        ada.send("", form, to=f"/trials/{number}/cancel")
        assert ada.status == 200
        assert "cancelled" in ada.page.words
    assert [one.state for one in lab.record.trials.trials] == ["cancelled"]
    assert "If it was run after all" in ada.page.words
    ada.send(f"/trials/{number}/result", r0="1")
    assert (ada.status, ada.url) == (200, f"/trials/{number}")
    assert [(one.id, one.value) for one in lab.record.trials.trials] == [(number, 1.0)]
    ada.send("", {**form, "r0": "2"}, to=f"/trials/{number}/result")
    assert ada.status == 409


def test_the_last_result_is_taken_back_and_its_suggestion_opens_again(lab) -> None:
    ada = lab.ada
    first, second = ada.ask(2)
    ada.send(f"/trials/{first}/result", r0="1")
    ada.open("/").send(f"/trials/{second}/result", r0="2")
    undo = ada.form(f"/trials/{second}/undo")
    asked = lab.record.trials.told[1].setting
    for _ in range(3):  # the same click again takes back nothing more
        ada.send("", undo, to=f"/trials/{second}/undo")
        assert (ada.status, ada.url) == (200, f"/trials/{second}")
    now = lab.record.trials
    assert [one.id for one in now.told] == [first]
    assert [(one.id, one.setting) for one in now.pending] == [(second, asked)]
    assert now.set_aside == ()


def test_only_what_is_last_is_undone(lab) -> None:
    ada, bob = lab.ada, lab.ada
    first, second = ada.ask(2)
    ada.open("/").send(f"/trials/{first}/result", r0="1")
    bob.open("/").send(f"/trials/{second}/result", r0="2")
    ada.send(f"/trials/{first}/undo")
    assert ada.status == 409
    assert "no longer what was told last" in ada.page.words
    assert len(lab.record.trials.told) == 2
    ada.open(f"/trials/{first}").send(f"/trials/{first}/withdraw")
    assert ada.status == 200
    assert [one.id for one in lab.record.trials.told] == [second]


def test_a_result_is_corrected(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    ada.send(f"/trials/{number}/result", r0="10", note="first")
    action = f"/trials/{number}/amend"
    ada.open(action)
    assert ada.form(action)["r0"] == "10"
    form = ada.form(action)
    for _ in range(2):
        ada.send(action, {**form, "r0": "1,0", "note": "a slip"})
        assert (ada.status, ada.url) == (200, f"/trials/{number}")
    told = lab.record.trials.told[0]
    assert (told.value, told.note) == (1.0, "a slip")
    ada.send(action, {**form, "r0": "7"})  # a form from before the correction
    assert ada.status == 409
    assert "What you typed yield 7" in ada.page.words
    assert lab.record.trials.told[0].value == 1.0
    assert ada.open(action).send(action, r0="oops").status == 422
    assert ada.form(action)["r0"] == "oops"
    ada.open(action).send(action, r0="", outcome="failed")
    assert lab.record.trials.told[0].failed


def test_a_run_of_ones_own(lab) -> None:
    ada = lab.ada.open("/run")
    ada.send("/run", p0="40", p1="")
    assert ada.status == 422
    assert ada.form("/run")["p0"] == "40"
    form = {**ada.form("/run"), "p1": "0.25", "r0": "3", "who": "Ada"}
    for _ in range(3):
        ada.send("/run", form)
        assert (ada.status, ada.url) == (200, "/trials/1")
    told = lab.record.trials.told
    assert [(one.setting, one.value, one.is_suggestion) for one in told] == [({"heat": 40, "acid": 0.25}, 3.0, False)]
    assert ada.open("/run").send("/run", p0="40", p1="0.25", r0="3").url == "/trials/2"  # run again, on purpose


@SEVERAL
def test_several_responses_requirements_and_choices(lab) -> None:
    ada = lab.ada
    first, second, third = ada.ask(3)
    assert "maximize yield, minimize cost, where purity >= 0.9, works passes" in ada.page.words
    ada.send(f"/trials/{first}/result", r0="0.8", r1="3", r2="0.95", r3="pass", p1="2")
    assert "on the Pareto front" in ada.page.words
    told = lab.record.trials.told[0]
    assert (told.value, dict(told.more)) == (0.8, {"cost": 3.0, "purity": 0.95, "works": 1.0})
    assert told.setting["gas"] is None
    ada.open("/").send(f"/trials/{second}/result", r0="0.9", r1="2", r2="0.5", r3="fail")
    assert "does not meet the requirements: purity >= 0.9, works passes" in ada.page.words
    ada.open("/").send(f"/trials/{third}/result", r0="0.9", r2="0.95", r3="pass")
    assert "Not everything was measured" in ada.page.words
    ada.open("/")
    assert "Pareto front (best trade-offs)" in ada.page.words
    ada.open("/run")
    assert ada.form("/run")["p1"] == ""
    ada.send("/run", p0="30", r0="1", r1="1")
    assert "Choose one of the values" in ada.page.words
    ada.send("/run", p0="30", p1="0", r0="1", r1="1", r2="1", r3="pass")
    assert "in the place of trial 1" in ada.page.words


def test_all_runs_failed(lab) -> None:
    ada = lab.ada
    for number in ada.ask(2):
        ada.open("/").send(f"/trials/{number}/result", outcome="failed")
    ada.open("/")
    assert "2 of 2 runs failed" in ada.page.words
    assert ada.ask() == [3]


def test_why_is_a_page(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    assert ada.open(f"/trials/{number}/why").status == 200
    ada.open("/").send(f"/trials/{number}/result", r0="1")
    assert "Only an open suggestion" in ada.open(f"/trials/{number}/why").page.words


def test_why_is_said_where_there_is_an_explanation(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    explained = SimpleNamespace(sentences=["Trial 1 is <promising>."])
    monkeypatch.setattr(Optimizer, "explain", lambda *_: explained)
    ada = lab.ada
    (number,) = ada.ask()
    assert "Trial 1 is <promising>." in ada.open(f"/trials/{number}/why").page.words


def test_a_report_is_drawn_where_something_draws_it(looked_at, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def draw(optimizer: Optimizer) -> str:
        drawn.append(optimizer.target)
        return "<script>let own = 1;</script>"

    monkeypatch.setattr("tunedprior.web.background.report_html", draw)
    ada = looked_at.ada.open()
    assert "Report" in ada.page.words
    for _ in range(2):
        reply = ada.client.get("/report")
        assert reply.text == "<script>let own = 1;</script>"
        assert reply.headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert drawn == ["yield"]  # once, while nothing changes
    for module in ("background", "pages"):
        monkeypatch.setattr(f"tunedprior.web.{module}.can_render_report", lambda: False)
    assert "Report" not in ada.open().page.words
    assert ada.open("/report").status == 404


@pytest.mark.parametrize(
    "path",
    ["/nothing", "/trials/99", "/trials/x", "/static/", "/static/../pages.py", "/docs", "/suggestions/" + "0" * 24],
)
def test_what_is_not_there(looked_at, path: str) -> None:
    ada = looked_at.ada.open(path)
    assert ada.status == 404
    assert "There is no" in ada.page.words or "Nothing is known" in ada.page.words


@pytest.mark.parametrize("count", ["0", "-1", "99", "many", ""])
def test_how_many_is_checked(looked_at, count: str) -> None:
    ada = looked_at.ada.open().send("/suggestions", count=count)
    assert ada.status == 422
    assert "Ask for 1 to 24" in ada.page.words
    assert not looked_at.record.trials.trials


def test_an_unforeseen_error_is_said_in_words(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tunedprior.web.pages.make_trial_rows", lambda *_: 1 / 0)
    ada = lab.ada
    ada.client._transport.raise_server_exceptions = False
    ada.open("/trials")
    assert ada.status == 500
    assert "What was recorded is safe" in ada.page.words


def test_a_name_is_typed_once_and_is_in_the_journal_with_every_act(lab) -> None:
    ada = lab.ada
    first, second, third = ada.ask(3)
    ada.open(f"/trials/{first}").send("/name", who=" Ada\x1b[2J\nLovelace ")
    assert ada.url == f"/trials/{first}"
    ada.open("/").send("", ada.form(f"/trials/{third}/result"), to=f"/trials/{third}/cancel")
    for number in (first, second):
        ada.open(f"/trials/{number}").send(f"/trials/{number}/result", r0="1")
    ada.open(f"/trials/{second}/amend").send(f"/trials/{second}/amend", r0="2")
    ada.send(f"/trials/{second}/undo")
    ada.send(f"/trials/{second}/result", r0="3")
    ada.open(f"/trials/{first}").send(f"/trials/{first}/withdraw")
    ada.open("/").send("/name", who="")
    ada.open(f"/trials/{second}").send(f"/trials/{second}/undo")
    acts = lab.opened().journal.query("action != 'suggest'")
    name = "Ada [2J Lovelace"
    assert [*zip(acts["action"], acts["who"], strict=True)] == [
        ("cancel", name),
        ("record", name),
        ("record", name),
        ("amend", name),
        ("undo", name),
        ("record", name),
        ("withdraw", name),
        ("undo", ""),
    ]


def test_a_name_in_a_form_is_kept_for_the_next(lab) -> None:
    ada, bob = lab.ada, lab.ada
    first, second = ada.ask(2)
    ada.send(f"/trials/{first}/result", r0="1", who="Ada")
    assert ada.form("/name")["who"] == "Ada"
    assert ada.open("/run").form("/run")["who"] == "Ada"
    bob.open("/")
    assert bob.form(f"/trials/{second}/result")["who"] == ""
    assert bob.open("/run").send("/name", here="//elsewhere.example/x", who="Bob").url == "/elsewhere.example/x"
