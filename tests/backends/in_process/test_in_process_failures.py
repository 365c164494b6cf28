"""Whatever a model provider does wrong is a typed error with a sentence; never a success, never an exception."""

from contextlib import asynccontextmanager

import anyio
import pytest
import trio.testing
from model_server import Body, Call, Drop, ModelServer, Reply, Say, Stall, Status, Think, Tokens, Wire
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.test import TestModel
from subagent_runs import KEY, EventLog, acme, answer, child_tool, error, offering, opened, request

from ohm_subagents import Ohm
from ohm_subagents._plugins.backends.interface import ModelSpec
from ohm_subagents._plugins.suites.tool import ToolResult
from ohm_subagents.backends.in_process.options import InProcessOptions
from ohm_subagents.backends.in_process.spec import interactive_sdk_spec
from ohm_subagents.contract import ErrorCode, ModelPattern, OhmError, Ok, TextDelta, ToolEnded
from ohm_subagents.contract.services import CompatibleProvider
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

STALL_MS = 150
"""A clock for those that send nothing; the others may take their time."""
QUOTA = Status(429, "You exceeded your current quota", error_code="insufficient_quota")
CONTEXT = Status(400, "This model's maximum context length is 10 tokens", error_code="context_length_exceeded")
TRUNCATED = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m1","choices":[%s]}\n\n'
HALF = TRUNCATED % b'{"index":0,"delta":{"content":"half"},"finish_reason":null}'

