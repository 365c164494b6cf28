"""Checks of each HTTP request before anything reads it, and the headers of each answer.

Only this machine can connect, but any web page that its user has open can make a browser ask: so a request has a token,
the host of this server, and no foreign origin. Nothing of a page can be run that is not ours.
"""

from __future__ import annotations

from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse

from ohm_subagents.ui.answers import Fault, Refused

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOCAL: Final = ("127.0.0.1", "localhost")
_READING: Final = frozenset({"GET", "HEAD"})
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_COOKIE_S: Final = 400 * 24 * 3600
"""As long as browsers keep any: a page may be left open for long."""
UNKNOWN: Final = "The token is missing or wrong. Open the address that `ohm ui` has printed: it holds the token."


class Guard:
    """Lets a request through that comes from this machine's user; anything else gets one sentence."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        """Guard an app that listens at a port of 127.0.0.1."""
        self._app = app
        self._token = token.encode()
        self._cookie = f"ohm_ui_{port}"
        self._hosts = frozenset(f"{host}:{port}" for host in _LOCAL)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        response = self._response(scope)
        await (self._app if response is None else response)(scope, receive, send_with_headers)

    def _response(self, scope: Scope) -> Response | None:
        """Return what to answer in place of the app; None lets the request through."""
        headers, path = Headers(scope=scope), scope["path"]
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return _refusal(path, 421, "foreign_host", f"The host {host!r:.80} is not this server.")
        if origin is not None and origin != f"http://{host}":
            return _refusal(path, 403, "foreign_origin", f"The origin {origin!r:.80} may not ask.")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = dict(query).get("token")
        if given is not None and scope["method"] in _READING and not path.startswith("/api/"):
            return self._entered(scope, given, urlencode([pair for pair in query if pair[0] != "token"]))
        if self._is_token(headers.get("authorization", "").removeprefix("Bearer ")):
            return None
        if not self._is_token(_cookie(headers, self._cookie)):
            return _refusal(path, 401, "unknown_token", UNKNOWN)
        site = headers.get("sec-fetch-site", "same-origin")
        if path.startswith("/api/") and site not in {"same-origin", "none"}:
            return _refusal(path, 403, "foreign_origin", "Another web page may not ask.")
        if scope["method"] not in _READING and origin is None:
            return _refusal(path, 403, "foreign_origin", "A request that changes something tells its origin.")
        return None

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(errors="replace"), self._token)

    def _entered(self, scope: Scope, given: str, query: str) -> Response:
        """Give the cookie to who has the token, and lead to the same place without it."""
        path = "/" + scope["path"].lstrip("/")  # two slashes would be another host
        if not self._is_token(given):
            return _refusal(path, 401, "unknown_token", UNKNOWN)
        place = f"{path}?{query}" if query else path
        response: Response = RedirectResponse(place, status_code=303)
        if Headers(scope=scope).get("sec-fetch-site") == "cross-site":  # a redirect would go without the cookie
            response = HTMLResponse("<!doctype html><title>ohm</title>", headers={"refresh": f"0; url={place}"})
        response.set_cookie(self._cookie, given, max_age=_COOKIE_S, path="/", httponly=True, samesite="strict")
        return response


def _cookie(headers: Headers, name: str) -> str:
    try:
        morsel = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


def refused(status: int, code: str, message: str) -> JSONResponse:
    """Return the answer to a request that cannot be fulfilled."""
    return JSONResponse(Refused(error=Fault(code=code, message=message)), status_code=status)


def _refusal(path: str, status: int, code: str, message: str) -> Response:
    if path.startswith("/api/"):
        return refused(status, code, message)
    return PlainTextResponse(f"{message}\n", status_code=status)
