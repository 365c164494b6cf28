"""The parts of an `Ohm` that need no event loop: configuration, plugins, profiles."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from ohm_subagents._app.mounting import MountedSuites
from ohm_subagents._app.services import Services, services_of
from ohm_subagents._config.env import agent_dir, cache_dir, ceiling_above, config_dir, home_dir, nesting, nesting_depth
from ohm_subagents._config.load import CONFIG_FILE, DEFAULT, LoadedConfig, load_config
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.trust import read_trust
from ohm_subagents._orchestrator.admission.context import AdmissionContext
from ohm_subagents._orchestrator.admission.refusals import directory_fault
from ohm_subagents._orchestrator.observe.log import LogObserver
from ohm_subagents._plugins.backends.context import BackendContext
from ohm_subagents._plugins.backends.fallback import with_fallback
from ohm_subagents._plugins.backends.model_choice import ModelChoice
from ohm_subagents._plugins.commands import commands_of_plugins
from ohm_subagents._plugins.hooks.specs import hookimpl
from ohm_subagents._plugins.host.host import PluginHost
from ohm_subagents._plugins.stores import RetentionPolicy, StoreRequest
from ohm_subagents._policy.entries import (
    unmatched_agents,
    unmatched_backends,
    unmatched_delegates,
    unmatched_entries,
    unmatched_plugins,
    unmatched_suites,
)
from ohm_subagents._policy.permissions import is_hidden, unmatched
from ohm_subagents._policy.sources import void_ceilings
from ohm_subagents._profiles.catalog import Catalog, load_catalog
from ohm_subagents._profiles.timed_cache import TimedCache
from ohm_subagents._records import dataclass
from ohm_subagents._store import opening as builtin_stores
from ohm_subagents._store.opening import open_store
from ohm_subagents._tools import hooks as builtin_suites
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.place import Place
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractAsyncContextManager

    from pydantic import JsonValue

    from ohm_subagents._app.sources import Sources
    from ohm_subagents._config.trust import Trust
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.profile_source import ProfileSource
    from ohm_subagents.contract.ids import Clock


BUILTIN_SUITES: Final = "suites"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """The parts. `loaded` is an `Err` when the configuration cannot be trusted: then nothing may start.

    `mounted` is what the engine has built of the suites, in an `Ohm` that is open.
    """

    sources: Sources
    loaded: Result[LoadedConfig, OhmError]
    config: OhmConfig
    host: PluginHost
    services: Services
    catalog: Catalog
    place: Place
    sources_of_profiles: Mapping[str, ProfileSource]
    trust: Callable[[], Trust]
    mounted: MountedSuites = field(default_factory=MountedSuites)

    @property
    def diagnostics(self) -> Iterator[Diagnostic]:
        """Everything that was not honoured as written, in the order in which it was read."""
        if (fault := directory_fault(self.sources.cwd)) is not None:
            yield Diagnostic(subject="cwd", message=fault.message, advice=fault.advice, severity="error")
        yield from self.trust().diagnostics()
        if isinstance(self.loaded, Ok):
            yield from self.loaded.ok_value.diagnostics
        else:
            yield Diagnostic(subject=CONFIG_FILE, message=str(self.loaded.err_value), severity="error")
        yield from self.catalog.diagnostics
        sources = self.sources_of_profiles
        agents = tuple(chain.from_iterable(source.names() for source in sources.values()))
        ruled = {*self.catalog.available(), *agents}
        permissions = self.config.subagents.permissions
        hidden = (profile.id for profile in self.catalog.profiles if is_hidden(profile, permissions))
        yield from unmatched(permissions, ruled, unlisted=sources, hidden=hidden)
        if isinstance(self.loaded, Ok):
            yield from unmatched_entries(self.loaded.ok_value, ruled, unlisted=sources)
            yield from unmatched_delegates(self.loaded.ok_value, self.catalog.profiles, ruled)
            yield from unmatched_backends(self.loaded.ok_value, self.host.backends(), self.host.backend_types)
            yield from unmatched_suites(self.loaded.ok_value, self.host.tool_suites())
            yield from unmatched_plugins(self.loaded.ok_value, self.host.installed(), commands_of_plugins)
            yield from void_ceilings(self.loaded.ok_value, self.catalog.profiles)
            yield from unmatched_agents(self.loaded.ok_value, agents)
        yield from chain.from_iterable(source.diagnostics() for source in sources.values())
        yield from self.services.diagnostics
        yield from self.host.diagnostics
        yield from self.sources.faults.diagnostics

    def admission_context(self) -> Result[AdmissionContext, OhmError]:
        """Return what the engine looks at when it admits an item; an `Err` refuses every command."""
        if isinstance(self.loaded, Err):
            return Err(_unusable(self.loaded.err_value))
        return Ok(
            AdmissionContext(
                config=self.config,
                catalog=self.catalog,
                sources=self.sources_of_profiles,
                host=self.host,
                cwd=self.sources.cwd,
                backends=self.backends(),
                child_tools=self.mounted.child.tools,
                tool_sources=self.mounted.sources,
                depth=nesting_depth(self.sources.env),
                env=self.sources.env,
                above=ceiling_above(self.sources.env),
            )
        )

    @property
    def retention(self) -> RetentionPolicy:
        """Return how long tasks are kept."""
        return retention_of(self.config)

    def open_store(self, clock: Clock, given: Store | None = None) -> AbstractAsyncContextManager[Store]:
        """The configured store in the user's directory, unless one is `given`, which its owner closes.

        Nothing is kept while the configuration cannot be read: nothing can start then either.
        """
        if given is not None:
            return nullcontext(given)
        names = {profile.id: profile.name for profile in self.catalog.profiles}
        settings = self.config.subagents
        request = StoreRequest(
            directory=config_dir(self.sources.env),
            clock=clock,
            policy=self.retention,
            env=self.sources.env,
            sync=settings.store_sync,
            name_of=lambda profile_id: names.get(profile_id, profile_id),
        )
        chosen = settings.store if isinstance(self.loaded, Ok) else "memory"
        return open_store(chosen, self.host.stores(), request, origin=self.origin("subagents.store"))

    def origin(self, key: str) -> str:
        """Return the place of a setting, as `LoadedConfig.origin` does; `default` if nothing could be read."""
        return self.loaded.ok_value.origin(key) if isinstance(self.loaded, Ok) else DEFAULT

    def backends(self) -> Mapping[str, BackendSpec]:
        """Return the backends by id, one of them with the switch to another if `sdkFallbackToCli` says so."""
        offered = self.host.backends()
        if not self.config.sdk_fallback_to_cli:
            return offered
        return with_fallback(offered, self.config.subagents.backends, self.sources.logger)

    def models(self) -> ModelChoice:
        """Return the model providers of all plugins, and which of them has a key."""
        return ModelChoice(self.host.models().values(), self.sources.env)


def _unusable(cause: OhmError) -> OhmError:
    """Return the fixed message of an unusable configuration, with the cause as its advice."""
    return OhmError(
        code=ErrorCode.CONFIG_INVALID, message="Failed to load runtime config for task tool", advice=str(cause)
    )


class _BuiltinObservers:
    """structlog and the live UI, offered like anybody's observers."""

    def __init__(self, *observers: Observer | None) -> None:
        self._observers = tuple(observer for observer in observers if observer is not None)

    @hookimpl
    def ohm_observers(self) -> Iterable[Observer]:
        return self._observers


