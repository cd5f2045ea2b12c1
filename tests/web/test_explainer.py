"""Reports and reasons are worked out aside: nobody who records a result waits for them."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import httpx
import pytest

from support.served import ADDRESS, SECONDS, Page
from tunedprior import Optimizer
from tunedprior.web import background
from tunedprior.web.entries import BusyError

pytestmark = pytest.mark.usefixtures("calm")
REPORT = "<!doctype html><title>a report</title>"


class Held:
    """A report that is not done before it is let go."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.drawn = threading.Event(), threading.Event(), 0

    def __call__(self, _optimizer: Optimizer) -> str:
        self.begun.set()
        assert self.go_on.wait(SECONDS)
        self.drawn += 1
        return REPORT


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    report = Held()
    monkeypatch.setattr(background, "report_html", report)
    yield report
    report.go_on.set()


def with_browsers(page: Any, use: Callable[[httpx.AsyncClient], Coroutine[Any, Any, None]]) -> None:
    """One server, as uvicorn runs it: all requests share an event loop and its threads."""

    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(page), base_url=ADDRESS, timeout=SECONDS) as client:
            await use(client)

    asyncio.run(run())


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that other threads do."""
    for _ in range(100 * SECONDS):
        if is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")


def test_a_result_is_recorded_while_the_worker_is_blocked(lab, held) -> None:
    lab.record.ask(3)

    async def use(client: httpx.AsyncClient) -> None:
        addresses = ["/report", "/trials/1/why", "/trials/2/why", "/trials/3/why"] * 50
        asked = [asyncio.create_task(client.get(one)) for one in addresses]
        await until(lambda: held.begun.is_set() and sum(one.done() for one in asked) >= 150)
        form = Page((await client.get("/run")).text).forms[-1].fields
        headers = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}
        told = await client.post("/run", data={**form, "p0": "40", "p1": "0.5", "r0": "7"}, headers=headers)
        assert told.status_code == 303
        assert (await client.get("/trials")).status_code == 200
        assert not held.go_on.is_set()  # all that was done while the worker was blocked
        assert [one.value for one in lab.record.trials.told] == [7.0]
        held.go_on.set()
        replies = await asyncio.gather(*asked)
        statuses = [one.status_code for one in replies]
        assert set(statuses) == {200, 503}
        assert statuses.count(200) == background.MOST_WAITING
        busy = next(one for one in replies if one.status_code == 503)
        assert int(busy.headers["retry-after"]) > 0
        assert "Everything else goes on" in Page(busy.text).words

    with_browsers(lab.page, use)


def test_who_asks_for_the_same_shares_one_answer_while_the_history_is_the_same(lab, held) -> None:
    async def use(client: httpx.AsyncClient) -> None:
        first = asyncio.create_task(client.get("/report"))
        await until(held.begun.is_set)
        others = [asyncio.create_task(client.get("/report")) for _ in range(20)]
        gone = others.pop()
        await asyncio.sleep(0)
        gone.cancel()  # that one closes the window leaves it to the others
        held.go_on.set()
        replies = await asyncio.gather(first, *others)
        assert {(one.status_code, one.text) for one in replies} == {(200, REPORT)}
        assert held.drawn == 1
        lab.record.tell({"heat": 40, "acid": 0.5}, 7.5)
        assert (await client.get("/report")).status_code == 200
        assert held.drawn == 2

    with_browsers(lab.page, use)


def test_a_queue_has_an_end(lab, held) -> None:
    explainer = background.ExplanationWorker(lab.opened)
    first = explainer.request_report()
    assert held.begun.wait(SECONDS)
    others = [
        explainer.request_reasons(number, lambda said: str(said).encode())
        for number in range(background.MOST_QUESTIONS)
    ]
    with pytest.raises(BusyError, match="Try this page again in"):
        explainer.request_reasons(99, lambda _: b"")
    again = explainer.request_reasons(0, lambda _: b"another")
    assert again is others[0]
    held.go_on.set()
    assert first.result(SECONDS) == REPORT.encode()
    assert [one.result(SECONDS) for one in others] == [b"[]"] * len(others)
    assert explainer.wait(SECONDS)


def test_a_fault_while_explaining_ends_nothing(lab, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    explainer = background.ExplanationWorker(lab.opened)
    monkeypatch.setattr(background, "report_html", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        explainer.request_report().result(SECONDS)
    assert "ZeroDivisionError" in capsys.readouterr().err
    monkeypatch.setattr(background, "report_html", lambda _: REPORT)
    assert explainer.request_report().result(SECONDS) == REPORT.encode()


def test_reasons_are_worked_out_once_for_a_history(lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.record.ask(2)
    explain, asked = Optimizer.explain, []
    monkeypatch.setattr(Optimizer, "explain", lambda self, number: asked.append(number) or explain(self, number))
    ada = lab.ada
    texts = [ada.open("/trials/1/why").page.words for _ in range(3)]
    assert len(set(texts)) == 1
    assert asked == [1]
    lab.record.cancel(2)
    ada.open("/trials/1/why")
    assert asked == [1, 1]
    assert ada.open("/trials/9/why").status == 404
