"""The suite `delegate`: four tools for parallel sub-agents with profiles, and their commands. Never another suite."""

from typing import Final

FOLDER: Final = "agent-profiles"
"""The folder of agent profiles in the agent directory, and in `.pi` of a project."""
