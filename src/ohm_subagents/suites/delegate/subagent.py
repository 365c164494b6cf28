"""One sub-agent of a call: its window while it works, and its run as it is kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents.suite import AgentOptions, Ok
from ohm_subagents.suites.delegate.details import SessionRun, Window
from ohm_subagents.suites.delegate.live_window import LiveWindow
from ohm_subagents.suites.delegate.outcome import Ending
from ohm_subagents.suites.delegate.profile_summary import profile_summary

if TYPE_CHECKING:
    from ohm_subagents.suite import OhmError, Profile, Result, SuiteContext, TaskId
    from ohm_subagents.suites.delegate.inputs import DelegateTaskFields
    from ohm_subagents.suites.delegate.settings import DelegateSettings


@dataclass(kw_only=True)
class SubAgent:
    """One task of the call, from its place in the call to its end; a run of its session."""

    fields: DelegateTaskFields
    session_id: str
    profile_name: str | None
    window: LiveWindow
    created_ms: int
    ended: Ending = field(default_factory=lambda: Ending(status="running"))
    is_known: bool = False
    task_id: TaskId | None = None
    left_out: list[str] = field(default_factory=list[str])
    """The reasons why files are not in the prompt; added to in a thread, before the run begins."""

    def end(self, ended: Ending, *, at_ms: int) -> None:
        """Show and keep how it ended."""
        self.ended = ended
        self.window.change(
            status=ended.status,
            exit_code=ended.exit_code,
            stop_reason=ended.stop_reason,
            error_message=ended.error_message,
            notes=(*self.fields.ignored, *ended.notes) or None,
            left_out=tuple(self.left_out) or None,
            completed_at=at_ms,
        )

    def record(self) -> SessionRun:
        """Return the run as it is kept, and as the host's log gets it."""
        seen = self.window.window()
        return SessionRun(
            session_id=self.session_id,
            task_name=self.fields.name,
            prompt=self.fields.prompt,
            status=self.ended.status,
            messages=self.window.messages,
            exit_code=self.ended.exit_code,
            cwd=self.fields.cwd,
            profile_name=self.profile_name,
            model=seen.model,
            stop_reason=self.ended.stop_reason,
            error_message=self.ended.error_message,
            started_at=self.created_ms,
        )


def new_subagent(
    task: DelegateTaskFields,
    session_id: str,
    name: str,
    found: Result[Profile, OhmError],
    *,
    context: SuiteContext,
    settings: DelegateSettings,
) -> SubAgent:
    """Return the sub-agent of a task; `name` is that of its profile, empty for none, and `found` the profile."""
    profile = found.ok_value if name and isinstance(found, Ok) else None
    agent = (profile and profile.agent) or AgentOptions()
    window = Window(
        name=task.name,
        session_id=session_id,
        profile_name=name or None,
        profile_info=(name or None) if profile is None else profile_summary(profile),
        timeout=task.timeout,
        tool_count=_tool_count(name, profile, context.host.active_tools()),
        file_count=len(task.files or ()),
        provider=agent.provider,
        model=agent.model,
        thinking_level=agent.thinking,
    )
    return SubAgent(
        fields=task,
        session_id=session_id,
        profile_name=name or None,
        window=LiveWindow(
            window,
            prompt=task.prompt,
            max_lines=settings.max_lines_per_window,
            preview_width=settings.command_preview_width,
            cwd=Path(task.cwd or context.place.cwd),
            home=context.place.home,
        ),
        created_ms=context.clock(),
    )


def _tool_count(name: str, profile: Profile | None, parent_tools: tuple[str, ...]) -> int:
    """Return the number of tools in a header: those that are allowed, else the parent's."""
    if profile is None:
        return 0 if name else len(parent_tools)
    if profile.tools.allowed is not None:
        return len(profile.tools.allowed)
    return len([tool for tool in parent_tools if tool not in profile.tools.denied])
