"""Isolated runs: each works in a clone of the task's files, and what it did there is kept in a reference."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._config.env import CLONE_VARIABLE
from ohm_subagents._orchestrator.admission.instructions import instructions
from ohm_subagents._orchestrator.call_context import SharedClone, current_context
from ohm_subagents.contract.call_rules import CloneOf
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import DiagnosticRaised, ToolStarted
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.tool_ceiling import cloned, cloned_delegation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents._plugins.backends.gate import Gate, Grant, RequestNeed
    from ohm_subagents._plugins.backends.interface import Backend, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.call_rules import CallRules
    from ohm_subagents.contract.events import RunEvent
    from ohm_subagents.contract.profile import Decision
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.workspace import Cloning
    from ohm_subagents.workspaces import Beginning, OpenClone, TaskWorkspaces

_SHOWN: Final = 20
"""The changes of the parent that are named."""
_UNCLONED: Final = frozenset({"PWD", "OLDPWD", "INIT_CWD", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_CEILING_DIRECTORIES"})
"""Variables that say where another process works."""
_OF_GIT: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_", "GIT_OBJECT_", "GIT_ALTERNATE_")
"""The beginnings of variables that tell git to use another repository than that of its directory."""


class IsolatedBackend:
    """A backend for one run, which works in a clone of the files of its task.

    The clone is of the files as they are, or as the task, or the one that it continues, has left them. However the run
    ends, what it did is kept; an answer whose work cannot be kept is none.
    """

    def __init__(
        self,
        backend: Backend,
        workspaces: TaskWorkspaces,
        cloning: Cloning,
        *,
        live: RunningTask,
        former: Task | None,
        guard: RunGuard,
    ) -> None:
        """`former` is the settled task that this one continues."""
        self._backend = backend
        self._workspaces = workspaces
        self._cloning = cloning
        self._live = live
        self._guard = guard
        self._after = "" if former is None else former.id

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run the prompt in a clone. Until that is there, and from its end on, no clock counts."""
        has_begun = False
        self._guard.pause()
        try:
            is_gone = self._live.record.has_expired
            begun = await self._workspaces.begin(request.cwd, request.task_id, after=self._after, is_gone=is_gone)
            if isinstance(begun, Err):
                return begun
            beginning = begun.ok_value
            name, includes = f"{beginning.top} {request.session_id}", self._cloning.includes
            async with self._workspaces.clone(beginning, name, includes=includes) as clone:
                if isinstance(clone, Err):
                    return clone
                has_begun = True
                watch = _Watch(sink, beginning.top)
                result = await self._worked(request, watch, beginning, clone.ok_value)
                return await self._checked(result, watch, beginning)
        finally:
            self._guard.resume()
            if not has_begun:
                with anyio.CancelScope(shield=True):
                    await self._workspaces.forget(request.cwd, request.task_id)

    async def _worked(
        self, request: RunRequest, sink: Sink, beginning: Beginning, clone: OpenClone
    ) -> Result[RunOutput, OhmError]:
        """Return how the run ends, once what it did is kept."""
        result: Result[RunOutput, OhmError] = Err(_STOPPED)
        lost: OhmError | None = None
        place = CloneOf(original=f"{beginning.top}", clone=f"{clone.top}")
        self._enter(SharedClone(place, request.task_id))
        self._guard.resume()
        try:
            result = await self._backend.run(in_clone(request, clone, place), sink)
        finally:
            self._guard.pause()
            self._enter(self._live.caller.clone)
            with anyio.CancelScope(shield=True):
                lost = await self._kept(beginning, clone, sink)
            if lost is not None and not isinstance(result, Ok):
                sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="workspace", message=f"{lost}")))
        return result if lost is None or isinstance(result, Err) else Err(lost)

    async def _checked(
        self, result: Result[RunOutput, OhmError], watch: _Watch, beginning: Beginning
    ) -> Result[RunOutput, OhmError]:
        """Tell of what has changed in the files of the parent: an error if a call of the run has named them."""
        changes = await self._workspaces.changed(beginning)
        if not changes:
            return result
        more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        what = f"{', '.join(changes[:_SHOWN])}{more}"
        if watch.call and isinstance(result, Ok):
            return Err(
                OhmError(
                    code=ErrorCode.WORKSPACE_ESCAPED,
                    message=f"The task works in a clone of '{beginning.top}', and has called {watch.call} there. "
                    f"Changed meanwhile, and not landed: {what}.",
                    advice="Look at these changes, and take back what is not yours. What it did in its clone is kept.",
                )
            )
        by = f"it has called {watch.call} there" if watch.call else "nothing that it did names them"
        told = f"Of '{beginning.top}' has changed while the task ran in a clone, and not landed: {what}; {by}."
        watch.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="workspace", message=told, severity="info")))
        return result

    def _enter(self, clone: SharedClone | None) -> None:
        """Let what the run starts work in a clone too."""
        self._live.clone = clone
        current_context.set(self._live.context)

    async def _kept(self, beginning: Beginning, clone: OpenClone, sink: Sink) -> OhmError | None:
        kept = await self._workspaces.keep_clone(beginning, clone)
        if isinstance(kept, Err):
            return kept.err_value
        work = kept.ok_value
        if work is not None:
            sink.emit(work.event)
        return None


