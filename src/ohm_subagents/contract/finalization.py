"""`subagent_finalize`: the tool with which a subagent hands in its answer."""

from __future__ import annotations

from typing import Final

FINALIZE: Final = "subagent_finalize"
"""A tool that only subagents have, and only those whose profile demands it."""
