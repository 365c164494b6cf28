"""The server of `ohm ui`: its addresses, and what each answers."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Final, TypeVar, get_args
from urllib.parse import quote

import anyio
from anyio import TASK_STATUS_IGNORED
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from ohm_subagents.commands import serve_app, system_clock
from ohm_subagents.contract import Category, Err, Ok
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.contract.task import Status
from ohm_subagents.ui.export import exported_page
from ohm_subagents.ui.files import page_file, started_page
from ohm_subagents.ui.filters import Filters
from ohm_subagents.ui.guard import Guard, refused
from ohm_subagents.ui.pictures import Pictures
from ohm_subagents.ui.steering import FollowUp, Given, Nothing, Steering
from ohm_subagents.ui.stream import News
from ohm_subagents.views import CONCERNS, COST_KEYS, one_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from socket import socket

    from anyio.abc import TaskStatus
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from ohm_subagents import Ohm
    from ohm_subagents.contract import OhmError, Result
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.ui.answers import Done
    from ohm_subagents.views import CostKey

BodyT = TypeVar("BodyT", bound=BaseModel)
_PARAMETERS: Final = ("q", "status", "profile", "session", "offset", "limit")
"""Those of a list of tasks."""
_STATUSES: Final = frozenset({*get_args(Status), *CONCERNS})
_STATUS: Final = {Category.NOT_FOUND: 404, Category.VALIDATION: 400}
_INVALID: Final = "invalid_request"
_NOTHING: Final = "nothing_here"
_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Nothing here · ohm</title>
<h1>Nothing here</h1><p>{}</p><p><a href="/">All tasks</a></p></html>
"""
_UNQUOTED: Final = "!~*'()"
"""The characters that `encodeURIComponent` of a browser leaves as they are, beside letters, digits and `-_.`."""
_MOST_ROWS: Final = 500
_ROWS: Final = 100
"""As many as the page asks for at once."""
_NEAR: Final = 40
"""As many rows of a tree as a large window shows: `NEAR` of the page."""
_MOST_BODY: Final = 1_000_000
"""Bytes: a follow-up is no longer."""


async def serve_tasks(
    ohm: Ohm,
    listener: socket,
    *,
    token: str,
    clock: Clock = system_clock,
    task_status: TaskStatus[None] = TASK_STATUS_IGNORED,
) -> None:
    """Serve the page of the tasks in an `Ohm`'s store, on a socket of 127.0.0.1, until this is cancelled."""
    async with _opened_app(ohm, token=token, port=listener.getsockname()[1], clock=clock) as app:
        task_status.started()
        await serve_app(app, listener)


@asynccontextmanager
async def _opened_app(ohm: Ohm, *, token: str, port: int, clock: Clock) -> AsyncGenerator[ASGIApp]:
    pictures = Pictures(ohm.store, clock, resumes=ohm.config.subagents.send_to_finished == "resume")
    pictures.registry.refresh()  # the first page need not wait for it
    news = News(ohm.store, pictures)
    async with anyio.create_task_group() as group:
        group.start_soon(news.run)
        group.start_soon(partial(pictures.page, Filters(), offset=0, limit=_ROWS))  # while the browser is starting
        answers = _Answers(pictures, news, Steering(ohm, group, news.tell))
        yield Guard(Starlette(routes=answers.routes), token=token, port=port)
        group.cancel_scope.cancel()


