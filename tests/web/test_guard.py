"""Who may speak to the page, and what browsers are told."""

import asyncio
import re

import httpx
import pytest

from support.served import ADDRESS, Visitor, page_of
from tunedprior.web.guard import AccessPolicy, is_loopback

TOKEN = "a-token-of-this-lab"
LAB_SERVER = AccessPolicy("0.0.0.0", TOKEN, frozenset({"labserver"}))
HOSTILE = pytest.mark.parametrize("lab", ["hostile"], indirect=True)
pytestmark = pytest.mark.usefixtures("calm")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "10.0.0.7:8000", "", "[::"]
)
def test_a_page_by_another_name_is_refused(looked_at, host: str) -> None:
    reply = looked_at.ada.client.get("/", headers={"host": host})
    assert reply.status_code == 421
    assert "yield" not in reply.text


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.0.0.2"])
def test_this_computer_has_several_names(looked_at, host: str) -> None:
    assert looked_at.ada.client.get("/state", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": ADDRESS},
    ],
)
def test_forms_of_other_pages_are_refused(looked_at, headers: dict[str, str]) -> None:
    ada = looked_at.ada.open()
    reply = ada.client.post("/suggestions", data=ada.form("/suggestions"), headers=headers)
    assert reply.status_code == 403
    assert "Another page sent this form" in reply.text
    assert not looked_at.record.trials.trials


@pytest.mark.parametrize("key", ["", "x", None])
def test_a_form_without_the_key_is_given_back_with_what_was_typed(lab, key: str | None) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    action = f"/trials/{number}/result"
    form = {**ada.form(action), "r0": "2"}
    if key is None:
        ada.client.cookies.clear()  # the browser forgot
    else:
        form["key"] = key
    ada.send(action, form)
    assert ada.status == 403
    assert ada.form(action)["r0"] == "2"
    assert not lab.record.trials.told
    ada.send(action, outcome="worked")
    assert ada.status == 200
    assert lab.record.trials.told[0].value == 2


def test_other_forms_without_the_key_do_nothing(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    for path in ("/suggestions", f"/trials/{number}/cancel", f"/trials/{number}/undo", f"/trials/{number}/withdraw"):
        assert ada.send("", {"key": "?", "form": "0" * 24}, to=path).status == 403
    assert [one.state for one in lab.record.trials.trials] == ["pending"]


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(looked_at, method: str) -> None:
    assert looked_at.ada.client.request(method, "/").status_code == 405


def test_a_long_form_is_refused(looked_at) -> None:
    ada = looked_at.ada.open("/run")
    ada.send("/run", note="x" * 200_000)
    assert ada.status == 413
    assert ada.client.post("/run", content=iter([b"x"])).status_code == 413  # nobody knows how long


@pytest.mark.parametrize("path", ["/", "/trials", "/nothing", "/static/page.js", "/state"])
def test_browsers_are_told_to_trust_nothing_else(looked_at, path: str) -> None:
    reply = looked_at.ada.client.get(path)
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] in ("no-store", "no-cache")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite" in cookie


def test_pages_hold_no_scripts_of_their_own_and_nothing_from_elsewhere(lab) -> None:
    ada = lab.ada
    (number,) = ada.ask()
    for path in ("/", "/trials", "/run", f"/trials/{number}", f"/trials/{number}/why"):
        ada.open(path)
        assert re.findall(r"<script(?! src=\"/static/page.js\" defer></script>)", ada.text) == []
        assert not re.search(r"https?://|\son\w+=|style=|javascript:", ada.text)


@HOSTILE
def test_whatever_people_write_is_text(lab) -> None:
    ada = lab.ada
    first, second = ada.ask(2)
    note = "</p><script>alert(3)</script>{{ 7919 * 7907 }}"
    ada.send(f"/trials/{first}/result", r0="1", note=note, who='"><svg onload=alert(4)>')
    ada.open("/").send(f"/trials/{second}/result", r0="<script>", note=note)
    pages = [ada.text]
    for path in ("/", "/trials", "/run", f"/trials/{first}", f"/trials/{first}/amend"):
        pages.append(ada.open(path).text)
        assert ada.form("/name")["who"] == '"><svg onload=alert(4)>'
    for text in pages:
        assert "<script>" not in text
        assert "<svg" not in text
        assert "<img" not in text
        assert '"><b>' not in text
        assert str(7919 * 7907) not in text  # too long to be the time of day, or a part of a key
    ada.open("/trials")
    assert note in ada.page.words
    assert lab.record.trials.told[0].extra == {"who_": '"><svg onload=alert(4)>'}  # "who" is a parameter here


