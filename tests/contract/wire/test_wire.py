"""Messages survive the wire, in every version that this release writes, with what newer releases add to them."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from wire_samples import SAMPLES

from ohm_subagents.contract import AgentOptions, ErrorCode, Event, OhmError, Profile, TextDelta, Usage, UsageAdded
from ohm_subagents.contract.wire import (
    NEWEST,
    VERSIONS,
    AskLeft,
    EventReported,
    Granted,
    Post,
    ResultReported,
    StartRun,
    UnknownEvent,
    UnknownMessage,
    WireError,
    WireRun,
    WireSpec,
    Workspace,
    common_version,
    dump,
    kinds,
    load,
    load_as,
)

GOLDEN = Path(__file__).parent
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=3), inner, max_size=3),
    max_leaves=4,
)
for kind, strategy in (
    (JsonValue, json_values),
    (str, st.text(st.characters(exclude_categories=["Cs"]), max_size=9)),
    (Decimal, st.decimals(0, 10**6, places=4)),
    (int, st.integers(0, 2**40)),
):
    st.register_type_strategy(kind, lambda _, made=strategy: made)  # made by the first test, not by every worker


def over_the_wire(message, version=NEWEST):
    return load(json.loads(json.dumps(dump(message, version=version))))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_shape_of_a_version_never_changes(version: int) -> None:
    """After a new field with a default, or a new message, run tests/support/wire_samples.py; else add a version."""
    golden = json.loads((GOLDEN / f"version_{version}.json").read_text())
    assert [dump(one, version=version) for one in SAMPLES] == golden
    assert [load(fields) for fields in golden] == SAMPLES


def test_every_kind_of_message_and_of_event_is_among_the_samples() -> None:
    assert {one.kind for one in SAMPLES} == kinds()
    told = {type(one.event) for one in SAMPLES if isinstance(one, EventReported)}
    assert told == {*get_args(Event), UnknownEvent}


@given(event=st.one_of([st.from_type(one) for one in get_args(Event)]), version=st.sampled_from(VERSIONS))
@settings(max_examples=60)
def test_any_event_survives_the_wire(event: Event, version: int) -> None:
    message = EventReported(run_key="k", n=1, event=event)
    assert over_the_wire(message, version) == message


profiles = st.builds(
    Profile,
    result_schema=st.none() | st.dictionaries(st.text("abc"), json_values, max_size=2),
    agent=st.none() | st.just(AgentOptions(appended_prompt="And this.", thinking="low")),
    ceiling=st.none(),
)
runs = st.builds(
    WireRun,
    spec=st.builds(
        WireSpec, profile=profiles, workspace=st.builds(Workspace, kind=st.just("shared"), bundle=st.just(""))
    ),
)


@given(run=runs, version=st.sampled_from(VERSIONS))
@settings(max_examples=25)
def test_any_run_survives_the_wire(run: WireRun, version: int) -> None:
    message = StartRun(run_key="k", run=run)
    assert over_the_wire(message, version) == message


@given(message=st.sampled_from(SAMPLES), extra=json_values, at=st.integers(0, 99))
def test_what_a_newer_release_adds_survives_a_relay(message, extra: JsonValue, at: int) -> None:
    fields = json.loads(json.dumps(dump(message)))
    maps = [fields.get(name) for name in ("acks", "env", "budgets", "runs", "settled")]
    inner = [one for one in objects(fields) if not any(one is each for each in maps)]
    inner[at % len(inner)]["a_new_field"] = extra
    assert dump(load(json.loads(json.dumps(fields)))) == fields


def objects(value: JsonValue) -> list[dict[str, JsonValue]]:
    match value:
        case dict():
            return [value, *(one for inner in value.values() for one in objects(inner))]
        case list():
            return [one for inner in value for one in objects(inner)]
        case _:
            return []


def test_a_message_and_an_event_of_a_newer_release_are_kept_as_they_came() -> None:
    fields = {"version": NEWEST, "kind": "teleported", "to": ["there"]}
    assert isinstance(message := load(fields), UnknownMessage)
    assert dump(message) == fields
    event = {"kind": "sang", "song": "la"}
    told = load({"version": NEWEST, "kind": "event_reported", "run_key": "k", "n": 1, "event": event})
    assert isinstance(told, EventReported)
    assert isinstance(told.event, UnknownEvent)
    assert told.event.kind == "sang"
    assert dump(told)["event"] == event


def test_an_event_whose_values_are_newer_is_kept_too() -> None:
    event = {"kind": "tool_ended", "call_id": "1", "tool": "t", "status": "postponed", "text": ""}
    told = load_as(EventReported, {"version": 2, "kind": "event_reported", "run_key": "k", "n": 1, "event": event})
    assert told.event == UnknownEvent(fields=event)


def test_an_error_of_ours_is_known_again_and_that_of_a_stranger_is_kept_as_text() -> None:
    ours = OhmError(code=ErrorCode.TASK_ABORTED, message="Stopped.")
    back = load_as(ResultReported, dump(ResultReported(run_key="k", n=1, error=ours)))
    assert back.error is not None
    assert isinstance(back.error.code, ErrorCode)
    fields = dump(ResultReported(run_key="k", n=1, error=OhmError(code="from_the_future", message="So.")))
    fields["error"]["category"] = "fate"
    back = load_as(ResultReported, fields)
    assert back.error is not None
    assert (back.error.code, back.error.category) == ("from_the_future", "runtime")


def test_money_is_exact() -> None:
    event = UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.1000000000000000000001")))
    assert over_the_wire(EventReported(run_key="k", n=1, event=event)).event == event


def test_half_a_character_is_replaced_before_it_travels() -> None:
    told = over_the_wire(EventReported(run_key="k", n=1, event=TextDelta(text="a\ud83d")))
    assert told.event == TextDelta(text="a?")


def test_what_an_older_version_cannot_say_is_refused() -> None:
    start = next(one for one in SAMPLES if isinstance(one, StartRun))
    bundle = Workspace(kind="bundle", path="src", bundle="UEFDSw==")
    message = replace(start, run=replace(start.run, spec=replace(start.run.spec, workspace=bundle)))
    assert over_the_wire(message) == message
    with pytest.raises(WireError, match="Version 1 of the messages cannot say that the workspace is of kind 'bundle'"):
        dump(message, version=1)


def test_versions_that_are_unknown_are_refused() -> None:
    unknown = "The message has version 9; its reader knows versions 1, 2 and 3, and has to be updated."
    with pytest.raises(WireError, match=unknown):
        load({"version": 9, "kind": "granted"})
    with pytest.raises(WireError, match=unknown):
        dump(Granted(run_key="k", ask=1), version=9)


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ((4,), "Of messages, the runner speaks version 4, this program versions 1, 2 and 3: update this program."),
        ((0,), "Of messages, the runner speaks version 0, this program versions 1, 2 and 3: update the runner."),
        ((), "Of messages, the runner speaks none, this program versions 1, 2 and 3: update the runner."),
    ],
)
def test_two_sides_agree_on_the_newest_version_that_both_know_or_say_which_is_older(versions, said) -> None:
    sides = {"they": "the runner", "we": "this program"}
    assert common_version((3, 4), **sides) == 3
    assert common_version((1,), **sides) == 1
    with pytest.raises(WireError, match=said):
        common_version(versions, **sides)


def test_a_profile_is_written_once_for_all_runs_that_share_it() -> None:
    start = next(one for one in SAMPLES if isinstance(one, StartRun))
    one, other = dump(start), dump(replace(start, run_key="another"), version=1)
    assert one["run"]["spec"]["profile"] is other["run"]["spec"]["profile"]


def test_a_profile_is_read_once_for_all_runs_that_share_it_to_the_last_letter() -> None:
    start = next(one for one in SAMPLES if isinstance(one, StartRun))
    one, other = (load(json.loads(json.dumps(dump(start)))) for _ in range(2))
    assert one == start
    assert one.run.spec.profile is other.run.spec.profile
    for const in (1, True):  # which are equal
        fields = json.loads(json.dumps(dump(start)))
        fields["run"]["spec"]["profile"]["result_schema"] = {"const": const}
        assert type(load(fields).run.spec.profile.result_schema["const"]) is type(const)


def test_messages_are_carried_as_they_are() -> None:
    carried = dump(Granted(run_key="k", ask=1))
    post = load(dump(Post(owner="o", incarnation="i", first=1, messages=(carried,))))
    assert isinstance(post, Post)
    assert post.messages[0] is carried
    assert post.unknown == {}


def test_what_is_no_message_is_refused_with_the_place_of_the_fault() -> None:
    with pytest.raises(WireError, match="This is no message 'granted': ask: Field required"):
        load({"version": NEWEST, "kind": "granted", "run_key": "k"})
    with pytest.raises(WireError, match="Expected a message 'AskLeft', got 'Granted'"):
        load_as(AskLeft, dump(Granted(run_key="k", ask=1)))
