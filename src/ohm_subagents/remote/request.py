"""A request as data that may travel, and back."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import PurePath
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from pydantic_core import to_jsonable_python

from ohm_subagents.contract import Profile, SessionId, TaskId
from ohm_subagents.contract.call_rules import CloneOf
from ohm_subagents.contract.tool_ceiling import cloned, cloned_delegation
from ohm_subagents.contract.wire import (
    WireExchange,
    WireRun,
    WireSpec,
    Workspace,
)
from ohm_subagents.plugin import (
    Diagnostic,
    DiagnosticRaised,
    Exchange,
    RequestNeed,
    RunRequest,
    RunSpec,
    tool_as_data,
    unused_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ohm_subagents.contract.call_rules import CallRules
    from ohm_subagents.contract.tool_ceiling import Delegation
    from ohm_subagents.plugin import Gate, Inbox, Tool

_ANY_MODEL: Final = RequestNeed(provider="{provider}", model="{model}")
_STAYS: Final = "keys and variables do not travel, and the runner has those of its own environment"


def wire_run(request: RunRequest, workspace: Workspace | None = None) -> WireRun:
    """Return what may travel of a request: no key, no variable, no function. Without a workspace, it is shared."""
    spec = request.spec
    return WireRun(
        task_id=request.task_id,
        session_id=request.session_id,
        prompt=request.prompt,
        spec=WireSpec(
            profile=_without_secrets(spec.profile),
            description=spec.description,
            instructions=spec.instructions,
            workspace=workspace or Workspace(path=str(spec.cwd)),
            tools=spec.tools,
            tools_are_bounded=spec.tools_are_bounded,
            child_tools=tuple(map(tool_as_data, spec.child_tools)),
            call_rules=spec.call_rules,
            passes=spec.passes,
            model=spec.model,
            mode=spec.mode,
            is_one_shot=spec.is_one_shot,
        ),
        history=tuple(WireExchange(prompt=one.prompt, output=one.output) for one in request.history),
        checkpoint=request.checkpoint,
        has_inbox=request.inbox is not None,
        has_gate=request.gate is not None,
        unpriced=None if request.gate is None else request.gate.unpriced(_ANY_MODEL),
        depth=request.depth,
    )


def run_key(request: RunRequest) -> str:
    """Return the key of the run at its runner, where tasks of other stores may have the same id."""
    if request.feed is None:
        return f"{request.task_id}.{token_hex(8)}"
    return f"{request.feed.key}.{_place(os.fspath(request.cwd))}"


@lru_cache(64)
def _place(directory: str) -> str:
    return sha256(os.fsencode(directory)).hexdigest()[:8]


def left_behind(profile: Profile) -> Iterator[DiagnosticRaised]:
    """Yield what the user should know of a profile that holds what never travels."""
    agent = profile.agent
    if agent is not None and agent.api_key is not None:
        yield unused_key(profile, _STAYS)
    if agent is not None and agent.variables:
        names = ", ".join(name for name, _ in agent.variables)
        message = f'The variables {names} of profile "{profile.name}" are not set: {_STAYS}.'
        yield DiagnosticRaised(diagnostic=Diagnostic(subject="environment", message=message))


def run_request(
    run: WireRun,
    cwd: Path,
    *,
    env: Mapping[str, str],
    child_tools: tuple[Tool, ...],
    inbox: Inbox | None,
    gate: Gate | None,
) -> RunRequest:
    """Return the request for the backend of a runner."""
    spec = run.spec
    return RunRequest(
        task_id=TaskId(run.task_id),
        session_id=SessionId(run.session_id),
        prompt=run.prompt,
        spec=RunSpec(
            profile=spec.profile,
            description=spec.description,
            instructions=spec.instructions,
            cwd=cwd,
            tools=spec.tools,
            tools_are_bounded=spec.tools_are_bounded,
            child_tools=child_tools,
            call_rules=rules_at(spec, cwd),
            passes=_passes_at(spec, cwd),
            model=spec.model,
            mode=spec.mode,
            is_one_shot=spec.is_one_shot,
            env=env,
        ),
        history=tuple(Exchange(prompt=one.prompt, output=one.output) for one in run.history),
        checkpoint=run.checkpoint,
        inbox=inbox,
        gate=gate,
        depth=run.depth,
    )


def rules_at(spec: WireSpec, cwd: Path) -> tuple[CallRules, ...]:
    """Return the rules of a run for the directory where it works: those of the task's own one, in a clone of it."""
    clone = _clone(spec.workspace, cwd)
    return spec.call_rules if clone is None else cloned(spec.call_rules, spec.workspace.path, clone)


def _passes_at(spec: WireSpec, cwd: Path) -> Delegation | None:
    clone = _clone(spec.workspace, cwd)
    if clone is None or spec.passes is None:
        return spec.passes
    return cloned_delegation(spec.passes, spec.workspace.path, clone)


def _clone(workspace: Workspace, cwd: Path) -> CloneOf | None:
    """Return the clone by its top, which may be above the directory of the task; None for the same directory."""
    if workspace.path == str(cwd):
        return None
    original, clone = PurePath(workspace.path), PurePath(cwd)
    for name in reversed(PurePath(workspace.within).parts):
        if original.name != name or clone.name != name:
            break
        original, clone = original.parent, clone.parent
    return CloneOf(original=str(original), clone=str(clone))


def _without_secrets(profile: Profile) -> Profile:
    if profile.agent is not None and (profile.agent.api_key is not None or profile.agent.variables):
        profile = replace(profile, agent=replace(profile.agent, api_key=None, variables=()))
    if profile.result_schema is not None:
        profile = replace(profile, result_schema=to_jsonable_python(dict(profile.result_schema)))
    return profile
