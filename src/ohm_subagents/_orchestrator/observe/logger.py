"""Loggers: silent until the host program listens, and never a reason for a task to fail."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from ohm_subagents._plugins.hooks.specs import PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.observe.host_faults import HostFaults


class Logger(Protocol):
    """The part of a structlog logger that is used here."""

    def info(self, event: str, **fields: object) -> object: ...
    def warning(self, event: str, **fields: object) -> object: ...
    def error(self, event: str, **fields: object) -> object: ...
    def exception(self, event: str, **fields: object) -> object: ...


class HostLogger:
    """structlog over the stdlib logger `ohm_subagents`: silent until the host configures logging, never prints.

    A line below the host's level costs one look at the level; structlog is imported for the first line that is written.
    """

    def __init__(self) -> None:
        self._stdlib = logging.getLogger(PROJECT)
        self.is_enabled = self._stdlib.isEnabledFor
        """Returns True if the host wants lines of a level."""

    def info(self, event: str, **fields: object) -> None:
        if self._stdlib.isEnabledFor(logging.INFO):
            self._structured.info(event, **fields)

    def warning(self, event: str, **fields: object) -> None:
        if self._stdlib.isEnabledFor(logging.WARNING):
            self._structured.warning(event, **fields)

    def error(self, event: str, **fields: object) -> None:
        if self._stdlib.isEnabledFor(logging.ERROR):
            self._structured.error(event, **fields)

    def exception(self, event: str, **fields: object) -> None:
        if self._stdlib.isEnabledFor(logging.ERROR):
            self._structured.exception(event, **fields)

    @cached_property
    def _structured(self) -> Logger:
        import structlog  # noqa: PLC0415  its import costs more than all of ours

        logger: Logger = structlog.wrap_logger(
            self._stdlib,
            processors=[structlog.stdlib.render_to_log_kwargs],
            wrapper_class=structlog.stdlib.BoundLogger,
        )
        return logger


class SteadyLogger:
    """Wraps a logger so that it never raises: a line that cannot be written becomes a diagnostic."""

    def __init__(self, logger: Logger, faults: HostFaults) -> None:
        self._logger = logger
        self._faults = faults
        self.is_enabled = logger.is_enabled if isinstance(logger, HostLogger) else _always
        """Returns False if lines of a level are known to be unwanted."""

    def info(self, event: str, **fields: object) -> None:
        self._write(self._logger.info, event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._write(self._logger.warning, event, fields)

    def error(self, event: str, **fields: object) -> None:
        self._write(self._logger.error, event, fields)

    def exception(self, event: str, **fields: object) -> None:
        self._write(self._logger.exception, event, fields)

    def _write(self, write: Callable[..., object], event: str, fields: dict[str, object]) -> None:
        try:
            write(event, **fields)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:  # noqa: BLE001  it is the host's
            self._faults.raised("logger", exc, "what it was told then is in no log")


def _always(level: int) -> bool:
    del level
    return True
