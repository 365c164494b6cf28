"""The task that a call starts: its agent as it does this task, with its tools, clocks and session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import (
    FINALIZE,
    FINALIZE_GUIDELINE,
    FOREVER_MS,
    AgentOptions,
    Limits,
    Overrides,
    Session,
    StartItem,
    ToolPolicy,
    title_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.redaction import Redaction
    from ohm_subagents.suite import Profile, SuiteContext
    from ohm_subagents.suites.sticky.inputs import SubagentInput
    from ohm_subagents.suites.sticky.options import StickyOptions
    from ohm_subagents.suites.sticky.sessions import StickySession

NEVER: Final = frozenset({"subagent", "subagent_single", "subagent_sticky", FINALIZE})
"""Tools that no list can give: agents start no agents, and every agent hands in its answer by one tool."""
_UNLIMITED: Final = Limits(soft_ms=FOREVER_MS, cap_ms=FOREVER_MS, idle_ms=FOREVER_MS, tool_ms=FOREVER_MS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A call that may be carried out."""

    asked: SubagentInput
    agent: Profile
    options: StickyOptions
    session_id: str
    """The id as the caller knows it."""
    session: StickySession


def start_item(context: SuiteContext, order: Order, state: str | None, redaction: Redaction) -> StartItem:
    """Make the task; `state` is the session so far, empty if only the store knows it, None for a new session."""
    asked, options = order.asked, order.options
    return StartItem(
        profile=_prepared(order, tools_of(order.agent.tools, context.host.active_tools())),
        description=title_of(asked.task, redaction),
        prompt=asked.task,
        overrides=Overrides(backend=options.backend, limits=_limits(options.timeout_ms, context.settings().limits)),
        is_one_shot=True,
        session=Session(id=order.session.id, resumes=state is not None, checkpoint=state or None),
    )


def _prepared(order: Order, tools: tuple[str, ...]) -> Profile:
    """Give the agent its tools and the instruction to hand in its answer."""
    agent = order.agent
    options = replace(agent.agent or AgentOptions(), appended_prompt=FINALIZE_GUIDELINE)
    corrections = order.options.finalize_retries
    return replace(agent, tools=ToolPolicy(allowed=tools), agent=options, corrections=corrections)


def tools_of(policy: ToolPolicy, active: Iterable[str]) -> tuple[str, ...]:
    """Return the whitelist, else the parent's `active` tools without the blacklist, and the tool for the answer."""
    named = active if policy.allowed is None else policy.allowed
    kept = (name for name in dict.fromkeys(named) if name not in NEVER and name not in policy.denied)
    return (*kept, FINALIZE)


def _limits(timeout_ms: int | None, configured: Limits) -> Limits:
    """Return the option's time, then the clocks that are `configured` for every run; no other clock ends the run."""
    own = Limits() if timeout_ms is None else Limits(soft_ms=timeout_ms, extend_ms=0, cap_ms=timeout_ms)
    return own.over(configured).over(_UNLIMITED)
