"""The options of one call, as a program gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypedDict, cast, get_args

from pydantic import JsonValue, TypeAdapter, ValidationError

from ohm_subagents._orchestrator.task_options import TaskOptions
from ohm_subagents._plugins.suites.tool import Tool
from ohm_subagents.contract.acceptance import Acceptance, read_acceptance
from ohm_subagents.contract.commands import NO_OVERRIDES, Overrides, Session
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.result import Err
from ohm_subagents.contract.sandbox import SANDBOX_MODES, SandboxMode
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.contract.workspace import Isolation, Land

ToolMaker = Callable[[Tool | Callable[..., object]], Tool]
"""Makes a tool of subagents of what a program gives."""


class CallOptions(TypedDict, total=False):
    """The options of `Ohm.begin`, which hold for every task that the call starts; each may be left out."""

    cwd: Path | str | None
    """The directory of the task: an absolute path."""
    session: Session | str | None
    """The session of the task; a text is an id, whose newest task is continued if there is one."""
    parent: str | None
    """The id of a running task that the new one is below: it ends with it, and is charged to its budget."""
    parent_model: str | None
    """The model that the parent agent runs on, `provider/model`, for tasks that inherit it."""
    background_after_ms: int | None
    """Return after so many milliseconds, though tasks go on in the background then, whatever `asyncStart` says."""
    tools: Iterable[Tool | Callable[..., object] | str]
    """Tools for this task besides those of its profile; a function becomes one as by `@tool`. A text names tools that
    plugins and MCP servers have for subagents, as the list of a profile does, such as `mcp__calc__*`."""
    allow: Iterable[str] | None
    """The most of the subagent's own tools, and of their calls, that this task has: `["read", "bash: git diff *"]`. It
    adds none; an empty list leaves none, and None all."""
    deny: Iterable[str]
    """Tools and calls that this task does not have, such as `["write", "bash: git push *"]`."""
    accept: Iterable[str] | Mapping[str, object] | None
    """Checks of the outcome, besides those of the profile: `["file: out.md", "run: pytest -q"]`, or an object with
    `checks`, and perhaps `require`, `retry` and `seconds`."""


class RunOptions(CallOptions, total=False):
    """The options of `Ohm.run` and `Ohm.start`; each may be left out."""

    description: str | None
    """The title of the task; the first line of its prompt by default."""
    model: str | None
    """A model in place of the profile's: `provider/model`, `provider/model:thinking`, a name of `subagents.models`, or
    `inherit`."""
    strict_model: bool | None
    """A run that another model answers fails with `model_mismatch`; what it did is kept."""
    isolation: Isolation | None
    """`clone`: the task works on a clone of the files. `none` lifts no demand of its profile or of ohm.json."""
    land: Land | None
    """`clean`: what the task did in its clone lands once it has succeeded, unless `never` is said elsewhere."""
    backend: str | None
    """A backend in place of the profile's."""
    sandbox: SandboxMode | None
    """The sandbox of the task: `required`, `preferred` or `off`; a stricter one of the profile or of ohm.json wins."""
    limits: Limits | None
    """The limits of each run of the task."""
    loop: LoopPolicy | None
    """The loop rules of each run of the task."""
    budget: Budget | None
    """The budget of the task, with everything that it starts."""


@lru_cache(maxsize=256)
def _answer_type(result_type: object) -> tuple[TypeAdapter[Any], Mapping[str, JsonValue]]:
    adapter = TypeAdapter[Any](cast("Any", result_type))
    return adapter, adapter.json_schema()


def answer_type(result_type: type[Any]) -> tuple[TypeAdapter[Any], Mapping[str, JsonValue]]:
    """Return what validates an answer of this type, and its JSON schema."""
    return _answer_type(cast("object", result_type))


def fault_of(invalid: ValidationError) -> str:
    """Return the first fault of an answer, with its place."""
    first = invalid.errors(include_url=False, include_context=False)[0]
    return f"{''.join(f'{each}: ' for each in first['loc'])}{first['msg']}."


def _misfit(adapter: TypeAdapter[Any], text: str) -> str | None:
    try:
        adapter.validate_json(text)
    except ValidationError as invalid:
        return f"'result' does not fit: {fault_of(invalid)}"
    return None


