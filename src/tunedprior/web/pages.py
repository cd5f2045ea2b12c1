"""The pages of a campaign: their content as plain values, the class that renders them, and their routes.

Every form redirects to a page, so that a reload sends nothing twice.
"""

import asyncio
import hmac
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from math import floor, log10
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse

from tunedprior.campaign.outlier_warnings import Spans, describe_outliers
from tunedprior.checks import format_list
from tunedprior.errors import InputError, StorageError
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import COMPLETE, FAILED, History, Trial, is_same_setting
from tunedprior.space.search_space import Setting
from tunedprior.web import idempotency
from tunedprior.web.background import (
    MOST,
    ExplanationWorker,
    ModelSummary,
    ResponseInterval,
    SuggestionWorker,
    can_render_report,
)
from tunedprior.web.entries import (
    MOST_LETTERS,
    Entry,
    Field,
    ForeignFormError,
    FormConflictError,
    InvalidFormError,
    NotFoundError,
    RequestError,
    ResultForm,
    clean_line,
    fill_field,
    format_exact_response,
    format_short,
    get_http_status,
    keep_name,
    parse_count,
    read_name,
)
from tunedprior.web.guard import FORM_KEY, KEY_CAME_BACK, REPORT_POLICY
from tunedprior.web.shared import SharedCampaign, compute_version, select_trial

#: A name and what it is.
Line = tuple[str, str]
_MOST_TRADE_OFFS = 12


@dataclass(frozen=True)
class SuggestionCard:
    """A pending suggestion as the page shows it.

    Attributes:
        trial: The pending trial.
        setting: What to set.
        expected: What is expected of it, in words.
        before: Earlier runs of the same setting, in words.
    """

    trial: Trial
    setting: list[Line]
    expected: list[str]
    before: str


@dataclass(frozen=True)
class TrialRow:
    """A row of the table of all trials."""

    number: int
    cells: list[str]
    responses: list[str]
    state: str
    who: str
    note: str
    when: str
    is_best: bool


@dataclass(frozen=True)
class Change:
    """The effect of a result, in sentences; the first is the most important."""

    headline: str
    is_good: bool
    sentences: list[str]


def format_setting_lines(setting: Setting) -> list[Line]:
    """Format a setting, one line for each parameter."""
    return [(name, format_short(value)) for name, value in setting.items()]


def format_result_lines(trial: Trial, goals: Goals) -> list[Line]:
    """Format the measured responses, one line for each."""
    told = [(one.name, format_response(one, one.get_value(trial))) for one in goals.responses]
    return [(name, text) for name, text in told if text]


def format_response(response: Objective, value: float) -> str:
    """Format a response for people; "" if it was not measured."""
    exact = format_exact_response(response, value)
    return format_short(value) if exact and not response.labels else exact


def format_prediction(one: ResponseInterval, goals: Goals) -> str:
    """Format a prediction, such as "71.2 (55.1 to 87.3)"; with several responses, each with its name."""
    name = f"{one.response} " if len(goals.responses) > 1 else ""
    return name + _format_interval(one)


def make_suggestion_card(
    trial: Trial, history: History, expected: Sequence[ResponseInterval], goals: Goals
) -> SuggestionCard:
    """Make the card of a pending suggestion."""
    same = [one for one in history.told if is_same_setting(one.setting, trial.setting)]
    before = f"It was run before, as trial {format_list(one.id for one in same)}: this repeats it." if same else ""
    return SuggestionCard(
        trial, format_setting_lines(trial.setting), [format_prediction(one, goals) for one in expected], before
    )


def make_trial_rows(campaign: SharedCampaign, history: History) -> list[TrialRow]:
    """Make the rows of all trials, the latest first."""
    times, goals = campaign.list_recording_times(), campaign.goals
    best = {one.id for one in list_best(history.told, goals)}
    return [
        TrialRow(
            one.id,
            [text for _, text in format_setting_lines(one.setting)],
            [format_response(response, response.get_value(one)) for response in goals.responses],
            "open" if one.is_pending else one.state,
            str(one.extra.get(campaign.who, "")),
            one.note,
            "" if one.is_pending else format_time(times.get(one.id)),
            one.id in best,
        )
        for one in sorted(history.trials, key=lambda one: -one.id)
    ]


def format_time(when: datetime | None) -> str:
    """Format a time for people."""
    return "" if when is None else f"{when:%Y-%m-%d %H:%M}"


def list_best(told: Sequence[Trial], goals: Goals) -> list[Trial]:
    """List the best trial or the best trade-offs; none while no trial meets the requirements."""
    if goals.has_front:
        return goals.find_front(told)
    best = goals.find_best(told)
    return [] if best is None else [best]


def list_trade_offs(told: Sequence[Trial], goals: Goals) -> list[Trial]:
    """List the trials on the Pareto front, sorted by the first objective, up to a maximal number."""
    found = goals.find_front(told) if goals.has_front else []
    return sorted(found, key=lambda one: -goals.compute_utilities(one)[0])[:_MOST_TRADE_OFFS]


