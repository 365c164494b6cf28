"""The lines of the log of `ohm serve`."""

from __future__ import annotations

import json
import logging
from typing import Final

_OF_EVERY_RECORD: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})


class FieldsFormatter(logging.Formatter):
    """Writes the fields of a line behind its message, as `task_id=task_1`: they say which task it is about."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  the name is that of the standard library
        """Return the line without its traceback."""
        fields = ((name, value) for name, value in vars(record).items() if name not in _OF_EVERY_RECORD)
        told = (f"{name}={_written(value)}" for name, value in fields if value is not None and value != "")
        return " ".join((super().formatMessage(record), *told))


def _written(value: object) -> str:
    """Return a value on one line, in quotes where it has blanks."""
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return json.dumps(text, ensure_ascii=False) if not text.isprintable() or set(text) & set(' "=') else text
