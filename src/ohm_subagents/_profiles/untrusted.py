"""A project's profile before its user trusts the project: its words, with at most the rights of a reader."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.tool_rules import has_tool
from ohm_subagents._config.trust import COMMAND
from ohm_subagents._profiles.rights import listed_tools, tightened
from ohm_subagents.contract.child_tools import READING_TOOLS
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import ToolPolicy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.profile import Profile

_FREE: Final = ModelPattern(provider="local", model="search")
"""What costs nothing and reads no file of its own."""


def untrusted(profile: Profile, former: Profile | None) -> tuple[Profile, tuple[Diagnostic, ...]]:
    """A project's profile without what nobody but the user may allow, and what it does not get.

    It has the rights of both it and the profile that it overrides, and of the tools at most those that read: whoever
    writes what a subagent is told decides what it does. It chooses no model.
    """
    less, found = tightened(profile, former, is_trusted=False)
    models = (former.model, former.fallback_model) if former else (None, None)
    agent, theirs = less.agent, former.agent if former else None
    if agent is not None:
        agent = replace(
            agent,
            provider=theirs.provider if theirs else None,
            model=theirs.model if theirs else None,
            thinking=theirs.thinking if theirs else None,
            is_readonly=agent.is_readonly or (theirs is not None and theirs.is_readonly),
        )
    held = replace(
        less,
        tools=_reading(less),
        model=models[0],
        fallback_model=_FREE if less.fallback_model == _FREE else models[1],
        primary=less.primary and (former is None or former.primary),
        agent=agent,
        finalize=less.finalize or (former.finalize if former else None),
        result_schema=(former.result_schema if former else None) or less.result_schema,
    )
    lost = tuple(_lost(profile, less, held))
    if not lost:
        return held, found
    message = (
        f"The profile '{profile.name}' of a project that is not trusted does not get {', '.join(lost)}. To allow it, "
        f"trust the project ('{COMMAND}')."
    )
    told = Diagnostic(subject=profile.id, message=message, source=profile.source or None)
    return replace(held, notes=(*held.notes, message)), (*found, told)


def _reading(profile: Profile) -> ToolPolicy:
    asked = listed_tools(profile.tools)
    names = tuple(name for name in asked if has_tool(READING_TOOLS, name))
    is_clear = profile.tools.allowed is None or not profile.tools.denied
    return ToolPolicy(allowed=names, denied=() if is_clear else profile.tools.denied)


def _lost(profile: Profile, less: Profile, held: Profile) -> Iterator[str]:
    """Name what it asked for in vain, as far as nothing was said of it yet."""
    given = held.tools.allowed or ()
    yield from (f"the tool '{name}'" for name in listed_tools(less.tools) if not has_tool(given, name))
    if profile.model not in {None, held.model}:
        yield f"the model '{profile.model}'"
    elif profile.agent is not None and held.agent is not None:
        wished = (profile.agent.provider, profile.agent.model, profile.agent.thinking)
        stands = (held.agent.provider, held.agent.model, held.agent.thinking)
        if any(wish not in {None, one} for wish, one in zip(wished, stands, strict=True)):
            yield "a model of its choice"
    if profile.fallback_model not in {None, held.fallback_model}:
        yield f"the model '{profile.fallback_model}'"
    if profile.primary and not held.primary:
        yield "a direct tool"
    if profile.result_schema not in (None, held.result_schema):
        yield "a 'resultSchema' in place of the one that stands"
