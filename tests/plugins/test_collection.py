"""The offers of plugins, one plugin at a time: order, ownership, and the cost of a bad one."""

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ohm_subagents._plugins.host.host import PluginHost
from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    BackendType,
    Decision,
    Diagnostic,
    ModelSpec,
    Options,
    PermissionRequest,
    Place,
    Profile,
    ToolRowRequest,
    ToolSuiteSpec,
    hookimpl,
)
from ohm_subagents.store import StoreSpec

REQUEST = PermissionRequest(
    profile=Profile(id="finder", name="Finder", summary="", prompt=""),
    description="",
    prompt="",
    cwd=Path("/"),
    tools=(),
)
CALL = ToolRowRequest(tool="read", payload="a.py")


@asynccontextmanager
async def nothing(options: Options) -> Any:
    yield


def backend(id: str, summary: str = "") -> BackendSpec:
    return BackendSpec(id=id, summary=summary, options=Options, open=nothing)


def backend_type(id: str) -> BackendType:
    return BackendType(id=id, summary="", instance=backend)


def model(provider: str) -> ModelSpec:
    return ModelSpec(provider=provider, summary="", open=lambda pattern: pytest.fail("nobody asked for a model"))


def suite(name: str) -> ToolSuiteSpec:
    return ToolSuiteSpec(name=name, summary="", build=lambda context: ())


def store(id: str) -> StoreSpec:
    return StoreSpec(id=id, summary="", open=nothing)


def profile(id: str, name: str = "") -> Profile:
    return Profile(id=id, name=name, summary="", prompt="")


class Watcher:
    def notify(self, task: object, event: object) -> None: ...


class Plugin:
    """An object whose attributes are hooks."""

    def __init__(self, **hooks: Callable[..., object]) -> None:
        vars(self).update({name: hookimpl(function) for name, function in hooks.items()})


def hosting(**plugins: object) -> PluginHost:
    host = PluginHost()
    for name, one in plugins.items():
        host.register(one, name)
    return host


def raising(*_: object) -> Any:
    raise ValueError("the plugin\nis broken.")


def messages(host: PluginHost) -> list[str]:
    return [str(diagnostic) for diagnostic in host.diagnostics]


OFFERS: list[tuple[str, str, Callable[[str], object], Callable[[PluginHost], Iterable[str]]]] = [
    ("ohm_backends", "backend", backend, lambda host: host.backends()),
    ("ohm_backend_types", "backend type", backend_type, lambda host: host.backend_types()),
    ("ohm_models", "model provider", model, lambda host: host.models()),
    ("ohm_stores", "store", store, lambda host: host.stores()),
    ("ohm_tool_suites", "tool suite", suite, lambda host: host.tool_suites()),
    ("ohm_profiles", "profile", profile, lambda host: [one.id for one in host.profiles({}, Place())]),
]
each_offer = pytest.mark.parametrize(("hook", "noun", "make", "keys"), OFFERS, ids=[offer[0] for offer in OFFERS])


@each_offer
def test_offers_come_in_the_order_of_registration(hook: str, noun: str, make: Any, keys: Any) -> None:
    host = hosting(
        ours=Plugin(**{hook: lambda: [make("z"), make("y")]}),
        none=Plugin(**{hook: lambda: None}),
        theirs=Plugin(**{hook: lambda: iter([make("a")])}),
    )
    assert list(keys(host)) == ["z", "y", "a"]
    assert messages(host) == []


@each_offer
def test_the_first_owner_of_a_name_keeps_it_and_a_diagnostic_names_both(
    hook: str, noun: str, make: Any, keys: Any
) -> None:
    host = hosting(
        ours=Plugin(**{hook: lambda: [make("same")]}),
        theirs=Plugin(**{hook: lambda: [make("same"), make("other")]}),
    )
    assert list(keys(host)) == ["same", "other"]
    assert messages(host) == [
        f"Plugin 'theirs' offers the {noun} 'same', which plugin 'ours' has. The first one is used."
    ]
    assert host.diagnostics[0].subject == "theirs"
    assert host.diagnostics[0].severity == "warning"


def test_the_first_owner_of_an_id_really_is_the_one_used() -> None:
    host = hosting(
        ours=Plugin(ohm_backends=lambda: [backend("same", "ours")]),
        theirs=Plugin(ohm_backends=lambda: [backend("same", "theirs")]),
    )
    assert host.backends()["same"].summary == "ours"


