"""The private configuration directory of the child: copies of the user's, so that logins work and nothing is rewritten.

`pi` writes into its configuration, an OAuth login that it renews for one; into the user's own it never does.
"""

from __future__ import annotations

import json
import os
import re
from itertools import chain
from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.pi.config_files import (
    asked_provider,
    content_of,
    models_in,
    stamp_of,
    strings_in,
    users_directory,
)
from ohm_subagents.backends.pi.keys import VARIABLES, every_key, literals_in, named_in
from ohm_subagents.backends.pi.records import as_record, record_in
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised
from ohm_subagents.plugin import missing_key, overriding_model, thinking_level, unknown_model, without_thinking
from ohm_subagents.redaction import secrets_of
from ohm_subagents.shell import DIRECTORY_VARIABLES, Needs, child_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ohm_subagents.backends.pi.probe import PiVersion
    from ohm_subagents.backends.pi.records import Record
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.services import CompatibleProvider
    from ohm_subagents.plugin import RunRequest

_MODELS: Final = "models.json"
_AUTH: Final = "auth.json"
_SETTINGS: Final = "settings.json"
_COPIED: Final = (_AUTH, _SETTINGS, "models-store.json")
"""Logins, settings, and the catalog of models that `pi` has fetched; models.json is more than a copy."""
_DEFAULT: Final = "~/.pi/agent"
_PROGRAMS: Final = "bin"
"""The folder in which `pi` keeps the `rg` and the `fd` that it fetched."""
_OF_THE_USER: Final = (
    *("extensions", "skills", "prompts", "themes", "AGENTS.md", "CLAUDE.md", "SYSTEM.md", "APPEND_SYSTEM.md"),
    *("npm", "git"),
)
"""The user's additions to `pi`: for agent profiles only. The last two are packages."""
_KEY: Final = "PI_API_KEY"
_STRINGS: Final = re.compile(r'"([^"\\]*)"')


