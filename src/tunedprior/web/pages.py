"""The pages and the forms: every form leads on to a page, so that a reload sends nothing twice."""

import asyncio
import hmac
from collections.abc import AsyncIterator
from concurrent.futures import Future
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

from tunedprior.errors import InputError, StorageError
from tunedprior.web import idempotency, views
from tunedprior.web.background import MOST, Explainer, Thinker
from tunedprior.web.complaints import ForeignFormError, NotThereError, OvertakenError, RefusedError
from tunedprior.web.entries import MOST_LETTERS, one_line
from tunedprior.web.guard import FORM_KEY, KEY_CAME_BACK, REPORT_POLICY
from tunedprior.web.names import keep_name, name_in
from tunedprior.web.shared import SharedCampaign, trial_in, version_of
from tunedprior.web.showing import Draw, Pages, Typed
from tunedprior.web.typed_numbers import typed_count

_PIECE = 1 << 16  # bytes


async def typed_in(request: Request) -> Typed:
    """The fields of a form, each once."""
    try:
        form = await request.form()
    except (HTTPException, UnicodeError, ValueError) as error:
        raise RefusedError("This form came damaged, and nothing was recorded. Send it once more.") from error
    return {name: value for name, value in form.items() if isinstance(value, str)}


Form = Annotated[Typed, Depends(typed_in)]


def refuse_foreign(request: Request, typed: Typed) -> None:
    """A `ForeignFormError` for a form that was not drawn for this browser."""
    came_back = request.scope[KEY_CAME_BACK] and hmac.compare_digest(
        typed.get("key", "").encode(), str(request.scope[FORM_KEY]).encode()
    )
    if not came_back:
        raise ForeignFormError(
            "This form was not made for this browser, or the browser keeps no cookies. Nothing was recorded yet: send "
            "it once more from here."
        )


def leads_to(path: str, typed: Typed | None = None) -> RedirectResponse:
    """To another page, which a reload then shows again; the browser keeps the name that is in a form."""
    reply = RedirectResponse(path, 303)
    if typed is not None and "who" in typed:
        keep_name(reply, typed["who"])
    return reply


async def answer_of(question: "Future[bytes]") -> bytes:
    """What comes of it, for one of several who wait: that one goes away leaves it to the others."""
    return await asyncio.shield(asyncio.wrap_future(question))


async def in_pieces(page: bytes) -> AsyncIterator[bytes]:
    """A long page piece by piece, so that it is not held in memory again for each who reads it slowly."""
    for start in range(0, len(page), _PIECE):
        yield page[start : start + _PIECE]


