"""What is on each page, from the record and from what was thought about."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from tunedprior.errors import InputError, StorageError
from tunedprior.problem.trials import History, Trial
from tunedprior.web import idempotency, views
from tunedprior.web.background import MOST, ModelSummary, SuggestionWorker, can_render_report
from tunedprior.web.complaints import FormConflictError, InvalidFormError, get_http_status
from tunedprior.web.entries import Entry, Field, ResultForm
from tunedprior.web.names import read_name
from tunedprior.web.shared import SharedCampaign, compute_version, select_trial

#: Draws a template.
Draw = Callable[..., HTMLResponse]
#: The fields of a form, by name.
Typed = Mapping[str, str]


class Pages:
    """What is on each page.

    Args:
        campaign: The record.
        thinker: What takes time.
        draw: Draws a template.
        where: The file or database, as it is shown.
    """

    def __init__(self, campaign: SharedCampaign, thinker: SuggestionWorker, draw: Draw, where: str) -> None:
        self.campaign, self.thinker, self._draw, self._where = campaign, thinker, draw, where
        self.form = ResultForm(campaign.space, campaign.aims)

    def render(
        self, request: Request | None, template: str, history: History, status: int = 200, **content: Any
    ) -> HTMLResponse:
        """A page with what all of them show; a request is needed only for one that has forms."""
        campaign, insight = self.campaign, self.thinker.get_model_summary(history)
        return self._draw(
            request,
            template,
            status,
            campaign=campaign,
            aims=campaign.aims,
            goal=campaign.aims.describe(),
            where=self._where,
            history=history,
            version=self.compute_page_version(history, insight),
            insight=insight,
            is_suggesting=self.thinker.is_suggesting,
            people=sorted({str(one.extra[campaign.who]) for one in history.trials if campaign.who in one.extra}),
            has_report=can_render_report(),
            me="" if request is None else read_name(request),
            here="/" if request is None or request.method != "GET" else request.url.path,
            **content,
        )

    def compute_page_version(self, history: History, insight: ModelSummary | None) -> str:
        """Changes whenever a page would."""
        return f"{compute_version(history)}{'-' if insight is None else '+'}{self.thinker.is_suggesting:d}"

    def render_home(self, request: Request) -> HTMLResponse:
        """What to run now, and how it stands."""
        history, aims = self.campaign.trials, self.campaign.aims
        insight = self.thinker.get_model_summary(history)
        cards = [
            (
                views.make_suggestion_card(one, history, self.thinker.get_intervals(one.id), aims),
                self.build_fields(one, me=read_name(request)),
            )
            for one in history.pending
        ]
        best = None if aims.has_front else next(iter(views.list_best(history.told, aims)), None)
        return self.render(
            request,
            "home.html",
            history,
            cards=cards,
            best=best,
            best_lines=[] if best is None else views.format_setting_lines(best.setting),
            best_results=[] if best is None else views.format_result_lines(best, aims),
            front=[
                (one.id, views.format_result_lines(one, aims), views.format_setting_lines(one.setting))
                for one in views.list_trade_offs(history.told, aims)
            ],
            recommended=views.describe_recommendation(insight, aims),
            last=history.told[-1] if history.told else None,
            last_results=views.format_result_lines(history.told[-1], aims) if history.told else [],
            failed=sum(one.failed for one in history.told),
            ask_form=idempotency.make_form_number(),
            most=MOST,
        )

    def render_why(self, number: int, sentences: list[str]) -> bytes:
        """Why a suggestion was made."""
        history = self.campaign.trials
        found = select_trial(history, number)
        setting = views.format_setting_lines(found.setting)
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
        """The fields of a form: for a suggestion, for a result that is corrected, or for a run of one's own.

        Args:
            trial: What it is about; None for a run of one's own.
            told: The result that is corrected.
            typed: What was typed into it before.
            wrong: What is wrong with that, by field.
            me: The name of who opened the page.
        """
        wrong = wrong or {}
        kept = typed or {}
        return {
            "parameters": self.form.build_parameter_fields(None if trial is None else trial.setting, typed, wrong),
            "responses": self.form.build_response_fields(told, typed, wrong),
            "note": Field("note", "Note", "", kept.get("note", told.note if told else ""), (), wrong.get("note", "")),
            "who": Field("who", "Who", "", kept.get("who", me), (), wrong.get("who", "")),
            "form": form
            if idempotency.is_form_number(form := kept.get("form", ""))
            else idempotency.make_form_number(),
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
        """The same form once more, with what was typed and what is wrong with it."""
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
        """What somebody else told meanwhile, beside what was typed."""
        aims, now = self.campaign.aims, error.trial
        typed = [(name, views.format_response(aims.get_response(name), value)) for name, value in entry.values.items()]
        return self.render(
            request,
            "overtaken.html",
            self.campaign.trials,
            error.status,
            title="Somebody was faster",
            message=str(error),
            number=None if now is None else now.id,
            there=[] if now is None else views.format_result_lines(now, aims),
            there_who="" if now is None else str(now.extra.get(self.campaign.who, "")),
            typed=typed or [("the run", "failed")],
            note=entry.note,
        )
