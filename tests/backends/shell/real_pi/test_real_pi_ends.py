"""Nothing of a real `pi` is left: not after a cancel, not when it is frozen, not when we are killed."""

import json
import os
import signal
import sys
from contextlib import aclosing
from pathlib import Path

import anyio
import pytest
from model_server import Call, ModelServer, Say, Stall
from pi_desk import gone, said
from real_pi import NEWEST

from ohm_subagents import ErrorCode, Ohm

pytestmark = [pytest.mark.anyio, pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]

newest_version = pytest.mark.parametrize("pi", [NEWEST], indirect=True)
HOST = Path(__file__).with_name("real_pi_host.py")


def telling(fifo, command):
    """A bash call that writes its own pid to the place, then becomes the command."""
    return Say(Call("bash", {"command": f"echo $$ > {fifo}; exec {command}"}))


async def cancelled(handle):
    assert await handle.cancel()
    assert (await handle.wait()).err_value.code == ErrorCode.TASK_ABORTED


async def test_a_cancel_is_answered_at_once_and_the_model_is_hung_up_on(desk):
    async with ModelServer(Say("I begin. ", Stall())) as server:
        async with desk.ohm(server, graceMs=600_000) as ohm:
            handle = await ohm.start("task", "go")
            async with aclosing(handle.events()) as events:
                async for event in events:
                    if event.kind == "text_delta":
                        break
            (agent,) = desk.agents()
            agent.send_signal(signal.SIGSTOP)
            try:
                await cancelled(handle)
                assert agent.is_running(), "nobody waited for it"
            finally:
                agent.send_signal(signal.SIGCONT)
            assert ohm.task(handle.id).text == "I begin. "
        await server.until(lambda server: server.aborts == 1)
    assert desk.processes() == []


async def test_a_tool_that_sleeps_ends_with_its_task(desk):
    fifo = desk.fifo()
    async with ModelServer(telling(fifo, "sleep 1000")) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go")
        tool = await said(fifo)
        await cancelled(handle)
        assert await gone(tool)
    assert desk.processes() == []


async def test_a_frozen_pi_is_killed_with_all_that_it_has_started(desk):
    fifo = desk.fifo()
    async with ModelServer(telling(fifo, "sleep 1001")) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go")
        tool = await said(fifo)
        (agent,) = desk.agents()
        agent.send_signal(signal.SIGSTOP)
        await cancelled(handle)
        assert await gone(agent.pid)
        assert await gone(tool)
    assert desk.processes() == []


@newest_version
async def test_a_daemon_is_found_too(desk):
    fifo = desk.fifo()
    command = f"setsid -f sh -c 'echo $$ > {fifo}; exec sleep 1002' >/dev/null 2>&1; sleep 1002"
    async with ModelServer(Say(Call("bash", {"command": command}))) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go")
        daemon = await said(fifo)
        await cancelled(handle)
        assert await gone(daemon)
    assert desk.processes() == []


async def test_a_job_in_the_background_ends_with_the_run_that_began_it(desk):
    job = Say(Call("bash", {"command": "sleep 1003 >/dev/null 2>&1 & echo $!"}))
    async with ModelServer(job, Say("Done.")) as server, desk.ohm(server) as ohm:
        assert (await ohm.run("task", "go")).ok_value.output == "Done."
        assert await gone(server.requests[1].tool_results[0].strip())


async def test_a_process_is_kept_warm_for_a_follow_up_where_it_can_be(desk):
    parent = Say(Call("bash", {"command": "echo $PPID"}))
    async with ModelServer(parent, Say("One."), parent, Say("Two.")) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go")
        await handle.wait()
        assert (await handle.send("again")).ok_value.output == "Two."
        first, second = (server.requests[n].tool_results[-1].strip() for n in (1, 3))
        assert (first == second) is not desk.pi.is_old
        assert len(desk.agents()) == (0 if desk.pi.is_old else 1)
    assert desk.processes() == []


