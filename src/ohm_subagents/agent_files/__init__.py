"""Agent files of other programs, read as they are: dialects as data and one reader. A guest: it imports doors only."""

from typing import Final

SUITE: Final = "agent-files"
"""The name under which the engine has these profiles."""
