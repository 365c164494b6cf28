"""No server holds up the program: what it sends has sizes, and whatever is more is a typed failure."""

import asyncio
import gc
import gzip
import json
import random
import resource
import time
import zlib
from contextlib import asynccontextmanager

import anyio
import pytest
from model_server import Body, Call, ModelServer, Say, Status, Wire
from subagent_runs import EventLog, acme, answer, child_tool, error, opened, request

from ohm_subagents._plugins.suites.tool import ToolResult
from ohm_subagents.backends.in_process import bounded_stream
from ohm_subagents.backends.in_process.bounded_stream import (
    MAX_ANSWER_CHARS,
    MAX_BODY_BYTES,
    MAX_JOINERS,
    MAX_LINE_BYTES,
    MAX_LINE_CHARS,
    MAX_VALUES,
    RefusedStreamError,
)
from ohm_subagents.contract import ErrorCode, Ok, TextDelta, UsageAdded

pytestmark = pytest.mark.anyio

EVENT = b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m1","choices":[%s]}\n\n'
DELTA = EVENT % b'{"index":0,"delta":{"content":%s},"finish_reason":null}'
LAST = EVENT % b'{"index":0,"delta":{},"finish_reason":"stop"}' + b"data: [DONE]\n\n"
HELD_S = 0.15
"""The longest time for which the event loop may be held, in time of the processor; a busy machine takes thrice as much.

It is 0.03 where nothing else runs; without the bounds it is seconds.
"""


def saying(text: str) -> bytes:
    return DELTA % json.dumps(text).encode()


