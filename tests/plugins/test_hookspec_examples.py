"""The example in each hook's docstring is a whole plugin: it is extracted, registered and called."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import ClassVar

import anyio
import pytest

from ohm_subagents._plugins.hooks.specs import Hooks
from ohm_subagents._plugins.host.declaration import HOOKS
from ohm_subagents._plugins.host.host import PluginHost
from ohm_subagents.plugin import (
    BackendSpec,
    Decision,
    Err,
    Ok,
    Options,
    PermissionRequest,
    Place,
    Profile,
    RunRequest,
    RunSpec,
    Sink,
    SuiteContext,
    TextDelta,
    ToolCall,
    ToolRowRequest,
    validated_options,
)
from ohm_subagents.store import RetentionPolicy, StoreRequest

WRITTEN = {"east": {"type": "server", "host": "one"}}
PROFILE = Profile(id="finder", name="Finder", summary="Finds.", prompt="Find.")


def example(hook: str) -> ModuleType:
    documentation = inspect.getdoc(getattr(Hooks, hook)) or ""
    (code,) = re.findall(r"```python\n(.*?)```", documentation, re.DOTALL)
    module = ModuleType(f"example_of_{hook}")
    exec(compile(code, f"<example of {hook}>", "exec"), module.__dict__)  # our own text, and the point of this test
    return module


class Heard:
    def __init__(self) -> None:
        self.heard: list[object] = []

    def emit(self, event: object) -> None:
        self.heard.append(event)


def run(spec: BackendSpec, options: Options, sink: Sink) -> str:
    how = RunSpec(profile=PROFILE, description="", instructions="", cwd=Path.cwd())

    async def answer() -> str:
        async with spec.open(options) as backend:
            request = RunRequest(task_id="t", session_id="s", prompt="hi", spec=how)
            return (await backend.run(request, sink)).unwrap().text

    return anyio.run(answer)


def backends(host: PluginHost, _: ModuleType) -> None:
    spec = host.backends()["shout"]
    sink = Heard()
    assert run(spec, spec.options(), sink) == "HI"
    assert sink.heard == [TextDelta(text="HI")]


def backend_types(host: PluginHost, _: ModuleType) -> None:
    spec = host.backends()["east"]
    assert run(spec, validated_options(spec, WRITTEN).unwrap(), Heard()) == "east at one"
    assert spec.backend_type == "server"


def models(host: PluginHost, _: ModuleType) -> None:
    from ohm_subagents.contract import parse_model_pattern

    spec = host.models()["canned"]
    assert isinstance(spec.open(parse_model_pattern("canned/anything").unwrap()), Ok)


def profiles(host: PluginHost, _: ModuleType) -> None:
    assert host.profiles({}, Place()) == ()
    (profile,) = host.profiles({"reviewer": {}}, Place())
    assert profile.tools.allowed == ("read", "grep")


def stores(host: PluginHost, _: ModuleType) -> None:
    async def opened() -> tuple[str | None, int]:
        request = StoreRequest(directory=Path("nowhere"), clock=lambda: 0, policy=RetentionPolicy())
        async with host.stores()["scratch"].open(request) as store:
            return store.place, store.count()

    assert anyio.run(opened) == (None, 0)


def tool_suites(host: PluginHost, _: ModuleType) -> None:
    class Unused:
        output_max_chars = 1
        options: ClassVar[dict[str, object]] = {}

        async def execute(self, command: object, *, observer: object = None) -> None:
            raise AssertionError

    (tool,) = host.tool_suites()["roster"].build(
        SuiteContext(executor=Unused(), profiles=lambda: (PROFILE,), settings=Unused())
    )
    result = anyio.run(lambda: tool.execute(ToolCall(arguments={})))
    assert (result.text, result.details) == ("finder", {"ids": ["finder"]})
    assert tool.render_call({}) == "roster"


def permission(host: PluginHost, _: ModuleType) -> None:
    def decisions(directory: str) -> tuple[Decision, ...]:
        return host.permission(
            PermissionRequest(profile=PROFILE, description="", prompt="", cwd=Path(directory), tools=("bash",))
        )

    assert decisions("/srv/staging") == ()
    assert decisions("/srv/production") == (
        Decision(verdict="deny", source="no-shell", reason="no shell in production"),
    )


def observers(host: PluginHost, plugin: ModuleType) -> None:
    (observer,) = host.observers()
    observer.notify(None, TextDelta(text="x"))
    assert plugin.seen == {"text_delta": 1}


def tool_row(host: PluginHost, _: ModuleType) -> None:
    assert host.tool_row(ToolRowRequest(tool="web_search", payload="pluggy")) == "Asked the web for pluggy"
    assert host.tool_row(ToolRowRequest(tool="read", payload="x")) is None


def profile_sources(host: PluginHost, _: ModuleType) -> None:
    source = host.profile_sources({}, Place(), lambda: 0, tuple)["review"]
    assert [source.find(name).unwrap().summary for name in source.names()] == ["Finds faults."]
    assert isinstance(source.find("nobody"), Err)


def checks(host: PluginHost, _: ModuleType) -> None:
    (found,) = host.checks(Place(), {})
    assert found.message == "REVIEWER_KEY is not set; reviews are skipped."
    assert host.checks(Place(env={"REVIEWER_KEY": "k"}), {}) == ()


def secrets(host: PluginHost, _: ModuleType) -> None:
    with TemporaryDirectory() as folder:
        Path(folder, "reviewer.key").write_text("s3cret-value\n")
        assert host.secrets(Place(agent_dir=Path(folder))) == ("s3cret-value",)


CHECKS: dict[str, Callable[[PluginHost, ModuleType], None]] = {
    "ohm_backends": backends,
    "ohm_backend_types": backend_types,
    "ohm_models": models,
    "ohm_profiles": profiles,
    "ohm_profile_sources": profile_sources,
    "ohm_stores": stores,
    "ohm_tool_suites": tool_suites,
    "ohm_permission": permission,
    "ohm_observers": observers,
    "ohm_tool_row": tool_row,
    "ohm_checks": checks,
    "ohm_secrets": secrets,
}


def test_every_hook_has_an_example_and_a_check() -> None:
    assert list(CHECKS) == list(HOOKS)


@pytest.mark.parametrize("hook", HOOKS)
def test_the_example_of_a_hook_works_as_it_stands(hook: str) -> None:
    host = PluginHost(written=WRITTEN)
    plugin = example(hook)
    host.register(plugin)
    CHECKS[hook](host, plugin)
    assert host.plugins[0].hooks == (hook,)
    assert host.diagnostics == ()


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_says_when_it_is_called_what_it_passes_what_none_means_and_what_an_error_costs(hook: str) -> None:
    documentation = inspect.getdoc(getattr(Hooks, hook)) or ""
    assert re.findall(r"\*\*(\w+)\*\*", documentation) == ["Called", "Arguments", "None", "Errors"]
    assert all(f"`{argument}`" in documentation for argument in HOOKS[hook])
