"""Refusals of `register`, in their words."""

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic_ai.models import Model

from ohm_subagents import Ohm, OpenOptions
from ohm_subagents._plugins.host.declaration import HOOKS, Declaration, declaration_of
from ohm_subagents._plugins.host.host import PluginHost, PluginInvalidError
from ohm_subagents.plugin import (
    Decision,
    Err,
    ErrorCode,
    ModelPattern,
    ModelSpec,
    OhmError,
    PermissionRequest,
    Result,
    ToolRowRequest,
    hookimpl,
)

HOOK_LIST = (
    "Hooks: ohm_backend_types, ohm_backends, ohm_checks, ohm_models, ohm_observers, ohm_permission, "
    "ohm_profile_sources, ohm_profiles, ohm_secrets, ohm_stores, ohm_tool_row, ohm_tool_suites."
)


class UnknownHook:
    @hookimpl
    def ohm_backend(self) -> Iterable[object]:
        return ()


class WrongArgument:
    @hookimpl
    def ohm_permission(self, call: ToolRowRequest) -> None: ...


class OptionalArgument:
    @hookimpl
    def ohm_permission(self, request: PermissionRequest, strict: bool = False) -> None: ...


class KeywordOnly:
    @hookimpl
    def ohm_permission(self, *, request: PermissionRequest) -> None: ...


class Swallowing:
    @hookimpl
    def ohm_permission(self, **arguments: object) -> None: ...


class Async:
    @hookimpl
    async def ohm_permission(self, request: PermissionRequest) -> None: ...


class AsyncGenerator:
    @hookimpl
    async def ohm_backends(self) -> AsyncIterator[object]:
        yield object()


class Wrapper:
    @hookimpl(wrapper=True)
    def ohm_permission(self, request: PermissionRequest) -> Iterator[None]:
        yield


class OldWrapper:
    @hookimpl(hookwrapper=True)
    def ohm_permission(self, request: PermissionRequest) -> Iterator[None]:
        yield


class First:
    @hookimpl(tryfirst=True)
    def ohm_tool_row(self, call: ToolRowRequest) -> None: ...


class Last:
    @hookimpl(trylast=True)
    def ohm_tool_row(self, call: ToolRowRequest) -> None: ...


class Unmarked:
    @hookimpl
    def ohm_backends(self) -> Iterable[object]:
        return ()

    def ohm_permission(self, request: PermissionRequest) -> None: ...


class Nothing:
    pass


@dataclass
class Unhashable:
    name: str = ""

    @hookimpl
    def ohm_backends(self) -> Iterable[object]:
        return ()


class Renamed:
    """A hook under another name, without the arguments it does not need, and one of a future version."""

    @hookimpl(specname="ohm_permission")
    def no_opinion(self) -> Decision | None: ...

    @hookimpl(optionalhook=True)
    def ohm_of_the_future(self, anything: object) -> None: ...


REFUSED = [
    (UnknownHook(), f"implements the unknown hook 'ohm_backend'. {HOOK_LIST}"),
    (
        WrongArgument(),
        "declares ohm_permission with the parameter 'call', which the host cannot pass. "
        "Plain parameters it may have: request.",
    ),
    (
        OptionalArgument(),
        "declares ohm_permission with the parameter 'strict', which the host cannot pass. "
        "Plain parameters it may have: request.",
    ),
    (
        KeywordOnly(),
        "declares ohm_permission with the parameter 'request', which the host cannot pass. "
        "Plain parameters it may have: request.",
    ),
    (
        Swallowing(),
        "declares ohm_permission with the parameter 'arguments', which the host cannot pass. "
        "Plain parameters it may have: request.",
    ),
    (
        Renamed,
        "declares ohm_permission with the parameter 'self', which the host cannot pass. "
        "Plain parameters it may have: request. Register an instance, not the class.",
    ),
    (
        Async(),
        "implements ohm_permission with an async function, and hooks are synchronous. "
        "Hand over an object whose own methods are async.",
    ),
    (
        AsyncGenerator(),
        "implements ohm_backends with an async function, and hooks are synchronous. "
        "Hand over an object whose own methods are async.",
    ),
    (
        Wrapper(),
        "wraps ohm_permission, and plugins are asked one at a time, so there is nothing to wrap. "
        "To change a run, wrap a backend; to watch it, give an observer.",
    ),
    (
        OldWrapper(),
        "wraps ohm_permission, and plugins are asked one at a time, so there is nothing to wrap. "
        "To change a run, wrap a backend; to watch it, give an observer.",
    ),
    (
        First(),
        "asks for another place in the order of ohm_tool_row, which is the order of registration. "
        "Leave out tryfirst and trylast.",
    ),
    (
        Last(),
        "asks for another place in the order of ohm_tool_row, which is the order of registration. "
        "Leave out tryfirst and trylast.",
    ),
    (Unmarked(), "defines ohm_permission without marking it. Put @hookimpl of ohm_subagents.plugin above it."),
    (Nothing(), f"implements no hook. {HOOK_LIST} Mark at least one with @hookimpl of ohm_subagents.plugin."),
    (
        Unhashable(),
        "cannot be hashed, and plugins are told apart by their hash. A dataclass needs @dataclass(eq=False).",
    ),
]