TABLE = [
    ("400", Status(400), ErrorCode.PROVIDER_REQUEST_REJECTED, "(HTTP 400)", False),
    ("401", Status(401), ErrorCode.PROVIDER_AUTHENTICATION, "(HTTP 401)", False),
    ("402", Status(402), ErrorCode.PROVIDER_QUOTA_EXCEEDED, "(HTTP 402)", False),
    ("403", Status(403), ErrorCode.PROVIDER_AUTHENTICATION, "(HTTP 403)", False),
    ("404", Status(404), ErrorCode.MODEL_UNKNOWN, "(HTTP 404)", False),
    ("408", Status(408), ErrorCode.PROVIDER_TIMEOUT, "(HTTP 408)", True),
    ("409", Status(409), ErrorCode.PROVIDER_UNAVAILABLE, "(HTTP 409)", True),
    ("422", Status(422), ErrorCode.PROVIDER_REQUEST_REJECTED, "(HTTP 422)", False),
    ("429", Status(429), ErrorCode.PROVIDER_RATE_LIMITED, "(HTTP 429)", True),
    ("quota", QUOTA, ErrorCode.PROVIDER_QUOTA_EXCEEDED, "(HTTP 429)", False),
    ("context", CONTEXT, ErrorCode.CONTEXT_WINDOW_EXCEEDED, "context window", False),
    ("500", Status(500), ErrorCode.PROVIDER_UNAVAILABLE, "(HTTP 500)", True),
    ("500-html", Status(500, body=b"<html>oops</html>"), ErrorCode.PROVIDER_UNAVAILABLE, "(HTTP 500)", True),
    ("503", Status(503), ErrorCode.PROVIDER_UNAVAILABLE, "(HTTP 503)", True),
    ("529", Status(529), ErrorCode.PROVIDER_UNAVAILABLE, "(HTTP 529)", True),
    ("reset", Drop(), ErrorCode.PROVIDER_CONNECTION_FAILED, "broke the connection", True),
    ("reset-mid-stream", Say("half", Drop()), ErrorCode.PROVIDER_CONNECTION_FAILED, "broke the connection", True),
    ("stall", Stall(), ErrorCode.PROVIDER_TIMEOUT, "sent nothing for too long", True),
    ("stall-mid-stream", Say("half", Stall()), ErrorCode.PROVIDER_TIMEOUT, "sent nothing for too long", True),
    (
        "malformed-json",
        Say("half", Wire(b"data: {oops\n\n")),
        ErrorCode.PROVIDER_MALFORMED_RESPONSE,
        "cannot be read",
        True,
    ),
    ("broken-off", Body(HALF), ErrorCode.PROVIDER_MALFORMED_RESPONSE, "before the answer was complete", True),
    ("html", Body(b"<html>hi</html>", "text/html"), ErrorCode.PROVIDER_EMPTY_RESPONSE, "without an answer in it", True),
    ("empty-stream", Body(), ErrorCode.PROVIDER_EMPTY_RESPONSE, "without an answer in it", True),
    ("only-done", Body(b"data: [DONE]\n\n"), ErrorCode.PROVIDER_EMPTY_RESPONSE, "without an answer in it", True),
    ("no-text", Say(), ErrorCode.PROVIDER_EMPTY_RESPONSE, "empty answer", True),
    ("blank-text", Say(" \n"), ErrorCode.PROVIDER_EMPTY_RESPONSE, "empty answer", True),
    ("content-filter", Say(finish="content_filter"), ErrorCode.CONTENT_FILTERED, "content filter", False),
    (
        "output-limit",
        Say(Think("long"), finish="length"),
        ErrorCode.USAGE_LIMIT_EXCEEDED,
        "output token limit",
        False,
    ),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("reply", "code", "says", "retryable"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
async def test_a_failing_provider_is_a_typed_error(reply: Reply, code: ErrorCode, says: str, retryable: bool) -> None:
    options = {"read_timeout_ms": STALL_MS} if code == ErrorCode.PROVIDER_TIMEOUT else {}
    async with ModelServer(lambda _: reply) as server, opened(acme(server), **options) as backend:
        failed = error(await backend.run(request(), EventLog()))
    assert failed.code == code
    assert failed.message.startswith('Model "acme/m1" ')
    assert says in failed.message
    assert failed.message.endswith(".")
    assert failed.advice.endswith(".")
    assert failed.retryable is retryable


@pytest.mark.sample(3)
@pytest.mark.parametrize("reply", [Status(500), Status(503), Status(429), Status(401), Drop()])
async def test_a_failure_is_reported_after_one_attempt(reply: Reply) -> None:
    async with ModelServer(lambda _: reply) as server, opened(acme(server)) as backend:
        error(await backend.run(request(), EventLog()))
    assert len(server.requests) == 1


async def test_a_refused_connection_is_a_connection_failure() -> None:
    async with ModelServer() as server:
        nobody = CompatibleProvider(name="acme", base_url=server.url)
    async with opened(nobody) as backend:
        failed = error(await backend.run(request(), EventLog()))
    assert failed.code == ErrorCode.PROVIDER_CONNECTION_FAILED


@pytest.mark.sample(3)
@pytest.mark.parametrize("code", [400, 401, 403, 404, 429, 500])
async def test_a_key_that_the_provider_repeats_is_never_shown(code: int) -> None:
    said = f"Bad key {KEY}, like sk-other-9876543210 or Bearer abcdef123456."
    async with ModelServer(lambda _: Status(code, said)) as server, opened(acme(server)) as backend:
        failed = error(await backend.run(request(), EventLog()))
    shown = f"{failed} {failed!r}"
    assert KEY not in shown
    assert "9876543210" not in shown
    assert "abcdef123456" not in shown


PLUG = ModelPattern(provider="plug", model="m")
PLUG_KEY = "plug-secret-1"


class RaisingModel(TestModel):
    """A plugin's model that raises what it is given, at once or when it is cancelled while it answers."""

    def __init__(self, raises: Exception, answering: anyio.Event | None = None) -> None:
        super().__init__()
        self._raises = raises
        self._answering = answering

    @asynccontextmanager
    async def request_stream(self, *args, **kwargs):
        try:
            if self._answering is not None:
                self._answering.set()
                await anyio.sleep_forever()
        finally:
            raise self._raises
        yield


def plugged(model: TestModel):
    env = {"PLUG_KEY": PLUG_KEY}
    spec = ModelSpec(provider="plug", summary="A plugin's.", open=lambda _: Ok(model), keys=("PLUG_KEY",))
    return interactive_sdk_spec(offering(spec, env=env)).open(InProcessOptions())


@pytest.mark.parametrize(
    ("raised", "says"),
    [
        (RuntimeError(f"401 for key {PLUG_KEY}, or sk-live-0123456789"), "RuntimeError: 401 for key ***, or ***."),
        (KeyError(PLUG_KEY), "KeyError: '***'."),
        (AssertionError(), "AssertionError."),
        (ValueError("one\ntwo"), "ValueError: one."),
        (UserError(f"Key {PLUG_KEY} is for another plan."), "Key *** is for another plan."),
        (ExceptionGroup("g", [ExceptionGroup("h", [OSError(f"no {PLUG_KEY}")])]), "OSError: no ***."),
        (
            ExceptionGroup("g", [OSError(f"no {PLUG_KEY}"), TypeError("and no type")]),
            "ExceptionGroup: OSError: no ***; TypeError: and no type.",
        ),
    ],
    ids=["runtime", "key", "silent", "lines", "user", "group-of-one", "group"],
)
async def test_whatever_a_model_raises_is_a_typed_error_with_its_type_and_without_keys(
    raised: Exception, says: str
) -> None:
    async with plugged(RaisingModel(raised)) as backend:
        failed = error(await backend.run(request(model=PLUG), EventLog()))
    assert failed.code == ErrorCode.BACKEND_FAILED
    assert failed.message == f'Model "plug/m" could not be run: {says}'
    assert PLUG_KEY not in repr(failed)


async def test_what_breaks_while_a_run_is_cancelled_does_not_stop_the_cancellation() -> None:
    answering = anyio.Event()
    returned: list[object] = []

    async def run() -> None:
        returned.append(await backend.run(request(model=PLUG), EventLog()))

    async with plugged(RaisingModel(RuntimeError("broke"), answering)) as backend, anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await answering.wait()
        tasks.cancel_scope.cancel()
    assert returned == []


async def test_what_the_provider_says_is_quoted_on_one_line_and_cut() -> None:
    async with ModelServer(Status(400, "Bad\nfield. " + "xxx " * 1500)) as server, opened(acme(server)) as backend:
        failed = error(await backend.run(request(), EventLog()))
    assert "rejected the request (HTTP 400): Bad field. xxx" in failed.message
    assert "\n" not in failed.message
    assert len(failed.message) < 400


async def test_a_model_that_never_learns_the_arguments_of_a_tool_fails_typed() -> None:
    look = child_tool("look", ToolResult(text="seen", details={}))
    async with ModelServer(lambda _: Say(Call("look", raw='{"ctx":'))) as server, opened(acme(server)) as backend:
        failed = error(await backend.run(request(child_tools=(look,)), EventLog()))
    assert failed.code == ErrorCode.PROVIDER_MALFORMED_RESPONSE
    assert "look" in failed.message
    assert len(server.requests) == 4


async def test_malformed_arguments_are_corrected_by_the_model() -> None:
    look = child_tool("look", ToolResult(text="seen", details={}))
    script = (Say(Call("look", raw='{"ctx":')), Say(Call("look")), Say("ok"))
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(child_tools=(look,)), EventLog())) == "ok"


