"""MCP servers as they are to be reached: names that tools may have, variables filled in."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.config import VARIABLE_REFERENCE
from ohm_subagents.contract import Err, Ok
from ohm_subagents.redaction import secrets_of
from ohm_subagents.shell import passed_environment
from ohm_subagents.suite import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.config import McpServer
    from ohm_subagents.contract import Result
    from ohm_subagents.sandbox import Box
    from ohm_subagents.suite import Place

START_MS: Final = 30_000
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9_-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server with its variables filled in."""

    name: str
    """Its name in ohm.json."""
    url: str | None
    """Its address; None for one that is started."""
    command: tuple[str, ...] = ()
    """The program and its arguments."""
    cwd: Path
    """The directory of the program."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The whole environment of the program."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The headers of each request."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """The values among these that no result may show."""
    start_s: float
    """Seconds that it may take to start, and to list its tools."""
    call_s: float | None
    """Seconds that a call may take; None leaves that to the clocks of the run."""
    for_each_task: bool
    """Each task has a connection of its own."""
    top: Path
    """The directory of the project, in whose place a run may have a clone."""
    files: tuple[str, ...] = ()
    """Files among its arguments, which it may read in a sandbox; of a server that a project names there are none."""

    def held_in(self, box: Box) -> tuple[Path, Box]:
        """Return its directory and its sandbox in a run: that of the run, with its own program and the network."""
        inside = self.cwd.is_relative_to(self.top)
        cwd = box.workspace / self.cwd.relative_to(self.top) if inside else self.cwd
        return cwd, box.with_needs(programs=self.files, network=True)


def plain(name: str) -> str:
    """Return a name with the characters alone that every model provider allows in names of tools."""
    return _FOREIGN.sub("_", name)


def prefix_of(name: str) -> str:
    """Return the beginning of the names of a server's tools."""
    return f"mcp__{plain(name)}__"


def server_of(name: str, written: McpServer, place: Place, *, of_project: bool) -> Result[Server, OhmError]:
    """Fill in `${VAR}` and `${VAR:-default}`; an `Err` names a variable that is not set."""
    missing: list[str] = []

    def filled(text: str) -> str:
        def value(found: re.Match[str]) -> str:
            set_to, default = place.env.get(found[1]), found[2]
            if not set_to and default is None:
                missing.append(found[1])
            return set_to or default or ""

        return VARIABLE_REFERENCE.sub(value, text)

    own = {key: filled(value) for key, value in written.env.items()}
    headers = {key: filled(value) for key, value in written.headers.items()}
    command = () if written.command is None else tuple(map(filled, (written.command, *written.args)))
    url = None if written.url is None else filled(written.url)
    cwd = place.cwd / Path(filled(written.cwd or ".").replace("~", str(place.home), 1))
    if missing:
        message = f"The MCP server '{name}' needs the variable {missing[0]}, which is not set."
        return Err(OhmError(code=ErrorCode.COMMAND_UNUSABLE, message=message))
    tokens = (part for value in headers.values() for part in (value, value.rpartition(" ")[2]))
    return Ok(
        Server(
            name=name,
            url=url,
            command=command,
            cwd=cwd,
            env={**passed_environment(place.env), **own},
            headers=headers,
            secrets=secrets_of(own, tokens),
            start_s=(written.timeout or START_MS) / 1000,
            call_s=None if written.timeout is None else written.timeout / 1000,
            for_each_task=written.sharing == "task",
            top=place.cwd,
            files=() if of_project else tuple(filter(os.path.isfile, filter(os.path.isabs, command))),
        )
    )
