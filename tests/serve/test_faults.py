"""A fault of a server, or before it is one, is told, is logged, and ends nobody else's work."""

import json
from contextlib import asynccontextmanager

import anyio
import pytest
from loops import real_clocks_slow_on_trio

from ohm_subagents import ErrorCode
from ohm_subagents._app.served import frames, place
from ohm_subagents._serve import hosted, server, session
from ohm_subagents.contract.wire import VERSIONS, LeaveCommand
from ohm_subagents.serve import ask_server

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def listening(desk, handle):
    """Something that listens where the server does; gives the first message of each that connects."""
    told = []

    async def handled(stream):
        async with stream:
            told.append(json.loads(await stream.receive()))
            await handle(stream)

    desk.socket.parent.mkdir(mode=0o700)
    async with await anyio.create_unix_listener(desk.socket) as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handled)
        yield told
        group.cancel_scope.cancel()


async def ends(stream):
    """Say nothing."""


async def hangs(stream):
    await anyio.sleep_forever()


async def refuses(stream):
    await stream.send(b'{"version": 1, "kind": "ohm_refused", "reason": "Come later."}\n')


@real_clocks_slow_on_trio
async def test_what_comes_before_an_agreement_is_said_in_the_oldest_version(desk):
    async with listening(desk, ends) as told, desk.program("none"):
        await ask_server(desk.socket)
    assert {(one["kind"], one["version"]) for one in told} == {("open_ohm", VERSIONS[0]), ("ask_status", VERSIONS[0])}


@real_clocks_slow_on_trio
@pytest.mark.parametrize(
    ("handle", "said"),
    [(ends, "it ended the connection."), (hangs, "nothing came within 0.05 seconds."), (refuses, "Come later.")],
)
async def test_a_server_that_does_not_answer_is_not_taken_for_none(desk, monkeypatch, handle, said):
    monkeypatch.setattr(server, "ANSWERS_WITHIN_S", 0.05)
    async with listening(desk, handle):
        for stops in (False, True):
            error = (await ask_server(desk.socket, stops=stops)).unwrap_err()
            assert (error.code, error.message.endswith(f"does not tell its state: {said}")) == (
                ErrorCode.SERVER_UNREACHABLE,
                True,
            )


@real_clocks_slow_on_trio
async def test_a_server_that_stands_still_is_an_error_that_says_how_to_end_it(desk, monkeypatch):
    monkeypatch.setattr(place, "GREETS_WITHIN_S", 0.05)
    async with listening(desk, hangs), desk.program("none") as ohm:
        error = (await ohm.run("finder", "look")).unwrap_err()
    assert f"{error}" == (
        f"The server at '{desk.socket}' gave no answer within 0.05 seconds. "
        f"End its process by a signal; `fuser {desk.socket}` tells which one that is."
    )


class Deaf:
    """A stream whose other end does not read."""

    def __init__(self):
        self.closed = anyio.Event()

    async def send(self, data):
        await anyio.sleep_forever()

    async def aclose(self):
        self.closed.set()


async def test_the_connection_to_one_who_does_not_read_ends_before_too_much_waits_for_it(monkeypatch):
    monkeypatch.setattr(frames, "MOST_WAITING", 1000)
    stream = Deaf()
    async with anyio.create_task_group() as group:
        sent = frames.Frames(stream)
        group.start_soon(sent.write)
        await anyio.wait_all_tasks_blocked()
        for n in range(100):
            sent.send(LeaveCommand(n=n))
            await anyio.lowlevel.checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert stream.closed.is_set()
        group.cancel_scope.cancel()


@real_clocks_slow_on_trio
async def test_a_program_that_does_not_read_loses_its_connection_and_others_go_on(desk, monkeypatch):
    monkeypatch.setattr(frames, "MOST_WAITING", 300_000)
    opening = {"kind": "open_ohm", "versions": [2], "cwd": f"{desk.directory}", "env": desk.env}
    messages = [opening | {"config": {"subagentBackend": "none"}}, {"kind": "observe_tasks", "n": 1}]
    async with desk.server(), desk.program("none") as ohm, await anyio.connect_unix(desk.socket) as deaf:
        await deaf.send(b"".join(json.dumps({"version": 2} | one).encode() + b"\n" for one in messages))
        told = b""
        while b"tasks_observed" not in told:
            told += await deaf.receive()
        assert (await ask_server(desk.socket)).unwrap().clients == 2
        for _ in range(10):
            assert (await ohm.run("finder", "look" * 10_000)).is_ok()
        assert (await ask_server(desk.socket)).unwrap().clients == 1


