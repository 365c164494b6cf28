"""The tools of a child as pydantic-ai has them. The schemas of each are made once in a process."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec

from pydantic_ai import RunContext, Tool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import CodeType

Arguments = ParamSpec("Arguments")
_FIRST: Final[dict[CodeType, Tool[object]]] = {}
"""The first tool of each function, by its code: one that closes over something else has the same arguments."""


def child_tool(
    function: Callable[Concatenate[RunContext[object], Arguments], Awaitable[str]],
    *,
    description: str,
    sequential: bool = False,
    timeout: float | None = None,
) -> Tool[object]:
    """Build a tool that is called as its function. `timeout`: seconds, in place of those of the toolset."""
    first = _FIRST.get(function.__code__)
    tool: Tool[object] = Tool(
        function,
        name=function.__name__,
        description=description,
        sequential=sequential,
        timeout=timeout,
        function_schema=None if first is None else replace(first.function_schema, function=function),
    )
    _FIRST.setdefault(function.__code__, tool)
    return tool
