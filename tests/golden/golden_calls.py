"""The call forms of the suite cases, each through a public seam, and what can be seen of a call afterwards."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from golden_devkit import DEVKIT_FUNCTIONS
from golden_expectations import MISSING, at, differences
from golden_functions import FUNCTIONS
from golden_nested_pi import arguments_of, environment_of
from golden_outcome import Outcome, rendered, stamped, theme_named
from golden_recording import Json
from golden_sticky import FINALIZE, STICKY_FUNCTIONS, finalize, session_files
from golden_suites import Case
from golden_todos import state, told
from golden_world import ENTRY, HOUSE, World, opened

from ohm_subagents._orchestrator.call_context import current_context, root_context
from ohm_subagents.contract import Budget
from ohm_subagents.plugin import ToolResult

WIDTH = 120


async def check(case: Case, root: Path) -> None:
    """Fail if ours differs; skip what a rule of ours replaces."""
    if case.why_skipped:
        pytest.skip(case.why_skipped)
    found = await play(case, root)
    if found:
        pytest.fail("\n".join(found), pytrace=False)


async def play(case: Case, root: Path) -> list[str]:
    """The differences between what a case expects and what ours does; none is a pass."""
    if case.fault is not None:
        return [case.fault]
    async with opened(case, root, _suites(case)) as world:
        outcome = await _called(world, world.case.call, {})
        expect = referred(world.case.expect, outcome.saved)
        found = await differences(expect, Sight(world, outcome))
        throws = any(key.startswith(("throws", "raises")) for key in expect)
        aborts = "abort_parent_at" in world.setup or "abort_at" in world.case.call
        if outcome.error is not None and not throws and not aborts:
            found.append(f"it threw {outcome.error!r}")
        return found


def _suites(case: Case) -> tuple[str, ...]:
    return tuple(ours for one in case.mounted for ours in HOUSE[one])


# Call forms


async def _called(world: World, call: Json, saved: Json) -> Outcome:
    """Make a call of any form; a form or a part of it that nobody knows is an error."""
    form = next((form for form in FORMS if form in call), None)
    if form is None or not set(call) <= FORMS[form][1] | {form}:
        message = f"The runner does not know this form of call, or a part of it: {sorted(call)}."
        raise ValueError(message)
    return await FORMS[form][0](world, referred(call, saved))


def referred(value: Any, saved: Json) -> Any:
    """The value with `$name.path` replaced by what lies there in the result that was saved under this name."""
    if isinstance(value, dict):
        return {key: one if key == "sequence" else referred(one, saved) for key, one in value.items()}
    if isinstance(value, list):
        return [referred(one, saved) for one in value]
    name, _, path = value[1:].partition(".") if isinstance(value, str) and value.startswith("$") else ("", "", "")
    if name not in saved:
        return value
    found = at(saved[name], path)
    assert found is not MISSING, f"{value} is not there"
    return found


async def _tool(world: World, call: Json) -> Outcome:
    if call["tool"] == FINALIZE and FINALIZE not in world.ohm.tools:  # no tool of the parent's
        return await finalize(world, call)
    updates: list[Json] = []
    abort = anyio.Event()
    abort_at = call.get("abort_at", world.setup.get("abort_parent_at"))
    is_child = call.get("as_child", False) or world.level > 0
    async with anyio.create_task_group() as group:
        if abort_at is not None:
            group.start_soon(_abort, abort, abort_at)
        result = await (partial(deep_inside, world) if is_child else world.ohm.call)(
            call["tool"],
            call.get("args", {}),
            on_update=lambda frame: updates.append(_payload(frame)),
            abort=None if abort_at is None else abort,
        )
        group.cancel_scope.cancel()
    await world.children.gone()
    facts = {"text": result.text, "details": result.details, "updates": updates}
    return Outcome(facts=facts, error=result.text if result.is_error else None)


async def deep_inside(world: World, *call: Any, **options: Any) -> ToolResult:
    """A call that one of so many subagents makes, each started by the one before."""
    place = current_context.set(root_context(Budget(depth=1), level=max(1, world.level)))
    try:
        return await world.ohm.call(*call, **options)
    finally:
        current_context.reset(place)


async def _abort(event: anyio.Event, after_s: float) -> None:
    await anyio.sleep(after_s)
    event.set()


def _payload(result: ToolResult) -> Json:
    content = [{"type": "text", "text": result.text}]
    return {"text": result.text, "content": content, "details": result.details}


async def _schema(world: World, call: Json) -> Outcome:
    schema = world.ohm.tools[call["schema"]].input_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    return Outcome(facts={"schema_valid": jsonschema.Draft202012Validator(schema).is_valid(call["args"])})


async def _event(world: World, call: Json) -> Outcome:
    answers: tuple[Any, ...] = ()
    for _ in range(call.get("repeat", 1)):
        answers = await world.ohm.emit(call["event"], call.get("args", {}))
        await _pass(call.get("advance_ms", 0), call.get("step_ms"))
    return Outcome(facts={"return": answers[-1] if answers else None})


async def _pass(ms: int, step_ms: int | None) -> None:
    """Let so much time pass, in steps if a case says so, and let everybody do what is due by then."""
    began = anyio.current_time()
    for passed_ms in [*range(step_ms or ms, ms, step_ms or 1), ms] if ms else ():
        await anyio.sleep_until(began + passed_ms / 1000)
    await anyio.wait_all_tasks_blocked()


async def _render_call(world: World, call: Json) -> Outcome:
    tool = world.ohm.tools[call["render_call"]]
    return rendered(tool.render_call(call["args"], theme=theme_named(world.setup.get("theme"))))


async def _render_result(world: World, call: Json) -> Outcome:
    """Of a tool that is named, or of any of the suite if the result as it was kept is given."""
    name, kept = call["render_result"], None
    if isinstance(name, dict):
        kept, name = name, next(iter(world.ohm.tools))
        call = {**call, "details": kept.get("details", {}), "content": "".join(one["text"] for one in kept["content"])}
    details = call.get("details", {})
    if "windows" in details:
        details = {**details, "windows": [stamped(window, world.now_ms()) for window in details["windows"]]}
    content = call.get("content", "")
    text = content if isinstance(content, str) else "\n".join(part["text"] for part in content)
    result = ToolResult(text=text, details=details)
    shown = world.ohm.tools[name].render_result(
        result,
        expanded=call.get("expanded", False),
        width=world.setup.get("width", WIDTH),
        theme=theme_named(world.setup.get("theme")),
    )
    return rendered(shown)


async def _render_message(world: World, call: Json) -> Outcome:
    theme = theme_named(world.setup.get("theme"))
    return rendered(world.ohm.render_message(call["render_message"], call["content"], theme=theme))


async def _function(world: World, call: Json) -> Outcome:
    function = {**FUNCTIONS, **DEVKIT_FUNCTIONS, **STICKY_FUNCTIONS}.get(call["fn"])
    if function is None:
        message = f"The runner knows no function {call['fn']!r} of the library."
        raise ValueError(message)
    return await function(world, call)


async def _sequence(world: World, call: Json) -> Outcome:
    """Several calls; what is expected is expected of the last."""
    saved: Json = {}
    outcome = Outcome()
    for number, one in enumerate(call["sequence"]):
        made = {key: value for key, value in one.items() if key != "save_as"}
        outcome = await _called(world, made, saved)
        saved[one.get("save_as", f"r{number + 1}")] = outcome.facts
    outcome.saved = saved
    return outcome


async def _mount(world: World, call: Json) -> Outcome:
    if "tool" in call:
        return await _tool(world, call)
    if "schema" in call:
        return await _schema(world, call)
    return Outcome(facts={"registered_tools": list(world.ohm.tools)})


async def _definitions(world: World, call: Json) -> Outcome:
    named = call["tool_definitions"]
    tools = [world.ohm.tools[name] for name in ([named] if isinstance(named, str) else named)]
    (snippet, *others) = {tool.prompt_snippet for tool in tools}
    guidelines = [line for tool in tools for line in tool.prompt_guidelines]
    return Outcome(facts={"prompt_snippet": None if others else snippet, "prompt_guidelines": guidelines})


Play = Callable[[World, Json], Awaitable[Outcome]]
FORMS: Mapping[str, tuple[Play, frozenset[str]]] = {
    "mount": (_mount, frozenset({"tool", "schema", "args"})),
    "mount_all": (_mount, frozenset({"tool", "schema", "args"})),
    "sequence": (_sequence, frozenset()),
    "tool": (_tool, frozenset({"args", "bypass_schema", "abort_at", "as_child"})),
    "schema": (_schema, frozenset({"args"})),
    "event": (_event, frozenset({"args", "repeat", "advance_ms", "step_ms"})),
    "render_call": (_render_call, frozenset({"args"})),
    "render_result": (_render_result, frozenset({"content", "details", "expanded"})),
    "render_message": (_render_message, frozenset({"content"})),
    "tool_definitions": (_definitions, frozenset()),
    "fn": (_function, frozenset({"args", "task", "content", "file", "scope", "bypass_schema", "cwd", "jsonl"})),
}


# What is seen


class Sight:
    """A call and the world after it as they were seen, by subject."""

    def __init__(self, world: World, outcome: Outcome) -> None:
        self._world = world
        self._outcome = outcome

    async def subject(self, name: str) -> Any:
        """Raises `KeyError` if there is no such subject here."""
        if name in self._outcome.facts:
            return self._outcome.facts[name]
        if name == "state":
            return await state(self._world.ohm)
        if name in STORED:
            return STORED[name](await self._world.kept())
        return SEEN[name](self._world, self._outcome)


def _signals(name: str) -> Callable[[World, Outcome], Any]:
    def first(world: World, _outcome: Outcome) -> Any:
        return next((second for signal, second in world.children.signals if signal == name), None)

    return first


def _prompt(number: int) -> Callable[[World, Outcome], Any]:
    def told(world: World, _outcome: Outcome) -> Any:
        prompts = [request.prompt for request in world.children.requests]
        return prompts[number] if -len(prompts) <= number < len(prompts) else _no(f"prompt {number}")

    return told


def _no(what: str) -> Any:
    raise KeyError(what)


def _names(_world: World, outcome: Outcome) -> list[str]:
    details = outcome.facts["details"]
    return list(details["profiles"]) if "profiles" in details else [one["name"] for one in details["windows"]]


def _is_same_session(_world: World, outcome: Outcome) -> bool:
    details = outcome.facts["details"]
    ids = details.get("sessionIds") or [details["sessionId"]]
    return all(one in outcome.facts["text"] for one in ids)


def _last_line(messages: list[list[Any]]) -> str | None:
    return messages[-1][0].splitlines()[-1] if messages else None


SEEN: Mapping[str, Callable[[World, Outcome], Any]] = {
    "throws": lambda _world, outcome: outcome.error or "",
    "raises": lambda _world, outcome: outcome.error is not None,
    "spawned": lambda world, _outcome: len(world.children.requests),
    "max_concurrency": lambda world, _outcome: world.children.peak,
    "signals": lambda world, _outcome: world.children.signals,
    "signals_names": lambda world, _outcome: [name for name, _ in world.children.signals],
    "sigterm_at": _signals("SIGTERM"),
    "sigkill_at": _signals("SIGKILL"),
    "prompt": _prompt(-1),
    "second_prompt": _prompt(1),
    "child_cwd": lambda world, _outcome: str(world.children.requests[-1].cwd),
    "child_args": lambda world, _outcome: arguments_of(world.children.requests[-1], world.place),
    "child_env": lambda world, _outcome: environment_of(world.children.requests[-1], world.place),
    "child_system_prompt": lambda world, _outcome: world.children.requests[-1].instructions,
    "appended": lambda world, _outcome: [data for _, data in world.appended()],
    "appended_types": lambda world, _outcome: [kind for kind, _ in world.appended()],
    "persisted": lambda world, _outcome: sum(kind == ENTRY for kind, _ in world.appended()),
    "warns": lambda world, _outcome: "\n".join(
        (*world.warnings.lines, *(one.message for one in world.ohm.diagnostics))
    ),
    "registered_tools": lambda world, _outcome: list(world.ohm.tools),
    "ui": lambda world, _outcome: told(world.host, "set_status"),
    "widgets": lambda world, _outcome: told(world.host, "set_widget"),
    "user_messages": lambda world, _outcome: told(world.host, "send_user_message"),
    "user_message": lambda world, _outcome: told(world.host, "send_user_message"),
    "messages": lambda world, _outcome: told(world.host, "send_message"),
    "message": lambda world, _outcome: told(world.host, "send_message"),
    "unique": lambda world, _outcome: len({*world.ohm.tools}) == len([*world.ohm.tools]),
    "last_widget": lambda world, _outcome: (told(world.host, "set_widget") or [None])[-1],
    "user_message_last_line": lambda world, _outcome: _last_line(told(world.host, "send_user_message")),
    "entries_read": lambda world, _outcome: world.host.entries_read,
    "saved": lambda _world, outcome: outcome.saved,
    "session_files": lambda world, _outcome: len(session_files(world)),
    "same_session_file": lambda world, _outcome: len({one.session_id for one in world.children.requests}) == 1,
    "details_names": _names,
    "is_same_session": _is_same_session,
}

STORED: Mapping[str, Callable[[dict[str, list[Json]]], Any]] = {
    "store": lambda kept: kept,
    "store_ids": list,
    "runs": lambda kept: {session_id: [run.get("taskName") for run in runs] for session_id, runs in kept.items()},
    "size": len,
}
