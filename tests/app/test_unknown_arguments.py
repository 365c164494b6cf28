"""Whatever a caller writes that counts for nothing is told, at every door; what restrains a subagent is refused."""

import json
from functools import partial

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ohm_subagents import Ohm
from ohm_subagents.contract.restraints import is_restraint
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

ONE = {"subagent_type": "finder", "description": "d", "prompt": "p"}
START = {"op": "start", **ONE}
WHERE = {
    "a start": ("task", START, ()),
    "a batch": ("task", {"op": "start", "tasks": [ONE]}, ()),
    "an item of a batch": ("task", {"op": "start", "tasks": [ONE]}, ("tasks", 0)),
    "status": ("task", {"op": "status", "ids": ["task_1"]}, ()),
    "wait": ("task", {"op": "wait", "ids": ["task_1"]}, ()),
    "send": ("task", {"op": "send", "id": "task_1", "prompt": "p"}, ()),
    "cancel": ("task", {"op": "cancel", "id": "task_1"}, ()),
    "no op": ("task", {"op": "begin"}, ()),
    "a direct tool": ("finder", {"query": "q"}, ()),
    "read_result": ("read_result", {"task": "task_1"}, ()),
    "delegate": ("delegate_to_subagents", {"tasks": [{"name": "n", "prompt": "p"}]}, ()),
    "a task of delegate": ("delegate_to_subagents", {"tasks": [{"name": "n", "prompt": "p"}]}, ("tasks", 0)),
    "a file of delegate": (
        "delegate_to_subagents",
        {"tasks": [{"name": "n", "prompt": "p", "files": [{"path": "a"}]}]},
        ("tasks", 0, "files", 0),
    ),
    "a session of delegate": ("get_subagent_session", {"sessionId": "s"}, ()),
    "profiles of delegate": ("list_subagent_profiles", {}, ()),
    "write_todos": ("write_todos", {"mode": "replace", "todos": [{"text": "t"}]}, ()),
    "an item of write_todos": ("write_todos", {"mode": "replace", "todos": [{"text": "t"}]}, ("todos", 0)),
    "edit_todos": ("edit_todos", {"action": "start", "indices": [0]}, ()),
    "list_todos": ("list_todos", {}, ()),
}
"""The doors of a parent agent, and the place of the argument in what is written at each."""
KNOWN_OF_A_START = {"isolation": "none or clone", "sandbox": "required, preferred or off"}
STARTING = ("a start", "a batch", "an item of a batch", "send", "a direct tool", "delegate", "a task of delegate")
KEYS = st.from_regex(r"[a-z][a-z_]{2,11}[A-Z]?", fullmatch=True).filter(lambda key: not is_restraint(key, 1))
VALUES = st.one_of(st.integers(), st.booleans(), st.text(max_size=5), st.lists(st.integers(), max_size=2), st.none())


@pytest.fixture
def anyio_backend():
    return "asyncio"


def opened(suites=("task", "primary", "delegate", "todos"), *, backend=None):
    backend = backend or ScriptedBackend(default=Step(text="done"))
    config = {"subagentBackend": backend.id, "modelText": "framed", "subagents": {"finder": {"primary": True}}}
    return Ohm.open(env=HERMETIC, config=config, plugins=[backend], suites=[*suites])


def written(arguments, place, key, value):
    """Return a copy of the arguments with one more at a place."""
    copy = json.loads(json.dumps(arguments))
    inner = copy
    for step in place:
        inner = inner[step]
    inner.setdefault(key, value)
    return copy


def is_told(result, key):
    return key in result.text or key in json.dumps(result.details)


async def untold(pairs):
    """Return the doors that have nothing to say about an argument that they do not know."""
    found = []
    async with opened() as ohm:
        for where, (tool, arguments, place) in WHERE.items():
            for key, value in pairs:
                result = await ohm.call(tool, written(arguments, place, key, value))
                found += [] if is_told(result, key) else [(where, key, value)]
    for suite in ("single", "sticky"):
        async with opened([suite]) as ohm:
            for key, value in pairs:
                result = await ohm.call("subagent", {"agent": "a", "task": "t", key: value})
                found += [] if is_told(result, key) else [(suite, key, value)]
    return found


