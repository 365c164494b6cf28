"""Declaration: which hooks a plugin declares, and whether it declares them in a way that the host can honour."""

from __future__ import annotations

import inspect
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast

import pluggy

from ohm_subagents._plugins.hooks.specs import HOOKS_BY_NAME, PROJECT, Hooks
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

HOOKS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(inspect.signature(spec).parameters)[1:]  # without `self`
    for name, spec in HOOKS_BY_NAME.items()
}
"""Every hook and the arguments it passes, in the order of the specs."""


class _OnePlugin(pluggy.PluginManager):
    """Pluggy's manager for one plugin, which looks only at attributes that may be hooks, and at the specs of these."""

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        """Look for the marker on one attribute; no hook is called `__…__`, as those that every object has."""
        return None if name.startswith("__") else super().parse_hookimpl_opts(plugin, name)

    def parse_hookspec_opts(self, module_or_class: ModuleType | type, name: str) -> pluggy.HookspecOpts | None:
        """Look for the marker on one attribute of the specs, if it is a hook of the plugin."""
        return super().parse_hookspec_opts(module_or_class, name) if name in vars(self.hook) else None


class Declaration:
    """The hooks of one plugin, which can be called unless there is an `objection`."""

    plugin: Final[object]
    """The module or the object that has them."""
    hooks: Final[tuple[str, ...]]
    """The hooks that it implements, in the order of the specs."""
    objection: Final[tuple[str, str] | None]
    """The first fault in its declaration, as a fact and an advice."""

    def __init__(self, plugin: object, *, is_checked: bool = False) -> None:
        """Find the hooks; `is_checked`: it is one of ours, which our tests have checked."""
        manager = _OnePlugin(PROJECT)
        manager.register(plugin, "plugin")
        callers = manager.get_hookcallers(plugin) or []
        names = {caller.name for caller in callers}
        self.plugin = plugin
        self.hooks = tuple(name for name in HOOKS if name in names)
        self.objection = None if is_checked else next(_objections(plugin, callers), None)
        if self.hooks and self.objection is None:  # pluggy raises where there is an objection
            manager.add_hookspecs(Hooks)
        self._relay: Final = manager.hook

    def call(self, hook: str, **arguments: object) -> Any:  # noqa: ANN401  each hook has another answer
        """Call a hook that the plugin implements. Raises whatever the plugin raises."""
        return cast("pluggy.HookCaller", getattr(self._relay, hook))(**arguments)

    def refusal(self, label: str) -> OhmError | None:
        """Return the error of a plugin that cannot be registered, or None; `label` begins the message.

        The error is `plugin_invalid` for an unknown hook, a parameter that the hook does not pass, an implementation
        that is async, wraps or asks for another place in the order, a forgotten marker, and a plugin without any hook.
        """
        return None if self.objection is None else invalid(f"{label} {self.objection[0]}", self.objection[1])


@lru_cache(maxsize=256)
def declaration_of(module: ModuleType, *, is_checked: bool) -> Declaration:
    """Return the declaration of an installed module, which is read once in a process: it does not change."""
    return Declaration(module, is_checked=is_checked)


def invalid(message: str, advice: str) -> OhmError:
    return OhmError(code=ErrorCode.PLUGIN_INVALID, message=message, advice=advice)


def _objections(plugin: object, callers: Iterable[pluggy.HookCaller]) -> Iterator[tuple[str, str]]:
    """Yield each fault of the plugin as a fact and an advice."""
    if type(plugin).__hash__ is None:
        yield "cannot be hashed, and plugins are told apart by their hash.", "A dataclass needs @dataclass(eq=False)."
    implementations = [(caller.name, one) for caller in callers for one in caller.get_hookimpls()]
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
