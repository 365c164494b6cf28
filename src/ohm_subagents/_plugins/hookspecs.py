"""The hooks: markers and specs, nothing else.

A plugin is a module or an object with some of these functions, each marked with `ohm_subagents.plugin.hookimpl`, and
named by an entry point of the group `ohm_subagents`. Hooks are synchronous and only hand over objects; the objects own
what is asynchronous. Plugins are asked one at a time, in order of registration, our own first; a hook may leave out
arguments it does not need. A hook that raises or gives the wrong thing becomes one diagnostic with the plugin's name
and costs what that hook would have brought, nothing else. To change a run, wrap a backend; to watch it, give an
observer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import pluggy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.context import BackendContext
    from ohm_subagents._plugins.interfaces import BackendSpec, ModelSpec, ToolRowRequest
    from ohm_subagents._plugins.observer import Observer
    from ohm_subagents._plugins.suites import ToolSuiteSpec
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.place import Place
    from ohm_subagents.contract.policy import Decision, PermissionRequest
    from ohm_subagents.contract.profile import Profile

PROJECT: Final = "ohm_subagents"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks(Protocol):
    """Everything a plugin may implement."""

    @hookspec
    def ohm_backends(self, context: BackendContext) -> Iterable[BackendSpec]:
        """Offer backends.

        **Called** once, before the first task; again if a plugin is registered later, and at each reconfiguration.
        Nothing is opened yet: a spec's `open` is entered by the first task that needs it. **Arguments**: `context` is
        what a backend may use of the `Ohm`: its environment, the user's services, a directory for caches, the log, the
        model providers. **None** is no backend. **Errors**: one diagnostic, and the plugin brings no backend. An id
        that is taken stays with its first owner; a diagnostic names both.

        ```python
        from collections.abc import AsyncGenerator, Iterable
        from contextlib import asynccontextmanager

        from anyio.lowlevel import checkpoint

        from ohm_subagents.plugin import (
            Backend, BackendSpec, OhmError, Ok, Options, Result, RunOutput, RunRequest, Sink, TextDelta, hookimpl,
        )


        class ShoutBackend:
            async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
                await checkpoint()
                answer = request.prompt.upper()
                sink.emit(TextDelta(text=answer))
                return Ok(RunOutput(text=answer))


        @asynccontextmanager
        async def open_shout(options: Options) -> AsyncGenerator[Backend, None]:
            yield ShoutBackend()


        @hookimpl
        def ohm_backends() -> Iterable[BackendSpec]:
            yield BackendSpec(id="shout", summary="Says it louder.", options=Options, open=open_shout)
        ```
        """
        ...

    @hookspec
    def ohm_models(self, context: BackendContext) -> Iterable[ModelSpec]:
        """Offer model providers to the in-process backend.

        **Called** once, before the first task; again if a plugin is registered later, and at each reconfiguration. A
        spec's `open` is called for the first task that names a model of its provider; import heavy things there.
        **Arguments**: `context`, as for `ohm_backends`. **None** is no provider. **Errors**: one diagnostic, and the
        plugin brings no provider. A provider that is taken stays with its first owner; a diagnostic names both.

        ```python
        from __future__ import annotations

        from collections.abc import Iterable
        from typing import TYPE_CHECKING

        from ohm_subagents.plugin import ModelPattern, ModelSpec, OhmError, Ok, Result, hookimpl

        if TYPE_CHECKING:
            from pydantic_ai.models import Model


        def open_canned(pattern: ModelPattern) -> Result[Model, OhmError]:
            from pydantic_ai.models.test import TestModel

            return Ok(TestModel(custom_output_text=f"You asked {pattern.model}."))


        @hookimpl
        def ohm_models() -> Iterable[ModelSpec]:
            yield ModelSpec(provider="canned", summary="Answers without thinking.", open=open_canned)
        ```
        """
        ...

    @hookspec
    def ohm_profiles(self, config: Mapping[str, JsonValue]) -> Iterable[Profile]:
        """Offer profiles, below the user's and the project's own files.

        **Called** when the profiles are read: at the start and at each reconfiguration. **Arguments**: `config` is what
        ohm.json has under `subagents`, as written; each plugin gets its own copy. **None** is no profile.
        **Errors**: one diagnostic, and the plugin brings no profile. An id that another plugin has taken stays with it;
        a diagnostic names both.

        ```python
        from collections.abc import Iterable, Mapping

        from pydantic import JsonValue

        from ohm_subagents.plugin import Profile, ToolPolicy, hookimpl


        @hookimpl
        def ohm_profiles(config: Mapping[str, JsonValue]) -> Iterable[Profile]:
            if "reviewer" in config:
                yield Profile(
                    id="reviewer",
                    name="Reviewer",
                    summary="Reads a change and says what is wrong with it.",
                    prompt="Review the change. Name the file and line of every finding.",
                    tools=ToolPolicy(allowed=("read", "grep")),
                )
        ```
        """
        ...

    @hookspec
    def ohm_tool_suites(self) -> Iterable[ToolSuiteSpec]:
        """Offer tool suites: `parent` tools delegate work, `child` tools are given to subagents, `both` are either.

        **Called** once, before the first suite is mounted; again if a plugin is registered later. A spec's `build` is
        called only for a suite that is mounted. **Arguments**: none. **None** is no suite. **Errors**: one diagnostic,
        and the plugin brings no suite. A name that is taken stays with its first owner; a diagnostic names both.

        ```python
        from collections.abc import Iterable

        from ohm_subagents.plugin import SuiteContext, Tool, ToolCall, ToolResult, ToolSuiteSpec, hookimpl


        def build_roster(context: SuiteContext) -> tuple[Tool, ...]:
            async def execute(call: ToolCall) -> ToolResult:
                ids = [profile.id for profile in context.profiles()]
                return ToolResult(text=", ".join(ids), details={"ids": [*ids]})

            return (
                Tool(
                    name="roster",
                    label="Roster",
                    description="Lists the subagents that can be started.",
                    input_schema={"type": "object", "properties": {}},
                    execute=execute,
                    call_view=lambda arguments, theme: "roster",
                ),
            )


        @hookimpl
        def ohm_tool_suites() -> Iterable[ToolSuiteSpec]:
            yield ToolSuiteSpec(name="roster", summary="One tool that lists subagents.", build=build_roster)
        ```
        """
        ...

    @hookspec
    def ohm_permission(self, request: PermissionRequest) -> Decision | None:
        """Say whether a profile may run. Every plugin is asked and a deny wins: a plugin can tighten, never loosen.

        **Called** once a task, before it is admitted. **Arguments**: `request` holds the profile, the prompt, the
        directory and the tools. **None** is no opinion; an allow weighs no more than that beside a deny.
        **Errors**: a plugin that raises, or answers with anything but a decision, counts as deny.

        ```python
        from ohm_subagents.plugin import Decision, PermissionRequest, hookimpl


        @hookimpl
        def ohm_permission(request: PermissionRequest) -> Decision | None:
            if "bash" in request.tools and request.cwd.name == "production":
                return Decision(verdict="deny", source="no-shell", reason="no shell in production")
            return None
        ```
        """
        ...

    @hookspec
    def ohm_observers(self) -> Iterable[Observer]:
        """Offer observers of every event of every task.

        **Called** once, before the first task; again if a plugin is registered later. **Arguments**: none. **None** is
        no observer. **Errors**: one diagnostic, and the plugin brings no observer. An observer that raises later is
        logged once and muted for that task.

        ```python
        from collections import Counter
        from collections.abc import Iterable

        from ohm_subagents.plugin import Event, Observer, Task, hookimpl

        seen: Counter[str] = Counter()


        class EventCounter:
            def notify(self, task: Task, event: Event) -> None:
                seen[event.kind] += 1


        @hookimpl
        def ohm_observers() -> Iterable[Observer]:
            yield EventCounter()
        ```
        """
        ...

    @hookspec(firstresult=True)
    def ohm_tool_row(self, call: ToolRowRequest) -> str | None:
        """Word the row of a tool call. Plugins are asked in order of registration until one answers.

        **Called** each time a tool event is shown, so it must be quick. **Arguments**: `call` holds the tool's name and
        its payload as text. **None** passes to the next plugin, and at last to our own wording.
        **Errors**: the plugin is passed over; one diagnostic however often it happens.

        ```python
        from ohm_subagents.plugin import ToolRowRequest, hookimpl


        @hookimpl
        def ohm_tool_row(call: ToolRowRequest) -> str | None:
            return f"Asked the web for {call.payload}" if call.tool == "web_search" else None
        ```
        """
        ...

    @hookspec
    def ohm_checks(self, place: Place, suites: Mapping[str, Mapping[str, JsonValue]]) -> Iterable[Diagnostic]:
        """Say what works at a place and what does not, for `ohm doctor` and `ohm trust`.

        **Called** by these commands, once for each report. Nothing is opened: look at files and the environment, ask no
        server. **Arguments**: `place` holds directories, environment and the user's trust in the project's files;
        `suites` the options of each mounted suite by its name. **None** is nothing to say. `ohm doctor` marks a line by
        its `severity`: `info` works, `warning` is missing, `error` is wrong and makes the exit code 1. **Errors**: one
        diagnostic, and the plugin says nothing.

        ```python
        from collections.abc import Iterable

        from ohm_subagents.plugin import Diagnostic, Place, hookimpl


        @hookimpl
        def ohm_checks(place: Place) -> Iterable[Diagnostic]:
            if not (place.agent_dir / "reviewer.json").is_file():
                yield Diagnostic(subject="reviewer", message="reviewer.json is not there; the defaults hold.")
        ```
        """
        ...

    @hookspec
    def ohm_secrets(self, place: Place) -> Iterable[str]:
        """Name values that no text may show: keys that a plugin reads from files of its own.

        **Called** when texts are redacted, at most every five seconds. Variables of the environment that are named like
        keys, and those of model providers, are known already. **Arguments**: `place`, as for `ohm_checks`. **None** is
        no secret; a value of fewer than eight characters is not looked for. **Errors**: one diagnostic, and no value of
        the plugin is known.

        ```python
        from collections.abc import Iterable

        from ohm_subagents.plugin import Place, hookimpl


        @hookimpl
        def ohm_secrets(place: Place) -> Iterable[str]:
            yield (place.agent_dir / "reviewer.key").read_text().strip()
        ```
        """
        ...
