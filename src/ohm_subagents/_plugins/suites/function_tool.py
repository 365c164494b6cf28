"""Python functions as tools of subagents."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any, cast, get_type_hints, overload

from anyio import to_thread
from pydantic import ConfigDict, ValidationError, create_model
from pydantic_core import to_json, to_jsonable_python

from ohm_subagents._plugins.suites.image import Image
from ohm_subagents._plugins.suites.tool import Tool, ToolCall, ToolResult
from ohm_subagents._views.call_line import call_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel, JsonValue


_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@overload
def tool(function: Callable[..., object], /) -> Tool: ...
@overload
def tool(*, name: str | None = None, description: str | None = None) -> Callable[[Callable[..., object]], Tool]: ...
def tool(
    function: Callable[..., object] | None = None, /, *, name: str | None = None, description: str | None = None
) -> Tool | Callable[[Callable[..., object]], Tool]:
    """Make a tool for subagents of a Python function, as a decorator or by a call.

    Its parameters become the arguments by their annotations, which pydantic checks; its docstring is the description. A
    parameter that is annotated with `ToolCall` gets the call itself. An async function runs in the event loop, any
    other in a thread. What it returns is the result: a text as it is, an `Image` as one, anything else as JSON. What it
    raises is told to the model. Raises TypeError for parameters that have no name, and for one without an annotation.
    """
    if function is None:
        return partial(_tool, name=name, description=description)
    return _tool(function, name=name, description=description)


def _tool(function: Callable[..., object], *, name: str | None, description: str | None) -> Tool:
    if not callable(cast("object", function)):
        wrong = f"{function!r:.60} is no tool; allowed: a Tool, a function, or the name of a tool."
        raise TypeError(wrong)
    called = getattr(function, "__name__", type(function).__name__) if name is None else name
    arguments, of_call = _arguments_of(function, called)

    async def execute(call: ToolCall) -> ToolResult:
        try:
            given = arguments.model_validate(call.arguments)
        except ValidationError as wrong:
            return ToolResult(text=_complaint(called, wrong), details={}, is_error=True)
        values: dict[str, object] = {field: getattr(given, field) for field in arguments.model_fields}
        work = partial(function, **values, **dict.fromkeys(of_call, call))
        if inspect.iscoroutinefunction(function):
            returned = work()
            return _result(await returned if inspect.isawaitable(returned) else returned)
        return _result(await to_thread.run_sync(work, abandon_on_cancel=True))

    return Tool(
        name=called,
        label=called,
        description=(inspect.getdoc(function) or called) if description is None else description,
        input_schema=arguments.model_json_schema(),
        execute=execute,
        call_view=partial(call_line, called),
    )


def _arguments_of(function: Callable[..., object], name: str) -> tuple[type[BaseModel], tuple[str, ...]]:
    """Return the model of the arguments, and the parameters that get the call itself."""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    of_call: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _NAMED or parameter.name not in hints:
            wrong = "has no name" if parameter.kind not in _NAMED else "has no annotation"
            unusable = f"The parameter '{parameter}' of {name} {wrong}; annotate each, and name each."
            raise TypeError(unusable)
        if hints[parameter.name] is ToolCall:
            of_call.append(parameter.name)
        else:
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            fields[parameter.name] = (hints[parameter.name], default)
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields), tuple(of_call)


def _complaint(name: str, wrong: ValidationError) -> str:
    faults = (
        f"{'.'.join(map(str, each['loc'])) or 'the arguments'}: {each['msg']}"
        for each in wrong.errors(include_url=False, include_context=False)
    )
    return f"{name} was not called. {'; '.join(faults)}."


def _result(returned: object) -> ToolResult:
    if isinstance(returned, ToolResult):
        return returned
    if isinstance(returned, Image):
        return ToolResult(text=returned.label, details={}, images=(returned,))
    plain: JsonValue = to_jsonable_python(returned, fallback=str)
    text = plain if isinstance(plain, str) else to_json(plain).decode()
    return ToolResult(text=text, details={"result": plain})
