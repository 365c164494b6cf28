"""The errors of a start or a follow-up that is refused. Recorded cases hold many of the words."""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.call_rules import RULED_TOOL
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ohm_subagents._plugins.suites.profile_source import ProfileSource
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.ids import SessionId, TaskId
    from ohm_subagents.contract.task import Task

DISABLED: Final = OhmError(
    code=ErrorCode.SUBAGENTS_DISABLED,
    summary="Subagents feature is disabled",
    message="Enable features.subagents to use task orchestration and primary subagent tools",
)
ASYNC_REFUSED: Final = OhmError(
    code=ErrorCode.ASYNC_DISABLED,
    summary="Async/background subagent execution is disabled",
    message="Subagent starts must run synchronously. Remove async:true and run start directly.",
    advice='A user may allow it: {"subagents": {"asyncStart": "allow"}} in ohm.json.',
)


def unknown_profile(
    typed: str,
    visible_ids: tuple[str, ...],
    sources: Iterable[ProfileSource] = (),
    faults: Iterable[Diagnostic] = (),
) -> OhmError:
    """Refuse an id that no profile of the catalogue has; say where a suite has one, or which faults its file has."""
    hint = did_you_mean(typed.strip().lower(), visible_ids)
    for source in sources:
        if typed in source.names():
            remedy = f'"agentProfiles": ["{typed}"] under "subagents" of ohm.json lets task run it too'
            hint = f"'{typed}' is an agent profile, which {source.used_by} and not task runs; {remedy}. "
    for fault in faults:
        names = {fold_id(fault.subject), fold_id(PurePath(fault.source or "").stem)}
        if fault.severity == "error" and fold_id(typed) in names:
            hint = f"Its file cannot be used: {fault} "
    return OhmError(
        code=ErrorCode.UNKNOWN_SUBAGENT_TYPE,
        summary=f"Unknown subagent_type '{typed}'",
        message=f"No subagent profile found for '{typed}'.",
        advice=f"{hint}Available profiles: {', '.join(visible_ids)}.",
    )


def unisolated(backend: str) -> OhmError:
    """Refuse a clone for runs that may outlive the process which removes it."""
    return OhmError(
        code=ErrorCode.WORKSPACE_FAILED,
        message=f"Isolation 'clone' is not possible on the backend '{backend}': its runs go on elsewhere.",
        advice='Use another backend, or isolation \'none\' with the backend\'s own "workspace": "bundle" if it has it.',
    )


def feature_off(profile: str, feature: str) -> OhmError:
    """Refuse a profile whose feature flag is off."""
    return OhmError(
        code=ErrorCode.SUBAGENT_UNAVAILABLE,
        message=f"Subagent '{profile}' is disabled by feature flag '{feature}'",
        advice=f"Set features.{feature} to true in ohm.json to enable it.",
    )


def unreadable(cwd: Path) -> OhmError:
    """Refuse a directory that cannot be read."""
    return OhmError(
        code=ErrorCode.CWD_UNREADABLE,
        message=f"The working directory '{cwd}' is not a readable directory.",
        advice="Give an existing directory that this process may read.",
    )


def directory_fault(cwd: Path) -> OhmError | None:
    """Return the refusal of a directory that cannot be read; None for one that can."""
    itself = f"{cwd}/."  # which nothing but a directory has: one call of the system, for each start
    return None if os.access(itself, os.R_OK | os.X_OK) else unreadable(cwd)


def duplicate(task_id: TaskId) -> OhmError:
    """Refuse an id that another task has."""
    return OhmError(code=ErrorCode.DUPLICATE_TASK_ID, message=f"Task id '{task_id}' already exists", task_id=task_id)


def starter_cancelled(task_id: TaskId) -> OhmError:
    """Refuse a start by a task that was cancelled: it would outlive that task."""
    return OhmError(code=ErrorCode.TASK_ABORTED, message=f"Task {task_id} was cancelled, and starts no other any more.")


def not_resumable(task: Task) -> OhmError:
    """Refuse a follow-up to a settled task."""
    return OhmError(
        code=ErrorCode.NOT_RESUMABLE,
        message=f"Task '{task.id}' is terminal ({task.status}) and cannot be resumed",
        advice='Start a new task, or set subagents.sendToFinished to "resume": then send continues its session.',
        task_id=task.id,
    )


def unkept(task: Task, options: Iterable[str]) -> OhmError:
    """Refuse a follow-up to a task that was started with what only its program had."""
    names = tuple(options)
    given = " and ".join(f"`{name}`" for name in names)
    verb = "is" if names == ("profile",) else "are"
    call = ", ".join(("prompt", *(f"{name}=..." for name in names)))
    return OhmError(
        code=ErrorCode.NOT_RESUMABLE,
        message=f"Task '{task.id}' was started with {given} of a program, which {verb} not kept with it.",
        advice=f"Give {given} again: `ohm.handle('{task.id}').send({call})`.",
        task_id=task.id,
    )


def busy(session_id: SessionId) -> OhmError:
    """Refuse a session with a task that is not over."""
    return OhmError(
        code=ErrorCode.SESSION_BUSY,
        message=f'Cannot resume: session "{session_id}" is still running. Wait for it to complete before resuming.',
    )