def assemble(sources: Sources) -> Assembly:
    """Load the configuration, register our own plugins, those given and those installed, read the profiles."""
    read = partial(read_trust, sources.cwd, config_dir(sources.env), is_given=sources.trusts)
    trust = TimedCache(read, sources.clock)
    loaded = load_config(cwd=sources.cwd, config=sources.config, env=sources.env, trusts=trust().covers)
    config = loaded.ok_value.config if isinstance(loaded, Ok) else OhmConfig()
    if sources.mcp_servers:
        config = config.model_copy(update={"mcp_servers": {**config.mcp_servers, **sources.mcp_servers}})
    services = services_of(config.providers, sources.env)
    cache, log = cache_dir(sources.env), sources.logger
    place = _place(sources, trust)
    context = BackendContext(
        env=sources.env, providers=services.providers, cache_directory=cache, log=log, trusts=place.trusts
    )
    host = PluginHost(context, written=config.subagents.backends)
    host.register_own(config.allows_own_plugin)
    host.register(builtin_suites, BUILTIN_SUITES, origin="builtin")
    host.register(builtin_stores, "stores", origin="builtin")
    host.register(_BuiltinObservers(LogObserver(sources.logger), sources.live_ui), "log", origin="builtin")
    for plugin in sources.plugins:
        host.register(plugin)
    if isinstance(loaded, Ok):  # until it can be read, the plugins that it blocks are unknown
        host.register_installed(config.allows_plugin)
    written = config.model_dump(mode="json", by_alias=True, include={"subagents"})["subagents"]
    catalog = _catalog(host, config, written, place) if sources.profiles is None else Catalog.of(sources.profiles)
    return Assembly(
        sources=sources,
        loaded=loaded,
        config=config,
        host=host,
        services=services,
        catalog=catalog.marked(lambda profile_id: config.subagents.entry(profile_id).primary),
        place=place,
        sources_of_profiles=host.profile_sources(written, place, sources.clock, sources.parent_tools),
        trust=trust,
    )


def _place(sources: Sources, trust: Callable[[], Trust]) -> Place:
    """Return the place that suites and hooks work in, as far as it is known before anything is opened."""
    env = sources.env
    return Place(
        cwd=sources.cwd,
        home=home_dir(env),
        agent_dir=agent_dir(env),
        env=env,
        nesting=nesting(env),
        trusts=lambda path, text: trust().covers(path, text),
    )


def _catalog(host: PluginHost, config: OhmConfig, written: Mapping[str, JsonValue], place: Place) -> Catalog:
    return load_catalog(
        cwd=place.cwd,
        config_dir=config_dir(place.env),
        plugin_profiles=host.profiles(written, place),
        may_replace=lambda one: one.agent is not None and config.subagents.agent_profiles is not None,
        trusts=place.trusts,
        menu=config.subagents.menu,
    )


def retention_of(config: OhmConfig) -> RetentionPolicy:
    """Return how long a configuration keeps tasks, and how much of them."""
    return RetentionPolicy(
        retention_ms=config.subagents.task_retention_ms,
        max_entries=config.task_max_entries,
        max_reasons=config.task_max_expired_entries,
        max_events=config.task_max_events,
    )