class _Watch:
    """The sink of a run in a clone, which notes the first call of a tool that names the parent's files."""

    def __init__(self, sink: Sink, top: Path) -> None:
        self._sink = sink
        self._named = re.compile(rf"{re.escape(f'{top}')}(?![\w.-])")
        self.call = ""
        """The name of the tool."""

    def emit(self, event: RunEvent) -> None:
        if isinstance(event, ToolStarted) and not self.call and self._named.search(f"{event.args}"):
            self.call = event.tool
        self._sink.emit(event)


class _ClonedGate:
    """The gate of a run in a clone: rules mean the original."""

    def __init__(self, gate: Gate, request: RunRequest) -> None:
        """`request` is that of the clone."""
        self._gate = gate
        self._request = request
        self.unpriced = gate.unpriced
        self.throttled = gate.throttled

    def request(self, need: RequestNeed) -> AbstractAsyncContextManager[Result[Grant, OhmError]]:
        return self._gate.request(need)

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str = "",
        on_wait: Callable[[], None] | None = None,
        judged: Decision | None = None,
    ) -> str | None:
        from ohm_subagents._policy.calls import judge_call  # noqa: PLC0415  an echo calls no tool

        decision = judged or judge_call(self._request.call_rules, name, arguments, cwd=self._request.cwd)
        return await self._gate.tool(name, arguments, call_id=call_id, on_wait=on_wait, judged=decision)


def in_clone(request: RunRequest, clone: OpenClone, place: CloneOf) -> RunRequest:
    """Return the request for the same work in a clone: its rules mean the original, and no variable leads there."""
    spec, cwd = request.spec, f"{request.cwd}"
    rules: tuple[CallRules, ...] = cloned(spec.call_rules, cwd, place)
    passes = None if spec.passes is None else cloned_delegation(spec.passes, cwd, place)
    box = None if request.box is None else replace(request.box, workspace=clone.directory)
    moved = replace(
        request,
        box=box and box.with_needs(reads=clone.borrows, writes=(clone.top,)),
        spec=replace(
            spec,
            cwd=clone.directory,
            instructions=instructions(spec.profile, clone.directory),
            call_rules=rules,
            passes=passes,
            env=_environment(spec.env, place),
        ),
    )
    return moved if request.gate is None else replace(moved, gate=_ClonedGate(request.gate, moved))


def _environment(env: Mapping[str, str], place: CloneOf) -> dict[str, str]:
    """Return variables of which none names the original; a path below it is the same one below the clone."""
    kept = {name: value for name, value in env.items() if name not in _UNCLONED and not name.startswith(_OF_GIT)}
    inside = place.original + os.sep
    moved = {
        name: place.clone + value[len(place.original) :] if f"{value}{os.sep}".startswith(inside) else value
        for name, value in kept.items()
    }
    return {**moved, CLONE_VARIABLE: place.clone}


_STOPPED: Final = OhmError(code=ErrorCode.TASK_ABORTED, message="The run was stopped.")