@asynccontextmanager
async def measured():
    """The longest time that one turn of the event loop has taken of the processor."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            begun = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - begun)

    gc.collect()
    gc.disable()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            yield lambda: longest
            group.cancel_scope.cancel()
    finally:
        gc.enable()


async def refused(reply, what: str, *, kept: str = "") -> EventLog:
    log = EventLog()
    async with ModelServer(Say("warm"), reply) as server, opened(acme(server)) as backend:
        answer(await backend.run(request(), EventLog()))  # what is made once is no matter of the server
        async with measured() as longest:
            found = error(await backend.run(request(), log))
        assert longest() < HELD_S, longest()
    assert (found.code, found.retryable) == (ErrorCode.PROVIDER_MALFORMED_RESPONSE, False)
    assert found.message == f'Model "acme/m1" {what}.'
    assert "".join(delta.text for delta in log.of(TextDelta)) == kept
    assert len(log.of(UsageAdded)) <= 1
    return log


def more_than(most: int, what: str) -> str:
    return f"sent more than {most} {what}, which is not read on"


@pytest.mark.sample(2)
@pytest.mark.parametrize("ending", [b"", b"\r"])
async def test_a_line_that_never_ends_is_not_kept(ending):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    line = Wire(b"data: " + ending), Wire(b"x" * 65536, endless=True)
    await refused(Say("half", *line), more_than(MAX_LINE_BYTES, "bytes in one line"), kept="half")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.slow
async def test_an_endless_answer_without_a_word_is_given_up(monkeypatch):
    monkeypatch.setattr(bounded_stream, "MAX_BYTES", 2**20)
    await refused(
        Say("half", Wire(b": ping\n\n" * 999, endless=True)), more_than(2**20, "bytes in one answer"), kept="half"
    )


BLOWN = [
    (b"\n", (600 * 1024, "bytes in one answer")),
    (b": ping\n", (600 * 1024, "bytes in one answer")),
    (b"x", (600 * 1024, "bytes in one answer")),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "pack",
    [("gzip", gzip.compress), pytest.param(("deflate", zlib.compress), marks=pytest.mark.slow)],
    ids=["gzip", "deflate"],
)
@pytest.mark.parametrize(("blown", "too_many"), BLOWN)
async def test_a_compressed_answer_is_unfolded_a_piece_at_a_time(monkeypatch, pack, blown, too_many):
    monkeypatch.setattr(bounded_stream, "MAX_BYTES", 600 * 1024)
    encoding, compress = pack
    packed = Body(compress(blown * (2**20 // len(blown))), headers=(("Content-Encoding", encoding),))
    await refused(packed, more_than(*too_many))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate), ("", bytes), ("identity", bytes)],
)
async def test_an_honest_answer_is_read_however_it_is_packed(encoding, pack):
    text = "".join(random.Random(7).choices('abc äöü\n"', k=90_000))
    body = pack(saying(text[:30_000]) + saying(text[30_000:]) + LAST)
    headers = (("Content-Encoding", encoding),) if encoding else ()
    async with ModelServer(Body(body, headers=headers)) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(), EventLog())) == text
        assert server.requests[0].headers["accept-encoding"] == "gzip, deflate"


@pytest.mark.sample(4)
@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "x" * 99])
async def test_a_compression_that_nobody_asked_for_is_not_read(encoding):
    body = Body(b"x", headers=(("Content-Encoding", encoding),))
    await refused(body, f"compressed its answer as {encoding[:40]!r}, which nobody has asked for")


async def test_a_packed_answer_that_is_broken_is_a_failure_with_what_there_was():
    body = gzip.compress(saying("half"))[:-8] + b"\xff" * 50
    log = EventLog()
    packed = Body(body, headers=(("Content-Encoding", "gzip"),))
    async with ModelServer(packed) as server, opened(acme(server)) as backend:
        assert error(await backend.run(request(), log)).code == ErrorCode.PROVIDER_MALFORMED_RESPONSE


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [2**18, 2000])
async def test_an_answer_has_a_length_and_what_fits_is_kept(size):
    text = "ab c" * (size // 4)
    reply = Say(*[text] * (MAX_ANSWER_CHARS // size + 1), Wire(b": more\n", endless=True))
    kept = (text * (MAX_ANSWER_CHARS // size + 1))[:MAX_ANSWER_CHARS]
    await refused(reply, more_than(MAX_ANSWER_CHARS, "characters in one turn"), kept=kept)


@pytest.mark.slow
async def test_a_delta_as_long_as_the_wire_allows_holds_the_loop_for_a_moment_only():
    text = "<|a" * (MAX_LINE_CHARS // 3 - 200)
    await refused(Say(text), more_than(MAX_ANSWER_CHARS, "characters in one turn"), kept=text[:MAX_ANSWER_CHARS])
    await refused(Say("half", text * 2), more_than(MAX_LINE_CHARS, "characters in one line"), kept="half")


@pytest.mark.slow
@pytest.mark.parametrize(
    "character", ["\u00e9", *(pytest.param(one, marks=pytest.mark.slow) for one in ("\n", "\u200d", "x"))], ids=ascii
)
async def test_a_long_text_is_read_however_it_is_escaped(character):
    text = character * 300_000 + "x"
    body = DELTA % (b'"' + "".join(f"\\u{ord(one):04x}" for one in text).encode() + b'"') + LAST
    async with ModelServer(Say("warm"), Body(body)) as server, opened(acme(server)) as backend:
        answer(await backend.run(request(), EventLog()))
        async with measured() as longest:
            assert answer(await backend.run(request(), EventLog())) == text
        assert longest() < HELD_S, longest()


async def test_arguments_have_a_length():
    call = Call("look", raw='{"x": "' + "y" * MAX_ANSWER_CHARS + '"}')
    await refused(Say(call), more_than(MAX_ANSWER_CHARS, "characters in one turn"))


async def test_a_line_has_so_many_values():
    many = b'{"index":0,"delta":{"content":"x","extra":[%s]},"finish_reason":null}' % (b"[]," * MAX_VALUES + b"1")
    await refused(Say("half", Wire(EVENT % many)), more_than(MAX_VALUES, "values in one line"), kept="half")


async def test_brackets_in_a_text_are_no_values():
    text = '[{",' * 20_000 + '\\"' * 10_000
    async with ModelServer(Say(text)) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(), EventLog())) == text


@pytest.mark.sample(2)
@pytest.mark.parametrize("joiner", ["\u200d", "\ufeff"])
@pytest.mark.parametrize("is_ascii", [True, False])
async def test_invisible_characters_that_are_looked_at_one_by_one_are_few(joiner, is_ascii):
    raw = json.dumps({"x": f"<{joiner}|{'a' * 60}" * 5000}, ensure_ascii=is_ascii)
    said = json.dumps(raw, ensure_ascii=is_ascii).encode()
    call = b'{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function",'
    call += b'"function":{"name":"look","arguments":%s}}]},"finish_reason":null}' % said
    what = more_than(MAX_JOINERS, "invisible characters behind brackets in one line")
    await refused(Say("half", Wire(EVENT % call)), what, kept="half")


async def test_what_a_refusal_says_is_read_as_far_as_it_is_of_use():
    page = b"<html>" + b"x" * 4 * 2**20
    async with ModelServer(Say("warm"), Status(503, body=page)) as server, opened(acme(server)) as backend:
        answer(await backend.run(request(), EventLog()))
        async with measured() as longest:
            assert error(await backend.run(request(), EventLog())).code == ErrorCode.PROVIDER_UNAVAILABLE
        assert longest() < HELD_S, longest()


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
async def test_a_reply_that_is_no_stream_has_a_size(kind):
    await refused(Body(b'{"a": 1}\n' * 200_000, kind), more_than(MAX_BODY_BYTES, "bytes in one answer"))


async def test_lines_may_end_as_they_like():
    for end in (b"\n", b"\r\n", b"\r"):
        body = (saying("one ") + saying("two" * 3000) + LAST).replace(b"\n", end)
        async with ModelServer(Body(body)) as server, opened(acme(server)) as backend:
            assert answer(await backend.run(request(), EventLog())) == "one " + "two" * 3000


async def test_an_argument_of_a_quarter_of_a_megabyte_reaches_its_tool():
    calls = []
    big = Say(Call("look", {"ctx": "y" * 250_000}))
    tool = child_tool("look", ToolResult(text="done", details={}), calls=calls)
    async with ModelServer(big, Say("ok")) as server, opened(acme(server)) as backend:
        result = await backend.run(request(child_tools=(tool,)), EventLog())
    assert isinstance(result, Ok), result
    assert [len(one["ctx"]) for one in calls] == [250_000]


def unfold(encoding: str, chunks: list[bytes], said: list[bytes]) -> None:
    unfolding = bounded_stream._unfolding(encoding)
    for chunk in chunks:
        said += unfolding.of(chunk)


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, raw_deflate], ids=["gzip", "deflate", "raw deflate"])
@pytest.mark.parametrize("more", [b"x" * 100, gzip.compress(saying("more")), b"\0"], ids=["noise", "member", "a byte"])
async def test_what_follows_the_end_of_a_compressed_answer_is_refused_and_never_collected(pack, more):
    packed, encoding = pack(saying("whole") + LAST), "gzip" if pack is gzip.compress else "deflate"
    for chunks in ([packed + more], [packed, more], [packed[:9], packed[9:], more]):
        said: list[bytes] = []
        with pytest.raises(RefusedStreamError, match="sent more after the end of its compressed answer"):
            unfold(encoding, chunks, said)
        assert b"".join(said) == saying("whole") + LAST


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, raw_deflate], ids=["gzip", "deflate", "raw deflate"])
def test_a_compressed_answer_is_unfolded_to_its_end_wherever_a_piece_is_full(pack):
    encoding = "gzip" if pack is gzip.compress else "deflate"
    for more in range(300):
        answer, said = b"x" * (bounded_stream._PIECE + more), []
        unfold(encoding, [pack(answer)], said)
        assert b"".join(said) == answer


@pytest.mark.slow
async def test_a_run_whose_compressed_answer_has_a_tail_keeps_what_was_said():
    packed = Body(gzip.compress(saying("half")) + b"x" * 2**20, headers=(("Content-Encoding", "gzip"),))
    await refused(packed, "sent more after the end of its compressed answer", kept="half")