def router_of(campaign: SharedCampaign, thinker: Thinker, explainer: Explainer, draw: Draw, where: str) -> APIRouter:
    """Every address of the page."""
    router, pages = APIRouter(), Pages(campaign, thinker, draw, where)

    @router.get("/")
    def home(request: Request) -> HTMLResponse:
        return pages.home(request)

    @router.get("/state")
    def state() -> JSONResponse:
        history = campaign.trials
        return JSONResponse({"version": pages.version(history, thinker.insight(history))})

    @router.get("/trials")
    def trials(request: Request) -> HTMLResponse:
        history = campaign.trials
        return pages.draw(request, "trials.html", history, rows=views.rows(campaign, history))

    @router.get("/trials/{number:int}")
    def trial(request: Request, number: int) -> HTMLResponse:
        history = campaign.trials
        found = trial_in(history, number)
        expected = thinker.expected_of(number)
        asked = found.suggested if found.asked and found.suggested != found.setting else None
        return pages.draw(
            request,
            "trial.html",
            history,
            trial=found,
            setting=views.setting_lines(found.setting),
            asked_for=None if asked is None else views.setting_lines(asked),
            results=views.result_lines(found, campaign.aims),
            change=views.change(found, history, expected, campaign.aims, campaign.old_spans),
            suggested=views.suggested(found, history, expected, campaign.aims) if found.is_pending else None,
            fields=pages.fields(found, me=name_in(request)),
            is_last=bool(history.told) and history.told[-1].id == number,
            who=str(found.extra.get(campaign.who, "")),
            when=views.time_text(campaign.times().get(number)),
            recommended=views.recommended_text(thinker.insight(history), campaign.aims),
        )

    # Neither of the next two uses a thread that a result might wait for.
    @router.get("/trials/{number:int}/why")
    async def why(number: int) -> HTMLResponse:
        return HTMLResponse(await answer_of(explainer.reasons(number, lambda said: pages.why(number, said))))

    @router.get("/report")
    async def report() -> Response:
        page = await answer_of(explainer.report())
        headers = {"content-security-policy": REPORT_POLICY, "content-length": str(len(page))}
        return StreamingResponse(in_pieces(page), media_type="text/html", headers=headers)

    @router.post("/trials/{number:int}/result")
    def tell(request: Request, number: int, typed: Form) -> Response:
        found = campaign.trial(number)
        try:
            entry = pages.form.entry(typed, found.suggested or found.setting)
            refuse_foreign(request, typed)
            form = typed.get("form", "")
            campaign.tell(number, entry, form if idempotency.is_form(form) else "")
        except OvertakenError as error:
            return pages.overtaken(request, error, entry)
        except (InputError, StorageError) as error:
            return pages.again(request, "result.html", error, typed, found)
        return leads_to(f"/trials/{number}", typed)

    @router.get("/run")
    def run(request: Request) -> HTMLResponse:
        return pages.draw(
            request, "run.html", campaign.trials, fields=pages.fields(None, me=name_in(request)), message=""
        )

    @router.post("/run")
    def tell_unasked(request: Request, typed: Form) -> Response:
        try:
            entry = pages.form.entry(typed)
            refuse_foreign(request, typed)
            told = campaign.tell_unasked(typed.get("form", ""), entry)
        except OvertakenError:
            raise
        except (InputError, StorageError) as error:
            return pages.again(request, "run.html", error, typed, None)
        return leads_to(f"/trials/{told.id}", typed)

    @router.get("/trials/{number:int}/amend")
    def amend(request: Request, number: int) -> HTMLResponse:
        history = campaign.trials
        found = trial_in(history, number)
        if found.is_pending or found.set_aside:
            raise OvertakenError(f"Trial {number} has no result that could be corrected.", found)
        fields, shown = pages.fields(found, found, me=name_in(request)), version_of(found)
        return pages.draw(request, "amend.html", history, trial=found, fields=fields, shown=shown, message="")

    @router.post("/trials/{number:int}/amend")
    def amended(request: Request, number: int, typed: Form) -> Response:
        found = campaign.trial(number)
        try:
            entry = pages.form.entry(typed, found.setting)
            refuse_foreign(request, typed)
            campaign.amend(number, typed.get("shown", ""), entry)
        except OvertakenError as error:
            return pages.overtaken(request, error, entry)
        except (InputError, StorageError) as error:
            return pages.again(request, "amend.html", error, typed, found, shown=typed.get("shown", ""))
        return leads_to(f"/trials/{number}", typed)

    @router.post("/trials/{number:int}/{what}")
    def set_aside(request: Request, number: int, what: str, typed: Form) -> Response:
        done = {"cancel": campaign.cancel, "undo": campaign.undo, "withdraw": campaign.withdraw}.get(what)
        if done is None:
            raise NotThereError("There is no such form.")
        refuse_foreign(request, typed)
        who = one_line(typed.get("who", name_in(request)))[: MOST_LETTERS["who"]]
        return leads_to(f"/trials/{done(number, who).id}", typed)

    @router.post("/name")
    def named(request: Request, typed: Form) -> Response:
        refuse_foreign(request, typed)
        return leads_to("/" + typed.get("here", "").lstrip("/\\"), typed)

    @router.post("/suggestions")
    def ask(request: Request, typed: Form) -> Response:
        refuse_foreign(request, typed)
        form, count = typed.get("form", ""), typed_count(typed.get("count", "1").strip(), MOST)
        if not idempotency.is_form(form):
            raise NotThereError("This form has no number of its own. Open the page anew.")
        if not count:
            raise RefusedError(f"Ask for 1 to {MOST} suggestions at once.")
        thinker.ask(form, count)
        return leads_to(f"/suggestions/{form}")

    @router.get("/suggestions/{form}")
    def asked(request: Request, form: str) -> Response:
        found = thinker.asked(form)
        if found is None:
            raise NotThereError("Nothing is known of this request; the server may have been started anew. Ask again.")
        if found.refused:
            raise InputError(found.refused)
        if found.trials:
            return leads_to(f"/#trial-{found.trials[0]}")
        return pages.draw(request, "thinking.html", campaign.trials)

    return router
