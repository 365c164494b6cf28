"""The start of a command-line agent, and the connections of its run to the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ohm_subagents.mcp import Endpoint
    from ohm_subagents.plugin import CompatibleProvider, RunRequest

LONGEST_CALL_MS: Final = 24 * 60 * 60 * 1000
"""The time that an agent may wait for a tool: the clocks of the run decide, not its own."""
LONGEST_CONNECT_MS: Final = 2 * 60 * 1000
"""The time that an agent may wait for the child tools: one that begins without them works as if it had none."""
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
_DIRECT: Final = ("NO_PROXY", "no_proxy")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """The connections of a run to its host."""

    endpoint: Endpoint | None = None
    """The MCP server with the child tools; None if there are none."""
    service: CompatibleProvider | None = None
    """The service of ohm.json that the model is of, if it is of one."""

    def settings(self, request: RunRequest, others: Mapping[str, str]) -> Mapping[str, str]:
        """Return the variables, with two by which the endpoint is not asked through a proxy."""
        env = request.env
        if self.endpoint is None or not any(env.get(name) for name in _PROXIES):
            return others
        return {**{name: ",".join(filter(None, (env.get(name), "127.0.0.1"))) for name in _DIRECT}, **others}


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start of an agent."""

    request: RunRequest
    """The run."""
    folder: Path
    """A private directory (0700) for files of this run; removed when nothing of the process is left."""
    session: str | None = None
    """The session to resume, if any."""
    link: Link = Link()
    """The connections to the host."""
