"""`Ohm`: what a program holds."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import anyio

from ohm_subagents._app.assembly import assemble
from ohm_subagents._config.env import process_env
from ohm_subagents._orchestrator.backends import BackendPool
from ohm_subagents._orchestrator.observe import silent_logger
from ohm_subagents._orchestrator.orchestrator import Orchestrator
from ohm_subagents._plugins.interfaces import JsonObject, SuiteContext, ToolCall, ToolResult
from ohm_subagents._policy.permissions import visible
from ohm_subagents._store.memory import MemoryStore
from ohm_subagents._surfaces.mounting import mount
from ohm_subagents._views.projection import project_task
from ohm_subagents.contract.commands import Accepted, Refused, Rejected, Start, Started, StartItem
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId, task_ids
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping

    from anyio.abc import TaskGroup
    from pydantic import JsonValue

    from ohm_subagents._app.assembly import Assembly
    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._orchestrator.observe import Logger
    from ohm_subagents._plugins.interfaces import Observer, OnUpdate, Tool
    from ohm_subagents._store.protocol import Store
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.envelope import Envelope
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.limits import Limits
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSettings:
    """What a suite sees of the configuration."""

    output_max_chars: int
    onupdate_throttle_ms: int
    options: Mapping[str, JsonValue]


class Ohm:
    """Subagents for one program or parent agent; owns every task it starts.

    Nothing here raises for bad input: a broken ohm.json, an unknown profile or a missing key is the answer of the call
    that met it, as an `OhmError` or as the error keys of an envelope.
    """

    def __init__(
        self,
        assembly: Assembly,
        *,
        group: TaskGroup,
        pool: BackendPool,
        store: Store,
        clock: Clock,
        new_task_id: Callable[[], str],
        suites: Iterable[str] | None,
        logger: Logger,
    ) -> None:
        """Use `Ohm.open`."""
        self._assembly = assembly
        self._store = store
        config, specs = assembly.config, assembly.host.tool_suites()
        self._engine = Orchestrator(
            group=group,
            world=lambda: assembly.world(self._child.tools),
            pool=pool,
            store=store,
            clock=clock,
            new_task_id=new_task_id,
            logger=logger,
            max_running=config.subagents.max_running,
        )
        offered = [name for name, spec in specs.items() if spec.audience == "child"]
        chosen = [name for name in (config.suites if suites is None else suites) if name not in offered]
        self._child = mount(offered, specs, self._suite_context)
        self._mounted = mount(chosen, specs, self._suite_context)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        cwd: Path | str | None = None,
        config: Mapping[str, JsonValue] | Path | str | None = None,
        env: Mapping[str, str] | None = None,
        plugins: Iterable[object] = (),
        suites: Iterable[str] | None = None,
        profiles: Iterable[Profile] | None = None,
        clock: Clock | None = None,
        new_task_id: Callable[[], str] | None = None,
        store: Store | None = None,
        logger: Logger | None = None,
    ) -> AsyncGenerator[Self]:
        """Open an `Ohm`; on leaving, every task that still runs is cancelled and every backend closed.

        `cwd`: where subagents work (default: the process's). `config`: a mapping or a file that replaces ohm.json;
        None reads the user's and the project's. `env`: None is the process's. `plugins`: objects or modules with hooks,
        besides the installed ones. `suites`: names of tool suites instead of the configured ones. `profiles`: replaces
        the whole catalogue. `clock`: epoch milliseconds, for stamps; deadlines follow the event loop. `new_task_id`,
        `store` and `logger` (structlog) replace the defaults. Raises only for a misdeclared object in `plugins`.
        """
        now, log = clock or _system_clock, logger or silent_logger()
        assembly = assemble(
            cwd=Path.cwd() if cwd is None else Path(cwd),
            config=Path(config) if isinstance(config, str) else config,
            env=process_env() if env is None else env,
            plugins=plugins,
            profiles=profiles,
            logger=log,
        )
        raised: Exception | None = None
        async with anyio.create_task_group() as backend_group:
            pool = BackendPool(backend_group, assembly.host.backends(), assembly.config.subagents.backends)
            async with pool, anyio.create_task_group() as group:
                ohm = cls(
                    assembly,
                    group=group,
                    pool=pool,
                    store=store or MemoryStore(now, assembly.retention),
                    clock=now,
                    new_task_id=new_task_id or task_ids(now),
                    suites=suites,
                    logger=log,
                )
                try:
                    yield ohm
                except Exception as exc:  # noqa: BLE001  raised again below, out of the task groups that would wrap it
                    raised = exc
                finally:
                    ohm._engine.close("The Ohm that owned the task was closed.")
        if raised is not None:
            raise raised

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The mounted tools by name, for any agent framework."""
        return self._mounted.tools

    @property
    def config(self) -> OhmConfig:
        """The configuration in force; the defaults while ohm.json cannot be read."""
        return self._assembly.config

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The roster: every profile that may be shown."""
        return visible(self._assembly.catalog.profiles, self.config.subagents.permissions)

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that was not honoured as written."""
        return (*self._assembly.diagnostics, *self._child.diagnostics, *self._mounted.diagnostics)

    @property
    def assembly(self) -> Assembly:
        """The parts this Ohm was made of, for `ohm doctor` and its like."""
        return self._assembly

    async def call(
        self,
        name: str,
        arguments: JsonValue,
        *,
        on_update: OnUpdate | None = None,
        abort: anyio.Event | None = None,
    ) -> ToolResult:
        """Call a mounted tool with arguments as a model wrote them; never raises for bad input.

        `on_update` gets progress frames. Setting `abort` ends the call with a result that says so; what it waits for is
        cancelled, except by a `wait`. Cancelling the caller does the same without a result.
        """
        tool = self.tools.get(name)
        if tool is None:
            return _unknown_tool(name, self.tools)
        return await tool.execute(ToolCall(arguments=arguments, on_update=on_update, abort=abort))

    async def run(
        self,
        profile: str,
        prompt: str,
        *,
        description: str | None = None,
        model: str | None = None,
        backend: str | None = None,
        limits: Limits | None = None,
        observer: Observer | None = None,
    ) -> Result[Envelope, OhmError]:
        """One task, one answer. `Err` is a refusal, a failure or a cancellation.

        Nothing is lost then: `error.task_id` names the task, and `task(...)` and `envelope(...)` hold what it did.
        """
        item = StartItem(
            profile=profile,
            prompt=prompt,
            description=prompt.strip().partition("\n")[0][:72] if description is None else description,
            model=model,
            backend=backend,
            limits=limits,
        )
        match await self._engine.execute(Start(items=(item,)), observer=observer):
            case Rejected(error=error):
                return Err(error)
            case Started(items=(Refused(error=error), *_)):
                return Err(error)
            case Started(items=(Accepted(task=task), *_)) if task.status == "succeeded":
                return Ok(self._envelope(task))
            case Started(items=(Accepted(task=task), *_)):
                return Err(task.error or _cancelled(task))
            case _:
                raise AssertionError("A start of one item has one reply.")

    def task(self, task_id: str) -> Task | None:
        """The newest state of a task: its whole output, its events, its usage. None if it is unknown or expired."""
        match self._store.get(TaskId(task_id)):
            case Ok(task):
                return task
            case Err():
                return None

    def envelope(self, task_id: str) -> Envelope | None:
        """The task.v1 envelope of a task, with its output capped as in any payload."""
        task = self.task(task_id)
        return None if task is None else self._envelope(task)

    def _envelope(self, task: Task) -> Envelope:
        return project_task(task, output_max_chars=self.config.output_max_chars)

    def _suite_context(self, suite: str) -> SuiteContext:
        config = self.config
        return SuiteContext(
            executor=self._engine,
            profiles=lambda: self.profiles,
            settings=SuiteSettings(
                output_max_chars=config.output_max_chars,
                onupdate_throttle_ms=config.onupdate_throttle_ms,
                options=config.suite_options.get(suite, {}),
            ),
        )


def _system_clock() -> int:
    return time.time_ns() // 1_000_000


def _cancelled(task: Task) -> OhmError:
    return OhmError(code=ErrorCode.TASK_ABORTED, message=f"{task.summary}.", task_id=task.id)


def _unknown_tool(name: str, tools: Mapping[str, Tool]) -> ToolResult:
    error = OhmError(
        code=ErrorCode.UNKNOWN_TOOL,
        message=f"No tool is called '{name}'.",
        advice=f"Mounted tools: {', '.join(sorted(tools)) or 'none'}.",
    )
    details: JsonObject = {
        "status": "failed",
        "error_code": str(error.code),
        "error_category": str(error.resolved_category),
        "error_message": str(error),
    }
    return ToolResult(text=str(error), details=details, is_error=True)
