"""The application: pages, what they look like, and what stands before them."""

from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files

import jinja2
from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import HTMLResponse, Response

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import InputError, TunedPriorError
from tunedprior.web.background import ExplanationWorker, SuggestionWorker
from tunedprior.web.complaints import BusyError, FormConflictError, get_http_status
from tunedprior.web.guard import FIELD_FOR_TAB, FORM_KEY, NO_FIELD, AccessPolicy, Application, Guard
from tunedprior.web.pages import build_router
from tunedprior.web.shared import SharedCampaign
from tunedprior.web.typed_numbers import format_short

_STATIC = {"style.css": "text/css", "page.js": "text/javascript"}
_TITLES = {200: "Welcome", 401: "Who is there?", 404: "There is no such page", 500: "Something unforeseen happened"}


class TemplateRenderer:
    """Draws pages from the templates; whatever people wrote is text in them, and never anything else."""

    def __init__(self) -> None:
        loader = jinja2.PackageLoader("tunedprior.web")
        self._templates = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self._templates.globals["short"] = format_short

    def render_text(self, template: str, **content: object) -> str:
        """The page as text."""
        return self._templates.get_template(template).render(content)

    def render_reply(
        self, request: Request | None, template: str, status: int = 200, **content: object
    ) -> HTMLResponse:
        """The page as a reply to a request, whose key its forms have; without one, to anybody."""
        key = "" if request is None else request.scope.get(FORM_KEY, "")
        return HTMLResponse(self.render_text(template, key=key, **content), status)

    def render_refusal(self, status: int, message: str, field: str = NO_FIELD) -> str:
        """A page that says why there is no other, perhaps with a field for the token."""
        title = _TITLES.get(status, "That was not possible")
        in_tab = field == FIELD_FOR_TAB
        return self.render_text(
            "refusal.html", title=title, message=message, with_token=field != NO_FIELD, in_tab=in_tab
        )


def build_application(opened: Callable[[], Optimizer], door: AccessPolicy, where: str) -> Application:
    """The web page of a campaign.

    Args:
        opened: Opens the campaign; it is called twice, for the record and for what takes time.
        door: Who may enter.
        where: The file or database, as it is shown on the pages.
    """
    campaign = SharedCampaign(opened)
    drawing = TemplateRenderer()
    app = FastAPI(title="tunedprior", docs_url=None, redoc_url=None, openapi_url=None)
    thinker, explainer = SuggestionWorker(opened, campaign.study), ExplanationWorker(opened)
    app.include_router(build_router(campaign, thinker, explainer, drawing.render_reply, where))

    @app.get("/static/{name}")
    def send_static_file(name: str) -> Response:
        if name not in _STATIC:
            raise HTTPException(404)
        text = files("tunedprior.web").joinpath("static", name).read_text(encoding="utf-8")
        return Response(text, media_type=_STATIC[name], headers={"cache-control": "no-cache"})

    @lru_cache(maxsize=1)
    def render_busy_page(message: str) -> str:
        """Drawn once: it is for when there is much to do."""
        return drawing.render_text("complaint.html", message=message, number=None, title="One moment")

    @app.exception_handler(InputError)
    async def handle_input_error(request: Request, error: InputError) -> Response:
        number = error.trial.id if isinstance(error, FormConflictError) and error.trial is not None else None
        if isinstance(error, BusyError):
            return HTMLResponse(render_busy_page(str(error)), error.status, {"retry-after": str(error.retry_after)})
        return drawing.render_reply(
            request,
            "complaint.html",
            get_http_status(error),
            message=str(error),
            number=number,
            title="Nothing was changed",
        )

    @app.exception_handler(TunedPriorError)
    def handle_campaign_error(request: Request, error: TunedPriorError) -> Response:
        return drawing.render_reply(
            request, "complaint.html", 503, message=str(error), number=None, title="The campaign cannot be read"
        )

    @app.exception_handler(404)
    def handle_not_found(_: Request, __: Exception) -> Response:
        return HTMLResponse(drawing.render_refusal(404, "Perhaps the address was mistyped."), 404)

    @app.exception_handler(HTTPException)
    def handle_http_error(_: Request, error: HTTPException) -> Response:
        return HTMLResponse(
            drawing.render_refusal(error.status_code, "That is not how this page is used."), error.status_code
        )

    @app.exception_handler(Exception)
    def handle_unexpected_error(request: Request, error: Exception) -> Response:
        said = f"{type(error).__name__}. The window that the server runs in has more. What was recorded is safe."
        if request.method == "POST":
            said += (
                " Whether this form was recorded is not known here: go back and send it again. It counts once, and "
                "then the page says what is recorded."
            )
        return HTMLResponse(drawing.render_refusal(500, said), 500)

    return Guard(app, door, drawing.render_refusal)
