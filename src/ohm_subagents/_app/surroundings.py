"""What suites are told of the place they work in, beside ohm.json: files that their documents name, and the host."""

from __future__ import annotations

import os.path
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._config.devkit_settings import load_devkit_settings
from ohm_subagents._config.env import agent_dir, home_dir
from ohm_subagents._profiles.fresh import Fresh
from ohm_subagents._profiles.single_agents import load_single_agents
from ohm_subagents._profiles.sticky_prompts import load_prompts
from ohm_subagents._views.known_secrets import secrets_of
from ohm_subagents._views.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ohm_subagents._app.assembly import Assembly
    from ohm_subagents._profiles.sticky_prompts import Prompt
    from ohm_subagents.contract.devkit_settings import DevkitSettings
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.profile import Profile

SINGLE = "single"


class Surroundings:
    """The surroundings of one assembly. Files are read when they are asked for."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        sources = assembly.sources
        self._agent_dir = agent_dir(sources.env)
        self._single = Fresh(lambda: load_single_agents(cwd=sources.cwd, agent_dir=self._agent_dir), sources.clock)
        self._sticky: dict[tuple[Path, ...], Fresh[Mapping[str, Prompt]]] = {}
        self._redaction = Redaction()

    def sticky_agents(self, folders: tuple[Path, ...]) -> Mapping[str, Prompt]:
        """The agents of 003, those of these folders too, at most five seconds old."""
        sources = self._assembly.sources
        kept = self._sticky.get(folders)
        if kept is None:
            read = partial(load_prompts, cwd=sources.cwd, folders=folders)
            kept = self._sticky[folders] = Fresh(read, sources.clock)
        return kept()

    def single_agents(self) -> tuple[Profile, ...]:
        """The agents of 001, at most five seconds old."""
        return tuple(self._single().profiles.values())

    def devkit_settings(self) -> DevkitSettings:
        """What the config.json of 001 says now."""
        return load_devkit_settings(self._agent_dir)[0]

    def diagnostics(self, suites: tuple[str, ...]) -> Iterator[Diagnostic]:
        """What is wrong with the files of these suites."""
        if SINGLE in suites:
            yield from self._single().diagnostics
            yield from load_devkit_settings(self._agent_dir)[1]

    def session_file(self) -> Path | None:
        """Where the host keeps the session of the parent, if it does."""
        sources = self._assembly.sources
        try:
            return None if sources.host is None else sources.host.session_file()
        except Exception:
            sources.logger.exception("host.session_file", host=repr(sources.host))
            return None

    def redaction(self) -> Redaction:
        """What has to be cut out of texts: every key that we know of, and where the user's home is."""
        env = self._assembly.sources.env
        named = (name for model in self._assembly.host.models().values() for name in model.keys)
        agents = (profile.agent for profile in self._assembly.agents.roster().profiles.values())
        keys = {key for agent in agents if agent is not None and (key := agent.api_key)}
        home = home_dir(env)
        found = Redaction(
            secrets=secrets_of(env, (*keys, *(env.get(name, "").strip() for name in named))),
            homes=tuple(dict.fromkeys((str(home), os.path.realpath(home)))),
        )
        if found != self._redaction:  # which knows its patterns already
            self._redaction = found
        return self._redaction
