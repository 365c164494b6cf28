"""The plugin host: typed access to one pluggy manager. Built-in and installed plugins register alike."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from inspect import ismodule
from itertools import chain, count
from typing import TYPE_CHECKING, Literal

from ohm_subagents._concurrency.faults import described
from ohm_subagents._plugins.backends.context import BackendContext
from ohm_subagents._plugins.hooks.specs import PROJECT, Hooks
from ohm_subagents._plugins.host.collection import Collection
from ohm_subagents._plugins.host.declaration import HookManager, hooks_alone, hooks_of, invalid, is_same, refusal
from ohm_subagents._plugins.host.discovery import (
    DISTRIBUTION,
    WITHOUT_ITSELF,
    Blocked,
    Broken,
    Found,
    Imported,
    Installed,
    discover,
    leave_out,
    own_plugins,
)
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.interface import BackendSpec, ModelSpec, ToolRowRequest
    from ohm_subagents._plugins.stores import StoreSpec
    from ohm_subagents._plugins.suites.interface import ToolSuiteSpec
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.profile_source import ProfileSource
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.place import Place
    from ohm_subagents.contract.profile import Decision, PermissionRequest, Profile

logger = logging.getLogger(PROJECT)
Origin = Literal["builtin", "entry point", "passed in"]
State = Literal["loaded", "blocked", "failed"]


class PluginInvalidError(Exception):
    """A plugin that was registered by hand cannot be: a bug in calling code. `error` is the same as a value."""

    def __init__(self, error: OhmError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """A plugin that is loaded, left out or broken."""

    name: str
    """Its name, as in `loadPlugins` and `blockPlugins`."""
    origin: Origin
    """How it came in: with the core, by an entry point, or from the program."""
    state: State
    """`blocked` if the configuration leaves it out, `failed` if it could not be imported or registered."""
    distribution: str | None = None
    """The distribution of its entry point; None without one."""
    version: str | None = None
    """The version of that distribution."""
    hooks: tuple[str, ...] = ()
    """The hooks that it has, if it is loaded."""


class PluginHost:
    """Registers plugins, asks them one at a time, and turns what is wrong with one into a diagnostic with its name.

    What plugins offer is collected once, when first asked for, and again after a registration. Order is the order of
    registration, and the first owner of an id keeps it: register our own first. `context` is what backends and models
    of plugins may use.
    """

    def __init__(self, context: BackendContext | None = None) -> None:
        self._context = replace(context or BackendContext(), models=self.models)
        self._manager = HookManager(PROJECT)
        self._manager.add_hookspecs(Hooks)
        self._plugins: list[PluginInfo] = []
        self._diagnostics: list[Diagnostic] = []
        self._collection = Collection(self._manager, self._context)

    def register(self, plugin: object, name: str | None = None, *, origin: Origin = "passed in") -> None:
        """Register a module or an object; raises `PluginInvalidError` when it is not declared as the hooks demand.

        Without a `name` it is the plugin's `__name__`, or the name of its class, numbered from the second on.
        """
        name = name or self._own_name(plugin)
        is_own = origin == "builtin"
        offered = hooks_alone(plugin) if is_own and ismodule(plugin) else plugin
        match self._admitted(offered, name, f"Plugin {name!r}", is_checked=is_own):
            case Ok(hooks):
                self._plugins.append(PluginInfo(name=name, origin=origin, state="loaded", hooks=hooks))
            case Err(error):
                raise PluginInvalidError(error)

    def register_installed(self, *, load: str | None = None, block: str | None = None) -> None:
        """Register what is installed under the entry-point group, as far as the lists allow (see `discover`).

        Never raises: a plugin that cannot be imported or is misdeclared is one diagnostic, and costs nothing else.
        """
        discovery = discover(load=load, block=block)
        self._diagnostics += discovery.diagnostics
        self._register_found(discovery.found)

    def register_own(self, *, block: str | None = None, only: frozenset[str] | None = None) -> None:
        """Register the plugins of this distribution itself, all or those named, without what `block` names.

        Never raises.
        """
        own = own_plugins(block, only)
        if not own:
            self._diagnostics.append(Diagnostic(subject=DISTRIBUTION, message=WITHOUT_ITSELF, severity="error"))
        self._register_found(own)

    def is_own(self, name: str) -> bool:
        """Return True for a plugin of this distribution itself, built in or registered by an entry point."""
        return any(
            one.name == name and (one.origin == "builtin" or one.distribution == DISTRIBUTION) for one in self._plugins
        )

    def _register_found(self, found: Iterable[Found]) -> None:
        for one in found:
            match one:
                case Blocked(installed=installed):
                    self._list(installed, "blocked")
                case Broken(installed=installed, diagnostic=diagnostic):
                    self._list(installed, "failed")
                    self._diagnostics.append(diagnostic)
                case Imported(installed=installed, plugin=plugin):
                    self._register_imported(installed, plugin)

    @property
    def plugins(self) -> tuple[PluginInfo, ...]:
        """Every plugin that is registered, left out or broken, in order."""
        return tuple(self._plugins)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The faults of the plugins that have been asked; `subject` is the plugin's name."""
        return (*self._diagnostics, *self._collection.diagnostics)

    def backends(self) -> Mapping[str, BackendSpec]:
        """Return the backends by id."""
        return self._collection.backends

    def models(self) -> Mapping[str, ModelSpec]:
        """Return the model providers by name."""
        return self._collection.models

    def stores(self) -> Mapping[str, StoreSpec]:
        """Return the stores by id."""
        return self._collection.stores

    def tool_suites(self) -> Mapping[str, ToolSuiteSpec]:
        """Return the tool suites by name."""
        return self._collection.tool_suites

    def suite_owner(self, name: str) -> str:
        """Return the plugin that offers a suite. Raises `KeyError` if none does."""
        return self._collection.suite_owner(name)

    def observers(self) -> tuple[Observer, ...]:
        """Return the observers of every task."""
        return self._collection.observers

    def profiles(self, config: Mapping[str, JsonValue], place: Place) -> tuple[Profile, ...]:
        """Return the profiles for a configuration, asked anew at each call; `config` is written under `subagents`."""
        return self._collection.profiles(config, place)

    def profile_sources(
        self, place: Place, clock: Clock, parent_tools: Callable[[], tuple[str, ...]]
    ) -> Mapping[str, ProfileSource]:
        """Return the sources of profiles by their suite, asked anew at each call."""
        return self._collection.profile_sources(place, clock, parent_tools)

    def checks(self, place: Place, suites: Mapping[str, Mapping[str, JsonValue]]) -> tuple[Diagnostic, ...]:
        """Ask every plugin what works and what does not; `suites` are the options of mounted suites."""
        return self._collection.checks(place, suites)

    def secrets(self, place: Place) -> tuple[str, ...]:
        """Ask every plugin for the values that no text may show."""
        return self._collection.secrets(place)

    def permission(self, request: PermissionRequest) -> tuple[Decision, ...]:
        """Return the decisions of the plugins that make one. A plugin that raises, or returns anything else, denies."""
        return self._collection.permission(request)

    def tool_row(self, call: ToolRowRequest) -> str | None:
        """Return the first plugin's wording of a tool row, or None."""
        return self._collection.tool_row(call)

    def _register_imported(self, installed: Installed, plugin: object) -> None:
        try:
            is_own = installed.distribution == DISTRIBUTION
            offered = hooks_alone(plugin) if ismodule(plugin) else plugin
            admitted = self._admitted(offered, installed.name, str(installed), is_checked=is_own)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # plugin collection: an object may answer anything to being looked at
            logger.warning("%s could not be registered.", installed, exc_info=True)
            admitted = Err(invalid(f"{installed} could not be registered: {described(error)}.", ""))
        match admitted:
            case Ok(hooks):
                self._list(installed, "loaded", hooks)
            case Err(refused):
                self._list(installed, "failed")
                message = f"{refused} {leave_out(installed.name)}"
                self._diagnostics.append(Diagnostic(subject=installed.name, message=message, severity="error"))

    def _list(self, installed: Installed, state: State, hooks: tuple[str, ...] = ()) -> None:
        self._plugins.append(
            PluginInfo(
                name=installed.name,
                origin="entry point",
                state=state,
                distribution=installed.distribution,
                version=installed.version,
                hooks=hooks,
            )
        )

    def _admitted(
        self, plugin: object, name: str, label: str, *, is_checked: bool = False
    ) -> Result[tuple[str, ...], OhmError]:
        """Hand the plugin to pluggy, or say why not; `is_checked`: it is one of ours, which our tests have checked."""
        registered = next((one for one, own in self._manager.list_name_plugin() if is_same(own, plugin)), None)
        if registered is not None:
            return Err(invalid(f"{label} is registered already, as {registered!r}.", "Register a plugin once."))
        if self._manager.has_plugin(name):
            taken = ", ".join(sorted(other for other, _ in self._manager.list_name_plugin()))
            return Err(
                invalid(
                    f"{label} uses a name that is taken.", f"Taken: {taken}. Pass another name, or set its `__name__`."
                )
            )
        refused = None if is_checked else refusal(plugin, label)
        if refused is not None:
            return Err(refused)
        self._manager.register(plugin, name)
        self._collection = Collection(self._manager, self._context)
        return Ok(hooks_of(self._manager, plugin))

    def _own_name(self, plugin: object) -> str:
        name = getattr(plugin, "__name__", None)
        if isinstance(name, str):
            return name
        of_class = type(plugin).__name__
        if self._manager.get_name(plugin) is not None:
            return of_class
        numbered = (f"{of_class}-{number}" for number in count(2))
        return next(free for free in chain([of_class], numbered) if not self._manager.has_plugin(free))