@pytest.fixture
def quick_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for being told that a token is wrong."""
    monkeypatch.setattr("tunedprior.web.guard._PAUSE", 0.0)


@pytest.mark.usefixtures("quick_refusals")
@pytest.mark.parametrize(
    ("policy", "address"), [(LAB_SERVER, "http://labserver:8000"), (AccessPolicy(token=TOKEN), ADDRESS)]
)
def test_a_page_takes_a_token(lab, policy: AccessPolicy, address: str) -> None:
    page = page_of(lab.path, policy)
    ada = Visitor(page, address).open()
    assert ada.status == 401
    assert ada.open("/static/style.css").status == 200  # so that what is said can be read
    assert "yield" not in ada.text
    assert ada.open("/state").status == 401
    assert ada.open("/?token=" + TOKEN[:-1] + "x").status == 401
    assert ada.open("/?token=").status == 401
    reply = ada.client.get(f"/trials?token={TOKEN}&x=1")
    assert reply.status_code == 200
    assert reply.headers["refresh"] == "0; url=/trials?x=1"
    assert "HttpOnly; SameSite=Strict" in reply.headers["set-cookie"]
    assert TOKEN not in reply.text + str(reply.headers)
    assert ada.open().status == 200
    assert ada.ask() == [1]
    bob = Visitor(page, address)
    refused = bob.client.post("/suggestions", data={"note": "mine"})
    assert refused.status_code == 401
    assert "Nothing was recorded yet" in refused.text
    assert 'target="_blank"' in refused.text
    assert bob.client.get("/", headers={"cookie": f"tunedprior-pass-8000={TOKEN}"}).status_code == 401


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "/%2f/evil.example"])
def test_a_token_leads_to_no_other_site(lab, path: str) -> None:
    reply = Visitor(page_of(lab.path, AccessPolicy(token=TOKEN))).client.get(f"{ADDRESS}{path}?token={TOKEN}")
    assert re.fullmatch(r"0; url=/(?![/\\]).*", reply.headers["refresh"])


def test_a_token_leads_on_to_the_address_as_it_was_written(lab) -> None:
    reply = Visitor(page_of(lab.path, AccessPolicy(token=TOKEN))).client.get(f"{ADDRESS}/a%0A%E2%82%AC?token={TOKEN}")
    assert reply.headers["refresh"] == "0; url=/a%0A%E2%82%AC"


def test_cookies_of_other_programs_hide_none_of_ours(lab) -> None:
    ada = Visitor(page_of(lab.path, AccessPolicy(token=TOKEN)))
    ada.client.get(f"/?token={TOKEN}")
    ours = "; ".join(f"{name}={value}" for name, value in ada.client.cookies.items())
    assert ada.client.get("/state", headers={"cookie": f'their settings={{"a": [1]}}; {ours}'}).status_code == 200


def test_wrong_tokens_take_their_time_and_right_ones_wait_with_them(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[asyncio.Event] = []

    async def sleep(_seconds: float) -> None:
        waiting.append(asyncio.Event())
        await waiting[-1].wait()

    monkeypatch.setattr("tunedprior.web.guard.asyncio.sleep", sleep)
    page = page_of(lab.path, AccessPolicy(token=TOKEN))

    async def guess() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(page), base_url=ADDRESS) as client:
            wrong = [asyncio.ensure_future(client.get(f"/?token=guess-{number}")) for number in range(5)]
            while len(waiting) < len(wrong):
                await asyncio.wait(wrong, timeout=0.01)
            late = await client.get(f"/?token={TOKEN}")
            assert late.status_code == 429
            assert "set-cookie" not in late.headers or "tunedprior-pass" not in late.headers["set-cookie"]
            for one in waiting:
                one.set()
            assert [(await one).status_code for one in wrong] == [401] * 5
            assert (await client.get(f"/?token={TOKEN}")).status_code == 200
            assert (await client.get("/state")).status_code == 200

    asyncio.run(guess())


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}, 200),
        ({}, 200),
    ],
)
def test_other_pages_load_nothing_of_this_one(
    looked_at, headers: dict[str, str], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[object] = []
    monkeypatch.setattr("tunedprior.web.background.report_html", lambda one: str(drawn.append(one)))
    for path in ("/report", "/trials", "/static/style.css"):
        assert looked_at.ada.client.get(path, headers=headers).status_code == status
    assert status == 200 or not drawn


def test_names_of_a_page_that_others_can_reach() -> None:
    policy = LAB_SERVER
    assert all(map(policy.is_host_allowed, ("labserver:8000", "10.1.2.3:8000", "localhost", "[fe80::1]:8000")))
    assert not any(map(policy.is_host_allowed, ("evil.example", "labserver.evil.example", "")))
    assert AccessPolicy("lab.example").is_host_allowed("lab.example:80")
    assert [is_loopback(one) for one in ("127.0.0.1", "::1", "[::1]", "localhost", "127.9.9.9")] == [True] * 5
    assert [is_loopback(one) for one in ("0.0.0.0", "::", "10.0.0.1", "lab", "")] == [False] * 5
