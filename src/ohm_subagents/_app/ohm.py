"""`Ohm`: what a program holds."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager, suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from anyio import RunFinishedError, from_thread
from anyio.from_thread import start_blocking_portal
from anyio.lowlevel import checkpoint, current_token

from ohm_subagents._app.assembly import assemble
from ohm_subagents._app.delegation import Delegation
from ohm_subagents._app.host_events import NOTHING
from ohm_subagents._app.mounting import message_text
from ohm_subagents._app.opening import OpenOptions, changed, opened_engine
from ohm_subagents._concurrency.own_loop import ClosedError, WrongEventLoopError
from ohm_subagents._plugins.suites.interface import UNMOUNTED
from ohm_subagents._views.theme import PLAIN

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping
    from types import EllipsisType

    from ohm_subagents._app.engine import Engine
    from ohm_subagents._app.inspection import Inspection
    from ohm_subagents._app.sources import ConfigSource
    from ohm_subagents._app.sync import OhmSync
    from ohm_subagents._concurrency.held_open import HeldOpen
    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.tool import JsonObject, Tool
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.profile import Profile

T = TypeVar("T")


class Ohm(Delegation):
    """Subagents for one program or parent agent; owns every task it starts.

    Nothing here raises for bad input: what is wrong with a configuration, a profile or a key is the answer of the call
    that met it, as an `OhmError` or as the error keys of an envelope.
    """

    def __init__(self, engine: Engine) -> None:
        """Use `Ohm.open`, `Ohm.aopen` or `Ohm.sync`."""
        super().__init__(engine)
        self._holder: HeldOpen[Self] | None = None
        self._token = current_token()
        self._thread = get_ident()

    @classmethod
    @asynccontextmanager
    async def open(cls, **options: Unpack[OpenOptions]) -> AsyncGenerator[Self]:
        """Open an `Ohm`; on leaving, every task that still runs is cancelled, every backend closed, every task kept.

        A task that waits for the answer to a request of its subagent is not cancelled where the configured store keeps
        requests, as `sqlite` does: it waits on, and whoever answers it in another `Ohm` goes on with it.

        `OpenOptions` has the keyword arguments. Raises TypeError for bad `plugins`, and for a `config` that is neither
        a mapping nor a path, and ValueError for a NUL in a path or in `env`; whatever else is wrong, a path of no file
        too, is in `diagnostics`, or the answer of what it is wrong for.
        """
        async with opened_engine(options) as engine:
            yield cls(engine)

    @classmethod
    async def aopen(cls, **options: Unpack[OpenOptions]) -> Self:
        """Open an `Ohm` that any task may close by `aclose`: for containers, notebooks and fixtures.

        The options are those of `open`, which is better where one block of code opens and closes it.
        """
        from ohm_subagents._concurrency.held_open import HeldOpen  # noqa: PLC0415  most leave a block

        holder = HeldOpen(cls.open(**options))
        ohm = await holder.open()
        ohm._holder = holder  # noqa: SLF001  its other constructor
        return ohm

    async def aclose(self) -> None:
        """Close an `Ohm` that `aopen` has opened, as leaving the block of `open` does; once is enough.

        Raises RuntimeError for one that such a block owns.
        """
        with suppress(ClosedError):
            self._engine.orchestrator.check_open()
        if self._holder is None:
            raise RuntimeError("This Ohm is closed by leaving the block of `Ohm.open`; `aclose` is for `Ohm.aopen`.")
        await self._holder.close()

    @classmethod
    @contextmanager
    def sync(cls, **options: Unpack[OpenOptions]) -> Generator[OhmSync]:
        """Open an `Ohm` for code without an event loop, in an event loop of its own that runs in a thread.

        The options are those of `open`. Any thread may use it until the block is left.
        """
        from ohm_subagents._app.sync import OhmSync  # noqa: PLC0415  most have an event loop

        is_open = True

        def in_loop(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
            if not is_open:
                raise ClosedError("This Ohm is closed; use it inside `with Ohm.sync(...)`.")
            answer: T = portal.call(work)
            return answer

        with start_blocking_portal() as portal, portal.wrap_async_context_manager(cls.open(**options)) as ohm:
            try:
                yield OhmSync(ohm, in_loop)
            finally:
                is_open = False

    @property
    def from_thread(self) -> OhmSync:
        """The same `Ohm` for other threads, whose calls are carried out in its event loop while they wait."""
        from ohm_subagents._app.sync import OhmSync  # noqa: PLC0415  as above

        return OhmSync(self, self._call_from_thread)

    def _call_from_thread(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if get_ident() == self._thread:
            raise WrongEventLoopError("This is the thread of the Ohm itself, which must not wait; await its methods.")
        try:
            return from_thread.run(work, token=self._token)
        except RunFinishedError:
            raise ClosedError("This Ohm is closed, and so is its event loop.") from None

    async def reconfigure(
        self,
        *,
        config: ConfigSource | EllipsisType = ...,
        env: Mapping[str, str] | EllipsisType | None = ...,
        profiles: Iterable[Profile] | EllipsisType | None = ...,
    ) -> None:
        """Replace the configuration, the environment or the catalogue at once; what is `...` stays, and is read anew.

        Runs that go on keep what they were started with; everything after this call sees the new values. A backend
        whose options changed is opened anew for new runs. The store stays; how long it keeps tasks may change.
        """
        self._engine.orchestrator.check_open()
        sources = changed(self._engine.assembly.sources, config=config, env=env, profiles=profiles)
        over = self._engine.events
        self._engine.replace(assemble(sources))
        await over.emit(UNMOUNTED)
        if sources.live_ui is not None:
            sources.live_ui.refresh()
        await checkpoint()

    @property
    def child_tools(self) -> Mapping[str, Tool]:
        """The tools that plugins offer to subagents, by name."""
        return self._engine.assembly.mounted.child.tools

    @property
    def config(self) -> OhmConfig:
        """The configuration in force; the defaults while ohm.json cannot be read."""
        return self._engine.assembly.config

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The roster: every profile that may be shown."""
        return self._engine.profiles()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything that was not honoured as written."""
        engine = self._engine
        of_suites, of_outbox = engine.suite_diagnostics(), engine.outboxes.diagnostics
        return (*engine.assembly.diagnostics, *of_suites, *engine.store.diagnostics, *of_outbox)

    @property
    def store(self) -> Store:
        """The store that keeps the tasks."""
        return self._engine.store

    def inspect(self) -> Inspection:
        """Return the parts of this `Ohm` as they are now: configuration with origins, plugins, backends, models, tools.

        `ohm doctor` is made of it. What plugins check themselves is asked for only by a call of its `checks`.
        """
        from ohm_subagents._app.inspection import inspection_of  # noqa: PLC0415  few programs look

        return inspection_of(self._engine.assembly)

    async def emit(self, event: str, payload: Mapping[str, object] = NOTHING) -> tuple[JsonObject, ...]:
        """Send an event of the host's session, say `session_start`, to the mounted suites, and return their answers.

        The suites get it one after another in the order of mounting. One that raises is logged, one that has nothing to
        answer is left out. `payload` is plain JSON. `reconfigure` mounts the suites anew; later events go to those.
        """
        self._engine.orchestrator.check_open()
        await checkpoint()
        return await self._engine.events.emit(event, payload)

    def render_message(self, kind: str, text: str, *, theme: Theme = PLAIN) -> str:
        """Draw a message that a suite gave to `Host.send_message`, or answered an event with, for a person."""
        return message_text(self._engine.assembly.host.tool_suites().values(), kind, text, theme)

    async def warm_up(self, *profiles: str) -> tuple[Diagnostic, ...]:
        """Import and open now what first runs of `profiles`, or of all visible ones, would wait for; asks no model.

        What cannot be opened, say for want of a key, is a diagnostic here, and the error of a run that needs it.
        """
        return await self._engine.warm_up(profiles)
