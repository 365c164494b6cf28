"""Wrappers of what the embedding program gave us: one that raises breaks no task, and costs one diagnostic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from ohm_subagents._app.sources import system_clock
from ohm_subagents._concurrency.faults import FaultError, error_line
from ohm_subagents.contract.usage import MOST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ohm_subagents._app.sources import Sources
    from ohm_subagents._orchestrator.observe.host_faults import HostFaults
    from ohm_subagents._plugins.suites.embedding import Host, WidgetPlacement
    from ohm_subagents._plugins.suites.tool import JsonObject
    from ohm_subagents.contract.ids import Clock

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