@settings(max_examples=2, deadline=None)
@given(pairs=st.lists(st.tuples(KEYS, VALUES), min_size=3, max_size=3, unique_by=lambda pair: pair[0]))
def test_an_argument_that_no_door_knows_is_told_by_each(pairs):
    unknown = [(f"{key}q", value) for key, value in pairs]
    assert anyio.run(partial(untold, unknown)) == []


KEYS_OF_ALL = (*(f"{one}q" for one in ("colour", "retry_after", "x_meta")), "isolation", "cwd", "tools")


@pytest.mark.anyio
async def test_the_op_answer_tells_each_argument_that_it_does_not_know():
    backend = ScriptedBackend(default=Step(text="done"))
    subagents = {"asyncStart": "allow", "finder": {"tools": ["ask_parent"]}}
    config = {"subagentBackend": backend.id, "subagents": subagents}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend], suites=["task"]) as ohm:
        for key in KEYS_OF_ALL:
            given = {"op": "answer", "request": "req_1_task_1", "decision": "approve", key: "worktree"}
            result = await ohm.call("task", given)
            assert is_told(result, key), key
            assert result.details["error_code"] != "invalid_task_tool_payload"


@pytest.mark.anyio
async def test_the_configuration_names_each_key_that_it_does_not_know_at_every_level():
    places = ((), ("subagents",), ("subagents", "finder"), ("subagents", "limits"), ("subagents", "budget"))
    for place in places:
        for key in KEYS_OF_ALL[:3]:
            config = {"subagents": {"finder": {"primary": True}, "limits": {}, "budget": {}}}
            async with Ohm.open(env=HERMETIC, config=written(config, place, key, 1)) as ohm:
                assert [one for one in ohm.diagnostics if key in f"{one.subject} {one}"], (place, key)


@pytest.mark.anyio
@pytest.mark.parametrize("key", ["isolation", "sandbox", "workdir", "allowed_tools", "disallowedTools", "cwd", "tools"])
async def test_an_argument_that_restrains_a_subagent_is_refused_where_it_counts_for_nothing(key):
    value = "worktree" if key == "isolation" else ["read"]
    backend = ScriptedBackend(default=Step(text="done"))
    async with opened(backend=backend) as ohm:
        for where in STARTING:
            tool, arguments, place = WHERE[where]
            if key == "cwd" and where == "a task of delegate":
                continue  # it takes one
            result = await ohm.call(tool, written(arguments, place, key, value))
            known = KNOWN_OF_A_START.get(key) if where in {"a start", "an item of a batch"} else None
            assert key in result.text, where
            assert (f"allowed: {known}" if known else "nothing is started without it") in result.text, where
    assert backend.calls == []


@pytest.mark.anyio
async def test_what_asks_for_no_restraint_is_a_note_and_a_cancel_is_never_refused():
    async with opened() as ohm:
        started = await ohm.call("task", START | {"isolation": None, "worktree": False})
        cancelled = await ohm.call("task", {"op": "cancel", "id": started.details["task_id"], "cwd": "/x"})

    assert started.details["status"] == "succeeded"
    assert "Ignored unknown key 'worktree'." in started.details["diagnostics"]
    assert cancelled.details["op"] == "cancel"
    assert "Ignored unknown key 'cwd'." in cancelled.details["diagnostics"]


@pytest.mark.anyio
@pytest.mark.parametrize("option", ["isolation", "toolz", "timeout"])
async def test_an_option_of_a_program_that_does_not_exist_is_a_type_error(option):
    async with opened() as ohm:
        for call in (ohm.run, ohm.start):
            with pytest.raises(TypeError, match=option):
                await call("finder", "p", **{option: 1})
        with pytest.raises(TypeError, match=option):
            await ohm.begin("task", START, **{option: 1})