@newest_version
async def test_a_follow_up_to_a_warm_process_that_was_killed_is_served_by_another(desk):
    async with ModelServer(Say("One."), Say("Two.")) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "first")
        await handle.wait()
        (agent,) = desk.agents()
        agent.kill()
        assert (await handle.send("again")).ok_value.output == "Two."
        assert "first" in str(server.requests[1].messages)


@newest_version
async def test_a_process_behind_a_wrapper_is_kept_warm_and_its_leftovers_are_not(desk):
    script = desk.work / "wrapped"
    program, *arguments = desk.pi.command
    script.write_text(f'#!/bin/sh\n{program} {" ".join(arguments)} "$@"\nexit $?\n')
    script.chmod(0o755)
    job = Say(Call("bash", {"command": "sleep 1005 >/dev/null 2>&1 & echo $! $PPID"}))
    replies = (job, Say("One."), job, Say("Two."))
    async with ModelServer(*replies) as server, desk.ohm(server, command=[str(script)]) as ohm:
        handle = await ohm.start("task", "go")
        await handle.wait()
        assert (await handle.send("again")).ok_value.output == "Two."
        (one, first), (two, second) = (server.requests[n].tool_results[-1].split() for n in (1, 3))
        assert first == second
        assert await gone(one)
        assert await gone(two)


@newest_version
async def test_a_login_that_was_changed_is_used_from_the_next_run_on(desk):
    models = desk.agent / "models.json"

    def login(key, server):
        provider = {"baseUrl": server.url, "api": "openai-completions", "apiKey": key, "models": [{"id": "m1"}]}
        models.write_text(json.dumps({"providers": {"own": provider}}))

    async with ModelServer(Say("One."), Say("Two.")) as server:
        config = desk.config(server)
        config["subagents"]["model"] = "own/m1"
        login("sk-old-key", server)
        async with Ohm.open(cwd=desk.work, env=desk.env, config=config) as ohm:
            handle = await ohm.start("task", "go")
            await handle.wait()
            login("sk-the-new-key", server)
            await handle.send("again")
        keys = [request.headers["authorization"] for request in server.requests]
    assert keys == ["Bearer sk-old-key", "Bearer sk-the-new-key"]


@newest_version
async def test_a_warm_process_is_let_go_when_nobody_needs_it(desk):
    parent = Say(Call("bash", {"command": "echo $PPID"}))
    async with ModelServer(parent, Say("One.")) as server, desk.ohm(server, idleTtlMs=100) as ohm:
        handle = await ohm.start("task", "go")
        assert (await handle.wait()).ok_value.output == "One."
        assert await gone(server.requests[1].tool_results[0].strip())


async def test_a_killed_host_leaves_nothing(desk):
    fifo = desk.fifo()
    async with ModelServer(telling(fifo, "sleep 1004")) as server:
        async with await anyio.open_process(
            [sys.executable, HOST, str(desk.work)], env={**os.environ, **desk.env}, stdout=None, stderr=None
        ) as host:
            try:
                await host.stdin.send(json.dumps(desk.config(server)).encode())
                await host.stdin.aclose()
                tool = await said(fifo)
                (agent,) = desk.agents()
            finally:
                host.kill()
        assert await gone(agent.pid)
        assert await gone(tool)
    assert desk.processes() == []


async def test_what_the_run_needed_on_disk_is_gone_with_it(desk, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(desk.temporary))
    where = Say(Call("bash", {"command": "echo $PI_CODING_AGENT_DIR"}))
    async with ModelServer(where, Say("Done."), Say("More.")) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go")
        await handle.wait()
        await handle.send("more")
    place = server.requests[1].tool_results[0].strip()
    assert place.startswith("/")
    assert not is_there(place)
    assert list(desk.temporary.iterdir()) == []
    assert list(desk.work.iterdir()) == []


def is_there(place):
    return Path(place).exists()
