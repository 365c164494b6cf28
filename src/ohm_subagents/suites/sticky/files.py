"""The agents' files of the user and the project, as one mounting of the suite reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.files import TimedCache
from ohm_subagents.suite import Err, Ok
from ohm_subagents.suites.sticky.agents import load_agents
from ohm_subagents.suites.sticky.options import expanded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.suite import Diagnostic, SuiteContext
    from ohm_subagents.suites.sticky.agents import Prompt
    from ohm_subagents.suites.sticky.options import StickyOptions


class SuiteFiles:
    """Agents are at most five seconds old."""

    def __init__(self, context: SuiteContext, options: StickyOptions) -> None:
        place = context.place
        folders = tuple(expanded(one, place.home) for one in options.prompt_dirs)
        self._visible = context.visible
        self._agents = TimedCache(lambda: load_agents(place, folders), context.clock)

    def agents(self) -> Mapping[str, Prompt]:
        """Return the agents that may be seen, by name, and the error of each file that is rejected."""
        found = self._agents().by_name
        usable = (one.ok_value for one in found.values() if isinstance(one, Ok))
        seen = {profile.name for profile in self._visible(usable)}
        return {name: one for name, one in found.items() if isinstance(one, Err) or name in seen}

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Say what is wrong with the files now."""
        return self._agents().diagnostics
