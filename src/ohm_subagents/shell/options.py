"""The options of a command-line agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from ohm_subagents._plugins.backends.interface import Options

Command = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)]


class ShellOptions(Options):
    """`subagents.backends.<id>` of ohm.json, for a command-line agent."""

    model_config = ConfigDict(defer_build=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    command: Command | None = None
    """The program and its first arguments, in place of the dialect's own."""
    args: tuple[str, ...] = ()
    """Arguments after all others."""
    env: Mapping[str, str | None] = Field(default={}, repr=False)
    """Variables that are set for it; null passes on our own value."""
    grace_ms: int = Field(default=5_000, ge=0)
    """The time to end after SIGTERM, in milliseconds, before it is killed."""

    @property
    def grace_s(self) -> float:
        """`graceMs` in seconds."""
        return self.grace_ms / 1000
