"""The command line of `pi` for an agent profile; the flags and their order are fixed."""

from __future__ import annotations

import os.path
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.plugin import AgentOptions, ModelPattern, Profile, thinking_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from ohm_subagents.shell import Invocation

_MAX_ARGUMENT_BYTES: Final = 100_000
"""Linux takes 128 KiB in one argument."""


def agent_flags(
    profile: Profile, *, tools: tuple[str, ...] | None, model: ModelPattern | None = None
) -> tuple[str, ...]:
    """Return the flags of a profile with `agent`; what it does not say has none.

    `tools` are the names that it may use, None for no restriction. `model` is one that the profile did not choose: it
    stands in place of the profile's own.
    """
    agent = profile.agent or AgentOptions()
    return (
        *(
            _asked(model)
            if model is not None
            else (*_value("--provider", agent.provider), *_value("--model", agent.model))
        ),
        *_value("--system-prompt", profile.prompt),
        *_value("--append-system-prompt", agent.appended_prompt),
        *_value("--thinking", thinking_level(agent, model)),
        *_tools(tools),
        *_switch("--no-extensions", is_on=agent.no_extensions),
        *_each("--extension", agent.extensions),
        *_switch("--no-skills", is_on=agent.no_skills),
        *_each("--skill", agent.skill_paths),
        *_switch("--no-context-files", is_on=agent.no_context_files),
        *agent.extra_args,
    )


def model_and_tools(
    profile: Profile, *, tools: tuple[str, ...] | None, model: ModelPattern | None = None
) -> tuple[str, ...]:
    """Return the same for a profile whose task is an argument, which has these two only."""
    own = _value("--model", (profile.agent or AgentOptions()).model)
    return (*(own if model is None else _asked(model)), *_tools(tools))


def with_long_prompts_in_files(profile: Profile, invocation: Invocation) -> tuple[Profile, Mapping[Path, str]]:
    """Return the profile, with a file in place of each prompt that cannot be an argument; and what these files hold.

    `pi` takes the path of a file for the text in it. So a prompt that happens to be the name of one goes there too.
    """
    files: dict[Path, str] = {}

    def told(text: str, name: str) -> str:
        if _is_argument(text, invocation.request.cwd):
            return text
        files[invocation.folder / name] = text
        return str(invocation.folder / name)

    agent = profile.agent or AgentOptions()
    appended = told(agent.appended_prompt, "appended.md")
    return replace(
        profile, prompt=told(profile.prompt, "instructions.md"), agent=replace(agent, appended_prompt=appended)
    ), files


def _is_argument(text: str, cwd: Path) -> bool:
    is_short = len(text.encode(errors="replace")) <= _MAX_ARGUMENT_BYTES
    return is_short and "\0" not in text and not (text and os.path.exists(os.path.join(cwd, text)))  # noqa: PTH118  Path.exists raises at a name that is too long


def _asked(model: ModelPattern) -> tuple[str, ...]:
    return ("--model", str(model))


def _tools(names: tuple[str, ...] | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return ("--tools", ",".join(names)) if names else ("--no-tools",)


def _value(flag: str, value: str | None) -> tuple[str, ...]:
    return (flag, value) if value else ()


def _switch(flag: str, *, is_on: bool) -> tuple[str, ...]:
    return (flag,) if is_on else ()


def _each(flag: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (flag, value)
