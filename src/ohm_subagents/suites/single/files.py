"""The files of the user and the project, as one mounting of the suite reads them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents.files import TimedCache
from ohm_subagents.suites.single.agents import load_agents
from ohm_subagents.suites.single.settings import SingleSettings, load_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents.suite import Diagnostic, Profile, SuiteContext


class SuiteFiles:
    """Agents are at most five seconds old; settings are read at each call."""

    def __init__(self, context: SuiteContext) -> None:
        self._place = context.place
        self._visible = context.visible
        self._agents = TimedCache(partial(load_agents, context.place), context.clock)

    def agents(self) -> Mapping[str, Profile]:
        """Return the agents that may be seen, by name."""
        return {profile.name: profile for profile in self._visible(self._agents().profiles.values())}

    def settings(self) -> SingleSettings:
        """Return the settings in force."""
        return load_settings(self._place.agent_dir)[0]

    def diagnostics(self) -> Iterator[Diagnostic]:
        """Say what is wrong with the files now."""
        yield from self._agents().diagnostics
        yield from load_settings(self._place.agent_dir)[1]