def overrides_of(options: RunOptions, result_type: type[Any] | None, child_tool: ToolMaker) -> Overrides:
    """Return the choices of a call. Raises TypeError for an unknown option, and for a tool that is none."""
    if not options and result_type is None:
        return NO_OVERRIDES
    for name in options.keys() - RunOptions.__annotations__.keys():
        unknown = f"unexpected keyword argument '{name}'. {did_you_mean(name, RunOptions.__annotations__)}".rstrip()
        raise TypeError(unknown)
    cwd, tools = options.get("cwd"), options.get("tools", ())
    if isinstance(tools, str):
        wrong = f"tools is the text {tools!r:.60}; allowed: a list, in which a text names tools."
        raise TypeError(wrong)
    given, allow = tuple(tools), options.get("allow")
    return Overrides(
        model=options.get("model"),
        parent_model=options.get("parent_model"),
        strict_model=options.get("strict_model"),
        isolation=cast("Isolation | None", _word("isolation", options.get("isolation"), get_args(Isolation))),
        land=cast("Land | None", _word("land", options.get("land"), get_args(Land))),
        backend=options.get("backend"),
        sandbox=_sandbox(options.get("sandbox")),
        limits=options.get("limits"),
        loop=options.get("loop"),
        cwd=None if cwd is None else Path(cwd),
        tools=tuple(child_tool(one) for one in given if not isinstance(one, str)),
        tool_names=tuple(one for one in given if isinstance(one, str)),
        allow=None if allow is None else _names("allow", allow),
        deny=_names("deny", options.get("deny", ())),
        accept=_accept(options.get("accept")),
        result_schema=None if result_type is None else answer_type(result_type)[1],
        misfit=None if result_type is None else partial(_misfit, answer_type(result_type)[0]),
    )


def _sandbox(given: SandboxMode | None) -> SandboxMode | None:
    """Return the sandbox of a call. Raises TypeError for a text that is none."""
    if given is not None and given not in SANDBOX_MODES:
        wrong = f"sandbox is {given!r:.60}; allowed: 'required', 'preferred' or 'off'."
        raise TypeError(wrong)
    return given


def _word(option: str, given: object, words: tuple[str, ...]) -> object:
    """Return the word that a call gives. Raises TypeError for another one."""
    if given is None or given in words:
        return given
    wrong = f"{option} is {given!r:.60}; allowed: {' or '.join(map(repr, words))}."
    raise TypeError(wrong)


def _accept(given: object) -> Acceptance | None:
    """Return the checks of a call. Raises TypeError for anything else."""
    read = read_acceptance(given)
    if isinstance(read, Err):
        wrong = f"accept cannot be kept: {read.err_value}."
        raise TypeError(wrong)
    return read.ok_value


def _names(option: str, given: object) -> tuple[str, ...]:
    """Return a list of names of tools. Raises TypeError for anything else."""
    names = (
        tuple(cast("Iterable[object]", given)) if isinstance(given, Iterable) and not isinstance(given, str) else None
    )
    if names is None or not all(isinstance(one, str) for one in names):
        wrong = f"{option} is {given!r:.60}; allowed: a list of texts, such as ['read', 'bash: git diff *']."
        raise TypeError(wrong)
    return cast("tuple[str, ...]", names)


def session_of(options: CallOptions) -> Session | None:
    """Return the session of a call."""
    session = options.get("session")
    return Session(id=SessionId(session), resumes=True) if isinstance(session, str) else session


def background_after(options: CallOptions) -> int | None:
    """Return the time after which a call returns. Raises TypeError for one that is none."""
    after_ms = options.get("background_after_ms")
    if after_ms is not None and (type(after_ms) is not int or after_ms < 0):
        wrong = f"background_after_ms is {after_ms!r:.60}; allowed: a whole number of milliseconds, 0 or more, or None."
        raise TypeError(wrong)
    return after_ms


def parent_of(options: CallOptions) -> TaskId | None:
    """Return the task that those of a call are below."""
    parent = options.get("parent")
    return None if parent is None else TaskId(parent)


def task_options(
    arguments: object, options: CallOptions, result_type: type[Any] | None, child_tool: ToolMaker
) -> tuple[object, TaskOptions]:
    """Return the arguments of a tool with ids in place of profiles, and what holds for the tasks of the call."""
    profiles: dict[str, Profile] = {}
    given: dict[str, object] = {**options, "result_type": result_type}
    try:
        arguments = _with_ids(arguments, profiles)
    except RecursionError:  # nested too deep, or in themselves: the tool says so
        profiles = {}
    return arguments, TaskOptions(
        overrides=overrides_of(cast("RunOptions", options), result_type, child_tool),
        session=session_of(options),
        parent=parent_of(options),
        profiles=profiles,
        background_after_ms=background_after(options),
        named=tuple(name for name, value in given.items() if value is not None and value != ()),
    )


def _with_ids(arguments: object, found: dict[str, Profile]) -> object:
    """Return the arguments of a tool with the id of each profile in its place; `found` gets the profiles."""
    if isinstance(arguments, Profile):
        found[arguments.id] = arguments
        return arguments.id
    if isinstance(arguments, Mapping):
        return {key: _with_ids(value, found) for key, value in cast("Mapping[object, object]", arguments).items()}
    if isinstance(arguments, list | tuple):
        return [_with_ids(value, found) for value in cast("Iterable[object]", arguments)]
    return arguments