class _Answers:
    """One method an address."""

    def __init__(self, pictures: Pictures, news: News, steering: Steering) -> None:
        self._pictures = pictures
        self._news = news
        self._steering = steering

    @property
    def routes(self) -> list[Route]:
        steering = self._steering
        return [
            Route("/", self.page),
            Route("/cost", self.page),
            Route("/costs", self.costs),
            Route("/tasks/{id:path}", self.page),
            Route("/page/{name}", self.file),
            Route("/api/tasks", self.tasks),
            Route("/api/tasks/{id:path}/transcript", self.transcript),
            Route("/api/tasks/{id:path}/export", self.export),
            Route("/api/cost", self.cost),
            Route("/api/stream", self.stream),
            Route("/api/tasks/{id:path}/cancel", _carrying_out(Nothing, steering.cancel), methods=["POST"]),
            Route("/api/tasks/{id:path}/send", _carrying_out(FollowUp, steering.send), methods=["POST"]),
            Route("/api/tasks/{id:path}/land", _carrying_out(Nothing, steering.land), methods=["POST"]),
            Route("/api/tasks/{id:path}/discard", _carrying_out(Nothing, steering.discard), methods=["POST"]),
            Route("/api/tasks/{id:path}", self.task),
            Route("/api/requests/{id:path}/answer", _carrying_out(Given, steering.answer), methods=["POST"]),
            Route("/{path:path}", self.nothing),
        ]

    async def page(self, request: Request) -> Response:
        return HTMLResponse(started_page(_first_asked(request)))

    async def costs(self, _request: Request) -> Response:
        return RedirectResponse("/cost")

    async def file(self, request: Request) -> Response:
        return _file(request.path_params["name"])

    async def tasks(self, request: Request) -> Response:
        asked = request.query_params
        if strange := {*asked} - {*_PARAMETERS}:
            name = one_line(min(strange)[:80])
            meant = did_you_mean(name, _PARAMETERS) or f"Allowed: {', '.join(_PARAMETERS)}."
            return _invalid(f"There is no parameter '{name}'. {meant}".rstrip())
        statuses = frozenset(one for each in asked.getlist("status") for one in each.split(",") if one)
        if unknown := statuses - _STATUSES:
            allowed = ", ".join(sorted(_STATUSES))
            return _invalid(f"No task is ever '{one_line(min(unknown)[:80])}'. Allowed: {allowed}.")
        filters = Filters(
            text=asked.get("q", ""),
            statuses=statuses,
            profile=asked.get("profile", ""),
            session=asked.get("session", ""),
        )
        offset, limit = _number(request, "offset", 0), _number(request, "limit", _ROWS)
        if offset is None or limit is None:
            return _invalid("'offset' and 'limit' are whole numbers from 0 on.")
        return _json(await self._pictures.page(filters, offset=offset, limit=min(limit, _MOST_ROWS)))

    async def task(self, request: Request) -> Response:
        near = _number(request, "near", 0)
        if near is None:
            return _invalid("'near' is a whole number from 0 on.")
        return _answer(await self._pictures.picture(request.path_params["id"], near=near))

    async def transcript(self, request: Request) -> Response:
        after = _number(request, "after", 0)
        if after is None:
            return _invalid("'after' is a whole number from 0 on.")
        return _answer(await self._pictures.transcript(request.path_params["id"], after))

    async def export(self, request: Request) -> Response:
        task_id = request.path_params["id"]
        found = await self._pictures.export(task_id)
        if isinstance(found, Err):
            return _answer(found)
        page = exported_page(found.ok_value)
        named = {"content-disposition": f'attachment; filename="{_file_name(task_id)}.html"'}
        return Response(page, media_type="text/html", headers=named)

    async def cost(self, request: Request) -> Response:
        typed = request.query_params.get("by", "profile")
        by: CostKey | None = next((key for key in COST_KEYS if key == typed), None)
        if by is None:
            return _invalid(f"'by' is '{one_line(typed[:80])}'; allowed: {', '.join(COST_KEYS)}.")
        return _json(self._pictures.cost(by))

    async def stream(self, request: Request) -> Response:
        last_id = request.headers.get("last-event-id", "")
        events = self._news.stream(request.query_params.get("task"), last_id)
        return StreamingResponse(events, media_type="text/event-stream")

    async def nothing(self, request: Request) -> Response:
        path = request.url.path
        said = f"There is nothing at '{one_line(path[:80])}'."
        is_shown = "text/html" in request.headers.get("accept", "") and not path.startswith("/api/")
        return HTMLResponse(_PAGE.format(escape(said)), 404) if is_shown else refused(404, _NOTHING, said)


def _carrying_out(
    shape: type[BodyT], act: Callable[[str, BodyT], Awaitable[Result[Done, OhmError]]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the method of an address that changes something: it reads the body, and acts."""

    async def carried_out(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return refused(415, _INVALID, "Send JSON: 'content-type: application/json'.")
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _MOST_BODY:
                return refused(413, _INVALID, f"It is longer than {_MOST_BODY:,} bytes.")
        try:
            given = shape.model_validate_json(bytes(body))
        except ValidationError as invalid:
            return _invalid(_fault(invalid))
        return _answer(await act(request.path_params["id"], given))

    return carried_out


def _fault(invalid: ValidationError) -> str:
    """Say what is wrong with a body, and where."""
    first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(f"{part}" for part in first["loc"])
    return one_line(f"'{where}': {first['msg']}." if where else f"{first['msg']}.")


def _first_asked(request: Request) -> str:
    """Return the address of the data that a page asks for first; empty where that depends on more than its path."""
    task_id = request.path_params.get("id")
    if task_id is not None:
        return f"/api/tasks/{quote(task_id, safe=_UNQUOTED)}?near={_NEAR}"
    return "" if request.url.query or request.url.path != "/" else f"/api/tasks?offset=0&limit={_ROWS}"


def _number(request: Request, name: str, default: int) -> int | None:
    typed = request.query_params.get(name)
    if typed is None:
        return default
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 16 else None


def _json(answer: object) -> Response:
    return Response(to_json(answer), media_type="application/json")


def _invalid(message: str) -> Response:
    return refused(400, _INVALID, message)


def _answer(result: Result[object, OhmError]) -> Response:
    match result:
        case Ok(found):
            return _json(found)
        case Err(error):
            return refused(_STATUS.get(error.resolved_category, 409), error.code, one_line(str(error)))


def _file(name: str) -> Response:
    found = page_file(name)
    if found is None:
        return refused(404, _NOTHING, f"The page has no file '{one_line(name[:80])}'.")
    content, media_type = found
    return Response(content, media_type=media_type)


def _file_name(task_id: str) -> str:
    return "".join(each if each.isascii() and (each.isalnum() or each in "-_") else "_" for each in task_id)[:80]
