"""The routes of the web page. Every form redirects to a page, so that a reload sends nothing twice."""

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
from tunedprior.web.background import MOST, ExplanationWorker, SuggestionWorker
from tunedprior.web.complaints import ForeignFormError, FormConflictError, NotFoundError, RequestError, parse_count
from tunedprior.web.entries import MOST_LETTERS, clean_line, keep_name, read_name
from tunedprior.web.guard import FORM_KEY, KEY_CAME_BACK, REPORT_POLICY
from tunedprior.web.shared import SharedCampaign, compute_version, select_trial
from tunedprior.web.views import Draw, Pages, Typed

_PIECE = 1 << 16  # bytes


async def read_form(request: Request) -> Typed:
    """The fields of a form, each once."""
    try:
        form = await request.form()
    except (HTTPException, UnicodeError, ValueError) as error:
        raise RequestError("This form came damaged, and nothing was recorded. Send it once more.") from error
    return {name: value for name, value in form.items() if isinstance(value, str)}


Form = Annotated[Typed, Depends(read_form)]


def refuse_foreign(request: Request, typed: Typed) -> None:
    """Raise a `ForeignFormError` for a form that was not made for this browser (CSRF)."""
    came_back = request.scope[KEY_CAME_BACK] and hmac.compare_digest(
        typed.get("key", "").encode(), str(request.scope[FORM_KEY]).encode()
    )
    if not came_back:
        raise ForeignFormError(
            "This form was not made for this browser, or the browser keeps no cookies. Nothing was recorded yet: send "
            "it once more from here."
        )


def redirect_to(path: str, typed: Typed | None = None) -> RedirectResponse:
    """Redirect to another page, and store the person's name from the form in a cookie."""
    reply = RedirectResponse(path, 303)
    if typed is not None and "who" in typed:
        keep_name(reply, typed["who"])
    return reply


async def await_answer(question: "Future[bytes]") -> bytes:
    """What comes of it, for one of several who wait: that one goes away leaves it to the others."""
    return await asyncio.shield(asyncio.wrap_future(question))


async def split_page(page: bytes) -> AsyncIterator[bytes]:
    """A long page piece by piece, so that it is not held in memory again for each who reads it slowly."""
    for start in range(0, len(page), _PIECE):
        yield page[start : start + _PIECE]


def build_router(
    campaign: SharedCampaign, suggester: SuggestionWorker, explanation_worker: ExplanationWorker, draw: Draw, where: str
) -> APIRouter:
    """Build the router with all routes of the page."""
    router, pages = APIRouter(), Pages(campaign, suggester, draw, where)
    _add_campaign_pages(router, pages, campaign, suggester)
    _add_explanations(router, pages, explanation_worker)
    _add_result_forms(router, pages, campaign)
    _add_amendment_forms(router, pages, campaign)
    _add_suggestion_forms(router, pages, campaign, suggester)
    return router


def _add_campaign_pages(router: APIRouter, pages: Pages, campaign: SharedCampaign, suggester: SuggestionWorker) -> None:
    """The home page, the list of trials and the page of each trial."""

    @router.get("/")
    def show_home(request: Request) -> HTMLResponse:
        return pages.render_home(request)

    @router.get("/state")
    def show_state() -> JSONResponse:
        history = campaign.trials
        return JSONResponse({"version": pages.compute_page_version(history, suggester.get_model_summary(history))})

    @router.get("/trials")
    def show_trials(request: Request) -> HTMLResponse:
        history = campaign.trials
        return pages.render(request, "trials.html", history, rows=views.make_trial_rows(campaign, history))

    @router.get("/trials/{number:int}")
    def show_trial(request: Request, number: int) -> HTMLResponse:
        history = campaign.trials
        found = select_trial(history, number)
        expected = suggester.get_intervals(number)
        asked = found.suggested if found.is_suggestion and found.suggested != found.setting else None
        return pages.render(
            request,
            "trial.html",
            history,
            trial=found,
            setting=views.format_setting_lines(found.setting),
            asked_for=None if asked is None else views.format_setting_lines(asked),
            results=views.format_result_lines(found, campaign.goals),
            change=views.describe_change(found, history, expected, campaign.goals, campaign.old_spans),
            suggested=views.make_suggestion_card(found, history, expected, campaign.goals)
            if found.is_pending
            else None,
            fields=pages.build_fields(found, me=read_name(request)),
            is_last=bool(history.told) and history.told[-1].id == number,
            who=str(found.extra.get(campaign.who, "")),
            when=views.format_time(campaign.list_recording_times().get(number)),
            recommended=views.describe_recommendation(suggester.get_model_summary(history), campaign.goals),
        )


def _add_explanations(router: APIRouter, pages: Pages, explanation_worker: ExplanationWorker) -> None:
    """Why a setting was suggested, and the report; neither uses a thread that a result might wait for."""

    @router.get("/trials/{number:int}/why")
    async def show_why(number: int) -> HTMLResponse:
        return HTMLResponse(
            await await_answer(explanation_worker.request_reasons(number, lambda said: pages.render_why(number, said)))
        )

    @router.get("/report")
    async def show_report() -> Response:
        page = await await_answer(explanation_worker.request_report())
        headers = {"content-security-policy": REPORT_POLICY, "content-length": str(len(page))}
        return StreamingResponse(split_page(page), media_type="text/html", headers=headers)


