"""A project's profile by its trust: the text is its own; the rights are at most those of the profile it overrides."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Final

from pydantic.alias_generators import to_camel

from ohm_subagents._config.merge import BACKEND_RULE, backend_advice, backend_choices
from ohm_subagents._config.tool_rules import common_tools, fold_tool, has_tool
from ohm_subagents._config.trust import TRUST_COMMAND
from ohm_subagents.contract.agent import AgentOptions
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.limits import NO_BUDGET, NO_LIMITS, Ceiling
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.model_route import INHERIT
from ohm_subagents.contract.profile import CHILD_TOOLS, READING_TOOLS, Profile, ToolPolicy
from ohm_subagents.contract.sandbox import strictest
from ohm_subagents.contract.workspace import strictest_isolation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ohm_subagents.contract.acceptance import Acceptance

_NEW: Final = Profile(id="", name="", summary="", prompt="", primary=True)
"""The rights of a profile that overrides none."""
_NO_OPTIONS: Final = AgentOptions()
_FREE: Final = ModelPattern(provider="local", model="search")
"""A model that costs nothing and reads no file of its own."""
_NEVER_GRANTED: Final = (
    ("polling", fold_tool, "exempt a tool from the loop guard"),
    ("env", str, "show a subagent more of the environment"),
)
_STARTED: Final = ("extensions", "suggested_skills", "load_skills", "extra_args")


def tightened(profile: Profile, former: Profile | None, *, is_trusted: bool) -> tuple[Profile, tuple[Diagnostic, ...]]:
    """Return a project's profile with no more rights than `former`, which it overrides, and name what it does not get.

    In a project that its user does not trust, it has reading tools at most and chooses no model, because the author
    of a subagent's prompt decides what the subagent does. A trusted project's profile that overrides none has its own
    tools and model. The limits and the budget of any project only lower those in force without them.
    """
    base = former or _NEW
    joined = replace(
        profile,
        limits=base.limits,
        budget=base.budget,
        ceiling=Ceiling(limits=profile.limits or NO_LIMITS, budget=profile.budget or NO_BUDGET, below=base.source),
        polling=base.polling,
        env=base.env,
        sandbox=strictest(profile.sandbox, base.sandbox),
        delegate=profile.delegate if former is None and is_trusted else base.delegate,
        backend=profile.backend if profile.backend in backend_choices(is_trusted=is_trusted) else base.backend,
        tools=_common_tools(profile, base) if former else profile.tools,
        internal=profile.internal or base.internal,
        isolation=strictest_isolation(base.isolation, profile.isolation) if base.isolation else profile.isolation,
        land="never" if profile.land == "never" else base.land,
        feature=base.feature or profile.feature,
        agent=profile.agent and _started(profile.agent, base.agent or _NO_OPTIONS),
        accept=_checks(profile.accept, base.accept, is_trusted=is_trusted),
    )
    refused = _refused(profile, base, joined, is_trusted=is_trusted)
    found = [Diagnostic(subject=profile.id, message=message, source=profile.source) for message in refused]
    if is_trusted:
        return joined, tuple(found)
    held = replace(
        joined,
        tools=_reading_tools(joined),
        model=base.model,
        model_name=base.model_name,
        strict_model=joined.strict_model or base.strict_model,
        fallback_model=_FREE if joined.fallback_model == _FREE else base.fallback_model,
        primary=joined.primary and base.primary,
        agent=joined.agent and _modelled(joined.agent, base.agent or _NO_OPTIONS),
        finalize=joined.finalize or base.finalize,
        result_schema=base.result_schema or joined.result_schema,
    )
    lost = tuple(_unless_trusted(profile, joined, held))
    if not lost:
        return held, tuple(found)
    message = f"The profile '{profile.name}' of a project that is not trusted does not get {', '.join(lost)}."
    advice = f"To allow it, trust the project ('{TRUST_COMMAND}')."
    lapsed = Diagnostic(subject=profile.id, message=message, advice=advice, source=profile.source or None)
    return replace(held, notes=(*held.notes, f"{message} {advice}")), (*found, lapsed)


def overriding(
    read: Iterable[tuple[Profile, bool]], formers: Mapping[str, Profile]
) -> Iterator[tuple[Profile, tuple[Diagnostic, ...]]]:
    """Yield the profiles of one folder as they count over those of earlier folders, each with what it does not get.

    Of each profile, `read` says also whether the user trusts its file, as `Covers` does. A trusted one counts whole;
    another has at most the rights of the one it overrides, and of a reader. `formers` are those of earlier folders by
    name: a file of the same folder, whose rights were not held yet, is none of them.
    """
    for profile, is_trusted in read:
        yield (profile, ()) if is_trusted else tightened(profile, formers.get(profile.name), is_trusted=False)


def _checks(own: Acceptance | None, base: Acceptance | None, *, is_trusted: bool) -> Acceptance | None:
    """Return the checks of both: a project's file takes none away, and runs no command unless it is trusted."""
    own = own if own is None or is_trusted else own.without_commands()
    return own if base is None else base.joined(own)


def _common_tools(profile: Profile, base: Profile) -> ToolPolicy:
    denied = tuple(dict.fromkeys((*profile.tools.denied, *base.tools.denied)))
    calls = tuple(dict.fromkeys((*base.tools.call_rules, *profile.tools.call_rules)))
    lists = [one.tools.allowed for one in (base, profile) if one.tools.allowed is not None]
    if not lists:
        return ToolPolicy(denied=denied, call_rules=calls)
    names = tuple(name for name in reduce(common_tools, lists) if not has_tool(denied, name))
    is_clear = profile.tools.allowed is None or not profile.tools.denied
    if profile.agent is None or not is_clear:
        return ToolPolicy(allowed=names, denied=denied, call_rules=calls)
    # Of an agent profile, both lists would be a conflict, unless its own file has them.
    kept = tuple(name for name in names if not any(has_tool((name,), one) for one in denied))
    return ToolPolicy(allowed=kept, call_rules=calls)