async def test_what_was_streamed_before_a_reset_was_reported() -> None:
    log = EventLog()
    async with ModelServer(Say("half an ", Drop())) as server, opened(acme(server)) as backend:
        error(await backend.run(request(), log))
    assert [delta.text for delta in log.of(TextDelta)] in ([], ["half an "]), "a reset may overtake what was sent"


def test_trio_is_refused_in_a_sentence() -> None:
    async def main() -> None:
        async with ModelServer() as server, opened(acme(server)) as backend:
            failed = error(await backend.run(request(), EventLog()))
            assert failed.code == ErrorCode.EVENT_LOOP_UNSUPPORTED
            assert "asyncio" in failed.message
            assert server.requests == []

    anyio.run(main, backend="trio")


def test_trio_is_refused_before_a_clock_that_jumps_reaches_the_deadline() -> None:
    async def main() -> OhmError:
        async with Ohm.open(env=HERMETIC | {"OPENAI_API_KEY": KEY}) as ohm:
            return (await ohm.run("finder", "p", model="openai/gpt-x")).err_value

    clock = trio.testing.MockClock(autojump_threshold=0)
    assert anyio.run(main, backend="trio", backend_options={"clock": clock}).code == ErrorCode.EVENT_LOOP_UNSUPPORTED


async def test_calls_with_one_id_are_calls_of_their_own():
    """No provider promises ids that differ, and results are matched to calls by them."""
    heard, log = [], EventLog()
    note = child_tool("note", ToolResult(text="Noted.", details={}), calls=heard)
    calls = [Call("note", {"text": word}, id="same") for word in ("a", "b", "c")]
    async with ModelServer(Say(*calls), Say("done")) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(child_tools=(note,)), log)) == "done"

    ended = [event for event in log.events if isinstance(event, ToolEnded)]
    assert len(heard) == 3
    assert [event.status for event in ended] == ["success"] * 3
    assert len({event.call_id for event in ended}) == 3


@pytest.mark.sample(3)
@pytest.mark.filterwarnings("ignore:Failed to extract usage", "ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("counted", [1.5, 100.0, 1e30, -3, 10**30, float("nan")])
async def test_odd_counts_of_tokens_do_not_cost_an_answer(counted):
    reply = Say("done", tokens=Tokens(prompt=counted, completion=counted, cached=0))
    config = {"providers": {"acme": {"baseUrl": "", "apiKeyEnv": "ACME_KEY", "models": ["m1"]}}}
    async with ModelServer(lambda _: reply) as server:
        config["providers"]["acme"]["baseUrl"] = server.url
        async with Ohm.open(env={**HERMETIC, "ACME_KEY": KEY}, config=config) as ohm:
            envelope = (await ohm.run("oracle", "hi", model="acme/m1")).unwrap()
    assert envelope.output == "done"
    assert 0 <= envelope.usage.input_tokens < 2**53


async def test_half_a_character_does_not_cost_an_answer():
    broken = HALF.replace(b"half", b"a\\ud800b")
    reply = Say(Wire(broken), " done")
    config = {"providers": {"acme": {"baseUrl": "", "apiKeyEnv": "ACME_KEY", "models": ["m1"]}}}
    async with ModelServer(lambda _: reply) as server:
        config["providers"]["acme"]["baseUrl"] = server.url
        async with Ohm.open(env={**HERMETIC, "ACME_KEY": KEY}, config=config) as ohm:
            asked = {"subagent_type": "oracle", "description": "d", "prompt": "p"}
            result = await ohm.call("task", {"op": "start", **asked})
            envelope = (await ohm.run("oracle", "hi", model="acme/m1")).unwrap()
    assert envelope.output.encode().decode() == "a?b done"
    result.render(expanded=True).encode()
