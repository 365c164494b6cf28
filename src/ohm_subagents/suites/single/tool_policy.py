"""The tools of an agent: those that only read, unless writing is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.suites.single.settings import SingleSettings

_LOCAL: Final = ("read", "grep", "find", "ls")
READING: Final = frozenset({*_LOCAL, "web_search", "fetch_content", "get_search_content"})
LSP: Final = "lsp"


def tools_of(
    declared: tuple[str, ...] | None, settings: SingleSettings, *, is_readonly: bool
) -> tuple[str, ...] | None:
    """Return the tools in the order of the declaration; None for all that there are.

    An agent that declares none and may only read gets the tools that every runtime has for that.
    """
    if settings.allow_write and not is_readonly:
        return declared if declared is None else tuple(tool for tool in declared if _has_lsp(settings) or tool != LSP)
    named = _LOCAL if declared is None else declared
    return tuple(tool for tool in named if tool in READING or (tool == LSP and _has_lsp(settings)))


def lsp_actions(settings: SingleSettings) -> tuple[str, ...]:
    """Return the allowed actions of an `lsp` tool; none of them changes code or restarts a server."""
    return settings.allowed_lsp_actions if settings.allow_lsp_tools else ()


def _has_lsp(settings: SingleSettings) -> bool:
    return bool(lsp_actions(settings))


def withheld(
    declared: tuple[str, ...] | None, given: tuple[str, ...] | None, settings: SingleSettings
) -> Iterator[str]:
    """Name the declared tools that an agent does not get, and the reason."""
    lacking = [tool for tool in declared or () if given is not None and tool not in given]
    lsp = [tool for tool in lacking if tool == LSP]
    others = ", ".join(f"'{tool}'" for tool in lacking if tool != LSP)
    if others:
        why = "the agent is read-only" if settings.allow_write else "subagents.allowWrite of config.json is false"
        yield f"Not given: {others}, because {why}."
    if lsp:
        yield f"Not given: '{LSP}', because allowLspTools of config.json is false, or allowedLspActions is empty."
