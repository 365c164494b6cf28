"""What the engine answers when it starts nothing. Where 004 fixes the words, they are 004's."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ohm_subagents._plugins.profile_source import ProfileSource
    from ohm_subagents.contract.ids import SessionId, TaskId
    from ohm_subagents.contract.task import Task

_LIKENESS: Final = 0.7
"""Of an id that was perhaps meant."""
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


def unknown_profile(typed: str, visible_ids: tuple[str, ...], sources: Iterable[ProfileSource] = ()) -> OhmError:
    """Refuse an id that no profile of the catalogue has; say where a suite has one of this name."""
    near = get_close_matches(typed.strip().lower(), visible_ids, n=1, cutoff=_LIKENESS)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    for source in sources:
        if typed in source.names():
            hint = f"'{typed}' is an agent profile, which {source.used_by} and not task runs. "
    return OhmError(
        code=ErrorCode.UNKNOWN_SUBAGENT_TYPE,
        summary=f"Unknown subagent_type '{typed}'",
        message=f"No subagent profile found for '{typed}'.",
        advice=f"{hint}Available profiles: {', '.join(visible_ids)}.",
    )


def feature_off(profile: str, feature: str) -> OhmError:
    """The flag that the profile needs is off."""
    return OhmError(
        code=ErrorCode.SUBAGENT_UNAVAILABLE,
        message=f"Subagent '{profile}' is disabled by feature flag '{feature}'",
        advice=f"Set features.{feature} to true in ohm.json to enable it.",
    )


def unreadable(cwd: Path) -> OhmError:
    """The backend works on files, and there are none to be had."""
    return OhmError(
        code=ErrorCode.CWD_UNREADABLE,
        message=f"The working directory '{cwd}' is not a readable directory.",
        advice="Give an existing directory that this process may read.",
    )


def duplicate(task_id: TaskId) -> OhmError:
    """The id generator repeated itself."""
    return OhmError(code=ErrorCode.DUPLICATE_TASK_ID, message=f"Task id '{task_id}' already exists", task_id=task_id)


def starter_cancelled(task_id: TaskId) -> OhmError:
    """What a cancelled task still does may start nothing that would outlive it."""
    return OhmError(code=ErrorCode.TASK_ABORTED, message=f"Task {task_id} was cancelled, and starts no other any more.")


def not_resumable(task: Task) -> OhmError:
    """A settled task never changes."""
    return OhmError(
        code=ErrorCode.NOT_RESUMABLE,
        message=f"Task '{task.id}' is terminal ({task.status}) and cannot be resumed",
        advice='Start a new task, or set subagents.sendToFinished to "resume": then send continues its session.',
        task_id=task.id,
    )


def busy(session_id: SessionId) -> OhmError:
    """A task of the session is not over. The words are 000's."""
    return OhmError(
        code=ErrorCode.SESSION_BUSY,
        message=f'Cannot resume: session "{session_id}" is still running. Wait for it to complete before resuming.',
    )


def uncounted(backend: str) -> OhmError:
    """A budget of tokens or money, and nobody who counts them."""
    return OhmError(
        code=ErrorCode.BUDGET_UNENFORCEABLE,
        message=f"The budget of tokens or cost cannot be kept: backend '{backend}' does not report its usage.",
        advice="Take a backend that reports it, or a budget of requests, tool calls or time.",
    )


def elsewhere(task: Task) -> OhmError:
    """Another process runs it."""
    return OhmError(
        code=ErrorCode.OWNED_ELSEWHERE,
        message=f"Task '{task.id}' is run by another process.",
        advice="Wait for it here, or send and cancel in the process that started it.",
        task_id=task.id,
    )


def mistyped(name: str, value: object, kind: type) -> OhmError | None:
    """What a program gave that is of another kind, if it is."""
    if value is None or isinstance(value, kind):
        return None
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        message=f"`{name}` is a {type(value).__name__}, but has to be a {kind.__name__}.",
        advice=f"Give `ohm_subagents.{kind.__name__}(...)`.",
    )


def unusable(field: str, text: str) -> OhmError:
    """A text that says nothing, or that is no text: bytes that some program read in the wrong encoding."""
    fact = "is blank" if not f"{text or ''}".strip() else "holds bytes that are not Unicode text"
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD, message=f"The {field} {fact}.", advice="Give the task in words, as UTF-8."
    )
