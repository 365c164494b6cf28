"""`interactive-shell`: a subagent as a nested pi."""

from __future__ import annotations

import os.path
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import anyio
from anyio.lowlevel import checkpoint

from ohm_subagents.backends.pi import failures
from ohm_subagents.backends.pi.call_gate import is_gated, unasked, ungated
from ohm_subagents.backends.pi.config_dirs import PiHomes, unused
from ohm_subagents.backends.pi.finalizer import without_events
from ohm_subagents.backends.pi.flags import left_out, session_file, write_instructions
from ohm_subagents.backends.pi.modes import event_mode, event_reader, text_mode
from ohm_subagents.backends.pi.options import BACKEND_ID, COMMAND, INSTALL
from ohm_subagents.backends.pi.probe import PiProbe, unserved
from ohm_subagents.backends.pi.process_pool import IdleProcess, ProcessKey, ProcessPool
from ohm_subagents.backends.pi.reader import ROUTE, RUNTIME
from ohm_subagents.backends.pi.rpc import RpcProcess
from ohm_subagents.backends.pi.session import SessionFile
from ohm_subagents.backends.pi.session_reader import SessionReader
from ohm_subagents.plugin import Err, ErrorCode, OhmError, Ok, RequestNeed, Result, RouteResolved
from ohm_subagents.shell import (
    ShellBackend,
    Supervisor,
    child_environment,
    command_environment,
    converse,
    locate_command,
    new_invocation,
    output_of,
    start_run,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents.backends.pi.config_dir import PiHome
    from ohm_subagents.backends.pi.options import PiOptions
    from ohm_subagents.backends.pi.probe import PiVersion
    from ohm_subagents.plugin import CompatibleProvider, RunOutput, RunRequest, Sink
    from ohm_subagents.shell import Invocation

Mode: TypeAlias = Literal["rpc", "json", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pi:
    """A pi that can be started, and its configuration."""

    command: tuple[str, ...]
    version: PiVersion
    home: PiHome


class PiBackend:
    """Runs a prompt in a pi of its own (`json`, `text`), or in one that stays for the next of its session (`rpc`)."""

    def __init__(
        self, options: PiOptions, *, supervisor: Supervisor, probe: PiProbe, homes: PiHomes, warm: ProcessPool
    ) -> None:
        self._options = options
        self._supervisor = supervisor
        self._probe = probe
        self._homes = homes
        self._warm = warm

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """One prompt, in the best way that this pi and these options allow."""
        await checkpoint()
        home = self._homes.home(request)
        if (refused := home.refusal(request)) is not None:
            return Err(refused)
        found = await self._found(request, home)
        if isinstance(found, Err):
            return found
        pi = found.ok_value
        mode = self._mode(request, pi.version)
        if isinstance(mode, OhmError):
            return Err(mode)
        if (refused := _untrusted_project(pi.version, request)) is not None:
            return Err(refused)
        if mode == "text" and (refused := without_events(request)) is not None:
            return Err(refused)
        if mode != "text" and home.has_no_price(request) and (refused := await _unpriced(request)) is not None:
            return Err(refused)
        for event in (
            *home.refresh(request, pi.version),
            *unused(request),
            *unasked(request, pi.version, self._options.mode),
        ):
            sink.emit(event)
        if mode == "text":
            return await self._in_plain_text(pi, request, sink)
        sink.emit(RouteResolved(runtime=RUNTIME, route=ROUTE, program="pi", program_version=pi.version.text))
        for event in left_out(request):
            sink.emit(event)
        return await (self._run_rpc(pi, request, sink) if mode == "rpc" else self._run_json(pi, request, sink))

    async def _found(self, request: RunRequest, home: PiHome) -> Result[_Pi, OhmError]:
        seen = command_environment(self._options, request.env)
        command = locate_command(self._options.command or COMMAND, seen, backend=BACKEND_ID, install=INSTALL)
        if isinstance(command, Err):
            return command
        env = child_environment(request, extra={**home.environment(request), **self._options.env})
        # Not in the project: an old pi runs the project's extensions even to print its help.
        match await self._probe.version(command.ok_value, env, self._supervisor.folder):
            case Err() as unusable:
                return unusable
            case Ok(version):
                return Ok(_Pi(command=command.ok_value, version=version, home=home))

    def _mode(self, request: RunRequest, pi: PiVersion) -> Mode | OhmError:
        refused = unserved(self._options.mode, pi) or ungated(request, pi, self._options.mode)
        if refused is not None:
            return refused
        if self._options.mode == "auto":
            return "rpc" if pi.can_stay and (is_gated(request) or not request.is_one_shot) else "json"
        return self._options.mode

    async def _in_plain_text(self, pi: _Pi, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Nothing tells what this run uses, so it is asked for as one request of unknown size: a budget holds it."""
        text = ShellBackend(text_mode(pi.version, pi.home), self._options, self._supervisor)
        if request.gate is None:
            return await text.run(request, sink)
        provider, model = (request.model.provider, request.model.model) if request.model else (BACKEND_ID, "")
        need = RequestNeed(provider=provider, model=model, input_tokens=len(request.prompt) // 4)
        async with request.gate.request(need) as granted:
            return granted if isinstance(granted, Err) else await text.run(request, sink)

    async def _run_json(self, pi: _Pi, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run a pi for this prompt alone."""
        invocation, session = _prepared(request, self._supervisor, sink)
        dialect = event_mode("json", pi.version, pi.home)
        started = await start_run(self._supervisor, dialect, pi.command, invocation, self._options)
        if isinstance(started, Err):
            return started
        reader = SessionReader(event_reader(request, pi.version, pi.home), session)
        try:
            return await converse(started.ok_value, reader, sink, grace_s=self._options.grace_s, look=reader.look)
        finally:
            for event in session.flush():  # also when the run is cut off: from here it may be continued
                sink.emit(event)

    async def _run_rpc(self, pi: _Pi, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run a pi that has waited for this prompt, or a new one that will wait for the next."""
        key = ProcessKey.of(request, pi.home.generation)
        warm = self._warm.take(key, request.checkpoint)
        if warm is not None:
            result = await self._converse(warm, pi, request, sink)
            if result is not None:
                return result
        invocation, session = _prepared(request, self._supervisor, sink)
        dialect = event_mode("rpc", pi.version, pi.home)
        started = await start_run(self._supervisor, dialect, pi.command, invocation, self._options, is_open=True)
        if isinstance(started, Err):
            return started
        fresh = IdleProcess(process=RpcProcess(started.ok_value), key=key, session=session)
        result = await self._converse(fresh, pi, request, sink)
        return Err(failures.broken_off(request, code=0, stderr="", secrets=())) if result is None else result

    async def _converse(
        self, warm: IdleProcess, pi: _Pi, request: RunRequest, sink: Sink
    ) -> Result[RunOutput, OhmError] | None:
        """One run of this process, which then waits for the next; None if it was gone before it got the prompt."""
        reader = SessionReader(event_reader(request, pi.version, pi.home), warm.session)
        try:
            result = await warm.process.converse(request, reader, sink, secrets=pi.home.secrets(request))
        finally:
            for event in warm.session.flush():
                sink.emit(event)
        if isinstance(result, Ok):
            self._warm.keep(warm, state=None if request.is_one_shot else reader.state)
        return result


@asynccontextmanager
async def opened(options: PiOptions, services: Iterable[CompatibleProvider]) -> AsyncGenerator[PiBackend]:
    """The backend, with the private directory, the processes and the timers that its runs share."""
    async with Supervisor.open(grace_s=options.grace_s) as supervisor, anyio.create_task_group() as timers:
        yield PiBackend(
            options,
            supervisor=supervisor,
            probe=PiProbe(partial(output_of, supervisor)),
            homes=PiHomes(supervisor.folder / "homes", services, options.env),
            warm=ProcessPool(timers, ttl_s=options.idle_ttl_s),
        )
        timers.cancel_scope.cancel()


async def _unpriced(request: RunRequest) -> OhmError | None:
    """Return an error if a cost budget is set and the price of the model is unknown."""
    if request.gate is None or request.model is None:
        return None
    need = RequestNeed(provider=request.model.provider, model=request.model.model)
    if request.gate.unpriced(need) is None:
        return None
    async with request.gate.request(need) as granted:  # so that the record tells what stopped it
        return granted.err_value if isinstance(granted, Err) else None


def _untrusted_project(pi: PiVersion, request: RunRequest) -> OhmError | None:
    """Refuse a project with settings or extensions for `pi`, which may be programs or name some to run."""
    if pi.can_leave_projects_settings:
        return None
    settings, extensions = request.cwd / ".pi" / "settings.json", request.cwd / ".pi" / "extensions"
    agent = request.profile.agent
    if os.path.exists(settings):
        what = f'settings of the project, "{settings}", which may name programs to run'
    elif agent is not None and not agent.no_extensions and os.path.exists(extensions):
        what = f'extensions of the project, "{extensions}", which are programs'
    else:
        return None
    return OhmError(
        code=ErrorCode.COMMAND_UNUSABLE,
        message=f"pi {pi.text} would take the {what}.",
        advice=f"Install a pi that can be told not to ({INSTALL}: 0.87.0 or newer), or remove the file.",
    )


def _prepared(request: RunRequest, supervisor: Supervisor, sink: Sink) -> tuple[Invocation, SessionFile]:
    """Return the files that a pi is started with."""
    invocation = new_invocation(request, supervisor)
    session = SessionFile(session_file(invocation.folder))
    for event in session.write(request):
        sink.emit(event)
    write_instructions(invocation)
    return invocation, session
