"""Declaration: which hooks a plugin declares, and whether it declares them in a way that the host can honour."""

from __future__ import annotations

import inspect
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final

import pluggy

from ohm_subagents._plugins.hooks.specs import HOOKS_BY_NAME, PROJECT
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

HOOKS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(inspect.signature(spec).parameters)[1:]  # without `self`
    for name, spec in HOOKS_BY_NAME.items()
}
"""Every hook and the arguments it passes, in the order of the specs."""


class HookManager(pluggy.PluginManager):
    """Pluggy's manager, which passes over the attributes that every object has: no hook is called `__…__`."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """Look for the marker on one attribute."""
        if isinstance(plugin, _HooksAlone):
            return plugin.options[name]
        return None if name.startswith("__") else super().parse_hookimpl_opts(plugin, name)

    def parse_hookspec_opts(self, module_or_class: ModuleType | type, name: str) -> pluggy.HookspecOpts | None:
        """Look for the marker on one attribute of the specs."""
        return None if name.startswith("__") else super().parse_hookspec_opts(module_or_class, name)


class _HooksAlone:
    """Has the hooks of a module and none of its other names, at each of which pluggy would look."""

    options: dict[str, pluggy.HookimplOpts]
    module: ModuleType

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        found = {name: HookManager(PROJECT).parse_hookimpl_opts(module, name) for name in vars(module)}
        self.options = {name: options for name, options in found.items() if options is not None}
        vars(self).update({name: vars(module)[name] for name in self.options})

    def __dir__(self) -> list[str]:
        return [*self.options]

    @cached_property
    def objection(self) -> tuple[str, str] | None:
        """The first fault of the module, as a fact and an advice."""
        return next(_objections(self.module), None)


@cache
def hooks_alone(module: ModuleType) -> object:
    """Return an object to register in place of an installed module, whose hooks are looked up once in a process."""
    return _HooksAlone(module)


def is_same(registered: object, plugin: object) -> bool:
    """Return True if this plugin is registered, be it by its hooks alone."""
    return registered is plugin or (isinstance(registered, _HooksAlone) and registered.module is plugin)


def hooks_of(manager: pluggy.PluginManager, plugin: object) -> tuple[str, ...]:
    """Return the hooks that a registered plugin implements, in the order of the specs."""
    implemented = {caller.name for caller in manager.get_hookcallers(plugin) or ()}
    return tuple(name for name in HOOKS if name in implemented)


def refusal(plugin: object, label: str) -> OhmError | None:
    """Return the error of a plugin that cannot be registered, or None; `label` begins the message.

    The error is `plugin_invalid` for an unknown hook, a parameter that the hook does not pass, an implementation that
    is async, wraps or asks for another place in the order, a forgotten marker, and a plugin without any hook.
    """
    objection = plugin.objection if isinstance(plugin, _HooksAlone) else next(_objections(plugin), None)
    return None if objection is None else invalid(f"{label} {objection[0]}", objection[1])


def invalid(message: str, advice: str) -> OhmError:
    return OhmError(code=ErrorCode.PLUGIN_INVALID, message=message, advice=advice)


def _implementations(plugin: object) -> list[tuple[str, pluggy.HookImpl]]:
    """Return what pluggy would call. A throw-away manager without specs finds it, so nothing is half registered."""
    scratch = HookManager(PROJECT)
    scratch.register(plugin, name="candidate")
    return [
        (caller.name, implementation)
        for caller in scratch.get_hookcallers(plugin) or ()
        for implementation in caller.get_hookimpls()
    ]


def _objections(plugin: object) -> Iterator[tuple[str, str]]:
    """Yield each fault of the plugin as a fact and an advice."""
    if type(plugin).__hash__ is None:
        yield "cannot be hashed, and plugins are told apart by their hash.", "A dataclass needs @dataclass(eq=False)."
    implementations = _implementations(plugin)
    for name, implementation in implementations:
        if name in HOOKS:
            yield from _objections_to(name, implementation)
        elif not implementation.optionalhook:
            yield f"implements the unknown hook {name!r}.", f"Hooks: {', '.join(sorted(HOOKS))}."
    marked = {name for name, _ in implementations}
    for name in HOOKS:
        if name not in marked and inspect.getattr_static(plugin, name, None) is not None:
            yield f"defines {name} without marking it.", "Put @hookimpl of ohm_subagents.plugin above it."
    if not marked:
        hooks = f"Hooks: {', '.join(sorted(HOOKS))}."
        yield "implements no hook.", f"{hooks} Mark at least one with @hookimpl of ohm_subagents.plugin."


def _objections_to(name: str, implementation: pluggy.HookImpl) -> Iterator[tuple[str, str]]:
    if implementation.wrapper or implementation.hookwrapper:
        fact = f"wraps {name}, and plugins are asked one at a time, so there is nothing to wrap."
        yield fact, "To change a run, wrap a backend; to watch it, give an observer."
    if implementation.tryfirst or implementation.trylast:
        fact = f"asks for another place in the order of {name}, which is the order of registration."
        yield fact, "Leave out tryfirst and trylast."
    if inspect.iscoroutinefunction(implementation.function) or inspect.isasyncgenfunction(implementation.function):
        fact = f"implements {name} with an async function, and hooks are synchronous."
        yield fact, "Hand over an object whose own methods are async."
    for parameter in inspect.signature(implementation.function).parameters.values():
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in HOOKS[name]:
            fact = f"declares {name} with the parameter {parameter.name!r}, which the host cannot pass."
            instance = " Register an instance, not the class." if inspect.isclass(implementation.plugin) else ""
            yield fact, f"Plain parameters it may have: {', '.join(HOOKS[name]) or 'none'}.{instance}"