def _reading_tools(profile: Profile) -> ToolPolicy:
    names = tuple(name for name in _listed(profile.tools) if has_tool(READING_TOOLS, name))
    is_clear = profile.tools.allowed is None or not profile.tools.denied
    return replace(profile.tools, allowed=names, denied=() if is_clear else profile.tools.denied)


def _started(agent: AgentOptions, base: AgentOptions) -> AgentOptions:
    """Return the agent options of both; whatever one of them disables stays disabled."""
    return replace(
        agent,
        no_extensions=agent.no_extensions or base.no_extensions,
        extensions=tuple(one for one in agent.extensions if one in base.extensions),
        no_skills=agent.no_skills or base.no_skills,
        suggested_skills=() if base.no_skills else agent.suggested_skills,
        load_skills=() if base.no_skills else agent.load_skills,
        no_context_files=agent.no_context_files or base.no_context_files,
        extra_args=agent.extra_args if agent.extra_args == base.extra_args else (),
    )


def _modelled(agent: AgentOptions, base: AgentOptions) -> AgentOptions:
    return replace(
        agent,
        provider=base.provider,
        model=base.model,
        thinking=base.thinking,
        is_readonly=agent.is_readonly or base.is_readonly,
    )


def _refused(profile: Profile, base: Profile, joined: Profile, *, is_trusted: bool) -> Iterator[str]:
    """Yield a sentence about each kind of right that no project's profile gets."""
    who = f"The profile '{profile.id}' of a project"
    lost = [*_the_tools(_beyond(profile.tools, joined.tools))]
    if joined.internal != profile.internal:
        lost.append("the right to be seen")
    if base.feature not in {None, profile.feature}:
        lost.append(f"the right to run without features.{base.feature}")
    if lost:
        yield (
            f"{who} does not get {', '.join(lost)}: {base.source or 'a plugin'}, which it overrides, gives less, and a "
            "project's file cannot add to it. The user's file can."
        )
    for key, folded, deed in _NEVER_GRANTED:
        given = {folded(one) for one in getattr(base, key)}
        names = [f"'{one}'" for one in getattr(profile, key) if folded(one) not in given]
        if names:
            yield (
                f"{who} names {', '.join(names)} in '{key}', which has no effect: a project's file cannot {deed}. The "
                "user's file can."
            )
    if profile.land not in {None, joined.land}:
        yield (
            f"{who} has '{profile.land}' as 'land', which has no effect: a project's file cannot let work land. "
            "The user's file can."
        )
    if profile.backend not in {None, base.backend, *backend_choices(is_trusted=is_trusted)}:
        why = f"{BACKEND_RULE}. {backend_advice(profile.backend)}"
        yield f"{who} names '{profile.backend}' as 'backend', which has no effect: {why}"
    options = [key for key in _STARTED if getattr(joined.agent, key, None) != getattr(profile.agent, key, None)]
    if options:
        keys = ", ".join(f"'{to_camel(key)}'" for key in options)
        yield (
            f"{who} names more in {keys} than it gets: a project's file cannot add to how an agent is started. The "
            "user's file can."
        )


def _the_tools(names: Iterable[str]) -> Iterator[str]:
    """Yield one phrase with all of the names, if there are any."""
    quoted = [f"'{name}'" for name in sorted(names)]
    if quoted:
        yield f"the {'tool' if len(quoted) == 1 else 'tools'} {', '.join(quoted)}"


def _unless_trusted(profile: Profile, joined: Profile, held: Profile) -> Iterator[str]:
    """Yield the rights that the profile lacks only because the project is not trusted."""
    yield from _the_tools(_beyond(joined.tools, held.tools))
    if profile.model not in {None, held.model} or profile.model_name not in {"", INHERIT, held.model_name}:
        yield f"the model '{profile.model or profile.model_name}'"
    elif profile.agent is not None and held.agent is not None:
        asked = (profile.agent.provider, profile.agent.model, profile.agent.thinking)
        given = (held.agent.provider, held.agent.model, held.agent.thinking)
        if any(wish not in {None, one} for wish, one in zip(asked, given, strict=True)):
            yield "a model of its choice"
    if profile.fallback_model not in {None, held.fallback_model}:
        yield f"the model '{profile.fallback_model}'"
    if profile.primary and not held.primary:
        yield "a direct tool"
    if profile.accept is not None and profile.accept.without_commands() != profile.accept:
        yield "checks that run a command"
    if profile.result_schema not in (None, held.result_schema):
        yield "a 'resultSchema' in place of the one in force"


def _beyond(asked: ToolPolicy, given: ToolPolicy) -> tuple[str, ...]:
    """Return the tools that one policy lists and the other does not."""
    names = _listed(given)
    return tuple(name for name in _listed(asked) if not has_tool(names, name))


def _listed(policy: ToolPolicy) -> tuple[str, ...]:
    """Return the tools that a policy names, or all of ours; those of plugins are not known yet."""
    names = CHILD_TOOLS if policy.allowed is None else policy.allowed
    return tuple(name for name in names if not has_tool(policy.denied, name))
