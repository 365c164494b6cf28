"""The plugin host: typed access to the hooks of plugins. Built-in and installed plugins register alike."""

from __future__ import annotations

import logging
from inspect import ismodule
from itertools import chain, count
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._plugins.backends.context import BackendContext
from ohm_subagents._plugins.hooks.specs import PROJECT
from ohm_subagents._plugins.host.collection import Collection
from ohm_subagents._plugins.host.declaration import Declaration, declaration_of, invalid
from ohm_subagents._plugins.host.discovery import (
    DISTRIBUTION,
    WITHOUT_ITSELF,
    Blocked,
    Broken,
    Found,
    Imported,
    Installed,
    all_allowed,
    discover,
    leave_out,
    own_plugins,
)
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._plugins.suites.tool import JsonObject
    from ohm_subagents.contract.errors import OhmError

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
    """The way in: with the core, by an entry point, or from the program."""
    state: State
    """`blocked` if the configuration leaves it out, `failed` if it could not be imported or registered."""
    distribution: str | None = None
    """The distribution of its entry point; None without one."""
    version: str | None = None
    """The version of that distribution."""
    hooks: tuple[str, ...] = ()
    """The hooks that it has, if it is loaded."""


class PluginHost(Collection):
    """Registers plugins, asks them one at a time, and turns what is wrong with one into a diagnostic with its name.

    What plugins offer is collected once, when first asked for, and again after a registration. Order is the order of
    registration, and the first owner of an id keeps it: register our own first. `context` is what backends and models
    of plugins may use; `written` are the options of backends in ohm.json, which may make some of a plugin's types.
    """

    def __init__(
        self, context: BackendContext | None = None, *, written: Mapping[str, JsonObject] = MappingProxyType({})
    ) -> None:
        self._plugins: list[PluginInfo] = []
        self._diagnostics: list[Diagnostic] = []
        super().__init__(context or BackendContext(), written)

    def register(self, plugin: object, name: str | None = None, *, origin: Origin = "passed in") -> None:
        """Register a module or an object; raises `PluginInvalidError` when it is not declared as the hooks demand.

        Without a `name` it is the plugin's `__name__`, or the name of its class, numbered from the second on.
        """
        name = name or self._own_name(plugin)
        is_own = origin == "builtin"
        match self._admitted(plugin, name, f"Plugin {name!r}", is_installed=is_own, is_own=is_own):
            case Ok(hooks):
                self._plugins.append(PluginInfo(name=name, origin=origin, state="loaded", hooks=hooks))
            case Err(error):
                raise PluginInvalidError(error)

    def register_installed(self, allows: Callable[[str], bool] = all_allowed) -> None:
        """Register what is installed under the entry-point group and allowed by its name (see `discover`).

        Never raises: a plugin that cannot be imported or is misdeclared is one diagnostic, and costs nothing else.
        """
        discovery = discover(allows)
        self._diagnostics += discovery.diagnostics
        self._register_found(discovery.found)

    def register_own(self, allows: Callable[[str], bool] = all_allowed) -> None:
        """Register the plugins of this distribution itself that are allowed; never raises."""
        own = own_plugins(allows)
        if not own:
            self._diagnostics.append(Diagnostic(subject=DISTRIBUTION, message=WITHOUT_ITSELF, severity="error"))
        self._register_found(own)

    def installed(self) -> tuple[str, ...]:
        """Return the names of the plugins that were found by entry points, whatever became of them."""
        return tuple(one.name for one in self._plugins if one.origin == "entry point")

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
        return (*self._diagnostics, *super().diagnostics)

    def _register_imported(self, installed: Installed, plugin: object) -> None:
        try:
            is_own = installed.distribution == DISTRIBUTION
            admitted = self._admitted(plugin, installed.name, str(installed), is_installed=True, is_own=is_own)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # plugin collection: an object may answer anything to being looked at
            logger.warning("%s could not be registered.", installed, exc_info=True)
            admitted = Err(invalid(f"{installed} could not be registered: {error_line(error)}.", ""))
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
        self, plugin: object, name: str, label: str, *, is_installed: bool, is_own: bool
    ) -> Result[tuple[str, ...], OhmError]:
        """Take the hooks of the plugin, or say why not; one of our own has been checked by our tests."""
        registered = self._name_of(plugin)
        if registered is not None:
            return Err(invalid(f"{label} is registered already, as {registered!r}.", "Register a plugin once."))
        if name in self._declarations:
            taken = ", ".join(sorted(self._declarations))
            return Err(
                invalid(
                    f"{label} uses a name that is taken.", f"Taken: {taken}. Pass another name, or set its `__name__`."
                )
            )
        if is_installed and ismodule(plugin):
            declaration = declaration_of(plugin, is_checked=is_own)
        else:
            declaration = Declaration(plugin, is_checked=is_own)
        refused = declaration.refusal(label)
        if refused is not None:
            return Err(refused)
        self._declarations[name] = declaration
        self._forget()
        return Ok(declaration.hooks)

    def _name_of(self, plugin: object) -> str | None:
        return next((name for name, one in self._declarations.items() if one.plugin is plugin), None)

    def _own_name(self, plugin: object) -> str:
        name = getattr(plugin, "__name__", None)
        if isinstance(name, str):
            return name
        of_class = type(plugin).__name__
        if self._name_of(plugin) is not None:
            return of_class
        numbered = (f"{of_class}-{number}" for number in count(2))
        return next(free for free in chain([of_class], numbered) if free not in self._declarations)


def installed_backends(
    context: BackendContext, *, options: Mapping[str, JsonObject] = MappingProxyType({})
) -> Mapping[str, BackendSpec]:
    """Return the backends of this distribution and of installed plugins by id, for whoever opens one without an `Ohm`.

    `options` are those of `subagents.backends` of ohm.json, which may make backends of a plugin's types.
    """
    host = PluginHost(context, written=options)
    host.register_own()
    host.register_installed()
    return host.backends()