@pytest.mark.parametrize(("plugin", "why"), REFUSED, ids=lambda case: type(case).__name__)
def test_a_misdeclared_plugin_is_refused_in_one_clear_sentence_and_leaves_no_trace(plugin: object, why: str) -> None:
    host = PluginHost()
    with pytest.raises(PluginInvalidError) as refusal:
        host.register(plugin, "mine")
    assert str(refusal.value) == f"Plugin 'mine' {why}"
    assert refusal.value.error.code == ErrorCode.PLUGIN_INVALID
    assert host.plugins == ()
    host.register(Renamed(), "mine")
    assert host.backends() == {}


def test_the_list_of_hooks_is_the_specs() -> None:
    assert HOOKS == {
        "ohm_backends": ("context",),
        "ohm_backend_types": ("context",),
        "ohm_models": ("context",),
        "ohm_profiles": ("config", "place"),
        "ohm_profile_sources": ("config", "place", "clock", "parent_tools"),
        "ohm_stores": (),
        "ohm_tool_suites": (),
        "ohm_permission": ("request",),
        "ohm_observers": (),
        "ohm_tool_row": ("call",),
        "ohm_checks": ("place", "suites"),
        "ohm_secrets": ("place",),
    }


def test_a_hook_may_have_another_name_and_fewer_arguments_and_an_optional_one_may_be_unknown() -> None:
    host = PluginHost()
    host.register(Renamed())
    (info,) = host.plugins
    assert (info.name, info.origin, info.state, info.hooks) == ("Renamed", "passed in", "loaded", ("ohm_permission",))


def test_the_same_plugin_twice_is_refused() -> None:
    host = PluginHost()
    plugin = Renamed()
    host.register(plugin, "first")
    with pytest.raises(
        PluginInvalidError, match=r"^Plugin 'second' is registered already, as 'first'\. Register a plu"
    ):
        host.register(plugin, "second")


def test_a_name_that_is_taken_is_refused() -> None:
    host = PluginHost()
    host.register(Renamed(), origin="builtin")
    with pytest.raises(PluginInvalidError, match=r"^Plugin 'Renamed' uses a name that is taken\. Taken: Renamed\. Pas"):
        host.register(Renamed(), "Renamed")
    assert [info.origin for info in host.plugins] == ["builtin"]


def test_plugins_of_one_class_are_numbered() -> None:
    host = PluginHost()
    host.register(Renamed(), "Renamed-2")
    first = Renamed()
    host.register(first)
    host.register(Renamed())
    assert [info.name for info in host.plugins] == ["Renamed-2", "Renamed", "Renamed-3"]
    with pytest.raises(PluginInvalidError, match=r"^Plugin 'Renamed' is registered already, as 'Renamed'\."):
        host.register(first)


@pytest.mark.anyio
async def test_what_ships_is_declared_as_the_hooks_demand(tmp_path: Path) -> None:
    """`register` does not look at it again: it never changes."""
    async with Ohm.open(cwd=tmp_path, env={"PI_CONFIG_DIR": str(tmp_path)}) as ohm:
        registered = ohm._engine.assembly.host._declarations
        plugins = ohm.inspect().plugins
        ours = {one.name for one in plugins if one.origin == "builtin" or one.distribution == "ohm-subagents"}
        objections = {name: Declaration(registered[name].plugin).objection for name in ours}
    suites = {"delegate", "mcp", "single", "sticky", "todos"}
    backends = {"interactive-sdk", "interactive-shell", "local-search", "echo"}
    assert objections == dict.fromkeys(
        (*backends, *suites, "agent-files", "sqlite", "snapshot", "suites", "stores", "log")
    )


class Models:
    def __init__(self, provider: str) -> None:
        self.provider = provider

    @hookimpl
    def ohm_models(self) -> Iterable[ModelSpec]:
        yield ModelSpec(provider=self.provider, summary="Never asked.", open=no_model)


def no_model(_pattern: ModelPattern) -> Result[Model, OhmError]:
    return Err(OhmError(code=ErrorCode.MODEL_UNKNOWN, message="There is none."))


@pytest.mark.anyio
async def test_two_ohms_share_what_is_read_of_an_installed_plugin_and_no_plugin_of_the_other(tmp_path: Path) -> None:
    here: OpenOptions = {"cwd": tmp_path, "env": {"PI_CONFIG_DIR": str(tmp_path)}}
    async with Ohm.open(**here, plugins=[Models("one")]) as first:
        read = declaration_of.cache_info().misses
        async with Ohm.open(**here, plugins=[Models("two")], config={"blockPlugins": ["sticky"]}) as second:
            assert declaration_of.cache_info().misses == read
            models = [{one.provider for one in ohm.inspect().models.specs} for ohm in (first, second)]
            states = [{one.name: one.state for one in ohm.inspect().plugins} for ohm in (first, second)]
    assert models[0] ^ models[1] == {"one", "two"}
    assert [each["sticky"] for each in states] == ["loaded", "blocked"]
