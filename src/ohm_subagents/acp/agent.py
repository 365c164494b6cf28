"""The agent of one connection: the requests of an editor, each answered by a session."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final, TypeVar, cast

from acp import RequestError
from acp.schema import (
    CloseSessionResponse,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    ResumeSessionResponse,
    SessionInfo,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)

from ohm_subagents.acp.choices import PROFILE, Choices
from ohm_subagents.acp.greeting import greeting
from ohm_subagents.acp.mcp_servers import servers_of, tools_of
from ohm_subagents.acp.prompts import prompt_text
from ohm_subagents.acp.session import TASK, Session
from ohm_subagents.acp.stops import INVALID_PARAMS, NOT_FOUND
from ohm_subagents.contract import Err, Ok, SessionId
from ohm_subagents.store import TaskQuery

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from acp import Agent
    from acp.schema import ClientCapabilities, PromptResponse

    from ohm_subagents import Ohm
    from ohm_subagents.acp.mcp_servers import Named
    from ohm_subagents.acp.ohms import Ohms
    from ohm_subagents.acp.prompts import Block
    from ohm_subagents.acp.session import Editor
    from ohm_subagents.contract import ListedTask, Result, Task

T = TypeVar("T")
_PAGE: Final = 50
"""Sessions of one answer to `session/list`."""
STATUS: Final = "ohm/status"
"""The key of `_meta` with the status of a task."""


def agent_of(ohms: Ohms, profile: str | None) -> Agent:
    """Make the agent of a connection. What it has no method for is answered as unknown."""
    agent: object = _OhmAgent(ohms, profile=profile)
    return cast("Agent", agent)


class _OhmAgent:
    """Answers the requests of one editor: the router of the package `acp` looks for a method of the name of each."""

    def __init__(self, ohms: Ohms, *, profile: str | None) -> None:
        self._ohms = ohms
        self._profile = profile
        self._sessions: dict[str, Session] = {}
        self._editor: Editor | None = None
        self._takes_forms = False

    def on_connect(self, conn: Editor) -> None:
        self._editor = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_more: object
    ) -> InitializeResponse:
        del protocol_version  # the client leaves if it does not speak ours
        shown = None if client_capabilities is None else client_capabilities.elicitation
        self._takes_forms = shown is not None and shown.form is not None
        return InitializeResponse.model_validate(greeting())

    async def new_session(
        self, cwd: str, mcp_servers: Sequence[Named] | None = None, **_more: object
    ) -> NewSessionResponse:
        place = _directory(cwd)
        ohm, tools = await self._entered(place, mcp_servers)
        try:
            choices = _or_refused(Choices.begun(ohm, self._profile))
        except RequestError:
            await self._ohms.leave(ohm)
            raise
        session_id = SessionId(f"session_{token_hex(16)}")
        self._sessions[session_id] = Session(
            session_id, session_id, ohm=ohm, cwd=place, choices=choices, tools=tools, config=self._ohms.config
        )
        return NewSessionResponse(session_id=session_id, modes=choices.modes(), config_options=choices.options())

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Sequence[Named] | None = None, **_more: object
    ) -> LoadSessionResponse:
        session = await self._kept(cwd, session_id, mcp_servers)
        await session.replay(self._connected())
        return LoadSessionResponse(modes=session.choices.modes(), config_options=session.choices.options())

    async def resume_session(
        self, session_id: str, cwd: str, mcp_servers: Sequence[Named] | None = None, **_more: object
    ) -> ResumeSessionResponse:
        session = await self._kept(cwd, session_id, mcp_servers)
        return ResumeSessionResponse(modes=session.choices.modes(), config_options=session.choices.options())

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_more: object
    ) -> ListSessionsResponse:
        if cursor is not None and not cursor.isdecimal():
            raise RequestError(INVALID_PARAMS, f"The cursor {cursor!r:.80} is not one that a list has ended with.")
        place = Path.cwd() if cwd is None else _directory(cwd)
        ohm = _or_refused(await self._ohms.enter(place, {}))
        try:
            begin = int(cursor or "0")
            found = list(_listed(ohm, place, is_filter=cwd is not None, end=begin + _PAGE + 1))
        finally:
            await self._ohms.leave(ohm)
        is_more = len(found) > begin + _PAGE
        return ListSessionsResponse(
            sessions=found[begin : begin + _PAGE], next_cursor=f"{begin + _PAGE}" if is_more else None
        )

    async def close_session(self, session_id: str, **_more: object) -> CloseSessionResponse:
        session = self._session(session_id)
        await session.cancel()
        del self._sessions[session_id]
        await self._ohms.leave(session.ohm)
        return CloseSessionResponse()

    async def set_session_mode(self, session_id: str, mode_id: str, **_more: object) -> SetSessionModeResponse:
        session = self._session(session_id)
        _choose(session, PROFILE, mode_id)
        changed = ConfigOptionUpdate(session_update="config_option_update", config_options=[*session.choices.options()])
        await self._connected().session_update(session_id, changed)
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: object, **_more: object
    ) -> SetSessionConfigOptionResponse:
        session = self._session(session_id)
        _choose(session, config_id, f"{value}")
        if config_id == PROFILE:
            changed = CurrentModeUpdate(session_update="current_mode_update", current_mode_id=session.choices.profile)
            await self._connected().session_update(session_id, changed)
        return SetSessionConfigOptionResponse(config_options=[*session.choices.options()])

    async def prompt(self, session_id: str, prompt: Sequence[Block], **_more: object) -> PromptResponse:
        session = self._session(session_id)
        return await session.prompt(_or_refused(prompt_text(prompt)), self._connected(), takes_forms=self._takes_forms)

    async def cancel(self, session_id: str, **_more: object) -> None:
        session = self._sessions.get(session_id)
        if session is not None:  # a notification has no answer that could say so
            await session.cancel()

    def _connected(self) -> Editor:
        if self._editor is None:
            raise RuntimeError("The agent has no connection; use `acp.run_agent`, or `acp.AgentSideConnection`.")
        return self._editor

    def _session(self, session_id: str) -> Session:
        found = self._sessions.get(session_id)
        if found is None:
            sentence = f"There is no session {session_id!r:.80} here. Begin one, or load it if it is an earlier one."
            raise RequestError(NOT_FOUND, sentence)
        return found

    async def _entered(self, cwd: Path, named: Sequence[Named] | None) -> tuple[Ohm, tuple[str, ...]]:
        """Return the `Ohm` of a session, and the tools that it gets of the servers of the editor."""
        servers = _or_refused(servers_of(named or ()))
        return _or_refused(await self._ohms.enter(cwd, servers)), tools_of(servers)

    async def _kept(self, cwd: str, session_id: str, named: Sequence[Named] | None) -> Session:
        """Return a session whose tasks are kept, under its id, or that of one of its tasks."""
        if session_id in self._sessions:
            return self._sessions[session_id]
        place = _directory(cwd)
        ohm, tools = await self._entered(place, named)
        task = _newest(ohm, session_id)
        begun = Err("") if task is None else Choices.begun(ohm, task.assignment.profile)
        if isinstance(begun, Err):
            begun = Choices.begun(ohm, self._profile)
        if task is None or isinstance(begun, Err):
            await self._ohms.leave(ohm)
            if task is None:
                why = "Settled tasks are removed after subagents.taskRetentionMs."
                raise RequestError(NOT_FOUND, f"No session {session_id!r:.80} is kept. {why}")
        choices = _or_refused(begun)
        session = Session(
            session_id, task.session_id, ohm=ohm, cwd=place, choices=choices, tools=tools, config=self._ohms.config
        )
        self._sessions[session_id] = session
        return session


def _newest(ohm: Ohm, session_id: str) -> Task | None:
    """Return the newest task of a session, or the task of this id."""
    tasks = (each.ok_value for each in ohm.store.list(TaskQuery(session=session_id)) if isinstance(each, Ok))
    newest = next(tasks, None)
    return ohm.task(session_id if newest is None else newest.id)


def _listed(ohm: Ohm, cwd: Path, *, is_filter: bool, end: int) -> Iterator[SessionInfo]:
    """Yield the first sessions, newest first: of all directories, or of this one and of those that have none."""
    sessions: dict[SessionId, list[ListedTask]] = {}
    for found in ohm.store.list(TaskQuery()):
        if isinstance(found, Ok):
            sessions.setdefault(found.ok_value.session_id, []).append(found.ok_value)
    for tasks in sessions.values():
        newest = ohm.task(tasks[0].id)
        if newest is None or newest.assignment.parent is not None or end <= 0:
            continue
        place = Path(newest.assignment.cwd or cwd)
        if not is_filter or place == cwd:
            end -= 1
            yield _info(newest, tasks[-1].description, place)


def _info(newest: Task, title: str, cwd: Path) -> SessionInfo:
    updated = datetime.fromtimestamp(newest.updated_ms / 1000, UTC).isoformat(timespec="milliseconds")
    meta = {TASK: newest.id, STATUS: newest.status}
    return SessionInfo(session_id=newest.session_id, cwd=f"{cwd}", title=title, updated_at=updated, field_meta=meta)


def _directory(cwd: str) -> Path:
    path = Path(cwd)
    if not path.is_absolute() or not os.path.isdir(path):
        raise RequestError(INVALID_PARAMS, f"There is no directory {cwd!r:.200}. Name one by its absolute path.")
    return path


def _or_refused(result: Result[T, str]) -> T:
    if isinstance(result, Err):
        raise RequestError(INVALID_PARAMS, result.err_value)
    return result.ok_value


def _choose(session: Session, option: str, value: str) -> None:
    refusal = session.choices.choose(option, value)
    if refusal is not None:
        raise RequestError(INVALID_PARAMS, refusal)