@each_offer
def test_a_plugin_that_raises_half_way_costs_only_what_it_offers_there(
    hook: str, noun: str, make: Any, keys: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def half() -> Iterable[object]:
        yield make("half")
        raising()

    host = hosting(
        before=Plugin(**{hook: lambda: [make("before")]}),
        bad=Plugin(**{hook: half, "ohm_tool_row": lambda: "still asked"}),
        after=Plugin(**{hook: lambda: [make("after")]}),
    )
    with caplog.at_level(logging.WARNING, "ohm_subagents"):
        assert list(keys(host)) == ["before", "after"]
    assert messages(host) == [
        f"Plugin 'bad' failed in {hook}: it raised ValueError: the plugin is broken; what it offers there is not used."
    ]
    assert host.diagnostics[0].severity == "error"
    (record,) = caplog.records
    assert record.name == "ohm_subagents"
    assert record.exc_info is not None
    assert host.tool_row(CALL) == "still asked"


@each_offer
@pytest.mark.parametrize("wrong", [42, "text", Options()])
def test_something_else_than_what_a_hook_is_for_is_a_diagnostic(
    hook: str, noun: str, make: Any, keys: Any, wrong: object
) -> None:
    host = hosting(
        bad=Plugin(**{hook: lambda: [make("good"), wrong]}),
        after=Plugin(**{hook: lambda: [make("after")]}),
    )
    assert list(keys(host)) == ["after"]
    (message,) = messages(host)
    assert message.startswith(f"Plugin 'bad' failed in {hook}: it gave {wrong!r}, which is not a ")


@each_offer
def test_one_offer_that_is_not_in_an_iterable_is_a_diagnostic(hook: str, noun: str, make: Any, keys: Any) -> None:
    host = hosting(bad=Plugin(**{hook: lambda: make("alone")}), worse=Plugin(**{hook: lambda: 42}))
    assert list(keys(host)) == []
    first, second = messages(host)
    assert ", which is not an iterable; what it offers there is not used." in first
    assert second == (
        f"Plugin 'worse' failed in {hook}: it gave 42, which is not an iterable; what it offers there is not used."
    )


@each_offer
def test_an_offer_without_a_name_is_a_diagnostic(hook: str, noun: str, make: Any, keys: Any) -> None:
    host = hosting(bad=Plugin(**{hook: lambda: [make(" ")]}), worse=Plugin(**{hook: lambda: [make(None)]}))
    assert list(keys(host)) == []
    assert [diagnostic.subject for diagnostic in host.diagnostics] == ["bad", "worse"]
    assert "with a name; what it offers" in messages(host)[0]


def test_offers_are_collected_once_and_again_after_a_registration() -> None:
    calls: list[str] = []

    def backends() -> list[BackendSpec]:
        calls.append("asked")
        return [backend("first"), backend("first")]

    host = hosting(first=Plugin(ohm_backends=backends))
    assert calls == []
    assert host.backends() is host.backends()
    assert calls == ["asked"]
    assert len(host.diagnostics) == 1
    host.register(Plugin(ohm_backends=lambda: [backend("second")]), "second")
    assert list(host.backends()) == ["first", "second"]
    assert calls == ["asked", "asked"]
    assert len(host.diagnostics) == 1


def test_nobody_can_change_what_was_collected() -> None:
    host = hosting(one=Plugin(ohm_backends=lambda: [backend("first")]))
    with pytest.raises(TypeError, match="does not support item assignment"):
        host.backends()["second"] = backend("second")  # type: ignore[index]  the point of this test


def test_observers_are_objects_with_a_notify_method() -> None:
    watcher = Watcher()
    host = hosting(
        good=Plugin(ohm_observers=lambda: [watcher]),
        forgot_to_call=Plugin(ohm_observers=lambda: [Watcher]),
        other=Plugin(ohm_observers=lambda: [print]),
        raises=Plugin(ohm_observers=raising_without_arguments),
    )
    assert host.observers() == (watcher,)
    assert [diagnostic.subject for diagnostic in host.diagnostics] == ["forgot_to_call", "other", "raises"]
    assert "which is not an object with notify(task, event); what it offers there is not used." in messages(host)[0]


def raising_without_arguments() -> Any:
    raising()


def test_each_plugin_reads_its_own_copy_of_the_configuration() -> None:
    config: dict[str, Any] = {"reviewer": {"languages": ["de"]}}

    def greedy(config: Mapping[str, Any]) -> list[Profile]:
        config["reviewer"]["languages"].clear()
        return []

    def polite(config: Mapping[str, Any]) -> list[Profile]:
        return [profile(language) for language in config["reviewer"]["languages"]]

    def writing(config: Any) -> list[Profile]:
        config["mine"] = True
        return []

    host = hosting(
        greedy=Plugin(ohm_profiles=greedy), polite=Plugin(ohm_profiles=polite), writing=Plugin(ohm_profiles=writing)
    )
    assert host.profiles(config, Place()) == (profile("de"),)
    assert config == {"reviewer": {"languages": ["de"]}}
    assert [diagnostic.subject for diagnostic in host.diagnostics] == ["writing"]


def test_profiles_are_asked_anew_for_another_configuration_and_so_are_their_problems() -> None:
    host = hosting(one=Plugin(ohm_profiles=lambda config: [profile(config["id"])]))
    assert host.profiles({}, Place()) == ()
    assert len(host.diagnostics) == 1
    assert host.profiles({"id": "finder"}, Place()) == (profile("finder"),)
    assert host.diagnostics == ()


def test_every_plugin_is_asked_for_permission_and_none_is_no_opinion() -> None:
    allow, deny = Decision(verdict="allow", source="a"), Decision(verdict="deny", source="c", reason="no")
    host = hosting(
        a=Plugin(ohm_permission=lambda request: allow),
        b=Plugin(ohm_permission=lambda request: None),
        c=Plugin(ohm_permission=lambda: deny),
    )
    assert host.permission(REQUEST) == (allow, deny)


@pytest.mark.parametrize(
    "answer",
    [True, "allow", "deny", [Decision(verdict="allow", source="x")], Decision(verdict="ask", source="x")],  # type: ignore[arg-type]  the point
)
def test_an_answer_that_is_no_decision_counts_as_deny(answer: object) -> None:
    host = hosting(odd=Plugin(ohm_permission=lambda request: answer))
    (decision,) = host.permission(REQUEST)
    assert (decision.verdict, decision.source) == ("deny", "odd")
    assert decision.reason.startswith("The plugin gave ")
    assert decision.reason.endswith(", which is not a Decision to allow or to deny.")
    assert messages(host)[0].endswith("; it counts as deny.")


def test_a_plugin_that_raises_when_asked_for_permission_counts_as_deny_and_the_others_are_still_asked() -> None:
    allow = Decision(verdict="allow", source="polite")
    host = hosting(bad=Plugin(ohm_permission=raising_request), polite=Plugin(ohm_permission=lambda request: allow))
    denied = Decision(verdict="deny", source="bad", reason="The plugin raised ValueError: the plugin is broken.")
    assert host.permission(REQUEST) == (denied, allow)
    assert host.permission(REQUEST) == (denied, allow)
    assert len(host.diagnostics) == 1


def raising_request(request: object) -> Any:
    raising(request)


def test_two_opinions_of_one_plugin_both_count() -> None:
    class Both:
        @hookimpl
        def ohm_permission(self) -> Decision:
            return Decision(verdict="allow", source="one")

        @hookimpl(specname="ohm_permission")
        def another(self) -> Decision:
            return Decision(verdict="deny", source="two")

    host = hosting(both=Both())
    assert {decision.verdict for decision in host.permission(REQUEST)} == {"allow", "deny"}


def test_tool_rows_are_asked_plugin_by_plugin_until_one_answers(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []

    def answering(name: str, answer: object) -> Plugin:
        def row(call: ToolRowRequest) -> object:
            asked.append(name)
            return answer

        return Plugin(ohm_tool_row=row)

    host = hosting(
        bad=Plugin(ohm_tool_row=lambda call: raising()),
        silent=answering("silent", None),
        odd=answering("odd", 42),
        speaks=answering("speaks", "Read a.py"),
        late=answering("late", "never asked"),
    )
    assert host.tool_row(CALL) == "Read a.py"
    assert host.tool_row(CALL) == "Read a.py"
    assert asked == ["silent", "odd", "speaks"] * 2
    assert [diagnostic.subject for diagnostic in host.diagnostics] == ["bad", "odd"]
    assert len(caplog.records) == 1, "a row is worded often: the failure is logged once"


def test_without_plugins_there_is_nothing() -> None:
    host = PluginHost()
    assert host.backends() == host.models() == host.tool_suites() == {}
    assert host.observers() == host.profiles({}, Place()) == host.permission(REQUEST) == ()
    assert host.tool_row(CALL) is None
    assert host.plugins == host.diagnostics == ()


def test_an_interrupt_is_not_a_plugin_failure() -> None:
    def interrupted() -> list[Backend]:
        raise KeyboardInterrupt

    host = hosting(one=Plugin(ohm_backends=interrupted))
    with pytest.raises(KeyboardInterrupt):
        host.backends()


class Inspector:
    def __init__(self, *found: object) -> None:
        self.found = found

    @hookimpl
    def ohm_checks(self, place: Place) -> Iterable[object]:
        return self.found

    @hookimpl
    def ohm_secrets(self) -> Iterable[object]:
        return self.found


class RaisingInspector:
    @hookimpl
    def ohm_checks(self, suites: Mapping[str, object]) -> Iterable[Diagnostic]:
        yield Diagnostic(subject="x", message="said before")
        raise RuntimeError(*suites)

    @hookimpl
    def ohm_secrets(self) -> Iterable[str]:
        raise RuntimeError("no file")


def test_checks_and_secrets_come_from_every_plugin_and_a_bad_one_costs_its_own() -> None:
    host, found = PluginHost(), Diagnostic(subject="file", message="It is there.", severity="info")
    for name, plugin in {"bad": RaisingInspector(), "odd": Inspector(7), "good": Inspector(found)}.items():
        host.register(plugin, name)

    assert host.checks(Place(), {"todos": {}}) == (found,)
    assert host.secrets(Place()) == ()
    assert [str(one) for one in host.diagnostics] == [
        "Plugin 'bad' failed in ohm_checks: it raised RuntimeError: todos; what it offers there is not used.",
        "Plugin 'odd' failed in ohm_checks: it gave 7, which is not a Diagnostic; what it offers there is not used.",
        "Plugin 'bad' failed in ohm_secrets: it raised RuntimeError: no file; what it offers there is not used.",
        "Plugin 'odd' failed in ohm_secrets: it gave 7, which is not a text; what it offers there is not used.",
        "Plugin 'good' failed in ohm_secrets: it gave Diagnostic(su..., column=None), which is not a text; "
        "what it offers there is not used.",
    ]
