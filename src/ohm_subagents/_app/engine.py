"""The parts of an `Ohm` that need an event loop, wired together, and rewired when it is reconfigured."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import SystemRandom
from typing import TYPE_CHECKING

from ohm_subagents._app.calls import Calls
from ohm_subagents._app.deliveries import Outboxes
from ohm_subagents._app.embedder import is_notified, session_file
from ohm_subagents._app.host_events import HostEvents
from ohm_subagents._app.known_secrets import KnownSecrets
from ohm_subagents._app.mounting import TASK, mount_all, settings_of, taken_names
from ohm_subagents._app.served import served_parts
from ohm_subagents._app.streams import EventStream
from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._config.approved_calls import ApprovedCalls
from ohm_subagents._config.env import config_dir
from ohm_subagents._orchestrator.answering import Answering
from ohm_subagents._orchestrator.attachment import Attachment
from ohm_subagents._orchestrator.orchestrator import Orchestrator
from ohm_subagents._orchestrator.orphans import Orphans
from ohm_subagents._orchestrator.received import ReceivedCommands
from ohm_subagents._orchestrator.run.drive import Shared
from ohm_subagents._orchestrator.run.requests import Requests
from ohm_subagents._orchestrator.run.throttle import Throttle
from ohm_subagents._orchestrator.running import RunningTasks
from ohm_subagents._orchestrator.warming import warmed_up
from ohm_subagents._plugins.backends.interface import ToolRowRequest
from ohm_subagents._plugins.suites.function_tool import tool
from ohm_subagents._plugins.suites.interface import UNMOUNTED, HostDoor, SuiteContext
from ohm_subagents._plugins.suites.tool import Tool
from ohm_subagents._policy.permissions import visible
from ohm_subagents._store.opening import MissingStore
from ohm_subagents._tools.mounting import safe_source, safe_tool
from ohm_subagents._tools.redacting import is_redacted
from ohm_subagents._tools.tool import result_of
from ohm_subagents._views.status import status_line
from ohm_subagents.contract.commands import Wait
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.replies import Accepted, StartReply, TasksReply
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Iterator

    from anyio.abc import TaskGroup

    from ohm_subagents._app.assembly import Assembly
    from ohm_subagents._app.background import Background
    from ohm_subagents._app.commanding import Answers, Attendance, Commanding
    from ohm_subagents._app.embedder import IdMakers
    from ohm_subagents._app.served.link import Link
    from ohm_subagents._plugins.backends.pool import BackendPool
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.embedding import Host
    from ohm_subagents._plugins.suites.interface import DiagnosticSource, ToolSuiteSpec
    from ohm_subagents._plugins.suites.settings import Settings
    from ohm_subagents._plugins.suites.tool import ToolResult, ToolSource
    from ohm_subagents.contract.events import TaskEvent
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.place import Place
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.redaction.redactor import Redaction


class Engine:
    """The orchestrator with its tasks, its store and its tools, for one assembly after the other."""

    def __init__(
        self,
        assembly: Assembly,
        *,
        group: TaskGroup,
        pool: BackendPool,
        store: Store,
        ids: IdMakers,
        suites: tuple[str, ...] | None,
        background: Background,
        link: Link | None = None,
    ) -> None:
        self.store, sources = store, assembly.sources
        self._pool, self._background, self._suites = pool, background, suites
        self._new_uuid = ids.of_sessions(sources)
        self._memories: dict[str, dict[str, object]] = {}
        self._throttle = Throttle(jitter=SystemRandom().random)
        self.requests = Requests(
            store=store,
            clock=sources.clock,
            logger=sources.logger,
            spawn=background.spawn,
            always=ApprovedCalls(config_dir(sources.env)),
            approvals=sources.approvals,
        )
        shared = Shared(pool, self._throttle, self.requests)
        self._running = RunningTasks(
            group=group,
            store=store,
            clock=sources.clock,
            new_id=ids.of_tasks(sources, store),
            logger=sources.logger,
            faults=sources.faults,
            shared=shared,
        )
        answering = Answering(context=lambda: self._context, running=self._running, shared=shared, store=store)
        self.answering: Answers = answering
        self.orphans: Attendance = Orphans(answering, self.requests, background.spawn, cwd=self._cwd)
        self.orchestrator: Commanding = Orchestrator(
            context=lambda: self._context, running=self._running, store=store, answering=answering
        )
        self.received = ReceivedCommands(self.orchestrator, self._running, store, redaction=self.redaction)
        if link is not None:
            self.orchestrator, self.answering, self.orphans = served_parts(link, store, answering)
        self.calls = Calls(self.orchestrator, store, spawn=background.spawn, collect=self._collected)
        self.outboxes = Outboxes(self.orchestrator, store)
        if (host := sources.host) is not None and is_notified(sources.given_host):
            self.outboxes.tell(host, is_awaited=self._running.is_awaited, output_max_chars=self.output_max_chars)
        self._streams: set[EventStream] = set()
        self._take_over(assembly, ours=())

    async def take_up(self) -> None:
        """Go on with the tasks that a process which has died has left to their backends."""
        running, requests = self._running, self.requests
        attachment = Attachment(context=lambda: self._context, running=running, requests=requests, store=self.store)
        await attachment.take_up(self.assembly.place.cwd)

    def replace(self, assembly: Assembly) -> None:
        """Follow another assembly from now on; runs that go on keep what they were started with."""
        self._pool.replace(assembly.backends(), assembly.config.subagents.backends)
        if isinstance(assembly.loaded, Ok):  # else nothing is known but the defaults, and they must not delete a task
            self.store.retain(assembly.retention)
        self._take_over(assembly, ours=self.assembly.mounted.parent.tools)

    def _take_over(self, assembly: Assembly, *, ours: Iterable[str]) -> None:
        self.assembly = assembly
        self._settings: dict[str, Settings] = {}
        self._reports: list[DiagnosticSource] = []
        self._sources: dict[str, ToolSource] = {}
        self._secrets = KnownSecrets(assembly)
        self.events = HostEvents(assembly.sources.logger)
        if assembly.catalog.new_tools:
            self.assembly = assembly = self._with_names_of_their_own(assembly, ours)
        subagents = assembly.config.subagents
        mounted = mount_all(
            assembly.config, self._suites, assembly.host.tool_suites(), self._suite_context, assembly.origin
        )
        self.assembly = replace(assembly, mounted=replace(mounted, sources=self._sources))
        missing = self.store.error if isinstance(self.store, MissingStore) else None
        self._context = Err(missing) if missing else self.assembly.admission_context()
        if isinstance(assembly.loaded, Ok):
            self._running.limit(subagents.max_running)
            settings = subagents.requests
            self.requests.configure(settings.expire_ms, settings.unattended, redactor=self._secrets.redaction)
            self._throttle.configure(limits=subagents.max_requests, retries=subagents.request_retries)
            fallback = subagents.model_fallback
            self._throttle.cool_downs.configure(classes=fallback.on, length_ms=fallback.cool_down_ms)

    def _with_names_of_their_own(self, assembly: Assembly, ours: Iterable[str]) -> Assembly:
        """Return the assembly without a project's direct tools that share a name; the host may have `ours`."""
        others = {*assembly.sources.parent_tools()} - {*ours}
        taken = taken_names(assembly.host.tool_suites(), self._suite_context, others)
        return replace(assembly, catalog=assembly.catalog.without_tools(taken))

    def profiles(self) -> tuple[Profile, ...]:
        """Return the roster: every profile that may be shown."""
        return visible(self.assembly.catalog.profiles, self.assembly.config.subagents.permissions)

    def redaction(self) -> Redaction:
        """Return what takes the secrets of this configuration out of texts."""
        return self._secrets.redaction()

    @property
    def running_count(self) -> int:
        """The number of tasks that have not settled."""
        return self._running.count

    def output_max_chars(self) -> int:
        """Return the cap of an answer in a payload, in code points."""
        return self.assembly.config.output_max_chars

    async def warm_up(self, names: tuple[str, ...]) -> tuple[Diagnostic, ...]:
        """Open what runs of these profiles need, and return what cannot be opened."""
        self.orchestrator.check_open()
        return await warmed_up(names, self._context, self._pool)

    def child_tool(self, given: Tool | Callable[..., object]) -> Tool:
        """Return a tool of a program as subagents call those of plugins."""
        return safe_tool(given if isinstance(given, Tool) else tool(given), self._redaction_for(None))

    async def all_events(self, *, with_checkpoints: bool) -> AsyncGenerator[TaskEvent]:
        """Yield the events of all tasks from now on, until it is closed."""
        with EventStream(with_checkpoints=with_checkpoints) as stream, self.orchestrator.watching_all(stream):
            self._streams.add(stream)
            try:
                async for each in stream:
                    yield each
            finally:
                self._streams.discard(stream)

    def close(self, reason: str, *, is_store_ours: bool) -> None:
        """Cancel what still runs, and let all readers of events end; the store closes after it, if it is ours."""
        detaches = self.assembly.config.subagents.on_close == "detach"
        self.orchestrator.close(reason, is_store_ours=is_store_ours, detaches=detaches)
        self.calls.close()
        self.outboxes.close()
        for stream in self._streams:
            stream.end()

    async def unmount(self) -> None:
        """Tell the suites that nothing comes after this, and wait for the calls that were closed."""
        await self.events.emit(UNMOUNTED)
        await self.calls.closed()

    async def _collected(self, task_ids: Iterable[TaskId]) -> ToolResult:
        """Wait for the tasks of an earlier call; return the result that a start of them would have."""
        reply, is_batch = await self.orchestrator.execute(Wait(ids=tuple(task_ids))), False
        if isinstance(reply, TasksReply):
            items = tuple(item for item in reply.items if isinstance(item, Accepted))
            reply, is_batch = StartReply(items=items, backend=reply.backend), len(items) > 1
        return result_of(reply, self._suite_context(TASK), batch=is_batch)

    def suite_diagnostics(self) -> Iterator[Diagnostic]:
        """Return what of the suites could not be mounted, and what they report themselves."""
        yield from self.assembly.mounted.diagnostics
        for source in self._reports:
            yield from self._reported(source)

    def _reported(self, source: DiagnosticSource) -> tuple[Diagnostic, ...]:
        """Ask a suite; one that raises is logged, and costs no other diagnostic."""
        try:
            return tuple(source())
        except Exception as error:
            self.assembly.sources.logger.exception("suite.report", source=repr(source))
            message = f"A tool suite could not report what is wrong with its files: {error_line(error)}."
            return (Diagnostic(subject="suites", message=message, severity="error"),)

    def _settings_of(self, suite: str) -> Settings:
        settings = self._settings.get(suite)
        if settings is None:
            settings = self._settings[suite] = settings_of(self.assembly.config, suite, self.profiles)
        return settings

    def _host_of(self, suite: str) -> Host | None:
        """A suite of a plugin gets the very object that the program gave us, with whatever else it can do."""
        sources = self.assembly.sources
        return sources.host if self.assembly.host.is_own(self.assembly.host.suite_owner(suite)) else sources.given_host

    def _status(self) -> str | None:
        """The status line, unless a host shows it."""
        is_shown = self.assembly.sources.live_ui is not None and self.assembly.config.ui_mode != "off"
        return None if is_shown else status_line(self.store.recent())

    def _suite_context(self, suite: str) -> SuiteContext:
        return SuiteContext(
            executor=self.orchestrator,
            profiles=self.profiles,
            visible=self._visible,
            settings=lambda: self._settings_of(suite),
            place=self._place(),
            host=HostDoor(
                program=self._host_of(suite),
                on=self.events.on,
                session_file=partial(session_file, self.assembly.sources),
                status=self._status,
                active_tools=self.assembly.sources.parent_tools,
            ),
            wording=lambda tool, payload: self.assembly.host.tool_row(ToolRowRequest(tool=tool, payload=payload)),
            redaction=self._secrets.redaction,
            memory=self._memories.setdefault(suite, {}),
            clock=self.assembly.sources.clock,
            new_uuid=self._new_uuid,
            spawn=self._background.spawn,
            report=self._reports.append,
            offer=partial(self._offer, suite),
        )

    def _offer(self, suite: str, source: ToolSource) -> None:
        """Add a source of child tools; the first one of a prefix counts."""
        redaction = self._redaction_for(self.assembly.host.tool_suites()[suite])
        self._sources.setdefault(source.prefix, safe_source(source, redaction))

    def _redaction_for(self, suite: ToolSuiteSpec | None) -> Callable[[], Redaction] | None:
        """Return what redacts the tools of a suite, or of the program (None); None if nothing does."""
        redacts = is_redacted(suite, self.assembly.config.subagents.redact)
        return self._secrets.redaction if redacts else None

    def _visible(self, profiles: Iterable[Profile]) -> tuple[Profile, ...]:
        return visible(profiles, self.assembly.config.subagents.permissions)

    def _cwd(self) -> Path:
        return self.assembly.place.cwd

    def _place(self) -> Place:
        place = self.assembly.place
        return replace(place, kept_in=None if self.store.place is None else Path(self.store.place).parent)
