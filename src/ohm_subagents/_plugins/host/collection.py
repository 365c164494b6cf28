"""Collection of what the registered plugins offer: asked one plugin at a time, with a diagnostic for each fault."""

from __future__ import annotations

import logging
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeGuard, TypeVar

from pydantic_core import to_jsonable_python

from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._plugins.backends.backend_type import BackendType, instance_of, written_types
from ohm_subagents._plugins.backends.interface import BackendSpec, Capability, ModelSpec, ToolRowRequest
from ohm_subagents._plugins.backends.options import validated
from ohm_subagents._plugins.hooks.specs import PROJECT
from ohm_subagents._plugins.host.answers import (
    is_diagnostic,
    is_observer,
    is_text,
    read_decisions,
    read_items,
    read_row,
)
from ohm_subagents._plugins.stores import StoreSpec
from ohm_subagents._plugins.suites.interface import ToolSuiteSpec
from ohm_subagents._plugins.suites.profile_source import ProfileSource
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic, Severity
from ohm_subagents.contract.profile import Decision, PermissionRequest, Profile
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.context import BackendContext
    from ohm_subagents._plugins.host.declaration import Declaration
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.tool import JsonObject
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.place import Place

logger = logging.getLogger(PROJECT)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind(Generic[T]):
    """Something that plugins offer under a key which only one of them can have."""

    hook: str
    noun: str
    type: type[T]
    key: Callable[[T], str]

    def read(self, results: Iterable[object]) -> Result[list[T], str]:
        return read_items(results, self._accepts, f"a {self.type.__name__} with a name")

    def _accepts(self, item: object) -> TypeGuard[T]:
        return isinstance(item, self.type) and bool(self.key(item).strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Offers(Generic[T]):
    """The parts that plugins offer, by key, and the plugin of each."""

    items: Mapping[str, T]
    owners: Mapping[str, str]


def _profile_key(profile: Profile) -> str:
    """Return the id; of a suite's profiles, each file counts, since the catalogue lets a later one override."""
    return f"{profile.id} of {profile.source}" if profile.suite else profile.id


BACKENDS: Final[_Kind[BackendSpec]] = _Kind(
    hook="ohm_backends", noun="backend", type=BackendSpec, key=lambda spec: spec.id
)
TYPES: Final = _Kind(hook="ohm_backend_types", noun="backend type", type=BackendType, key=lambda one: one.id)
MODELS: Final = _Kind(hook="ohm_models", noun="model provider", type=ModelSpec, key=lambda spec: spec.provider)
STORES: Final = _Kind(hook="ohm_stores", noun="store", type=StoreSpec, key=lambda spec: spec.id)
PROFILES: Final = _Kind(hook="ohm_profiles", noun="profile", type=Profile, key=_profile_key)
SOURCES: Final = _Kind(
    hook="ohm_profile_sources", noun="profile source", type=ProfileSource, key=lambda source: source.suite
)
SUITES: Final = _Kind(hook="ohm_tool_suites", noun="tool suite", type=ToolSuiteSpec, key=lambda spec: spec.name)


class Collection:
    """Asks the registered plugins, one at a time. A key belongs to its first owner; offers are kept until `_forget`.

    `written` are the options of backends, as ohm.json has them.
    """

    def __init__(self, context: BackendContext, written: Mapping[str, JsonObject]) -> None:
        self._declarations: dict[str, Declaration] = {}
        self._written = written
        self._context = replace(context, models=self.models)
        self._forget()

    def _forget(self) -> None:
        """Ask again from now on: the plugins have changed."""
        self._problems: dict[tuple[str, str, str], Diagnostic] = {}
        self._kept: dict[str, _Offers[Any]] = {}
        self._backends: Mapping[str, BackendSpec] | None = None
        self._observers: tuple[Observer, ...] | None = None
        self._deciders: tuple[str, ...] | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The faults of plugins so far: one for each plugin and hook, and one for each key that was taken."""
        return tuple(self._problems.values())

    def backends(self) -> Mapping[str, BackendSpec]:
        """Return the backends by id: those of plugins, then those that ohm.json makes of their types."""
        if self._backends is None:
            offered = self._once(BACKENDS, context=self._context).items
            made = {one.id: one for one in self._instances() if one.id not in offered}
            offered = {**offered, **made}
            self._backends = MappingProxyType({one.id: self._bounded(one, offered) for one in offered.values()})
        return self._backends

    def _bounded(self, spec: BackendSpec, offered: Mapping[str, BackendSpec]) -> BackendSpec:
        """Return a backend without the capabilities that the one lacks that carries out its runs."""
        options = None if spec.runs is None else validated(spec, self._written)
        if spec.runs is None or not isinstance(options, Ok):
            return spec
        hosted = offered.get(spec.runs(options.ok_value))
        if hosted is None:
            return spec
        return replace(spec, capabilities=spec.capabilities & (hosted.capabilities | {Capability.ATTACHES}))

    def backend_types(self) -> Mapping[str, BackendType]:
        """Return the types of which ohm.json makes backends, by id."""
        return self._once(TYPES, context=self._context).items

    def models(self) -> Mapping[str, ModelSpec]:
        """Return the model providers by name."""
        return self._once(MODELS, context=self._context).items

    def stores(self) -> Mapping[str, StoreSpec]:
        """Return the stores by id."""
        return self._once(STORES).items

    def tool_suites(self) -> Mapping[str, ToolSuiteSpec]:
        """Return the tool suites by name."""
        return self._once(SUITES).items

    def suite_owner(self, name: str) -> str:
        """Return the plugin that offers a suite. Raises `KeyError` for an unknown one."""
        return self._once(SUITES).owners[name]

    def observers(self) -> tuple[Observer, ...]:
        """Return the observers of every task."""
        if self._observers is None:
            self._observers = self._listed("ohm_observers", is_observer, "an object with notify(task, event)")
        return self._observers

    def profiles(self, config: Mapping[str, JsonValue], place: Place) -> tuple[Profile, ...]:
        """Return the profiles for a configuration, asked anew at each call; `config` is written under `subagents`."""
        self._problems = {key: problem for key, problem in self._problems.items() if key[0] != PROFILES.hook}
        offers = self._keyed(PROFILES, lambda: {"config": _own_copy(config), "place": place})
        return tuple(offers.items.values())

    def profile_sources(
        self,
        config: Mapping[str, JsonValue],
        place: Place,
        clock: Clock,
        parent_tools: Callable[[], tuple[str, ...]],
    ) -> Mapping[str, ProfileSource]:
        """Return the sources of profiles by their suite, asked anew at each call; `config` as for `profiles`."""
        given = {"place": place, "clock": clock, "parent_tools": parent_tools}
        return self._keyed(SOURCES, lambda: {"config": _own_copy(config), **given}).items

    def checks(self, place: Place, suites: Mapping[str, Mapping[str, JsonValue]]) -> tuple[Diagnostic, ...]:
        """Ask every plugin what works and what does not; `suites` are the options of mounted suites."""
        return self._listed("ohm_checks", is_diagnostic, "a Diagnostic", place=place, suites=suites)

    def secrets(self, place: Place) -> tuple[str, ...]:
        """Ask every plugin for the values that no text may show."""
        return self._listed("ohm_secrets", is_text, "a text", place=place)

    def permission(self, request: PermissionRequest) -> tuple[Decision, ...]:
        """Return the decisions of the plugins that make one. A plugin that raises, or returns anything else, denies."""
        hook = "ohm_permission"
        if self._deciders is None:
            self._deciders = self._owners(hook)
        decisions: list[Decision] = []
        for owner in self._deciders:
            match self._ask(hook, owner, read_decisions, request=request):
                case Ok(given):
                    decisions += given
                case Err(reason):
                    decisions.append(Decision(verdict="deny", source=owner, reason=f"The plugin {reason}."))
        return tuple(decisions)

    def tool_row(self, call: ToolRowRequest) -> str | None:
        """Return the first plugin's wording of a tool row, or None."""
        hook = "ohm_tool_row"
        for owner in self._owners(hook):
            row = self._ask(hook, owner, read_row, call=call).unwrap_or(None)
            if row is not None:
                return row
        return None

    def _instances(self) -> Iterator[BackendSpec]:
        for backend_id, type_id in written_types(self._written):
            offers = self._once(TYPES, context=self._context)
            if type_id in offers.items:
                match instance_of(offers.items[type_id], backend_id):
                    case Ok(spec):
                        yield spec
                    case Err(reason):
                        fact = f"made no backend {backend_id!r} of its type {type_id!r}: it {reason}."
                        self._note(TYPES.hook, offers.owners[type_id], fact, key=backend_id)

    def _once(self, kind: _Kind[T], **arguments: object) -> _Offers[T]:
        """Return offers by key, asked for the first time and then kept."""
        found = self._kept.get(kind.hook)
        if found is None:
            found = self._kept[kind.hook] = self._keyed(kind, lambda: arguments)
        return found

    def _listed(
        self, hook: str, accepts: Callable[[object], TypeGuard[T]], what: str, **arguments: object
    ) -> tuple[T, ...]:
        """Return the items of every plugin in order; a plugin that gives anything but `what` has none."""
        answers = (
            self._ask(hook, owner, lambda results: read_items(results, accepts, what), **arguments)
            for owner in self._owners(hook)
        )
        return tuple(chain.from_iterable(answer.unwrap_or([]) for answer in answers))

    def _keyed(self, kind: _Kind[T], arguments: Callable[[], Mapping[str, object]]) -> _Offers[T]:
        """Return offers by key. `arguments` are made for each plugin, so that none can change those of the next."""
        offered: dict[str, T] = {}
        owners: dict[str, str] = {}
        for owner in self._owners(kind.hook):
            for item in self._ask(kind.hook, owner, kind.read, **arguments()).unwrap_or([]):
                key = kind.key(item)
                if key in offered:
                    fact = f"offers the {kind.noun} {key!r}, which plugin {owners[key]!r} has."
                    self._note(kind.hook, owner, f"{fact} The first one is used.", key=key)
                else:
                    offered[key], owners[key] = item, owner
        return _Offers(items=MappingProxyType(offered), owners=owners)

    def _owners(self, hook: str) -> tuple[str, ...]:
        """Return the plugins with this hook in order of registration, which no plugin can change."""
        return tuple(name for name, one in self._declarations.items() if hook in one.hooks)

    def _ask(self, hook: str, owner: str, read: Callable[[Any], Result[T, str]], **arguments: object) -> Result[T, str]:
        """Return one plugin's answer as `read` understands it; note what is wrong with it."""
        try:
            answer = read(self._declarations[owner].call(hook, **arguments))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a plugin that raises costs its own features, and is logged once
            if (hook, owner, "") not in self._problems:
                logger.warning("Plugin %r raised in %s.", owner, hook, exc_info=True)
            answer = Err(f"raised {error_line(error)}")
        if isinstance(answer, Err):
            so = "it counts as deny" if hook == "ohm_permission" else "what it offers there is not used"
            self._note(hook, owner, f"failed in {hook}: it {answer.err_value}; {so}.")
        return answer

    def _note(self, hook: str, owner: str, fact: str, *, key: str = "") -> None:
        severity: Severity = "warning" if key else "error"
        diagnostic = Diagnostic(subject=owner, message=f"Plugin {owner!r} {fact}", severity=severity)
        self._problems.setdefault((hook, owner, key), diagnostic)


def _own_copy(config: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    return MappingProxyType(to_jsonable_python(dict(config)))
