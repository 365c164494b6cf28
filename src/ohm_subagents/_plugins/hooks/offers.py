"""The hooks by which a plugin offers what others choose by its id, and the markers of all hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.backend_type import BackendType
    from ohm_subagents._plugins.backends.context import BackendContext
    from ohm_subagents._plugins.backends.interface import BackendSpec, ModelSpec
    from ohm_subagents._plugins.stores import StoreSpec
    from ohm_subagents._plugins.suites.interface import ToolSuiteSpec
    from ohm_subagents._plugins.suites.profile_source import ProfileSource
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.place import Place
    from ohm_subagents.contract.profile import Profile

PROJECT: Final = "ohm_subagents"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Offers(Protocol):
    """The hooks by which a plugin offers parts; each may be left out."""

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
    def ohm_backend_types(self, context: BackendContext) -> Iterable[BackendType]:
        """Offer backend types, of which the user's ohm.json makes backends.

        **Called** once, if `subagents.backends.<id>.type` is written, and as `ohm_backends` from then on; `instance` is
        called for each id that names the type. **Arguments**: `context`, as for `ohm_backends`. **None** is no type.
        **Errors**: one diagnostic, and the plugin brings no type. A type that is taken stays with its first owner; an
        id that a plugin offers itself stays a backend of that plugin.

        ```python
        from collections.abc import AsyncGenerator, Iterable
        from contextlib import asynccontextmanager
        from dataclasses import dataclass

        from anyio.lowlevel import checkpoint

        from ohm_subagents.plugin import (
            Backend, BackendSpec, BackendType, OhmError, Ok, Options, Result, RunOutput, RunRequest, Sink, hookimpl,
        )


        class ServerOptions(Options):
            host: str


        @dataclass(frozen=True)
        class Server:
            id: str
            host: str = ""

            async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
                await checkpoint()
                return Ok(RunOutput(text=f"{self.id} at {self.host}"))

            @asynccontextmanager
            async def __call__(self, options: ServerOptions) -> AsyncGenerator[Backend, None]:
                yield Server(self.id, options.host)


        def server(id: str) -> BackendSpec[ServerOptions]:
            return BackendSpec(id=id, summary="Runs prompts on a server.", options=ServerOptions, open=Server(id))


        @hookimpl
        def ohm_backend_types() -> Iterable[BackendType]:
            yield BackendType(id="server", summary="A server.", instance=server)
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
    def ohm_profiles(self, config: Mapping[str, JsonValue], place: Place) -> Iterable[Profile]:
        """Offer profiles, below the user's and the project's own files.

        **Called** when the profiles are read: at the start and at each reconfiguration. **Arguments**: `config` is what
        ohm.json has under `subagents`, as written; each plugin gets its own copy. `place` holds the directories, the
        environment and the user's trust in the project's files. **None** is no profile.
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
    def ohm_profile_sources(
        self,
        config: Mapping[str, JsonValue],
        place: Place,
        clock: Clock,
        parent_tools: Callable[[], tuple[str, ...]],
    ) -> Iterable[ProfileSource]:
        """Offer the profiles of a tool suite to the engine: to continue tasks of them, and for rules in ohm.json.

        **Called** at the start and at each reconfiguration; read files when a function of the source is called, not
        before. **Arguments**: `config` and `place`, as for `ohm_profiles`; `clock` gives epoch milliseconds;
        `parent_tools` returns the parent agent's active tools. **None** is no source. **Errors**: one diagnostic, and
        the plugin brings no source. A suite that has a source keeps its first one; a diagnostic names both.

        ```python
        from collections.abc import Iterable

        from ohm_subagents.plugin import Err, ErrorCode, OhmError, Ok, Profile, ProfileSource, Result, hookimpl

        CRITIC = Profile(id="critic", name="Critic", summary="Finds faults.", prompt="Find faults.", suite="review")


        def find(profile_id: str) -> Result[Profile, OhmError]:
            if profile_id == CRITIC.id:
                return Ok(CRITIC)
            return Err(OhmError(code=ErrorCode.UNKNOWN_SUBAGENT_TYPE, message=f"Unknown critic: {profile_id!r}."))


        @hookimpl
        def ohm_profile_sources() -> Iterable[ProfileSource]:
            yield ProfileSource(
                suite="review", used_by="the tool `review`", names=lambda: [CRITIC.id], find=find, complete=Ok
            )
        ```
        """
        ...

    @hookspec
    def ohm_stores(self) -> Iterable[StoreSpec]:
        """Offer stores of tasks, of which `subagents.store` chooses one.

        **Called** once, before the first task and by commands that read what is kept; again if a plugin is registered
        later. A spec's `open` is entered for the store that was chosen. **Arguments**: none. **None** is no store.
        **Errors**: one diagnostic, and the plugin brings no store. An id that is taken stays with its first owner; a
        diagnostic names both. A store that cannot be opened costs durability only: tasks are kept in memory.

        ```python
        from collections.abc import AsyncGenerator, Iterable
        from contextlib import asynccontextmanager

        from ohm_subagents.plugin import hookimpl
        from ohm_subagents.store import MemoryStore, Store, StoreRequest, StoreSpec


        @asynccontextmanager
        async def open_scratch(request: StoreRequest) -> AsyncGenerator[Store, None]:
            yield MemoryStore(request.clock, request.policy)


        @hookimpl
        def ohm_stores() -> Iterable[StoreSpec]:
            yield StoreSpec(id="scratch", summary="Keeps nothing.", open=open_scratch)
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
