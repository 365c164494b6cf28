"""The tools that come with every subagent."""

from typing import Final

CHILD_TOOLS: Final = ("read", "bash", "edit", "write", "grep", "find", "ls", "code_search")
"""Their names, in the order in which every list of tools is given; tools of plugins follow."""
READING_TOOLS: Final = ("read", "grep", "find", "ls", "code_search")
"""Those that change nothing and start nothing."""
