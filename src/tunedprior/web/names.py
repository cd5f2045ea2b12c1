"""What somebody at the page is called: a cookie that the browser keeps, so that it is typed once."""

from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from tunedprior.web.entries import MOST_LETTERS, clean_line

_COOKIE = "tunedprior-who"
_YEAR = 365 * 24 * 3600


def read_name(request: Request) -> str:
    """What the browser keeps; empty if that is nothing."""
    return clean_line(unquote(request.cookies.get(_COOKIE, "")))[: MOST_LETTERS["who"]]


def keep_name(response: Response, name: str) -> None:
    """Let the browser keep a name, or forget the one that it has."""
    name = clean_line(name)[: MOST_LETTERS["who"]]
    age = _YEAR if name else 0
    response.set_cookie(_COOKIE, quote(name, safe=""), age, path="/", httponly=True, samesite="lax")
