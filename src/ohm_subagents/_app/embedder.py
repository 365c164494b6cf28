"""Wrappers of what the embedding program gave us: one that raises breaks no task, and costs one diagnostic."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast
from uuid import UUID, uuid4

from ohm_subagents._app.sources import system_clock
from ohm_subagents._concurrency.faults import FaultError, error_line
from ohm_subagents._orchestrator.new_ids import not_kept, trusted
from ohm_subagents._plugins.suites.embedding import Host
from ohm_subagents.contract.ids import task_ids
from ohm_subagents.contract.usage import MOST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ohm_subagents._app.sources import Sources
    from ohm_subagents._orchestrator.observe.host_faults import HostFaults
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.delivery import Delivery
    from ohm_subagents._plugins.suites.embedding import WidgetPlacement
    from ohm_subagents._plugins.suites.tool import JsonObject
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import Clock, TaskId
    from ohm_subagents.contract.result import Result

Answer = TypeVar("Answer")
LONGEST_ID: Final = 200
LOST: Final = "what it was told or asked then is lost"


def steady_clock(clock: Clock, faults: HostFaults) -> Clock:
    """Return the clock that was given, which gives the system's time where it raises or gives none."""

    def now() -> int:
        try:
            told = cast("object", clock())
            if type(told) is int and 0 <= told <= MOST:
                return told
            if isinstance(told, int | float) and 0 <= told <= MOST:
                whole = int(told)
                faults.note("clock", f"told {told!r}, which is no whole number", "it is cut to one")
                return whole
            faults.note("clock", f"told {type(told).__name__}, which is no time", "the system's clock counts instead")
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  it is the host's
            faults.raised("clock", exc, "the system's clock counts instead")
        return system_clock()

    return now


def steady(
    make: Callable[[], Answer], name: str, faults: HostFaults, *, own: Callable[[], Answer], of: type[Answer]
) -> Callable[[], Answer]:
    """Return the maker of ids that was given, which gives one of ours where it raises or gives something else."""

    def made() -> Answer:
        try:
            given: object = make()
            if isinstance(given, of) and f"{given}".isprintable() and 0 < len(f"{given}") <= LONGEST_ID:
                return given
            faults.note(name, f"gave {type(given).__name__}, which cannot be an id", "ours is taken instead")
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  it is the host's
            faults.raised(name, exc, "an id of ours is taken instead")
        return own()

    return made


def session_file(sources: Sources) -> Path | None:
    """Return the file in which the host keeps the parent's session, if it keeps one; a host that raises has none."""
    try:
        return None if sources.host is None else sources.host.session_file()
    except Exception:
        sources.logger.exception("host.session_file", host=repr(sources.host))
        return None


def is_notified(host: Host | None) -> bool:
    """Return True for a host that wants to be told of tasks that settle in the background."""
    notify = getattr(type(host), "notify", None)
    return notify is not None and notify is not Host.notify


class SteadyHost:
    """The host of a program: what it raises becomes an `Exception`, and is noted once."""

    def __init__(self, host: Host, faults: HostFaults) -> None:
        self._host = host
        self._faults = faults

    def append_entry(self, kind: str, data: JsonObject) -> None:
        self._asked(lambda: self._host.append_entry(kind, data))

    def branch(self) -> Sequence[JsonObject]:
        return self._asked(lambda: tuple(self._host.branch()))

    def send_message(self, kind: str, text: str, *, display: bool = True) -> None:
        self._asked(lambda: self._host.send_message(kind, text, display=display))

    def send_user_message(self, text: str, *, follow_up: bool = False) -> None:
        self._asked(lambda: self._host.send_user_message(text, follow_up=follow_up), may_raise=True)

    def set_status(self, key: str, text: str | None) -> None:
        self._asked(lambda: self._host.set_status(key, text))

    def set_widget(self, key: str, lines: Sequence[str] | None, *, placement: WidgetPlacement | None = None) -> None:
        if placement is None:
            self._asked(lambda: self._host.set_widget(key, lines))
        else:
            self._asked(lambda: self._host.set_widget(key, lines, placement=placement))

    def has_ui(self) -> bool:
        return self._asked(lambda: bool(self._host.has_ui()))

    def active_tools(self) -> Sequence[str]:
        return self._asked(self._host.active_tools)

    def notify(self, delivery: Delivery) -> None:
        with suppress(Exception):  # it is noted; the task is settled whatever the host makes of it
            self._asked(lambda: self._host.notify(delivery))

    def session_file(self) -> Path | None:
        found = self._asked(self._host.session_file)
        return None if found is None else Path(found)

    def _asked(self, ask: Callable[[], Answer], *, may_raise: bool = False) -> Answer:
        """Return the answer of the host; `may_raise`: to raise is an answer, too."""
        try:
            return ask()
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            if not may_raise:
                self._faults.raised("host", exc, LOST)
            if isinstance(exc, Exception):
                raise
            raise FaultError(error_line(exc)) from exc


class IdMakers(NamedTuple):
    """The functions of the program that make ids; None for our own."""

    task_id: Callable[[], str] | None
    uuid: Callable[[], UUID] | None

    def of_sessions(self, sources: Sources) -> Callable[[], UUID]:
        """Return what makes the ids of sessions."""
        return uuid4 if self.uuid is None else steady(self.uuid, "new_uuid", sources.faults, own=uuid4, of=UUID)

    def of_tasks(self, sources: Sources, store: Store) -> Callable[[], Result[TaskId, OhmError]]:
        """Return what makes the ids of tasks; our own are looked up only where the clock in them was passed in, too."""
        counted = task_ids(sources.clock, first=store.first_sequence)
        given = self.task_id
        if given is None and sources.clock is system_clock:
            return trusted(counted)
        ids = counted if given is None else steady(given, "new_task_id", sources.faults, own=counted, of=str)
        return not_kept(ids, store)
