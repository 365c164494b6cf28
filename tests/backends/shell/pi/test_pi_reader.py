"""Every recorded stream of `pi`, through its reader."""

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pi_streams import (
    ENDED,
    TRANSCRIPTS,
    case_of,
    json_streams,
    lines_of,
    outline,
    pattern,
    reader_for,
    request,
    rpc_runs,
    told,
    version_of,
)

from ohm_subagents.backends.pi.reader import PiReader
from ohm_subagents.contract import (
    DiagnosticRaised,
    Err,
    ErrorCode,
    FileChanged,
    OhmError,
    Ok,
    RouteResolved,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
)
from ohm_subagents.shell.dialect import Ended

AGAIN = "(A model request failed and is made again: {}.)"
OVERLOADED = AGAIN.format("fake overloaded try {}")
BROKEN = AGAIN.format("terminated")
BROKEN_NOW = AGAIN.format("terminated: other side closed (UND_ERR_SOCKET)")
CUT = "(The answer was cut off at the model's output token limit.)"
DROPPED = ErrorCode.PROVIDER_CONNECTION_FAILED
TALK = "text_delta usage_added"

# case → (the answer, or the code of the error; the events)
CASES: dict[str, tuple[str, str]] = {
    "text": ("Hello from the fake model.", f"route_resolved {TALK} agent_ended"),
    "think": ("After thinking: 42.", f"route_resolved thinking_delta {TALK} agent_ended"),
    "tool": ("I found the files. Done.", f"route_resolved {TALK} ○ls ✓ls {TALK} agent_ended"),
    "two": ("Both done.", f"route_resolved usage_added ○ls ○read ✓ls ✓read {TALK} agent_ended"),
    "sh": ("shell done.", f"route_resolved usage_added ○bash …bash ✓bash {TALK} agent_ended"),
    "grep": ("grep done.", f"route_resolved usage_added ○grep ✓grep {TALK} agent_ended"),
    "toolerr": ("The file is missing.", f"route_resolved usage_added ○read ✕read {TALK} agent_ended"),
    "unknowntool": (
        "ok, no such tool.",
        f"route_resolved usage_added ○no_such_tool ✕no_such_tool {TALK} agent_ended",
    ),
    "loop6": ("stopped looping.", f"route_resolved {'usage_added ○ls ✓ls ' * 6}{TALK} agent_ended"),
    "length": ("cut off he", f"route_resolved {TALK} {CUT} agent_ended"),
    "final": (
        "finalized",
        "route_resolved usage_added ○ls ✓ls usage_added ○subagent_finalize ✓subagent_finalize agent_ended",
    ),
    "finalbad": (
        "finalized",
        "route_resolved usage_added ○subagent_finalize ✕subagent_finalize"
        " usage_added ○subagent_finalize ✓subagent_finalize agent_ended",
    ),
    "empty": (ErrorCode.PROVIDER_EMPTY_RESPONSE, "route_resolved usage_added agent_ended"),
    "http400": (ErrorCode.PROVIDER_REQUEST_REJECTED, "route_resolved"),
    "http401": (ErrorCode.PROVIDER_AUTHENTICATION, "route_resolved"),
}
# What differs from release to release: the words of an error, and how often a shared counter had been asked before.
OF_A_RELEASE: dict[tuple[str, str], tuple[str, str]] = {
    ("0.73.1", "drop"): (DROPPED, f"route_resolved {f'{TALK} {BROKEN} ' * 3}{TALK}"),
    ("1.5.2", "drop"): (DROPPED, f"route_resolved {f'{TALK} {BROKEN_NOW} ' * 3}{TALK}"),
    ("0.73.1", "flaky5"): ("Recovered.", f"route_resolved {OVERLOADED.format(3)} {TALK} agent_ended"),
    ("0.87.1", "flaky5"): (
        ErrorCode.PROVIDER_UNAVAILABLE,
        f"route_resolved {OVERLOADED.format(1)} {OVERLOADED.format(2)} {OVERLOADED.format(3)}",
    ),
    ("1.5.2", "flaky5"): ("Recovered.", f"route_resolved {OVERLOADED.format(5)} {TALK} agent_ended"),
}


