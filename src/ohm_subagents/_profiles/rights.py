"""A project's profile: its own words, no more rights than the one that it overrides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic.alias_generators import to_camel

from ohm_subagents._config.merge import backend_choices, backend_refusal
from ohm_subagents._config.tool_rules import has_tool
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.child_tools import CHILD_TOOLS
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import ToolPolicy

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from ohm_subagents.contract.profile import Profile


def tightened(
    profile: Profile, former: Profile | None, *, is_trusted: bool = True
) -> tuple[Profile, tuple[Diagnostic, ...]]:
    """A project's profile with the rights of both, or its own if it overrides none, and what it does not get.

    Its limits and its budget only lower what stands without them, it exempts no tool from the loop guard, it is shown
    no more of the environment, and it starts its agent with no more than that one. Of backends it chooses
    those alone that a project may.
    """
    may_repeat = former.polling if former else ()
    may_see = former.env if former else ()
    backend = former.backend if former else None
    allowed = backend_choices(is_trusted=is_trusted)
    profile, unstarted = _started(profile, (former.agent if former else None) or AgentOptions())
    diagnostics = [
        *_exempted(profile, may_repeat),
        *_shown(profile, may_see),
        *_moved(profile, {None, backend, *allowed}),
        *unstarted,
    ]
    both = replace(
        profile,
        limits=former.limits if former else None,
        limits_at_most=profile.limits,
        budget=former.budget if former else None,
        budget_at_most=profile.budget,
        polling=may_repeat,
        env=may_see,
        backend=profile.backend if profile.backend in allowed else backend,
        overrides=former.source if former else "",
    )
    if former is not None:
        both, lost = _restrained(both, former)
        if lost:
            message = (
                f"The profile '{profile.id}' of a project does not get {', '.join(lost)}: "
                f"{former.source or 'a plugin'}, which it overrides, gives less, and a project's file cannot add to "
                "it. The user's file can."
            )
            diagnostics.insert(0, Diagnostic(subject=profile.id, message=message, source=profile.source))
    return both, tuple(diagnostics)


def _restrained(profile: Profile, former: Profile) -> tuple[Profile, list[str]]:
    tools = _common(former.tools, profile.tools)
    is_clear = profile.tools.allowed is None or not profile.tools.denied
    if profile.agent is not None and tools.allowed is not None and is_clear:
        tools = ToolPolicy(allowed=tools.allowed)  # of an agent profile, both lists would be a conflict
    given = listed_tools(tools)
    lost = [f"the tool '{name}'" for name in sorted(listed_tools(profile.tools)) if not has_tool(given, name)]
    if former.internal and not profile.internal:
        lost.append("the right to be seen")
    if former.feature not in {None, profile.feature}:
        lost.append(f"the right to run without features.{former.feature}")
    both = replace(
        profile,
        tools=tools,
        internal=profile.internal or former.internal,
        feature=profile.feature if former.feature is None else former.feature,
    )
    return both, lost


def _exempted(profile: Profile, may_repeat: tuple[str, ...]) -> Iterator[Diagnostic]:
    names = [f"'{name}'" for name in profile.polling if not has_tool(may_repeat, name)]
    if names:
        message = (
            f"The profile '{profile.id}' of a project names {', '.join(names)} in 'polling', which has no effect: a "
            "project's file cannot exempt a tool from the loop guard. The user's file can."
        )
        yield Diagnostic(subject=profile.id, message=message, source=profile.source)


def _shown(profile: Profile, may_see: tuple[str, ...]) -> Iterator[Diagnostic]:
    names = [f"'{name}'" for name in profile.env if name not in may_see]
    if names:
        message = (
            f"The profile '{profile.id}' of a project names {', '.join(names)} in 'env', which has no effect: a "
            "project's file cannot show a subagent more of the environment. The user's file can."
        )
        yield Diagnostic(subject=profile.id, message=message, source=profile.source)


def _moved(profile: Profile, allowed: Container[str | None]) -> Iterator[Diagnostic]:
    if profile.backend not in allowed:
        message = (
            f"The profile '{profile.id}' of a project names '{profile.backend}' as 'backend', which has no effect: "
            f"{backend_refusal(profile.backend)}."
        )
        yield Diagnostic(subject=profile.id, message=message, source=profile.source)


def _started(profile: Profile, may: AgentOptions) -> tuple[Profile, tuple[Diagnostic, ...]]:
    """The profile with the options of its agent that stand in both; each may leave something out."""
    agent = profile.agent
    if agent is None:
        return profile, ()
    both = replace(
        agent,
        no_extensions=agent.no_extensions or may.no_extensions,
        extensions=tuple(one for one in agent.extensions if one in may.extensions),
        no_skills=agent.no_skills or may.no_skills,
        suggested_skills=() if may.no_skills else agent.suggested_skills,
        load_skills=() if may.no_skills else agent.load_skills,
        no_context_files=agent.no_context_files or may.no_context_files,
        extra_args=agent.extra_args if agent.extra_args == may.extra_args else (),
    )
    keys = ("extensions", "suggested_skills", "load_skills", "extra_args")
    lost = ", ".join(f"'{to_camel(key)}'" for key in keys if getattr(both, key) != getattr(agent, key))
    if not lost:
        return replace(profile, agent=both), ()
    message = (
        f"The profile '{profile.id}' of a project names more in {lost} than it gets: a project's file cannot add to "
        "how an agent is started. The user's file can."
    )
    told = Diagnostic(subject=profile.id, message=message, source=profile.source)
    return replace(profile, agent=both), (told,)


def _common(first: ToolPolicy, second: ToolPolicy) -> ToolPolicy:
    denied = tuple(dict.fromkeys((*first.denied, *second.denied)))
    lists = [one.allowed for one in (first, second) if one.allowed is not None]
    if not lists:
        return ToolPolicy(denied=denied)
    names = (name for name in lists[0] if all(has_tool(one, name) for one in lists[1:]))
    return ToolPolicy(allowed=tuple(name for name in names if not has_tool(denied, name)), denied=denied)


def listed_tools(policy: ToolPolicy) -> tuple[str, ...]:
    """The tools that a policy names, or all of ours; those of plugins are not known yet."""
    names = CHILD_TOOLS if policy.allowed is None else policy.allowed
    return tuple(name for name in names if not has_tool(policy.denied, name))
