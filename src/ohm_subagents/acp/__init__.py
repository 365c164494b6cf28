"""The door to the ACP agent that `ohm acp` runs: `acp_agent` makes one for an `Ohm` of yours.

A guest: it imports doors only, and knows nothing of tasks that a door does not tell. It needs the extra `acp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp import Agent

    from ohm_subagents import Ohm

__all__ = ["acp_agent"]


def acp_agent(ohm: Ohm, *, profile: str | None = None) -> Agent:
    """Return an agent of the package `agent-client-protocol` for one connection, say by its `run_agent`.

    The prompts of its sessions are tasks of `ohm`, and end with the connection, or with `ohm`. `profile` is the
    subagent that a session begins with, in place of the configured one. Serve it with `use_unstable_protocol=True`:
    that package refuses `session/resume` and `session/close` otherwise. Needs asyncio, as the package does. Raises
    ImportError without the extra `acp`.
    """
    from ohm_subagents.acp.agent import agent_of
    from ohm_subagents.acp.ohms import GivenOhm

    return agent_of(GivenOhm(ohm), profile)
