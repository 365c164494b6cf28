"""The suite `sticky`: the tool `subagent` delegates to an agent that keeps its context and hands in its answers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import ToolSuiteSpec, WrongOptionError, hookimpl, suite_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents.suite import Diagnostic, Place, SuiteContext, Tool

NAME: Final = "sticky"


@hookimpl
def ohm_tool_suites() -> Iterable[ToolSuiteSpec]:
    """Offer the suite."""
    yield ToolSuiteSpec(name=NAME, summary="Delegate to one agent that keeps its context.", build=_build)


@hookimpl
def ohm_checks(place: Place, suites: Mapping[str, Mapping[str, JsonValue]]) -> Iterable[Diagnostic]:
    """Say what is wrong with the files of agents."""
    from ohm_subagents.suites.sticky.agents import load_agents  # noqa: PLC0415  only a check needs these here
    from ohm_subagents.suites.sticky.options import StickyOptions, prompt_folders  # noqa: PLC0415

    if NAME in suites:
        with suppress(WrongOptionError):  # which mounting reports
            options = suite_options(StickyOptions, suites[NAME], suite=NAME)
            yield from load_agents(place, prompt_folders(options, place.home)).diagnostics


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    from ohm_subagents.suites.sticky.suite import build  # noqa: PLC0415  only who mounts it needs it

    return build(context)
