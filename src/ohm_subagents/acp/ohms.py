"""The `Ohm` of each session: of its directory, or the one that a program has given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import anyio

from ohm_subagents import Ohm
from ohm_subagents.acp.choices import Choices
from ohm_subagents.commands import chosen_server, complain, report
from ohm_subagents.contract import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ohm_subagents.config import McpServer
    from ohm_subagents.contract import Result


class Ohms(Protocol):
    """Gives each session an `Ohm`.

    Fields:
        config: the ohm.json of `--config`, which commands of hints name too.
    """

    config: Path | None

    async def enter(self, cwd: Path, servers: Mapping[str, McpServer]) -> Result[Ohm, str]:
        """Return the `Ohm` for a directory and the servers of an editor, for one more session, or why there is none."""
        ...

    async def leave(self, ohm: Ohm) -> None:
        """Take back the `Ohm` of a session that is over."""
        ...


class GivenOhm:
    """One `Ohm` for all sessions, which its owner closes."""

    def __init__(self, ohm: Ohm) -> None:
        self._ohm = ohm
        self.config: Path | None = None

    async def enter(self, cwd: Path, servers: Mapping[str, McpServer]) -> Result[Ohm, str]:
        del cwd  # each task of a session is told its directory
        if servers:
            return Err(f"This agent opens no MCP servers of an editor, and it passes on: {', '.join(servers)}.")
        return Ok(self._ohm)

    async def leave(self, ohm: Ohm) -> None:
        pass


class _Opened(NamedTuple):
    ohm: Ohm
    cwd: Path
    servers: Mapping[str, McpServer]


class OhmOfEachDirectory:
    """An `Ohm` for each directory, with the configuration that holds there; closed with its last session.

    Sessions with other servers have another `Ohm`: a server belongs to the session that it was passed on for. A
    subagent to begin with that a directory has not is told on standard error, where who typed it looks.
    """

    def __init__(self, *, config: Path | None, profile: str | None = None, server: str | None = None) -> None:
        """`server` is the typed one; else the configuration of each directory says."""
        self.config = config
        self._server = server
        self._profile = profile
        self._sessions: list[_Opened] = []
        self._changing = anyio.Lock()

    async def enter(self, cwd: Path, servers: Mapping[str, McpServer]) -> Result[Ohm, str]:
        async with self._changing:
            same = (one for one in self._sessions if (one.cwd, one.servers) == (cwd, servers))
            opened = next(same, None)
            if opened is None:
                server = chosen_server(self._server, cwd=cwd, config=self.config)
                ohm = await Ohm.aopen(cwd=cwd, config=self.config, mcp_servers=servers, server=server)
                opened = _Opened(ohm, cwd, servers)
                report(ohm.diagnostics)
                if isinstance(begun := Choices.begun(ohm, self._profile), Err):
                    complain(begun.err_value)
            self._sessions.append(opened)
            return Ok(opened.ohm)

    async def leave(self, ohm: Ohm) -> None:
        async with self._changing:
            over = next(one for one in self._sessions if one.ohm is ohm)
            self._sessions.remove(over)
            if over not in self._sessions:
                await ohm.aclose()

    async def close(self) -> None:
        """Close all of them, whatever sessions there are."""
        for opened in self._sessions:
            await opened.ohm.aclose()