def uncounted(backend: str) -> OhmError:
    """Refuse a budget of tokens or cost on a backend that does not report its usage."""
    return OhmError(
        code=ErrorCode.BUDGET_UNENFORCEABLE,
        message=f"The budget of tokens or cost cannot be kept: backend '{backend}' does not report its usage.",
        advice="Choose a backend that reports its usage, or set a budget of requests, tool calls or time.",
    )


def tools_unsupported(names: Iterable[str], backend: str) -> OhmError:
    """Refuse tools of a call on a backend that gives subagents none."""
    given = ", ".join(f"'{name}'" for name in names)
    return OhmError(
        code=ErrorCode.TOOLS_UNSUPPORTED,
        message=f"Backend '{backend}' gives subagents no tools of a program, and the call has {given}.",
        advice="Choose a backend that gives tools to subagents, or leave out `tools`.",
    )


def rules_unsupported(profile: str, backend: str, tool: str, *, is_default: bool = False) -> OhmError:
    """Refuse a profile with rules for the calls of a tool on a backend that cannot keep them.

    Rules that come with a profile (`is_default`) hold because of `subagents.requests.unattended`.
    """
    calls = "commands" if tool == RULED_TOOL else "calls"
    return OhmError(
        code=ErrorCode.TOOLS_UNSUPPORTED,
        message=f"Backend '{backend}' cannot keep the rules of profile '{profile}' for {calls} of '{tool}'.",
        advice="Run it on 'interactive-sdk', or allow or deny the tool as a whole"
        + ('; or set subagents.requests.unattended to "allow".' if is_default else "."),
    )


def tool_taken(name: str) -> OhmError:
    """Refuse a tool of a call that is called like another tool of subagents."""
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"The tool '{name}' of the call is called like another tool of subagents.",
        advice="Give it another name: `@tool(name=...)`.",
    )


def tool_denied(name: str, profile: str) -> OhmError:
    """Refuse a tool of a call that the profile or the configuration denies."""
    return OhmError(
        code=ErrorCode.PERMISSION_DENIED,
        message=f"The tool '{name}' of the call is denied to profile '{profile}'.",
        advice="Take it out of the denied tools of the profile or of ohm.json, or out of the call.",
    )


def unreadable_lists(fault: str) -> OhmError:
    """Refuse a call whose lists `allow` and `deny` have an entry that cannot be read."""
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"`allow` and `deny` of the call cannot be kept: {fault}.",
        advice="Correct the entry: nothing is started without it.",
    )


def unknown_denial(name: str, advice: str) -> OhmError:
    """Refuse a call that denies a tool that there is not: the one that was meant would be given."""
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"The call denies '{name}', which is no tool of a subagent.",
        advice=advice,
    )


def denied_by_itself(name: str) -> OhmError:
    """Refuse a call that gives a tool in `tools` and denies it in `deny`."""
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"The call both gives the tool '{name}' (`tools`) and denies it (`deny`).",
        advice="Name it in one of the two.",
    )


def tool_of_profile(name: str, profile: str) -> OhmError:
    """Refuse a call that names, in `tools`, one that the profile has: the caller may mean to leave out the others."""
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"`tools` of the call names '{name}', which the profile '{profile}' has already; `tools` only adds.",
        advice=f"To leave the task no other tool, say allow=['{name}']; else leave the name out.",
    )


def calls_in_tools(entry: str) -> OhmError:
    """Refuse a call that names, in `tools`, some calls of a tool."""
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"`tools` of the call names the calls '{entry}', and it only adds whole tools.",
        advice=f"To leave the task only these calls, say allow=['{entry}']; to take them away, deny=['{entry}'].",
    )


def not_running(parent: str) -> OhmError:
    """Refuse to start a task below one that does not run here."""
    return OhmError(
        code=ErrorCode.UNKNOWN_TASK_ID,
        message=f"No task '{parent}' runs here, so none can be started below it.",
        advice="Give the id of a task of this Ohm that is not over, or leave out `parent`.",
    )


def mistyped(name: str, value: object, kind: type) -> OhmError | None:
    """Return an error for a value of another type; None if it fits."""
    if value is None or isinstance(value, kind):
        return None
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"`{name}` is a {type(value).__name__}, but has to be a {kind.__name__}.",
        advice=f"Give `ohm_subagents.{kind.__name__}(...)`.",
    )


def no_profile(value: object) -> OhmError:
    """Refuse a value in place of a profile."""
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"The profile is {value!r:.60}, but has to be the id of one or a `Profile`.",
        advice="Give an id that `ohm subagents` shows.",
    )


def unusable(field: str, text: object) -> OhmError:
    """Return the error of a value that is no text, that is blank, or that no command line or message could hold."""
    if text is not None and not isinstance(text, str):
        fact = f"is {text!r:.60}, and no text"
    elif not text or not text.strip():
        fact = "is blank"
    else:
        fact = "holds a NUL character" if "\0" in text else "holds bytes that are not Unicode text"
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD, message=f"The {field} {fact}.", advice="Give the task in words, as UTF-8."
    )