def expected(file: Path) -> tuple[str, str]:
    return OF_A_RELEASE.get((version_of(file), case_of(file))) or CASES[case_of(file)]


streams = pytest.mark.parametrize("file", json_streams(), ids=lambda file: file.stem)


def stream(name: str) -> Path:
    return TRANSCRIPTS / f"pi-{name}.jsonl"


def test_all_recorded_streams_are_here():
    assert Counter(map(version_of, json_streams())) == {"0.73.1": 17, "0.87.1": 3, "1.5.2": 17}


@streams
def test_a_recorded_stream_has_its_events_and_its_outcome(file):
    reader = reader_for(file)
    result, events = expected(file)

    assert outline(told(reader, lines_of(file))) == events

    assert reader.is_over is (version_of(file) != "0.73.1")
    assert not reader.is_streaming
    match reader.outcome(ENDED):
        case Ok(output):
            assert output.text == result
        case Err(error):
            assert error.code == result


@streams
def test_a_stream_that_breaks_off_anywhere_is_no_success(file):
    reader = reader_for(file)

    for line in lines_of(file)[:-1]:
        for ended in (ENDED, Ended(code=1, stderr="boom"), Ended(code=-9), Ended(code=143)):
            assert isinstance(reader.outcome(ended), Err)
        reader.read(line)
        assert not reader.is_over


