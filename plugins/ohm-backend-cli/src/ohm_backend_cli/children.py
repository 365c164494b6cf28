"""The child tools of a run among the calls that an agent reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ohm_subagents.mcp import Endpoint


@dataclass(slots=True)
class ChildTools:
    """Tells calls of child tools, which our own server has reported already, from the agent's own calls."""

    prefix: str = ""
    """The prefix of the agent's names for them."""
    endpoint: Endpoint | None = None
    """The server that reports their calls; without one, the agent's report is all there is."""
    _returned: int = field(default=0, init=False)
    _refused: int = field(default=0, init=False)

    def name_of(self, tool: str) -> str | None:
        """Return the name of a child tool, by the agent's name for it; None for a tool of another kind."""
        if not self.prefix or not tool.startswith(self.prefix):
            return None
        listed = tool.removeprefix(self.prefix)
        return listed if self.endpoint is None else self.endpoint.tools.get(listed)

    def has_reported(self) -> bool:
        """Count an answered call; return False if the server did not get it, because the agent has refused it."""
        if self.endpoint is None:
            return False
        self._returned += 1
        if self._returned - self._refused > self.endpoint.calls():
            self._refused += 1
            return False
        return True