def describe_recommendation(summary: ModelSummary | None, goals: Goals) -> Mapping[str, object] | None:
    """Describe the recommended setting and its prediction."""
    found = None if summary is None else summary.recommended
    if found is None:
        return None
    middle = ResponseInterval(goals.main.name, found.mean, found.low, found.high)
    return {
        "setting": format_setting_lines(found.setting),
        "expected": f"{goals.main.name} {_format_interval(middle)}",
        "probability": "" if found.probability == 1 else f"{100 * found.probability:.0f} %",
    }


def describe_change(
    trial: Trial, history: History, expected: Sequence[ResponseInterval], goals: Goals, old: Spans | None = None
) -> Change:
    """Describe the effect of a result that was just recorded."""
    position = next((k for k, one in enumerate(history.told) if one.id == trial.id), None)
    if position is None or trial.state not in (COMPLETE, FAILED):
        return Change("", False, [])
    before = history.told[:position]
    headline, is_good = _choose_headline(trial, before, goals)
    sentences = [_compare_with_interval(one, goals.get_response(one.response).get_value(trial)) for one in expected]
    sentences += [f"{said} If it is a slip, correct it." for said in describe_outliers(before, [trial], goals, old)]
    return Change(headline, is_good, [said for said in sentences if said])


def _choose_headline(trial: Trial, before: Sequence[Trial], goals: Goals) -> tuple[str, bool]:
    """The sentence on a new result, and whether it is good news: the best so far, or the first that counts."""
    if trial.failed:
        return "The run failed. The model learns that such settings may fail.", False
    missed = [
        str(one) for one in goals.requirements if not one.is_met(goals.get_response(one.response).get_value(trial))
    ]
    if missed:
        return f"It does not meet the requirements: {format_list(missed)}.", False
    if not goals.select_feasible([trial]):
        return "Not everything was measured, so it cannot be the best. The model learns from it all the same.", False
    if goals.has_front:
        return _describe_front_change(trial, before, goals)
    best = goals.find_best(before)
    if best is None:
        return "It is the first result that counts.", True
    was = f"{format_response(goals.main, best.value)} (trial {best.id})"
    if goals.compute_worth(trial) > goals.compute_worth(best):
        return f"It is the best so far: {format_response(goals.main, trial.value)}. The best was {was}.", True
    return f"The best stays as it was: {was}.", False


def _describe_front_change(trial: Trial, before: Sequence[Trial], goals: Goals) -> tuple[str, bool]:
    was = goals.find_front(before)
    now = goals.find_front([*before, trial])
    if trial not in now:
        return "It is not on the Pareto front: another run is at least as good in every objective.", False
    gone = [one.id for one in was if one not in now]
    instead = f", in the place of trial {format_list(gone)}" if gone else ""
    return f"It is on the Pareto front{instead}, which now has {len(now)} trials.", True


def _compare_with_interval(expected: ResponseInterval, value: float) -> str:
    if value != value:
        return ""
    where = "above" if value > expected.high else "below" if value < expected.low else "within"
    what = f"{_format_rounded(expected.low, expected)} to {_format_rounded(expected.high, expected)}"
    said = "and it lies within" if where == "within" else f"and it lies {where} that: a surprise"
    return f"Predicted for {expected.response} was {what}, {said}."


def _format_interval(one: ResponseInterval) -> str:
    return f"{_format_rounded(one.mean, one)} ({_format_rounded(one.low, one)} to {_format_rounded(one.high, one)})"


def _format_rounded(value: float, of: ResponseInterval) -> str:
    """A number with the digits that its uncertainty leaves a meaning."""
    spread = max(of.high - of.low, abs(of.mean) * 1e-5, 1e-300)
    digits = 1 - floor(log10(spread))
    return f"{round(value, digits):.{max(digits, 0)}f}" if -6 < digits < 10 else f"{value:.3g}"


#: Draws a template.
Draw = Callable[..., HTMLResponse]
#: The fields of a form, by name.
Typed = Mapping[str, str]