@real_clocks_slow_on_trio
async def test_a_fault_in_the_connection_of_one_program_ends_no_other(desk, monkeypatch, caplog):
    async with desk.server(), desk.program("none") as ohm:
        assert (await ohm.run("finder", "look")).is_ok()
        with monkeypatch.context() as patched:
            patched.setattr(session.Session, "serve", lambda _self, _messages: 1 / 0)
            async with desk.program("none") as other:
                assert (await other.run("finder", "look")).is_err()
        assert (await ohm.run("finder", "look")).is_ok()
    assert "ZeroDivisionError" in caplog.text


@real_clocks_slow_on_trio
async def test_a_reply_that_cannot_be_told_is_an_error_of_its_command_and_ends_nothing_else(desk, monkeypatch, caplog):
    async with desk.server(), desk.program() as other, desk.program("none") as ohm:
        handle = await other.start("finder", "look")
        monkeypatch.setattr(frames, "LONGEST", 30_000)
        error = (await ohm.run("finder", "look" * 6000)).unwrap_err()
        monkeypatch.undo()
        assert (error.code, "failed to carry out the command" in error.message) == (ErrorCode.SERVER_UNREACHABLE, True)
        await desk.tell("done")
        assert (await handle.wait()).is_ok()
    assert "The command 'start' of a program could not be carried out." in caplog.text


@real_clocks_slow_on_trio
async def test_an_ohm_that_cannot_be_opened_is_told_of_and_logged(desk, monkeypatch, caplog):
    def burns(options):
        raise RuntimeError("The disk burns.")

    monkeypatch.setattr(hosted, "opened_engine", burns)
    async with desk.server(), desk.program("none") as ohm:
        error = (await ohm.run("finder", "look")).unwrap_err()
    assert "could not open an Ohm: RuntimeError: The disk burns. Its log has the traceback." in error.message
    assert "in burns" in caplog.text


@real_clocks_slow_on_trio
async def test_a_fault_while_an_ohm_is_closed_is_logged(desk, monkeypatch, caplog):
    usual = hosted.opened_engine

    @asynccontextmanager
    async def burning(options):
        async with usual(options) as engine:
            yield engine
        raise RuntimeError("The disk burns.")

    monkeypatch.setattr(hosted, "opened_engine", burning)
    async with desk.server(), desk.program("none") as ohm:
        assert (await ohm.run("finder", "look")).is_ok()
    assert "The disk burns." in caplog.text


@real_clocks_slow_on_trio
async def test_the_log_of_a_server_outlives_the_next_start(desk, monkeypatch):
    monkeypatch.setattr(place, "_START", "raise SystemExit('crashed')")
    for _ in range(2):
        with pytest.raises(place.ServerError, match="could not be started"):
            await place.connected_or_started(desk.socket, {})
    log = desk.socket.with_suffix(".log")
    assert log.read_text() == "crashed\ncrashed\n"
    monkeypatch.setattr(place, "LONGEST_LOG", 10)
    with pytest.raises(place.ServerError, match="could not be started"):
        await place.connected_or_started(desk.socket, {})
    assert (log.read_text(), log.with_name("ohm.log.1").read_text()) == ("crashed\n", "crashed\ncrashed\n")


@real_clocks_slow_on_trio
async def test_a_server_that_hangs_before_it_listens_is_ended(desk, monkeypatch):
    monkeypatch.setattr(place, "_START", "import signal; signal.pause()")
    monkeypatch.setattr(place, "STARTS_WITHIN_S", 0.1)
    with pytest.raises(place.ServerError, match=r"did not listen within 0\.1 seconds, and was ended"):
        await place.connected_or_started(desk.socket, {})
