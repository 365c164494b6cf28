"""The `interactive-sdk` backend as a plugin offers it. Cheap to import: the work is loaded when it is opened."""

from __future__ import annotations

from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from anyio import to_thread
from anyio.lowlevel import checkpoint

from ohm_subagents.backends.in_process.importing import ONE_AT_A_TIME
from ohm_subagents.backends.in_process.options import BACKEND_ID, InProcessOptions
from ohm_subagents.backends.in_process.programs import find_ripgrep
from ohm_subagents.plugin import Backend, BackendSpec, Capability, Err, ErrorCode, OhmError, on_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from ohm_subagents.plugin import BackendContext, ModelPattern, Profile, Result, RunOutput, RunRequest, Sink


def interactive_sdk_spec(context: BackendContext) -> BackendSpec[InProcessOptions]:
    """Return the backend for an `Ohm`."""
    return BackendSpec(
        id=BACKEND_ID,
        summary="Runs the subagent in this process on pydantic-ai, with any model provider.",
        open=_Opening(context),
        options=InProcessOptions,
        capabilities=frozenset(Capability) - {Capability.ATTACHES},
        lacks=_lacks,
        packages=("pydantic-ai-slim",),
    )


@dataclass(frozen=True, slots=True)
class _Opening:
    """Opens the backend with its models, its search indexes, and what runs the commands of `bash`."""

    context: BackendContext

    @asynccontextmanager
    async def __call__(self, options: InProcessOptions) -> AsyncGenerator[Backend]:
        if not on_asyncio():
            # Before the thread: its work takes no time on a clock that jumps, as tests have it.
            yield WrongLoop()
            return
        # Seconds of imports, kept off the event loop. A caller that no longer waits leaves them to their thread.
        await to_thread.run_sync(_import, abandon_on_cancel=True)
        from ohm_subagents.backends.in_process.backend import InProcessBackend  # noqa: PLC0415  loads pydantic_ai
        from ohm_subagents.backends.in_process.models import ModelBook  # noqa: PLC0415  only a run needs it
        from ohm_subagents.backends.in_process.search.code_index.index import CodeIndexes  # noqa: PLC0415  as above
        from ohm_subagents.backends.in_process.tools.commands import supervised_commands  # noqa: PLC0415  as above
        from ohm_subagents.backends.in_process.toolset import child_equipment  # noqa: PLC0415  as above

        context = self.context
        cache = context.cache_directory
        with closing(CodeIndexes(cache and cache / "code-search")) as indexes:
            async with ModelBook.of(context) as models, supervised_commands(context.env) as commands:
                equip = child_equipment(indexes, find_ripgrep(), commands)
                yield InProcessBackend(models, options, equip, context.trusts)


class WrongLoop:
    """The backend where pydantic-ai cannot run: it says so for every prompt."""

    async def prepare(self, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        """Return the error of every run."""
        del profile, model
        await checkpoint()
        return Err(_wrong_loop())

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Return the same error."""
        del request, sink
        await checkpoint()
        return Err(_wrong_loop())


def _wrong_loop() -> OhmError:
    return OhmError(
        code=ErrorCode.EVENT_LOOP_UNSUPPORTED,
        message=f'Backend "{BACKEND_ID}" runs on asyncio only, because pydantic-ai does.',
        advice="Start the program with asyncio (anyio.run(main) does by default), or use another backend.",
    )


def _import() -> None:
    with ONE_AT_A_TIME:
        import_module("ohm_subagents.backends.in_process.backend")
        import_module("ohm_subagents.backends.in_process.toolset")


def _lacks(_options: InProcessOptions, _env: Mapping[str, str]) -> str | None:
    missing = [name for name in ("pydantic_ai", "openai") if find_spec(name) is None]
    return f"The package {' and '.join(missing)} is not installed; reinstall ohm-subagents." if missing else None
