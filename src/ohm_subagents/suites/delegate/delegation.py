"""One call of `delegate_to_subagents`: its tasks as a command, and what is seen of them while it is carried out."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import (
    Err,
    ErrorCode,
    ItemRejected,
    Limits,
    LoopPolicy,
    OhmError,
    Ok,
    Overrides,
    RunStarted,
    Session,
    SessionId,
    Start,
    StartItem,
    StartReply,
    TaskSettled,
)
from ohm_subagents.suites.delegate.attachments import preface
from ohm_subagents.suites.delegate.details import SessionRun, Windows
from ohm_subagents.suites.delegate.inputs import MAX_TASKS
from ohm_subagents.suites.delegate.outcome import Ending, ending, failure
from ohm_subagents.suites.delegate.rules import conflict, unusable_cwd
from ohm_subagents.suites.delegate.settings import load_settings, terminal_columns
from ohm_subagents.suites.delegate.subagent import SubAgent, new_subagent
from ohm_subagents.suites.delegate.transcripts import resume_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents.suite import Event, Preface, Profile, Reply, Result, SuiteContext, Task, TaskId
    from ohm_subagents.suites.delegate.agents import AgentRepository
    from ohm_subagents.suites.delegate.inputs import DelegateFields, DelegateTaskFields
    from ohm_subagents.suites.delegate.options import DelegateOptions
    from ohm_subagents.suites.delegate.sessions import Sessions

MAX_CONCURRENCY: Final = 4
ABORT_ON: Final = (
    ErrorCode.PROFILE_TOOLS_CONFLICT,
    ErrorCode.PROFILE_SKILLS_CONFLICT,
    ErrorCode.SESSION_NOT_FOUND,
    ErrorCode.SESSION_BUSY,
    ErrorCode.CWD_INVALID,
    ErrorCode.PROFILE_ARGUMENT_REFUSED,
)
"""Errors that refuse the whole call; of several, the first of these is reported."""
_DAY_MS: Final = 86_400_000
_UNNAMED: Final = "sub-agent"


class Delegation:
    """One call, and an observer of the tasks that it starts. `busy` are sessions that another call uses."""

    def __init__(
        self,
        asked: DelegateFields,
        context: SuiteContext,
        sessions: Sessions,
        agents: AgentRepository,
        options: DelegateOptions,
        *,
        busy: frozenset[str] = frozenset(),
    ) -> None:
        self._asked = asked
        self._context = context
        self._sessions = sessions
        self._options = options
        self._busy = busy
        self._settings, _ = load_settings(context.place, columns=terminal_columns())
        self._agents = agents
        self._subagents: dict[str, SubAgent] = {}

    async def command(self) -> Result[Start, OhmError]:
        """Return the command for everything that is asked, or the error that refuses all of it."""
        items = [await self._item(task) for task in self._asked.tasks]
        errors = [item.refusal for item in items if item.refusal is not None]
        fatal = (error for code in ABORT_ON for error in errors if error.code == code)
        error = next(fatal, None)
        return Ok(Start(items=tuple(items), parallel=True, limit=MAX_CONCURRENCY)) if error is None else Err(error)

    async def _item(self, task: DelegateTaskFields) -> StartItem:
        session_id, context, unusable = await self._session(task)
        name = (task.profile if task.profile is not None else self._asked.profile) or ""
        found = self._agents.find(name, self._context.profiles())
        subagent = new_subagent(task, session_id, name, found, context=self._context, settings=self._settings)
        self._subagents.setdefault(session_id, subagent)
        profile = self._profile(found, task, unusable)
        return StartItem(
            profile=profile.ok_value if isinstance(profile, Ok) else name,
            refusal=profile.err_value if isinstance(profile, Err) else None,
            description=task.name.strip() or _UNNAMED,
            prompt=task.prompt,
            overrides=Overrides(
                backend=self._options.backend,
                limits=self._limits(task),
                loop=LoopPolicy(
                    identical_calls=self._settings.looping_tool_count,
                    alternations=0,
                    same_results=0,
                    steps=("stop",),
                ),
                cwd=None if task.cwd is None else Path(task.cwd),
            ),
            is_one_shot=True,
            preface=self._preface(task, context, subagent.left_out.append),
            session=Session(id=SessionId(session_id)),
        )

    def _profile(
        self, found: Result[Profile, OhmError], task: DelegateTaskFields, unusable: OhmError | None
    ) -> Result[Profile, OhmError]:
        """Return the profile of a task, complete; or the first error, `unusable` being that of its session."""
        error = unusable or unusable_cwd(task.cwd)
        if isinstance(found, Ok):
            error = conflict(found.ok_value) or error
        if error is not None:
            return Err(error)
        if isinstance(found, Err):
            return found
        return self._agents.complete(found.ok_value, self._context.host.active_tools())

    def _preface(self, task: DelegateTaskFields, context: str, left_out: Callable[[str], None]) -> Preface:
        """Return the files of a task, read when its run begins, and the transcript that it continues."""
        if not task.files:
            return context
        cwd, is_confined = Path(task.cwd or self._context.place.cwd), self._options.files_outside_cwd == "deny"
        return partial(preface, task.attachments, context, cwd, is_confined=is_confined, left_out=left_out)

    def _limits(self, task: DelegateTaskFields) -> Limits:
        """Return the limits of this suite, and the configured ones of every run but the one of silence."""
        soft_ms, extend_ms = int(task.timeout * 1000), int(self._settings.extend_timeout_debounce_s * 1000)
        said, long_ms = self._context.settings().limits, max(_DAY_MS, soft_ms + extend_ms)
        return Limits(
            soft_ms=soft_ms,
            extend_ms=extend_ms,
            extension="calls",
            idle_ms=long_ms,
            tool_ms=said.tool_ms or long_ms,
            cap_ms=said.cap_ms or long_ms,
        )

    async def _session(self, task: DelegateTaskFields) -> tuple[str, str, OhmError | None]:
        """Return the session of a task, its transcript, and the error if it cannot be continued."""
        if task.resume is None:
            return self._new_id(), "", None
        runs = await self._sessions.find(task.resume)
        if not runs:
            why = "not found. The session may have expired or the ID is incorrect."
            return task.resume, "", _cannot_resume(ErrorCode.SESSION_NOT_FOUND, task.resume, why)
        use = self._use(task.resume, runs)
        if use is not None:
            return task.resume, "", _cannot_resume(ErrorCode.SESSION_BUSY, task.resume, use)
        return task.resume, resume_text(runs), None

    def _use(self, session_id: str, runs: tuple[SessionRun, ...]) -> str | None:
        """Return how a session is in use, if it is."""
        if session_id in self._subagents:
            return "is named by two tasks of this call. Resume it with one of them."
        if session_id in self._busy or any(run.status == "running" for run in runs):
            return "is still running. Wait for it to complete before resuming."
        return None

    def _new_id(self) -> str:
        """Return 16 hex digits that no other task of the call has."""
        ids = (self._context.new_uuid().hex[:16] for _ in range(MAX_TASKS * MAX_TASKS))
        return next(one for one in ids if one not in self._subagents)

    def notify(self, task: Task, event: Event) -> None:
        """Follow an event of one of the tasks."""
        subagent = self._subagents[task.session_id]
        self._know(subagent, task.id)
        subagent.window.add(event)
        if isinstance(event, RunStarted):
            subagent.window.change(started_at=self._context.clock())
        elif isinstance(event, TaskSettled):
            self._end(subagent, ending(task, timeout_s=subagent.fields.timeout))

    def _refuse(self, started: StartReply) -> None:
        """End the tasks that were refused: each fails alone and at once, with a session of its own."""
        for subagent, reply in zip(self._subagents.values(), started.items, strict=True):
            if isinstance(reply, ItemRejected) and not subagent.is_known:
                self._know(subagent, reply.task_id)
                self._end(subagent, failure(reply.error))

    def _know(self, subagent: SubAgent, task_id: TaskId | None) -> None:
        if not subagent.is_known:
            subagent.is_known, subagent.task_id = True, task_id
            self._sessions.add(subagent.session_id, subagent)

    def _end(self, subagent: SubAgent, ended: Ending) -> None:
        subagent.end(ended, at_ms=self._context.clock())
        self._sessions.persist(subagent.record())

    def seen(self, reply: Reply) -> Windows:
        """Return all sub-agents as they are now."""
        if isinstance(reply, StartReply):
            self._refuse(reply)
        seen = tuple(subagent.window.window() for subagent in self._subagents.values())
        return Windows(
            windows=seen,
            max_lines_per_window=self._settings.max_lines_per_window,
            global_status="running" if any(window.status == "running" for window in seen) else "done",
            session_ids=tuple(self._subagents),
        )


def _cannot_resume(code: ErrorCode, session_id: str, why: str) -> OhmError:
    return OhmError(code=code, message=f'Cannot resume: session "{session_id}" {why}')
