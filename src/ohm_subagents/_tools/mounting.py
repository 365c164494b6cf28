"""Mount suites: build their tools, each name once."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._concurrency.faults import as_exception, error_line
from ohm_subagents._plugins.hooks.specs import PROJECT
from ohm_subagents._records import dataclass
from ohm_subagents._tools.arguments import WrongOptionError
from ohm_subagents._tools.redacting import is_redacted, redacting_context, redacting_tool
from ohm_subagents._tools.tool import failed, guarded_tool
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ohm_subagents._plugins.suites.interface import SuiteContext, ToolSuiteSpec
    from ohm_subagents._plugins.suites.tool import Tool, ToolCall, ToolNeed, ToolResult, ToolSource
    from ohm_subagents.contract.result import Result
    from ohm_subagents.redaction.redactor import Redaction


logger = logging.getLogger(PROJECT)
PRIMARY: Final = "primary"
"""The suite whose collisions have a message of their own."""
SHARED: Final = "subagent"
"""A name that tools of several suites may have: the later one is called `subagent_<suite>`."""


def _nowhere(_key: str) -> str:
    return ""


def name_beside(suite: str) -> str:
    """Return the name of such a tool beside that of another suite."""
    return f"{SHARED}_{suite}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """Tools by name, the suite of each tool, and what could not be mounted."""

    tools: Mapping[str, Tool]
    suites: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...]


def mount(
    names: Iterable[str],
    specs: Mapping[str, ToolSuiteSpec],
    context: Callable[[str], SuiteContext],
    *,
    reserved: Mapping[str, str] | None = None,
    kept: Mapping[str, str] | None = None,
    redact: bool | Sequence[str] = False,
    place: Callable[[str], str] = _nowhere,
) -> Mounted:
    """Build the named suites in order. A tool whose name is taken is left out, with a diagnostic.

    `reserved` maps names that no suite may use to their owners; `kept` maps names to the only suite that may use them,
    mounted or not. `redact` says which suites let no secret out (`is_redacted`). `place` returns where a setting is
    written, or nothing.
    """
    taken = dict(reserved or {})
    owners = kept or {}
    tools: dict[str, Tool] = {}
    suites: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    for name in dict.fromkeys(names):
        spec = specs.get(name)
        if spec is None:
            diagnostics.append(_unoffered(name, specs, place("suites")))
            continue
        own = context(name)
        redaction = own.redaction if is_redacted(spec, redact) else None
        for built in _built(spec, own if redaction is None else redacting_context(own), diagnostics, place):
            tool = _apart(built, name, taken)
            owner = taken.get(tool.name, owners.get(tool.name, name))
            if tool.name in taken or owner != name:
                diagnostics.append(_collision(tool.name, name, owner))
            else:
                tools[tool.name] = safe_tool(tool, redaction)
                suites[tool.name], taken[tool.name] = name, name
    return Mounted(tools=tools, suites=suites, diagnostics=tuple(diagnostics))


def _apart(tool: Tool, suite: str, taken: Mapping[str, str]) -> Tool:
    """Return the tool; where another suite's tool has the shared name, with its suite in its own."""
    if tool.name == SHARED and taken.get(SHARED, suite) != suite:
        return replace(tool, name=name_beside(suite))
    return tool


def _built(
    spec: ToolSuiteSpec, context: SuiteContext, diagnostics: list[Diagnostic], place: Callable[[str], str]
) -> tuple[Tool, ...]:
    try:
        return tuple(spec.build(context))
    except KeyboardInterrupt:
        raise
    except BaseException as exc:  # plugin collection: a suite that cannot be built costs its own tools
        logger.exception("Suite %s could not be built.", spec.name)
        at, why = (place(exc.key), f"{exc}") if isinstance(exc, WrongOptionError) else ("", f"{error_line(exc)}.")
        fact = f"Tool suite '{spec.name}' could not be built"
        message = f"{_placed(at, fact)}: {why}"
        diagnostics.append(Diagnostic(subject=spec.name, message=message, severity="error"))
        return ()


def safe_tool(tool: Tool, redaction: Callable[[], Redaction] | None) -> Tool:
    """Return the tool with arguments checked before a call, an exception as its result, and redacted where wanted."""
    checked = guarded_tool(_checking_tool(tool))
    return checked if redaction is None else redacting_tool(checked, redaction)


def safe_source(source: ToolSource, redaction: Callable[[], Redaction] | None) -> ToolSource:
    """Return the source with safe tools, none of another's names, and an exception as an error."""

    async def tools(need: ToolNeed) -> Result[tuple[Tool, ...], OhmError]:
        try:
            found = await source.tools(need)
        except BaseException as exc:
            logger.exception("The source of the tools %s raised.", source.prefix)
            message = f"The tools '{source.prefix}*' could not be listed: {error_line(as_exception(exc))}."
            return Err(OhmError(code=ErrorCode.TOOL_FAILED, message=message))
        if isinstance(found, Err):
            return found
        own = (tool for tool in found.ok_value if tool.name.startswith(source.prefix))
        return Ok(tuple(safe_tool(tool, redaction) for tool in own))

    return replace(source, tools=tools)


def _checking_tool(tool: Tool) -> Tool:
    """Return the tool with arguments checked before a call; a tool that checks them itself stays as it is."""
    if tool.checks_arguments:
        return tool

    async def execute(call: ToolCall) -> ToolResult:
        from ohm_subagents._interpreters.fit import misfit  # noqa: PLC0415  slow, and needed by plugins only

        wrong = misfit(call.arguments, tool.input_schema, name="arguments")
        if wrong is None:
            return await tool.execute(call)
        error = OhmError(code=ErrorCode.INVALID_TOOL_ARGUMENTS, message=f"Tool '{tool.name}' was not called: {wrong}")
        return failed(tool, error)

    return replace(tool, execute=execute)


def _unoffered(name: str, specs: Mapping[str, ToolSuiteSpec], place: str) -> Diagnostic:
    fact = _placed(place, f"No plugin offers the tool suite '{name}'")
    instead = f"{did_you_mean(name, specs)}Available: {', '.join(sorted(specs))}."
    return Diagnostic(subject=name, message=f"{fact}. {instead}", severity="error")


def _placed(place: str, sentence: str) -> str:
    """Return a sentence with the place of its setting before it, where that is known."""
    return f"{place}: {sentence[0].lower()}{sentence[1:]}" if place else sentence


def _collision(tool: str, suite: str, owner: str) -> Diagnostic:
    if suite == PRIMARY:
        return Diagnostic(
            subject=tool, message=f"Skipping primary tool '{tool}' due to naming collision with reserved tool namespace"
        )
    return Diagnostic(subject=tool, message=f"Skipped tool '{tool}' of suite '{suite}': '{owner}' has that name.")
