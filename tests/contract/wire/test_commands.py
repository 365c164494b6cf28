"""A command arrives as it was sent: no field of it is left out, but for those that are named here with the reason."""

from dataclasses import dataclass, fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_samples import PROFILE

from ohm_subagents.contract import Budget
from ohm_subagents.contract.commands import (
    AnswerRequest,
    Cancel,
    Command,
    GetTasks,
    NamedTool,
    Overrides,
    Send,
    Start,
    StartItem,
    Wait,
)
from ohm_subagents.contract.wire import (
    ExecuteCommand,
    WireItem,
    WireOverrides,
    WireSend,
    WireStart,
    WireTool,
    dump,
    load,
)
from ohm_subagents.contract.wire.commands import command_of, wire_command

STAY = {
    Overrides: {"tools": "they are `functions` there", "misfit": "a function: whoever reads the answer checks it"},
    StartItem: {"redaction": "the receiver has its own, if `is_redacted` asks for it"},
    Start: {},
    Send: {"tools": "they are `functions` there", "redaction": "as that of an item"},
}


@pytest.mark.parametrize(
    ("command", "sent"), [(Overrides, WireOverrides), (StartItem, WireItem), (Start, WireStart), (Send, WireSend)]
)
def test_every_field_of_a_command_travels_or_is_named(command: type, sent: type) -> None:
    own, travelling = ({one.name for one in fields(each)} for each in (command, sent))
    assert own - travelling == set(STAY[command])


profiles = st.just(PROFILE)
tools = st.sampled_from([(), ("look",)]).map(lambda names: tuple(Named(one) for one in names))
overrides = st.builds(
    Overrides, tools=tools, misfit=st.none(), cwd=st.none(), result_schema=st.none() | st.just({"type": "string"})
)
items = st.builds(
    StartItem,
    profile=st.text("ab", min_size=1) | profiles,
    overrides=overrides,
    preface=st.text("ab"),
    refusal=st.none(),
    redaction=st.none(),
)
commands = st.one_of(
    st.builds(Start, items=st.tuples(items), budget=st.none() | st.just(Budget(requests=3))),
    st.builds(Send, item=st.none() | items, profile=st.none() | profiles, tools=st.none() | tools, redaction=st.none()),
    *(st.builds(one) for one in (GetTasks, Wait, Cancel, AnswerRequest)),
)


@given(command=commands)
@settings(max_examples=25)
def test_any_command_arrives_as_it_was_sent(command: Command) -> None:
    message = load(dump(ExecuteCommand(n=1, command=wire_command(command, described))))
    assert isinstance(message, ExecuteCommand)
    assert command_of(message.command, lambda: pytest.fail("No redaction was asked for."), named) == command


@dataclass(frozen=True)
class Named:
    """A tool, of which a command knows the name."""

    name: str


def described(tool: NamedTool) -> WireTool:
    return WireTool(name=tool.name, label="", description="", input_schema={})


def named(tool: WireTool) -> NamedTool:
    return Named(tool.name)