@streams
def test_a_line_that_is_cut_in_the_middle_is_passed_over(file):
    reader = reader_for(file)
    *whole, last = lines_of(file)

    told(reader, [*whole, last[: len(last) // 2]])

    assert isinstance(reader.outcome(Ended(code=-15)), Err)


@pytest.mark.parametrize("file", [file for file in json_streams() if version_of(file) == "0.73.1"], ids=case_of)
def test_the_message_that_an_old_release_repeats_with_every_piece_is_not_read(file):
    def without_repetition(line: bytes) -> bytes:
        record = json.loads(line)
        if record["type"] == "message_update":
            assert record.pop("message")
            record["assistantMessageEvent"].pop("partial")
        return json.dumps(record).encode()

    lean = map(without_repetition, lines_of(file))

    assert told(reader_for(file), lean) == told(reader_for(file), lines_of(file))


RPC = [
    ("first [[tool]]", "I found the files. Done."),
    ("second [[history]]", "messages=6 users=2"),
    ("slow one [[slow]]", "messages=12 users=5"),  # the answer after a steer and a follow-up
    ("shells [[sh3]]", "Hello from the fake model."),
    ("sleepy [[sleep]]", ErrorCode.TASK_ABORTED),
    ("hang [[hang]]", ErrorCode.TASK_ABORTED),
    ("err [[http503]]", ErrorCode.PROVIDER_UNAVAILABLE),
    ("fresh [[history]]", "messages=2 users=1"),
]


@pytest.mark.parametrize("version", ["0.73.1", "1.5.2"])
def test_each_prompt_of_a_conversation_in_rpc_mode_has_its_outcome(version):
    file = stream(f"{version}-rpc")
    outcomes = []
    for prompt, lines in rpc_runs(file):
        reader = reader_for(file)
        told(reader, lines)
        result = reader.outcome(Ended(code=0, was_stopped=True))
        outcomes.append((prompt, result.ok_value.text if isinstance(result, Ok) else result.err_value.code))

    assert outcomes == RPC


def test_an_agent_is_at_work_from_its_start_until_it_has_settled():
    reader = reader_for(stream("1.5.2-rpc"))
    states = []
    for line in dict(rpc_runs(stream("1.5.2-rpc")))["slow one [[slow]]"]:
        reader.read(line)
        states.append((json.loads(line)["type"], reader.is_streaming))

    assert states[0] == ("response", False)
    assert states[1] == ("agent_start", True)
    assert ("agent_end", True) in states
    assert states[-1] == ("agent_settled", False)


def test_the_end_of_an_earlier_run_of_a_warm_process_is_not_the_end_of_this_one():
    reader = PiReader(request(), settles=True, secrets=())
    reader.read(b'{"type":"agent_settled"}')

    assert not reader.is_over


def test_an_answer_after_another_in_one_run_begins_a_paragraph():
    """As after a follow-up, or after a turn that failed and was repeated."""
    reader = reader_for(stream("1.5.2-rpc"))
    events = told(reader, dict(rpc_runs(stream("1.5.2-rpc")))["slow one [[slow]]"])
    said = "".join(event.text for event in events if isinstance(event, TextDelta))

    assert said.split("\n\n") == ["".join(f"w{n} " for n in range(20)), "After thinking: 42.", "messages=12 users=5"]


def test_a_failed_turn_is_no_part_of_the_answer_of_its_repetition():
    lines = lines_of(stream("1.5.2-json-drop"))
    recovered = lines_of(stream("1.5.2-json-flaky5"))
    first_failure = next(n for n, line in enumerate(lines) if b"auto_retry_start" in line)
    repeated = next(n for n, line in enumerate(recovered) if b"auto_retry_start" in line)
    reader = PiReader(request(), settles=True, secrets=())

    events = told(reader, [*lines[:first_failure], *recovered[repeated:]])

    assert reader.outcome(ENDED).ok_value.text == "Recovered."
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["partial ", "\n\nRecovered."]


def test_who_does_the_work_is_told_once():
    events = told(reader_for(stream("1.5.2-json-tool")), lines_of(stream("1.5.2-json-tool")))

    told_by_pi = {"provider": "fake", "model": "fake-1", "served_model": "fake-1"}
    assert [event for event in events if isinstance(event, RouteResolved)] == [
        RouteResolved(**told_by_pi, runtime="pi-cli", route="interactive-shell")
    ]


def test_another_model_in_the_middle_is_told():
    events = told(
        PiReader(request(), settles=True, secrets=()),
        [
            b'{"type":"message_start","message":{"role":"assistant","provider":"p","model":"%s"}}' % m
            for m in (b"a", b"b")
        ],
    )

    resolved = [(event.model, event.served_model) for event in events if isinstance(event, RouteResolved)]
    assert resolved == [("a", "a"), ("b", "b")]


@pytest.mark.parametrize(
    ("asked", "notice"),
    [
        ("other/fake-1", ['pi took model "fake/fake-1" for "other/fake-1".']),
        ("fake/fake-1", []),
    ],
)
def test_another_provider_than_the_one_asked_for_is_a_diagnostic(asked, notice):
    file = stream("1.5.2-json-tool")
    events = told(reader_for(file, model=pattern(asked)), lines_of(file))

    assert [event.diagnostic.message for event in events if isinstance(event, DiagnosticRaised)] == notice


def test_thinking_is_told_apart_from_the_answer():
    events = told(reader_for(stream("1.5.2-json-think")), lines_of(stream("1.5.2-json-think")))

    assert "".join(event.text for event in events if isinstance(event, ThinkingDelta)) == "pondering the matter"


def test_usage_counts_cached_input_as_input_and_has_the_cost_of_priced_models_only():
    def used(name: str) -> Usage:
        events = told(reader_for(stream(name)), lines_of(stream(name)))
        return sum((event.usage for event in events if isinstance(event, UsageAdded)), start=Usage())

    assert used("1.5.2-json-tool") == Usage(
        requests=2, input_tokens=200, output_tokens=40, cached_tokens=80, cost_usd=Decimal("0.000984")
    )
    assert used("1.5.2-json-think").cost_usd is None
    assert used("1.5.2-json-http400") == Usage()


def test_a_tool_call_has_its_arguments_and_its_result():
    events = told(reader_for(stream("0.73.1-json-toolerr")), lines_of(stream("0.73.1-json-toolerr")))
    [started] = [event for event in events if isinstance(event, ToolStarted)]
    [ended] = [event for event in events if isinstance(event, ToolEnded)]

    assert (started.tool, started.args) == ("read", '{"path":"missing.txt"}')
    assert ended.call_id == started.call_id
    assert ended.text.startswith("ENOENT")


@pytest.mark.parametrize("version", ["0.73.1", "1.5.2"])
def test_an_update_of_a_tool_tells_what_is_new(version):
    file = stream(f"{version}-json-sh")
    events = told(reader_for(file), lines_of(file))

    assert [event.text for event in events if isinstance(event, ToolUpdated)] == ["hi-from-bash\n", "second\n"]


def test_an_update_without_its_old_head_tells_what_is_new_all_the_same():
    rows = "".join(f"row {number}\n" for number in range(400))
    events = ran("bash", {"command": "seq"}, updates=[rows[:2000], rows[500:2600]])

    assert "".join(event.text for event in events if isinstance(event, ToolUpdated)) == rows[:2600]


def ran(tool: str, args: object, *, updates: list[str] | None = None, is_error: bool = False) -> list:
    call = {"toolCallId": "c1", "toolName": tool}
    records = [
        {"type": "tool_execution_start", **call, "args": args},
        *(
            {"type": "tool_execution_update", **call, "partialResult": {"content": [{"type": "text", "text": text}]}}
            for text in updates or []
        ),
        {"type": "tool_execution_end", **call, "result": {"content": []}, "isError": is_error},
    ]
    return told(PiReader(request(), settles=True, secrets=()), [json.dumps(record).encode() for record in records])


@pytest.mark.parametrize(
    ("path", "told_as"),
    [
        ("notes.md", "notes.md"),
        ("@notes.md", "notes.md"),
        ("/repo/tree/src/../a.py", "a.py"),
        ("../other/a.py", "/repo/other/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("..hidden", "..hidden"),
    ],
)
@pytest.mark.parametrize("tool", ["write", "edit"])
def test_a_file_that_was_written_is_told_with_its_path_in_the_working_directory(tool, path, told_as):
    assert [event.path for event in ran(tool, {"path": path}) if isinstance(event, FileChanged)] == [told_as]


def test_a_file_that_was_read_or_not_written_is_not_told_as_changed():
    events = [
        *ran("read", {"path": "a"}),
        *ran("write", {"path": "a"}, is_error=True),
        *ran("write", {}),
        *ran("edit", []),
    ]

    assert not [event for event in events if isinstance(event, FileChanged)]


def test_a_separator_of_lines_inside_a_text_is_no_end_of_a_record():
    record = {"type": "message_update", "assistantMessageEvent": {"type": "text_delta", "delta": "a\u2028b"}}
    line = json.dumps(record, ensure_ascii=False).encode()

    assert told(PiReader(request(), settles=True, secrets=()), [line]) == [TextDelta(text="a\u2028b")]


@pytest.mark.parametrize(
    ("ended", "code", "message"),
    [
        (ENDED, ErrorCode.PROVIDER_EMPTY_RESPONSE, "pi ended without an answer: it asked no model."),
        (
            Ended(code=1, stderr="Error: Unknown option: --nope\n"),
            ErrorCode.BACKEND_FAILED,
            "Task task_1 backend failed: Error: Unknown option: --nope",
        ),
        (Ended(code=3), ErrorCode.BACKEND_FAILED, "Task task_1 backend failed: subagent backend exited non-zero"),
        (Ended(code=-9), ErrorCode.BACKEND_FAILED, "Task task_1 backend failed: subagent backend exited non-zero"),
        (
            Ended(code=1, stderr="No API key found for openai.\n\nUse /login to log into a provider"),
            ErrorCode.MODEL_KEY_MISSING,
            'pi has no key for provider "openai" of model "openai/gpt-9".',
        ),
        (
            Ended(code=1, stderr='Error: Model "openai/gpt-9" not found. Use --list-models to see available models.'),
            ErrorCode.MODEL_UNKNOWN,
            'pi does not know model "openai/gpt-9".',
        ),
    ],
)
def test_a_process_that_asked_no_model_says_why(ended, code, message):
    reader = PiReader(request(model=pattern("openai/gpt-9")), settles=True, secrets=())
    reader.read(b'{"type":"session","version":3,"id":"x","cwd":"/repo/tree"}')

    error = reader.outcome(ended).err_value

    assert error.code == code
    assert error.message.startswith(message)


def test_how_a_process_ended_that_said_nothing_is_in_the_advice():
    reader = PiReader(request(), settles=True, secrets=())

    assert reader.outcome(Ended(code=-9)).err_value.advice.startswith("Pi ended by signal 9 before it had answered.")


def test_without_any_model_the_error_says_that_none_is_named():
    ended = Ended(code=1, stderr="No API key found for the selected model.\n")

    assert PiReader(request(), settles=True, secrets=()).outcome(ended).err_value.code == ErrorCode.MODEL_MISSING


def answered(**message: object) -> PiReader:
    reader = PiReader(request(), settles=True, secrets=("hunter2hunter2",))
    said = {"role": "assistant", "provider": "p", "model": "m", "content": [], **message}
    records = [{"type": "agent_start"}, {"type": "message_end", "message": said}, {"type": "agent_settled"}]
    told(reader, [json.dumps(record).encode() for record in records])
    return reader


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("401: {}", ErrorCode.PROVIDER_AUTHENTICATION),
        ("403 forbidden", ErrorCode.PROVIDER_AUTHENTICATION),
        ("402 pay", ErrorCode.PROVIDER_QUOTA_EXCEEDED),
        ('429 {"error":{"code":"insufficient_quota"}}', ErrorCode.PROVIDER_QUOTA_EXCEEDED),
        ("404 no such model", ErrorCode.MODEL_UNKNOWN),
        ("408 late", ErrorCode.PROVIDER_TIMEOUT),
        ("409 busy", ErrorCode.PROVIDER_UNAVAILABLE),
        ("413 too large", ErrorCode.PROVIDER_REQUEST_REJECTED),
        ("400 this model's maximum context length is 8192 tokens", ErrorCode.CONTEXT_WINDOW_EXCEEDED),
        ("400 Connection header is not allowed", ErrorCode.PROVIDER_REQUEST_REJECTED),
        ("429: slow down", ErrorCode.PROVIDER_RATE_LIMITED),
        ('{"error":{"code":429,"message":"slow down"}}', ErrorCode.PROVIDER_RATE_LIMITED),
        ("500 oops", ErrorCode.PROVIDER_UNAVAILABLE),
        ("529 overloaded_error", ErrorCode.PROVIDER_UNAVAILABLE),
        ("Request failed with status code 502", ErrorCode.PROVIDER_UNAVAILABLE),
        ("Overloaded", ErrorCode.PROVIDER_UNAVAILABLE),
        ("Connection error.", ErrorCode.PROVIDER_CONNECTION_FAILED),
        ("fetch failed", ErrorCode.PROVIDER_CONNECTION_FAILED),
        ("connect ECONNREFUSED 127.0.0.1:9", ErrorCode.PROVIDER_CONNECTION_FAILED),
        ("Request timed out.", ErrorCode.PROVIDER_TIMEOUT),
        ("Provider finish_reason: content_filter", ErrorCode.CONTENT_FILTERED),
        ("Cannot read properties of undefined", ErrorCode.BACKEND_FAILED),
        ("", ErrorCode.BACKEND_FAILED),
    ],
)
def test_a_failed_turn_has_the_code_that_the_other_backend_has_for_it(said, code):
    error = answered(stopReason="error", errorMessage=said).outcome(ENDED).err_value

    assert error.code == code
    assert error.message.startswith('Model "p/m" ')
    assert error.message.endswith(".")


def test_what_a_provider_wrote_is_quoted_without_keys():
    said = "500 key hunter2hunter2 and sk-abcdefghijkl are\nbroken " + "x " * 2500
    error = answered(stopReason="error", errorMessage=said).outcome(ENDED).err_value

    assert error.message.startswith('Model "p/m" is unavailable or overloaded (HTTP 500): key *** and *** are broken x')
    assert len(error.message) < 400


def test_tokens_that_ran_out_before_a_word_are_a_failure():
    assert answered(stopReason="length").outcome(ENDED).err_value.code == ErrorCode.USAGE_LIMIT_EXCEEDED


def test_a_reason_to_stop_that_we_do_not_know_is_no_success():
    content = [{"type": "text", "text": "soon"}]

    assert answered(stopReason="deferred", content=content).outcome(ENDED).err_value.code == ErrorCode.BACKEND_FAILED


def test_a_whole_answer_counts_even_if_the_process_ended_badly():
    reader = answered(stopReason="stop", content=[{"type": "text", "text": "yes"}])

    assert reader.outcome(Ended(code=-9)).ok_value.text == "yes"


def test_a_warning_on_standard_error_is_a_diagnostic():
    stderr = 'Warning: Model "x" not found.\nsomething else\nWarning: Model "x" not found.\nWarning: two\n'
    events = PiReader(request(), settles=True, secrets=()).last(Ended(code=0, stderr=stderr))

    assert [event.diagnostic.message for event in events] == ['Model "x" not found.', "two."]


def test_a_secret_is_cut_out_of_a_warning_and_of_a_process_that_broke_off():
    reader = PiReader(request(), settles=True, secrets=("hunter2hunter2",))
    ended = Ended(code=1, stderr="Warning: key hunter2hunter2 is old\n")

    assert [event.diagnostic.message for event in reader.last(ended)] == ["key *** is old."]
    assert reader.outcome(ended).err_value.message.endswith("Warning: key *** is old")


def test_a_conversation_that_was_shortened_is_a_diagnostic():
    events = told(
        PiReader(request(), settles=True, secrets=()),
        [
            b'{"type":"compaction_end","reason":"threshold","result":{"summary":"s"},"aborted":false}',
            b'{"type":"compaction_end","reason":"overflow","errorMessage":"no model"}',
            b'{"type":"compaction_end","reason":"manual","aborted":true}',
        ],
    )

    assert [event.diagnostic.message for event in events if isinstance(event, DiagnosticRaised)] == [
        "pi shortened the conversation, to make room in the model's context window.",
        "pi could not shorten the conversation: no model.",
    ]


@settings(deadline=None)
@given(st.lists(st.binary(max_size=200)))
def test_no_bytes_raise(lines):
    reader = PiReader(request(), settles=True, secrets=())

    assert told(reader, lines) == []
    assert isinstance(reader.outcome(ENDED), Err)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
RECORDS = [
    json.loads(line)
    for line in {json.loads(line)["type"]: line for file in json_streams() for line in lines_of(file)}.values()
]


def bent(data: st.DataObject, value: object) -> object:
    """A value with other values in random places."""
    if data.draw(st.integers(0, 5)) == 0:
        return data.draw(VALUES)
    match value:
        case dict():
            return {key: inner if key == "type" else bent(data, inner) for key, inner in value.items()}
        case list():
            return [bent(data, inner) for inner in value]
        case _:
            return value


@given(st.data())
def test_no_record_raises_whatever_is_in_it(data):
    reader = PiReader(request(), settles=data.draw(st.booleans()), secrets=())
    records = data.draw(st.lists(st.sampled_from(RECORDS), min_size=1, max_size=8))

    for record in records:
        changed = {key: value if key == "type" else bent(data, value) for key, value in record.items()}
        for event in reader.read(json.dumps(changed).encode()):
            assert repr(event).encode()
    reader.outcome(ENDED)


def test_numbers_and_depths_beyond_all_measure_do_not_raise():
    usage = b'{"input":1e999,"output":-5,"cacheRead":NaN,"cost":{"total":Infinity}}'
    events = told(
        PiReader(request(), settles=True, secrets=()),
        [
            b'{"type":"message_end","message":{"role":"assistant","stopReason":"stop","usage":' + usage + b"}}",
            b"[" * 200_000,
            b'{"type":' * 200_000,
            b'{"n":' + b"9" * 5_000 + b"}",
        ],
    )

    assert events == [UsageAdded(usage=Usage(requests=1))]


class MoneyGate:
    """A budget of money."""

    def unpriced(self, need):
        return OhmError(code=ErrorCode.BUDGET_UNENFORCEABLE, message=f"Nobody knows what {need.model} costs.")


def turn(model, **usage):
    message = {"role": "assistant", "provider": "acme", "model": model, "stopReason": "stop", "content": "Yes."}
    return json.dumps({"type": "message_end", "message": {**message, "usage": usage}}).encode()


@pytest.mark.parametrize("gate", [MoneyGate(), None], ids=["a budget of money", "none"])
def test_a_model_without_a_cost_is_told_once_where_a_budget_of_money_counts_on_it(gate):
    priced = turn("dear", input=5, cost={"total": 0.5})
    lines = [priced, turn("m1", input=5, cost={"total": 0}), turn("m1", input=5), turn("m2", output=5), turn("m3")]
    reader = PiReader(request(gate=gate), settles=True, secrets=())
    told_of = [event.diagnostic.message for event in told(reader, lines) if isinstance(event, DiagnosticRaised)]
    assert told_of == ([f"Nobody knows what {model} costs." for model in ("m1", "m2")] if gate else [])