class Pages:
    """The pages, rendered from the history and the background results.

    Args:
        campaign: The record.
        suggester: What takes time.
        draw: Draws a template.
        where: The file or database, as it is shown.
    """

    def __init__(self, campaign: SharedCampaign, suggester: SuggestionWorker, draw: Draw, where: str) -> None:
        self.campaign, self.suggester, self._draw, self._where = campaign, suggester, draw, where
        self.form = ResultForm(campaign.space, campaign.goals)

    def render(
        self, request: Request | None, template: str, history: History, status: int = 200, **content: Any
    ) -> HTMLResponse:
        """Render a page with its common content; only pages with forms need the request."""
        campaign, summary = self.campaign, self.suggester.get_model_summary(history)
        return self._draw(
            request,
            template,
            status,
            campaign=campaign,
            goals=campaign.goals,
            goal=campaign.goals.describe(),
            where=self._where,
            history=history,
            version=self.compute_page_version(history, summary),
            summary=summary,
            is_suggesting=self.suggester.is_suggesting,
            people=sorted({str(one.extra[campaign.who]) for one in history.trials if campaign.who in one.extra}),
            has_report=can_render_report(),
            me="" if request is None else read_name(request),
            here="/" if request is None or request.method != "GET" else request.url.path,
            **content,
        )

    def compute_page_version(self, history: History, summary: ModelSummary | None) -> str:
        """Return a digest that changes whenever the page changes."""
        return f"{compute_version(history)}{'-' if summary is None else '+'}{self.suggester.is_suggesting:d}"

    def render_home(self, request: Request) -> HTMLResponse:
        """Render the start page: what to run now, and the status."""
        history, goals = self.campaign.trials, self.campaign.goals
        summary = self.suggester.get_model_summary(history)
        cards = [
            (
                make_suggestion_card(one, history, self.suggester.get_intervals(one.id), goals),
                self.build_fields(one, me=read_name(request)),
            )
            for one in history.pending
        ]
        best = None if goals.has_front else next(iter(list_best(history.told, goals)), None)
        return self.render(
            request,
            "home.html",
            history,
            cards=cards,
            best=best,
            best_lines=[] if best is None else format_setting_lines(best.setting),
            best_results=[] if best is None else format_result_lines(best, goals),
            front=[
                (one.id, format_result_lines(one, goals), format_setting_lines(one.setting))
                for one in list_trade_offs(history.told, goals)
            ],
            recommended=describe_recommendation(summary, goals),
            last=history.told[-1] if history.told else None,
            last_results=format_result_lines(history.told[-1], goals) if history.told else [],
            failed=sum(one.failed for one in history.told),
            ask_form=idempotency.make_form_number(),
            most=MOST,
        )

    def render_why(self, number: int, sentences: list[str]) -> bytes:
        """Render the reasons for a suggestion."""
        history = self.campaign.trials
        found = select_trial(history, number)
        setting = format_setting_lines(found.setting)
        page = self.render(None, "why.html", history, trial=found, setting=setting, sentences=sentences)
        return bytes(page.body)

    def build_fields(
        self,
        trial: Trial | None,
        told: Trial | None = None,
        typed: Typed | None = None,
        wrong: Mapping[str, str] | None = None,
        me: str = "",
    ) -> dict[str, Any]:
        """Build the fields of a form: for a suggestion, for the correction of a result, or for another run.

        Args:
            trial: What it is about; None for a run of one's own.
            told: The result that is corrected.
            typed: What was typed into it before.
            wrong: What is wrong with that, by field.
            me: The name of who opened the page.
        """
        form = (typed or {}).get("form", "")
        return {
            "parameters": self.form.build_parameter_fields(None if trial is None else trial.setting, typed, wrong),
            "responses": self.form.build_response_fields(told, typed, wrong),
            "note": fill_field(Field("note", "Note", text=told.note if told else ""), typed, wrong),
            "who": fill_field(Field("who", "Who", text=me), typed, wrong),
            "form": form if idempotency.is_form_number(form) else idempotency.make_form_number(),
        }

    def render_form_again(
        self,
        request: Request,
        template: str,
        error: InputError | StorageError,
        typed: Typed,
        trial: Trial | None,
        **content: Any,
    ) -> HTMLResponse:
        """Render a wrong form again, with its values and the errors."""
        wrong = error.fields if isinstance(error, InvalidFormError) else {}
        fields = self.build_fields(trial, None, typed, wrong)
        return self.render(
            request,
            template,
            self.campaign.trials,
            get_http_status(error),
            trial=trial,
            fields=fields,
            message=str(error),
            **content,
        )

    def render_conflict(self, request: Request, error: FormConflictError, entry: Entry) -> HTMLResponse:
        """Render what another person recorded meanwhile beside what was typed."""
        goals, now = self.campaign.goals, error.trial
        typed = [(name, format_response(goals.get_response(name), value)) for name, value in entry.values.items()]
        return self.render(
            request,
            "overtaken.html",
            self.campaign.trials,
            error.status,
            title="Somebody was faster",
            message=str(error),
            number=None if now is None else now.id,
            there=[] if now is None else format_result_lines(now, goals),
            there_who="" if now is None else str(now.extra.get(self.campaign.who, "")),
            typed=typed or [("the run", "failed")],
            note=entry.note,
        )


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
        return pages.render(request, "trials.html", history, rows=make_trial_rows(campaign, history))

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
            setting=format_setting_lines(found.setting),
            asked_for=None if asked is None else format_setting_lines(asked),
            results=format_result_lines(found, campaign.goals),
            change=describe_change(found, history, expected, campaign.goals, campaign.old_spans),
            suggested=make_suggestion_card(found, history, expected, campaign.goals) if found.is_pending else None,
            fields=pages.build_fields(found, me=read_name(request)),
            is_last=bool(history.told) and history.told[-1].id == number,
            who=str(found.extra.get(campaign.who, "")),
            when=format_time(campaign.list_recording_times().get(number)),
            recommended=describe_recommendation(suggester.get_model_summary(history), campaign.goals),
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
