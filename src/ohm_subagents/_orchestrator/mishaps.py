"""What broke of that which the embedding program gave us: a logger, an observer, a host, a clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.faults import described
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.text import encodable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.log import Logger

LONGEST: Final = 260


class Mishaps:
    """One diagnostic for each thing that broke, however often it does."""

    def __init__(self) -> None:
        self._noted: dict[str, Diagnostic] = {}

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What broke so far."""
        return tuple(self._noted.values())

    def raised(self, subject: str, error: BaseException, so: str) -> None:
        """Note that something raised."""
        said = encodable(described(error))
        self.note(subject, f"raised {said if len(said) <= LONGEST else f'{said[: LONGEST - 1]}…'}", so)

    def note(self, subject: str, fact: str, so: str) -> None:
        """Note what it did, and what comes of that."""
        if subject not in self._noted:
            self._noted[subject] = Diagnostic(subject=subject, message=f"The {subject} {fact}; {so}.")


class SteadyLogger:
    """A logger that never raises: a line that cannot be written costs a diagnostic, and no task anything."""

    def __init__(self, logger: Logger, mishaps: Mishaps, hears: Callable[[int], bool] | None = None) -> None:
        self._logger = logger
        self._mishaps = mishaps
        self.hears = hears
        """Tells whether anybody listens to lines of a level, if that is known."""

    def info(self, event: str, **fields: object) -> None:
        try:
            self._logger.info(event, **fields)
        except BaseException as exc:  # noqa: BLE001  it is the host's
            self._broke(exc)

    def warning(self, event: str, **fields: object) -> None:
        try:
            self._logger.warning(event, **fields)
        except BaseException as exc:  # noqa: BLE001  as above
            self._broke(exc)

    def error(self, event: str, **fields: object) -> None:
        try:
            self._logger.error(event, **fields)
        except BaseException as exc:  # noqa: BLE001  as above
            self._broke(exc)

    def exception(self, event: str, **fields: object) -> None:
        try:
            self._logger.exception(event, **fields)
        except BaseException as exc:  # noqa: BLE001  as above
            self._broke(exc)

    def _broke(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            raise error
        self._mishaps.raised("logger", error, "what it was told then is in no log")
