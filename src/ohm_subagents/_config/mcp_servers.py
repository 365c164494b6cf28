"""`mcpServers` of ohm.json, in the shape that other programs use for their files."""

from __future__ import annotations

import re
from collections.abc import Mapping  # noqa: TC003  pydantic reads the annotations
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, JsonValue, PlainSerializer, model_validator

from ohm_subagents._config.section import Section
from ohm_subagents._config.values import SECRET, Line, PositiveInt, Switch, WebAddress, expected

REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
"""`${VAR}` or `${VAR:-default}`."""
_HIDDEN: Final = "***"


def _private(value: object) -> str:
    if not isinstance(value, str):
        raise expected("a text", kind=SECRET)
    return value


def _shown(value: str) -> str:
    """Return the references of a private text, and a mark in place of anything else."""
    names = "".join(f"${{{found[1]}}}" for found in REFERENCE.finditer(value))
    return names if names and not REFERENCE.sub("", value).strip() else f"{_HIDDEN}{names}"


Private: TypeAlias = Annotated[str, BeforeValidator(_private), PlainSerializer(_shown)]
"""A text that may be a key, or hold one: only the variables that it refers to are shown."""


class McpServer(Section):
    """An MCP server, whose tools subagents may get: a command to start, or an address."""

    type: Literal["stdio", "local", "http", "streamable-http"] | None = Field(
        default=None,
        description="How it is reached: `stdio` (or `local`) by `command`, `http` (or `streamable-http`) by `url`.",
    )
    command: Line | None = Field(default=None, description="The program to start.")
    args: tuple[str, ...] = Field(default=(), description="The arguments of `command`.")
    env: Mapping[str, Private] = Field(
        default={}, description="Variables for `command`, besides those that every child process gets."
    )
    cwd: Line | None = Field(default=None, description="The directory of `command`; without it the working directory.")
    url: WebAddress | None = Field(default=None, description="The address of a server that runs already.")
    headers: Mapping[str, Private] = Field(default={}, description="Headers of each request to `url`.")
    disabled: Switch = Field(default=False, description="Offer none of its tools.")
    timeout: PositiveInt | None = Field(
        default=None,
        description="Time limit of its start (30000 without it) and of one call (else those of the run), in ms.",
    )
    sharing: Literal["all", "task"] = Field(
        default="all", description="`task` opens a connection for each task, for a server that keeps state."
    )

    def as_written(self) -> dict[str, JsonValue]:
        """Return the server as ohm.json would have it, private texts too: for a process of the same user only."""
        shown = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {**shown, "env": {**self.env}, "headers": {**self.headers}}

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise expected("an object with either 'command' or 'url'", kind=SECRET)
        needed = {None: "", "stdio": "command", "local": "command"}.get(self.type, "url")
        if needed and getattr(self, needed) is None:
            wanted = f"an object with '{needed}', as its type is '{self.type}'"
            raise expected(wanted, kind=SECRET)
        return self