def _add_result_forms(router: APIRouter, pages: Pages, campaign: SharedCampaign) -> None:
    """Forms for the result of a suggestion, and for a run that nobody suggested."""

    @router.post("/trials/{number:int}/result")
    def tell(request: Request, number: int, typed: Form) -> Response:
        found = campaign.get_trial(number)
        try:
            entry = pages.form.parse_entry(typed, found.suggested or found.setting)
            refuse_foreign(request, typed)
            form = typed.get("form", "")
            campaign.tell(number, entry, form if idempotency.is_form_number(form) else "")
        except FormConflictError as error:
            return pages.render_conflict(request, error, entry)
        except (InputError, StorageError) as error:
            return pages.render_form_again(request, "result.html", error, typed, found)
        return redirect_to(f"/trials/{number}", typed)

    @router.get("/run")
    def show_run_form(request: Request) -> HTMLResponse:
        return pages.render(
            request, "run.html", campaign.trials, fields=pages.build_fields(None, me=read_name(request)), message=""
        )

    @router.post("/run")
    def tell_unasked(request: Request, typed: Form) -> Response:
        try:
            entry = pages.form.parse_entry(typed)
            refuse_foreign(request, typed)
            told = campaign.tell_unasked(typed.get("form", ""), entry)
        except FormConflictError:
            raise
        except (InputError, StorageError) as error:
            return pages.render_form_again(request, "run.html", error, typed, None)
        return redirect_to(f"/trials/{told.id}", typed)


def _add_amendment_forms(router: APIRouter, pages: Pages, campaign: SharedCampaign) -> None:
    """Forms that correct, cancel, restore or withdraw a trial."""

    @router.get("/trials/{number:int}/amend")
    def show_amend_form(request: Request, number: int) -> HTMLResponse:
        history = campaign.trials
        found = select_trial(history, number)
        if found.is_pending or found.set_aside:
            raise FormConflictError(f"Trial {number} has no result that could be corrected.", found)
        fields, shown = pages.build_fields(found, found, me=read_name(request)), compute_version(found)
        return pages.render(request, "amend.html", history, trial=found, fields=fields, shown=shown, message="")

    @router.post("/trials/{number:int}/amend")
    def submit_amendment(request: Request, number: int, typed: Form) -> Response:
        found = campaign.get_trial(number)
        try:
            entry = pages.form.parse_entry(typed, found.setting)
            refuse_foreign(request, typed)
            campaign.amend(number, typed.get("shown", ""), entry)
        except FormConflictError as error:
            return pages.render_conflict(request, error, entry)
        except (InputError, StorageError) as error:
            return pages.render_form_again(request, "amend.html", error, typed, found, shown=typed.get("shown", ""))
        return redirect_to(f"/trials/{number}", typed)

    @router.post("/trials/{number:int}/{what}")
    def set_aside(request: Request, number: int, what: str, typed: Form) -> Response:
        done = {"cancel": campaign.cancel, "undo": campaign.undo, "withdraw": campaign.withdraw}.get(what)
        if done is None:
            raise NotFoundError("There is no such form.")
        refuse_foreign(request, typed)
        who = clean_line(typed.get("who", read_name(request)))[: MOST_LETTERS["who"]]
        return redirect_to(f"/trials/{done(number, who).id}", typed)


def _add_suggestion_forms(
    router: APIRouter, pages: Pages, campaign: SharedCampaign, suggester: SuggestionWorker
) -> None:
    """The form that asks for suggestions, the page that waits for them, and the form for one's name."""

    @router.post("/name")
    def set_name(request: Request, typed: Form) -> Response:
        refuse_foreign(request, typed)
        return redirect_to("/" + typed.get("here", "").lstrip("/\\"), typed)

    @router.post("/suggestions")
    def ask(request: Request, typed: Form) -> Response:
        refuse_foreign(request, typed)
        form, count = typed.get("form", ""), parse_count(typed.get("count", "1").strip(), MOST)
        if not idempotency.is_form_number(form):
            raise NotFoundError("This form has no number of its own. Open the page anew.")
        if not count:
            raise RequestError(f"Ask for 1 to {MOST} suggestions at once.")
        suggester.ask(form, count)
        return redirect_to(f"/suggestions/{form}")

    @router.get("/suggestions/{form}")
    def show_suggestion_request(request: Request, form: str) -> Response:
        found = suggester.get_request(form)
        if found is None:
            raise NotFoundError("Nothing is known of this request; the server may have been started anew. Ask again.")
        if found.refusal:
            raise InputError(found.refusal)
        if found.trials:
            return redirect_to(f"/#trial-{found.trials[0]}")
        return pages.render(request, "waiting.html", campaign.trials)
