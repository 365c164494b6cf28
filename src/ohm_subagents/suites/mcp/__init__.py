"""The suite `mcp`: tools of MCP servers for subagents that name them, `mcp__<server>__<tool>`.

`sources.offer_servers` makes a source of each server, `project_file.read_project_file` reads those of a project,
`tools.ServerTools` lists and calls tools, `results.content_of` bounds what they answer.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import ToolSuiteSpec, hookimpl
from ohm_subagents.suites.mcp.project_file import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.suite import SuiteContext, Tool

NAME: Final = "mcp"


@hookimpl
def ohm_tool_suites() -> Iterable[ToolSuiteSpec]:
    """Offer the suite."""
    yield ToolSuiteSpec(name=NAME, summary="Tools of MCP servers.", build=_build, audience="child")


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    """Offer a source for each server; nothing is started before a run names a tool of one."""
    if context.settings().mcp_servers or os.path.exists(context.place.cwd / FILE_NAME) or context.memory:
        from ohm_subagents.suites.mcp.sources import offer_servers  # noqa: PLC0415  most users have no server

        offer_servers(context)
    return ()
