"""The built-in tool suites, offered through the same hook as anybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._plugins.hooks.specs import hookimpl
from ohm_subagents._tools.primary.suite import primary_suite
from ohm_subagents._tools.task.suite import task_suite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._plugins.suites.interface import ToolSuiteSpec


@hookimpl
def ohm_tool_suites() -> Iterable[ToolSuiteSpec]:
    """Hand over the suites."""
    return (task_suite(), primary_suite())
