"""Checks of agent profiles and directories before anything starts, in the words that the requirements fix."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import AgentOptions, ErrorCode, OhmError, ToolPolicy, check_cwd, has_tool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.suite import Profile

_TOOL_FLAGS: Final = ("--tools", "-t", "--no-tools", "-nt")
_UNSAFE: Final = re.compile(r"[\s|&;$\\`!].*|.*(?:&&|\|\||[;<>]).*", re.DOTALL)
_SHOWN: Final = 40
_NO_OPTIONS: Final = AgentOptions()


def refusal(profile: Profile) -> OhmError | None:
    """Return the first error of a profile: fields that exclude one another, then an unsafe argument."""
    return conflict(profile) or argument_refused(profile)


def conflict(profile: Profile) -> OhmError | None:
    """Return the error of fields that exclude one another: those about tools, then those about skills."""
    return _tools_conflict(profile) or _skills_conflict(profile)


def _tools_conflict(profile: Profile) -> OhmError | None:
    if profile.agent is None or profile.tools.allowed is None or not profile.tools.denied:
        return None
    return OhmError(
        code=ErrorCode.PROFILE_TOOLS_CONFLICT,
        message=f'Profile "{profile.name}" has both "tools" (allowlist) and "excludeTools" (blacklist) set. '
        "These are mutually exclusive — choose one or the other.",
    )


def _skills_conflict(profile: Profile) -> OhmError | None:
    agent = profile.agent or _NO_OPTIONS
    if agent.no_skills and agent.suggested_skills:
        return _beside_no_skills(profile.name, "suggestedSkills", "--no-skills would override --skill flags.")
    if agent.no_skills and agent.load_skills:
        return _beside_no_skills(profile.name, "loadSkills", "--no-skills disables skill discovery.")
    return None


def _beside_no_skills(name: str, key: str, because: str) -> OhmError:
    return OhmError(
        code=ErrorCode.PROFILE_SKILLS_CONFLICT,
        message=f'Profile "{name}" has both "{key}" and "noSkills" set. These are mutually exclusive — {because}',
    )


def argument_refused(profile: Profile) -> OhmError | None:
    """Return the error of the first of `extraArgs` that undoes the profile's restrictions or is unsafe in a shell."""
    is_restricted = profile.tools.allowed is not None or bool(profile.tools.denied)
    for argument in (profile.agent or _NO_OPTIONS).extra_args:
        message = _refusal(argument, is_restricted=is_restricted)
        if message is not None:
            return OhmError(code=ErrorCode.PROFILE_ARGUMENT_REFUSED, message=message)
    return None


def _refusal(argument: str, *, is_restricted: bool) -> str | None:
    if is_restricted and argument.partition("=")[0] in _TOOL_FLAGS:
        return (
            f'Refusing extraArg "{argument}" which would override profile tool restrictions. '
            "Use the dedicated profile fields instead."
        )
    if "\0" in argument:
        return "Invalid extraArg: contains null byte"
    if _UNSAFE.fullmatch(argument):
        return f"Refusing extraArg: potentially unsafe argument '{argument[:_SHOWN]}'"
    return None


def without_excluded(profile: Profile, parent_tools: Iterable[str]) -> Profile:
    """Return the profile with an allowlist in place of a denylist: the parent's other tools, in their order."""
    if profile.tools.allowed is not None or not profile.tools.denied:
        return profile
    left = tuple(name for name in parent_tools if not has_tool(profile.tools.denied, name))
    return replace(profile, tools=ToolPolicy(allowed=left))


def unusable_cwd(written: str | None) -> OhmError | None:
    """Return the error of a directory that is not absolute, or that is none."""
    cwd = None if written is None else Path(written)
    error = check_cwd(cwd)
    if cwd is None or error is not None or os.path.isdir(cwd):
        return error
    return OhmError(
        code=ErrorCode.CWD_UNREADABLE,
        message=f"The working directory '{cwd}' is not a readable directory.",
        advice="Give an existing directory that this process may read.",
    )
