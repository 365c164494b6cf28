"""Which of an agent's tools it gets: those that only read, unless writing is allowed (001)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ohm_subagents.contract.devkit_settings import DevkitSettings

_LOCAL: Final = ("read", "grep", "find", "ls")
READING: Final = frozenset({*_LOCAL, "web_search", "fetch_content", "get_search_content"})
LSP: Final = "lsp"


def tools_of(
    declared: tuple[str, ...] | None, settings: DevkitSettings, *, is_readonly: bool
) -> tuple[str, ...] | None:
    """The tools in the order of the declaration; None for all that there are.

    An agent that declares none and may only read gets the tools that every runtime has for that.
    """
    if settings.allow_write and not is_readonly:
        return declared if declared is None else tuple(tool for tool in declared if _has_lsp(settings) or tool != LSP)
    return tuple(tool for tool in declared or _LOCAL if tool in READING or (tool == LSP and _has_lsp(settings)))


def _has_lsp(settings: DevkitSettings) -> bool:
    return settings.allow_lsp_tools and bool(settings.allowed_lsp_actions)