class PiHome:
    """`folder`, as configuration directory of `pi`, for as long as a backend is open.

    `env` is what the options of the backend set in the environment of `pi`, None for what they pass on.
    `is_agents`: for agent profiles, so the user's extensions and the like are there too, as links. `keyed` names the
    provider whose login is the key of the profile.
    All is done at once and without waiting: the files are small. Call `refresh` before each start.
    """

    def __init__(
        self,
        folder: Path,
        services: Iterable[CompatibleProvider] = (),
        *,
        env: Mapping[str, str | None] | None = None,
        is_agents: bool = False,
        keyed: str | None = None,
    ) -> None:
        self._folder = folder
        self._links = (_PROGRAMS, *_OF_THE_USER) if is_agents else (_PROGRAMS,)
        self._keyed = keyed
        self._env = env or {}
        self._services = {service.name.lower(): service for service in services}
        self._asked: dict[str, dict[str, None]] = {}
        self._seen: dict[str, object] = {}
        self.generation = 0
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)

    def refusal(self, request: RunRequest) -> OhmError | None:
        """Return why a service of ohm.json cannot be asked for the model of the run, or None.

        Without a key `pi` must not start: some releases would send the name of its variable instead.
        """
        service = self._service(request)
        if request.model is None or service is None:
            return None
        if service.models and all(model.id != request.model.model for model in service.models):
            return unknown_model(service, request.model)
        key = service.api_key_env
        if key is None or self._known(request).get(key, "").strip() or request.model.provider == self._keyed:
            return None
        logins = {name.lower() for name in record_in(content_of(users_directory(request.env) / _AUTH) or b"")}
        return None if request.model.provider in logins else missing_key(request.model, (key,))

    def has_no_price(self, request: RunRequest) -> bool:
        """Return True if `pi` will not know the price of the model: ohm.json lists its provider, and no prices."""
        return self._service(request) is not None

    def refresh(self, request: RunRequest, pi: PiVersion) -> Iterable[DiagnosticRaised]:
        """Copy what has changed of the user's files, and see that the model of the run is listed."""
        return (*self._copy(request, pi), *self._ignored(request))

    def _copy(self, request: RunRequest, pi: PiVersion) -> Iterable[DiagnosticRaised]:
        if request.model is not None:
            self._asked.setdefault(request.model.provider, {})[request.model.model] = None
        source = users_directory(request.env)
        for name in _COPIED:
            if self._is_new(name, (stamp_of(source / name), pi.has_dollar_references)):
                content = content_of(source / name)
                is_theirs = name != _AUTH or self._keyed is None
                self._put(name, content if is_theirs else self._login(content, content_of(source / _MODELS), pi))
        for name in self._links:
            link = self._folder / name
            if os.path.exists(source / name) and not os.path.lexists(link):
                link.symlink_to(source / name)
        listed = tuple((name, tuple(self._asked.get(name, ()))) for name in self._services)
        if not self._is_new(_MODELS, (stamp_of(source / _MODELS), listed, pi.has_dollar_references)):
            return ()
        return self._list_models(content_of(source / _MODELS), pi)

    def environment(self, request: RunRequest) -> dict[str, str]:
        """Return the variables that make `pi` use this directory, and keep it from doing anything but its work."""
        named = (request.env.get(name, "") for name in DIRECTORY_VARIABLES)
        google = request.env.get("GOOGLE_API_KEY", "").strip()
        is_google = self._provider(request) in {"google", None} and not request.env.get("GEMINI_API_KEY", "").strip()
        return {
            "PI_CODING_AGENT_DIR": str(self._folder),
            "PI_CONFIG_DIR": next(filter(str.strip, named), _DEFAULT),  # of an ohm that it may start, and of its rules
            "PI_OFFLINE": "1",  # no updates and no downloads; models are asked all the same
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
            **({"GEMINI_API_KEY": google} if google and is_google else {}),  # `pi` knows one name only, we know both
            **({_KEY: agent.api_key} if (agent := request.profile.agent) is not None and agent.api_key else {}),
        }

    def needs(self, request: RunRequest) -> Needs:
        """Return the files that it needs in a sandbox: this directory, and what links in it point at."""
        source = users_directory(request.env)
        return Needs(reads=tuple(source / name for name in self._links), writes=(self._folder,))

    def keys_for(self, request: RunRequest) -> frozenset[str]:
        """Return the variables that the provider of the run needs; those of all providers if none is named.

        All that there are for an agent profile, unless it came with the project.
        """
        if request.profile.agent is not None and not request.profile.agent.is_local:
            return frozenset(request.env)
        provider = self._provider(request)
        known = self._services if provider is None else [provider]
        own = {key for name in known if name in self._services and (key := self._services[name].api_key_env)}
        named = every_key() if provider is None else frozenset(VARIABLES.get(provider, ()))
        return frozenset(own | named | self._referred(provider)) & request.env.keys()

    def secrets(self, request: RunRequest) -> tuple[str, ...]:
        """Return the secrets that `pi` knows in this run, of its environment and of its copied files."""
        env = self._known(request)
        texts = ((content_of(self._folder / name) or b"").decode("utf-8", "replace") for name in (_MODELS, _AUTH))
        return secrets_of(env, (literal for text in texts for literal in literals_in(text, env)))

    def _known(self, request: RunRequest) -> dict[str, str]:
        """Return the environment of `pi`."""
        extra = {**self.environment(request), **self._env}
        return child_environment(request, keys=self.keys_for(request), extra=extra)

    def _service(self, request: RunRequest) -> CompatibleProvider | None:
        """Return the service of ohm.json that the run asks, None when `pi` goes by what the user's models.json says."""
        theirs = models_in(content_of(users_directory(request.env) / _MODELS))
        service = self._services.get(request.model.provider) if request.model is not None else None
        if service is None or theirs is None or service.name.lower() in as_record(theirs.get("providers")):
            return None
        return service

    def _ignored(self, request: RunRequest) -> Iterable[DiagnosticRaised]:
        """Warn of a thinking level without effect: a model thinks only if ohm.json says that it does."""
        service, asked, agent = self._service(request), request.model, request.profile.agent
        if service is None or asked is None:
            return
        level = asked.thinking or (thinking_level(agent, overriding_model(request)) if agent is not None else None)
        if level is None or level == "off":
            return
        if not any(model.id == asked.model and model.supports_thinking for model in service.models):
            said = f'Model "{asked.provider}/{asked.model}" {without_thinking(level)}.'
            yield DiagnosticRaised(diagnostic=Diagnostic(subject=str(asked), message=said))

    def _provider(self, request: RunRequest) -> str | None:
        return asked_provider(request, self._folder / _SETTINGS)

    def _referred(self, provider: str | None) -> set[str]:
        """Return the variables that the user's own files name for a provider."""
        found: set[str] = set()
        for name in (_MODELS, _AUTH):
            content = content_of(self._folder / name) or b""
            known = record_in(content)
            entries = as_record(known.get("providers")) if name == _MODELS else known
            if not known:  # with comments in it, perhaps
                texts: Iterable[str] = _STRINGS.findall(content.decode("utf-8", "replace"))
            elif provider is None:
                texts = strings_in(dict(entries))
            else:
                texts = strings_in([entry for key, entry in entries.items() if key.lower() == provider])
            found.update(chain.from_iterable(named_in(text) for text in texts))
        return found

    def _login(self, logins: bytes | None, models: bytes | None, pi: PiVersion) -> bytes:
        """auth.json in which the provider has the key of the profile; the key itself is in the environment alone."""
        others = {name: login for name, login in record_in(logins or b"").items() if name.lower() != self._keyed}
        spelt = as_record(record_in(models or b"").get("providers"))
        provider = next((name for name in spelt if name.lower() == self._keyed), f"{self._keyed}")
        key = {"type": "api_key", "key": f"${_KEY}" if pi.has_dollar_references else _KEY}
        return json.dumps({**others, provider: key}).encode()

    def _list_models(self, content: bytes | None, pi: PiVersion) -> Iterable[DiagnosticRaised]:
        """models.json: the user's, and the services of ohm.json that it does not have."""
        if not self._services:
            self._put(_MODELS, content)
            return ()
        known = models_in(content)
        if known is None:
            self._put(_MODELS, content)
            told = Diagnostic(
                subject=_MODELS,
                message="models.json of pi is not plain JSON, so the providers of ohm.json were not added to it: "
                f"{', '.join(sorted(self._services))}.",
            )
            return (DiagnosticRaised(diagnostic=told),)
        theirs = as_record(known.get("providers"))
        ours = {name: self._entry(service, pi) for name, service in self._services.items() if name not in theirs}
        self._put(_MODELS, json.dumps({**known, "providers": {**ours, **theirs}}, indent=2).encode())
        return ()

    def _entry(self, service: CompatibleProvider, pi: PiVersion) -> Record:
        listed: dict[str, Record] = {
            model.id: {
                "id": model.id,
                "reasoning": model.supports_thinking,
                **({"input": ["text", "image"]} if model.supports_images else {}),
                **({} if model.context_window is None else {"contextWindow": model.context_window}),
            }
            for model in service.models
        }
        asked = {name: {"id": name} for name in self._asked.get(service.name.lower(), ())}
        key = service.api_key_env
        return {
            "baseUrl": service.base_url,
            "api": "openai-completions",
            "apiKey": "no-key" if key is None else f"${key}" if pi.has_dollar_references else key,
            "models": list({**asked, **listed}.values()),
        }

    def _is_new(self, name: str, state: object) -> bool:
        if self._seen.get(name) == state:
            return False
        self._seen[name] = state
        return True

    def _put(self, name: str, content: bytes | None) -> None:
        """Write a file that only we can read, at once; with None, there is none."""
        self.generation += 1
        place = self._folder / name
        if content is None:
            place.unlink(missing_ok=True)
            return
        fresh = self._folder / f".{name}.new"
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        fresh.replace(place)
