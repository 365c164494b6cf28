"""The tools of an in-process subagent: `read bash edit write grep find ls code_search`."""

from ohm_subagents._backends.in_process.tools.toolset import ChildToolset, child_toolset, child_workspace
from ohm_subagents._backends.in_process.tools.tree import WITHOUT_RIPGREP, find_ripgrep
from ohm_subagents._backends.in_process.tools.use import ToolUse, refuse_if_closed

__all__ = [
    "WITHOUT_RIPGREP",
    "ChildToolset",
    "ToolUse",
    "child_toolset",
    "child_workspace",
    "find_ripgrep",
    "refuse_if_closed",
]
