"""Lines of an editor: each message is read, and the rest is answered or dropped."""

import json

import pytest

from ohm_subagents.commands import TooLong

pytestmark = pytest.mark.anyio


class Wire:
    """Keeps what is written; `is_broken` once the editor does not read any more."""

    def __init__(self):
        self.written = []
        self.is_broken = False

    async def write(self, line):
        if self.is_broken:
            raise BrokenPipeError
        self.written.append(json.loads(line))


async def lines(*given):
    for each in given:
        yield each if isinstance(each, TooLong) else json.dumps(each).encode()


def messages_of(wire, *given, lost=lambda: None):
    from ohm_subagents.acp.connection import Messages

    return Messages(wire, lines(*given), lost=lost)


def request(request_id):
    return {"jsonrpc": "2.0", "id": request_id, "method": "session/list", "params": {}}


async def test_a_message_that_is_too_long_is_refused_and_the_next_one_is_read():
    wire = Wire()
    messages = messages_of(wire, TooLong(50_000_000, "big"), request(1))
    assert await messages.receive() == request(1)
    (refusal,) = wire.written
    assert (refusal["id"], refusal["error"]["code"]) == ("big", -32600)
    assert refusal["error"]["message"].startswith("The message has 50000000 bytes; allowed: 4194304 (4 MiB).")


async def test_an_id_is_free_again_once_its_request_is_answered():
    wire = Wire()
    messages = messages_of(wire, *map(request, (1, 1, 1, 2, 1)))
    assert [(await messages.receive())["id"] for _ in range(2)] == [1, 2]
    assert [each["id"] for each in wire.written] == [1, 1]
    await messages.send({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert await messages.receive() == request(1)


@pytest.mark.parametrize("given", [[], 1, "x", {}, {"jsonrpc": "2.0"}, {"method": 5}])
async def test_what_is_no_message_is_refused(given):
    wire = Wire()
    assert await messages_of(wire, given).receive() is None
    assert [(each["id"], each["error"]["code"]) for each in wire.written] == [(None, -32600)]


async def test_a_client_that_does_not_read_any_more_is_lost():
    wire, lost = Wire(), []
    wire.is_broken = True
    await messages_of(wire, lost=lambda: lost.append(True)).send(request(1))
    assert lost == [True]
