"""The surroundings of suites beside ohm.json: the place, the host's session, the secrets."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from ohm_subagents._config.env import home_dir
from ohm_subagents._profiles.fresh import Fresh
from ohm_subagents._views.known_secrets import secrets_of
from ohm_subagents._views.redaction import Redaction

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents._app.assembly import Assembly


class Surroundings:
    """The surroundings of one assembly. Files are read when they are asked for."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._secrets = Fresh(lambda: assembly.host.secrets(assembly.place), assembly.sources.clock)
        self._redaction = Redaction()

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
        home = home_dir(env)
        found = Redaction(
            secrets=secrets_of(env, (*self._secrets(), *(env.get(name, "").strip() for name in named))),
            homes=tuple(dict.fromkeys((str(home), os.path.realpath(home)))),
        )
        if found != self._redaction:  # which knows its patterns already
            self._redaction = found
        return self._redaction
