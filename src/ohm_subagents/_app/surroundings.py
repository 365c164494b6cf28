"""What suites are told of the place they work in, beside ohm.json: files that their documents name, and the host."""

from __future__ import annotations

import os.path
from functools import partial
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ohm_subagents._config.devkit_settings import load_devkit_settings
from ohm_subagents._config.env import agent_dir, home_dir
from ohm_subagents._profiles.fresh import Fresh
from ohm_subagents._profiles.single_agents import load_single_agents
from ohm_subagents._profiles.sticky_prompts import load_prompts
from ohm_subagents._surfaces.sticky.options import StickyOptions, expanded
from ohm_subagents._views.known_secrets import secrets_of
from ohm_subagents._views.redaction import Redaction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ohm_subagents._app.assembly import Assembly
    from ohm_subagents._profiles.agents import AgentRoster
    from ohm_subagents._profiles.sticky_prompts import Prompt, StickyRoster
    from ohm_subagents.contract.devkit_settings import DevkitSettings
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.profile import Profile

SINGLE = "single"
STICKY = "sticky"


class Surroundings:
    """The surroundings of one assembly. Files are read when they are asked for."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        sources = assembly.sources
        self._agent_dir = agent_dir(sources.env)
        self._single = Fresh(self._read_single_agents, sources.clock)
        self._sticky: dict[tuple[Path, ...], Fresh[StickyRoster]] = {}
        self._redaction = Redaction()

    def sticky_agents(self, folders: tuple[Path, ...]) -> Mapping[str, Prompt]:
        """The agents of 003, those of these folders too, at most five seconds old."""
        return self._sticky_roster(folders).prompts

    def _sticky_roster(self, folders: tuple[Path, ...]) -> StickyRoster:
        kept = self._sticky.get(folders)
        if kept is None:
            read = partial(self._read_prompts, folders)
            kept = self._sticky[folders] = Fresh(read, self._assembly.sources.clock)
        return kept()

    def _read_prompts(self, folders: tuple[Path, ...]) -> StickyRoster:
        return load_prompts(cwd=self._assembly.sources.cwd, folders=folders, trusts=self._assembly.trust().covers)

    def _read_single_agents(self) -> AgentRoster:
        return load_single_agents(
            cwd=self._assembly.sources.cwd, agent_dir=self._agent_dir, trusts=self._assembly.trust().covers
        )

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
        if STICKY in suites:
            yield from self._sticky_roster(self._prompt_folders()).diagnostics

    def _prompt_folders(self) -> tuple[Path, ...]:
        """The folders of the user for agents of `sticky`; unreadable options are told where they are used."""
        try:
            options = StickyOptions.model_validate(self._assembly.config.suite_options.get(STICKY, {}))
        except ValidationError:
            return ()
        home = home_dir(self._assembly.sources.env)
        return tuple(expanded(one, home) for one in options.prompt_dirs)

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
