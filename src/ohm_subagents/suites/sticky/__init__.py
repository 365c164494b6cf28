"""The suite `sticky`: the tool `subagent` delegates to an agent that keeps its context and hands in its answers.

`suite.build` makes the tool, `agents.load_agents` reads the agents, `item.start_item` makes a start of a call;
`sessions.StickySession` is the file of a session, `turns.Turns` keeps its calls apart, `outcome.result_of` makes the
result.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import Ok, ToolSuiteSpec, WrongOptionError, hookimpl, suite_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents.suite import Diagnostic, Place, Profile, SuiteContext, Tool
    from ohm_subagents.suites.sticky.agents import Agents

NAME: Final = "sticky"


@hookimpl
def ohm_tool_suites() -> Iterable[ToolSuiteSpec]:
    """Offer the suite."""
    yield ToolSuiteSpec(
        name=NAME, summary="Delegate to one agent that keeps its context.", build=_build, agents=_agents
    )


@hookimpl
def ohm_checks(place: Place, suites: Mapping[str, Mapping[str, JsonValue]]) -> Iterable[Diagnostic]:
    """Say what is wrong with the files of agents."""
    if NAME in suites:
        with suppress(WrongOptionError):  # which mounting reports
            yield from _loaded(place, suites[NAME]).diagnostics


def _agents(place: Place, options: Mapping[str, JsonValue]) -> Iterable[Profile]:
    with suppress(WrongOptionError):  # as above
        found = _loaded(place, options).by_name.values()
        yield from (one.ok_value for one in found if isinstance(one, Ok))


def _loaded(place: Place, options: Mapping[str, JsonValue]) -> Agents:
    from ohm_subagents.suites.sticky.agents import load_agents  # noqa: PLC0415  only checks and lists need these here
    from ohm_subagents.suites.sticky.options import StickyOptions, prompt_folders  # noqa: PLC0415

    return load_agents(place, prompt_folders(suite_options(StickyOptions, options, suite=NAME), place.home))


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    from ohm_subagents.suites.sticky.suite import build  # noqa: PLC0415  only who mounts it needs it

    return build(context)
