"""The options of a backend of the type `acp`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ohm_subagents.shell import ShellOptions

_Command = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]


class AcpOptions(ShellOptions):
    """`subagents.backends.<id>` of ohm.json, beside `"type": "acp"`."""

    # Without a default: there is no command that it would stand in for.
    command: _Command  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]  as just said
    """The agent's program and its arguments."""
    agent: Literal["claude", "opencode", "qwen", "codex", "other"] | None = None
    """The agent that the command starts; by default the words of the command tell."""
    auth_method: str | None = None
    """The id of the agent's way to log in, for one that asks for it at each start."""
