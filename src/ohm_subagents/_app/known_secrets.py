"""The secrets that no text of a redacting suite may show."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from ohm_subagents._config.env import home_dir
from ohm_subagents._profiles.timed_cache import TimedCache
from ohm_subagents.redaction.known_values import secrets_of
from ohm_subagents.redaction.redactor import Redaction

if TYPE_CHECKING:
    from ohm_subagents._app.assembly import Assembly


class KnownSecrets:
    """Keys of the environment, of model providers and of plugins, for one assembly."""

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._secrets = TimedCache(lambda: assembly.host.secrets(assembly.place), assembly.sources.clock)
        self._redaction = Redaction()

    def redaction(self) -> Redaction:
        """Return what takes these keys, and the path of the user's home, out of texts."""
        env = self._assembly.sources.env
        named = (name for model in self._assembly.host.models().values() for name in model.keys)
        home = home_dir(env)
        found = Redaction(
            secrets=secrets_of(env, (*self._secrets(), *(env.get(name, "").strip() for name in named))),
            homes=tuple(dict.fromkeys((str(home), os.path.realpath(home)))),
        )
        if found != self._redaction:  # the former one has compiled its patterns already
            self._redaction = found
        return self._redaction
