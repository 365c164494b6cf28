"""Tasks that a server owns: they outlive the program that started them, and nothing else is different."""

import json
import os
import re

import anyio
import pytest
from anyio import to_thread
from forking import forked
from loops import real_clocks, real_clocks_slow_on_trio
from mcp_servers import entry

from ohm_subagents import ErrorCode
from ohm_subagents._app.served import frames
from ohm_subagents.config import McpServer
from ohm_subagents.contract import Profile, RunStarted, TaskSettled, TextDelta, ToolPolicy
from ohm_subagents.plugin import call_child_tool
from ohm_subagents.serve import ask_server, serve, socket_of

pytestmark = pytest.mark.anyio
CLIENT = f"{__file__.rpartition('/')[0]}/../support/serving_client.py"


@real_clocks
async def test_a_task_outlives_the_program_that_started_it(desk):
    async with desk.server():
        async with desk.program() as ohm:
            task_id = (await ohm.start("finder", "first")).id
        async with desk.program() as another:
            handle = another.handle(task_id)
            await desk.tell("hello")
            envelope = (await handle.wait()).unwrap()
            assert envelope.output == "hello to first"
            assert another.task(task_id).text == "working hello"


@real_clocks_slow_on_trio
async def test_a_run_is_answered_with_the_same_envelope_as_without_a_server(desk):
    async with desk.server(), desk.program("none") as ohm, desk.program("none", server=None) as own:
        served = (await ohm.run("finder", "look")).unwrap()
        usual = (await own.run("finder", "look")).unwrap()
    changing = {"task_id", "session_id", "duration_ms"}
    assert served.model_dump(exclude=changing) == usual.model_dump(exclude=changing)


@real_clocks_slow_on_trio
async def test_events_come_as_they_happen_and_the_last_one_is_the_end(desk):
    async with desk.server(), desk.program() as ohm:
        handle = await ohm.start("finder", "look")
        told = []
        async for event in handle.events():
            told.append(event)
            if event == TextDelta(text="working"):
                await desk.tell("done")
    assert TextDelta(text=" done") in told
    assert isinstance(told[-1], TaskSettled)


@real_clocks
async def test_an_observer_of_a_run_sees_each_event_with_the_task_after_it(desk):
    seen = []

    class Observer:
        def notify(self, task, event):
            seen.append((type(event), task.status, task.text))

    async with desk.server(), desk.program() as ohm, anyio.create_task_group() as group:
        group.start_soon(desk.tell, "yes")
        await ohm.run("finder", "look", observer=Observer())
    assert (RunStarted, "running", "") in seen
    assert (TextDelta, "running", "working") in seen
    assert (TextDelta, "running", "working yes") in seen
    assert seen[-1][:2] == (TaskSettled, "succeeded")


@real_clocks_slow_on_trio
async def test_a_follow_up_and_a_cancellation_reach_the_task(desk):
    async with desk.server(), desk.program() as ohm:
        handle = await ohm.start("finder", "first")
        answers = []
        async with anyio.create_task_group() as group:

            async def follow_up():
                answers.append(await handle.send("second"))

            group.start_soon(follow_up)
            await anyio.wait_all_tasks_blocked()
            await handle.wait(timeout_ms=0)  # the server takes commands in their order
            await desk.tell("one")
            await desk.tell("two")
        assert answers[0].unwrap().output == "two to second"
        other = await ohm.start("finder", "never")
        assert await other.cancel() is True
        assert await other.cancel() is False
        assert (await other.wait()).err_value.code == ErrorCode.TASK_ABORTED


@real_clocks_slow_on_trio
async def test_to_cancel_the_caller_of_a_run_cancels_it_in_the_server(desk):
    async with desk.server(), desk.program() as ohm, anyio.create_task_group() as group:
        caller = anyio.CancelScope()

        async def call():
            with caller:
                await ohm.run("finder", "never")

        events = ohm.events()
        group.start_soon(call)
        async for each in events:
            if each.event == TextDelta(text="working"):
                caller.cancel()
            if isinstance(each.event, TaskSettled):
                break
        await events.aclose()
        assert each.event.outcome.kind == "cancelled"


@real_clocks_slow_on_trio
async def test_tools_calls_and_deliveries_work(desk):
    start = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
    frames = []
    async with desk.server(), desk.program("none") as ohm:
        deliveries = ohm.deliveries("inbox")
        assert ohm.store.outbox.look_s is None  # the server wakes this program: nothing looks into the store meanwhile
        result = await ohm.call("task", start, on_update=frames.append)
        call = await ohm.begin("task", start)
        told = await call.wait()
        [second] = call.task_ids
        assert f"see output ({second})" in told.text
        assert isinstance([one async for one in call.events()][-1].event, TaskSettled)
        delivered = [(await anext(deliveries)).task.id for _ in range(2)]
    assert result.details["status"] == "succeeded"
    assert frames
    assert delivered == [result.details["task_id"], second]


@real_clocks_slow_on_trio
async def test_what_cannot_travel_is_refused_in_one_sentence(desk, monkeypatch):
    async with desk.server(), desk.program("none") as ohm:
        monkeypatch.setattr(frames, "LONGEST", 100_000)
        error = (await ohm.run("finder", "look" * 30_000)).err_value
        assert (error.code, "longer than the 100000" in error.message) == (ErrorCode.NOT_SERVED, True)
        assert (await ohm.run("finder", "look")).is_ok()
    with pytest.raises(TypeError, match=r"store cannot be given to the server of an Ohm\. Set subagents\.store, or "):
        async with desk.program(store=object()):
            pass
    for store in ("memory", "snapshot"):
        env = desk.env | {"OHM_SUBAGENTS_STORE": store, "OHM_SUBAGENTS_LOAD_PLUGINS": "waiting,snapshot"}
        async with desk.server(), desk.program(env=env) as ohm:
            error = (await ohm.run("finder", "look")).err_value
        assert (error.code, error.advice.partition(",")[0]) == (
            ErrorCode.SERVER_UNREACHABLE,
            "Set subagents.store to 'sqlite'",
        )
        assert "needs a store that other processes read" in error.message


@real_clocks_slow_on_trio
@pytest.mark.parametrize("bad", ["half \ud83d", "a\0b", " ", None])
async def test_a_prompt_that_is_no_text_is_refused_as_without_a_server(desk, bad):
    tasks = [{"subagent_type": "finder", "description": "d", "prompt": each} for each in ("look", bad or "")]
    async with desk.server(), desk.program("none") as ohm, desk.program("none", server=None) as own:
        served, usual = [
            (
                (await each.run("finder", bad)).unwrap_err(),
                (await (await each.start("finder", "look")).send(bad)).unwrap_err().message,
                re.sub(r"task_\w+|\d+ms", "…", (await each.call("task", {"op": "start", "tasks": tasks})).text),
            )
            for each in (ohm, own)
        ]
    assert served == usual
    assert served[0].message.startswith("The prompt ")


@real_clocks_slow_on_trio
async def test_checks_of_a_task_of_a_server_run_there(desk):
    async def writing(request, _sink):
        (request.cwd / "out.md").write_text("done\n")
        return "done"

    checks = {"checks": ["file: out.md", "run: grep -q done out.md"], "require": True}
    async with desk.server(), desk.acting(writing, env=desk.env | {"PATH": os.environ["PATH"]}) as ohm:
        assert (await ohm.run("finder", "write", accept=checks)).unwrap().verified == "passed"
        checks["checks"].append("file: absent")
        assert (await ohm.run("finder", "write", accept=checks)).unwrap_err().code == ErrorCode.CHECKS_FAILED


@real_clocks_slow_on_trio
async def test_a_configuration_that_cannot_be_read_is_told_and_not_taken_for_another_store(desk):
    missing = desk.directory / "nofile.json"
    async with desk.server(), desk.program(config=missing) as ohm:
        error = (await ohm.run("finder", "look")).err_value
    assert f"{missing}" in f"{error}"
    assert "store" not in f"{error}"


@pytest.mark.slow
@real_clocks_slow_on_trio
async def test_a_program_gives_its_profiles_and_mcp_servers_to_its_server(desk):
    profile = Profile(id="adder", name="Adder", summary="", prompt="", tools=ToolPolicy(allowed=("mcp__calc__add",)))
    private = McpServer(**entry("calc", os.devnull, env={"TOKEN": "a secret"}))
    env = desk.env | {"OHM_SUBAGENTS_LOAD_PLUGINS": "waiting,mcp"}

    async def adds(request, sink):
        [tool] = request.child_tools
        return (await call_child_tool(tool, {"a": 1, "b": 2}, call_id="1", sink=sink)).text

    async with (
        desk.server(),
        desk.acting(adds, env=env, profiles=[profile], mcp_servers={"calc": private}) as ohm,
        desk.acting(adds, env=env) as another,
    ):
        assert (await ohm.run("adder", "p")).unwrap().output == "3"
        for unknown in (ohm.run("finder", "p"), another.run("adder", "p")):
            assert (await unknown).err_value.code == ErrorCode.UNKNOWN_SUBAGENT_TYPE


def test_a_server_of_a_program_travels_with_its_private_texts():
    written = McpServer(url="https://calc.example", headers={"Authorization": "Bearer key"}).as_written()
    assert McpServer.model_validate(written).headers == {"Authorization": "Bearer key"}


@real_clocks_slow_on_trio
async def test_a_profile_that_cannot_travel_is_the_answer_of_each_command(desk):
    async with desk.server(), desk.program(profiles=[Profile(id="p", name="", summary="", prompt=3)]) as ohm:
        error = (await ohm.run("finder", "look")).err_value
    assert (error.code, "prompt is 3" in error.message) == (ErrorCode.NOT_SERVED, True)


@real_clocks_slow_on_trio
async def test_without_a_server_each_command_says_so_and_a_new_one_is_found(desk):
    async with desk.program("none") as ohm:
        error = (await ohm.run("finder", "look")).err_value
        assert (error.code, error.retryable) == (ErrorCode.SERVER_UNREACHABLE, True)
        async with desk.server():
            assert (await ohm.run("finder", "look")).is_ok()
        assert (await ohm.run("finder", "look")).err_value.code == ErrorCode.SERVER_UNREACHABLE
        async with desk.server():
            assert (await ohm.run("finder", "look")).is_ok()


@real_clocks
async def test_a_server_that_ends_at_work_leaves_its_clients_one_clear_error(desk):
    async with desk.program() as ohm, anyio.create_task_group() as group, desk.server():
        await ohm.run("nobody", "connects")
        handle = await ohm.start("finder", "look")

        async def waits():
            error = (await handle.wait()).err_value
            assert error.code == ErrorCode.SERVER_UNREACHABLE
            assert "lost" in error.message
            assert (error.task_id, handle.id in error.advice) == (handle.id, True)

        group.start_soon(waits)
        await anyio.wait_all_tasks_blocked()
    async with desk.program(server=None) as later:
        assert later.task(handle.id).status == "cancelled"


@real_clocks_slow_on_trio
async def test_a_call_that_meets_a_server_which_is_about_to_end_is_made_of_the_next_one(desk):
    desk.socket.parent.mkdir(mode=0o700)
    envelopes = []

    async def calls(ohm):
        envelopes.append(await ohm.run("finder", "look"))

    async with (
        desk.program("none") as ohm,
        await anyio.create_unix_listener(desk.socket) as dying,
        anyio.create_task_group() as group,
    ):
        group.start_soon(calls, ohm)
        met = await dying.accept()
        desk.socket.unlink()
        async with desk.server():
            await met.aclose()
            while not envelopes:
                await anyio.wait_all_tasks_blocked()
    assert envelopes[0].is_ok()


@real_clocks_slow_on_trio
async def test_it_ends_when_no_program_is_connected_and_no_task_runs(desk):
    async with desk.server(idle_s=0.05) as ended:
        async with desk.program() as ohm:
            await ohm.start("finder", "look")
            await anyio.sleep(0.1)
            status = (await ask_server(desk.socket)).unwrap()
            assert (status.clients, status.tasks) == (1, 1)
        await anyio.sleep(0.1)
        assert not ended.is_set()
        await desk.tell("done")
        with anyio.fail_after(5):
            await ended.wait()
    assert not desk.socket.exists()


@real_clocks_slow_on_trio
async def test_there_is_one_server_and_it_stops_when_it_is_told(desk):
    async with desk.server() as ended:
        wrong = await serve(desk.socket, idle_s=1, listening=lambda: None, stop=anyio.Event())
        assert wrong.startswith("A server listens at")
        assert desk.socket.stat().st_mode & 0o777 == 0o600
        assert (await ask_server(desk.socket, stops=True)).unwrap().tasks == 0
        with anyio.fail_after(5):
            await ended.wait()
    assert (await ask_server(desk.socket)).unwrap() is None


@real_clocks_slow_on_trio
async def test_a_socket_in_a_directory_of_others_is_not_used(desk):
    desk.socket.parent.mkdir(mode=0o777)
    desk.socket.parent.chmod(0o777)
    assert "is open to other users" in await serve(desk.socket, idle_s=1, listening=lambda: None, stop=anyio.Event())


@real_clocks_slow_on_trio
@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"hello\n", "A line is no JSON"),
        (b'{"version": 99, "kind": "open_ohm"}\n', "The server cannot read the program. The message has version 99"),
        (
            b'{"version": 2, "kind": "open_ohm", "versions": [99], "cwd": "/"}\n',
            "version 99, the server versions",
        ),
        (b'{"version": 2, "kind": "leave_command", "n": 1}\n', "The first message has to say which Ohm is wanted."),
    ],
)
async def test_a_program_that_speaks_another_language_is_told_why_it_is_sent_away(desk, line, said):
    async with desk.server(), await anyio.connect_unix(desk.socket) as stream:
        await stream.send(line)
        told = b""
        try:
            while True:
                told += await stream.receive()
        except anyio.EndOfStream:
            pass
    refused = json.loads(told)
    assert (refused["kind"], said in refused["reason"]) == ("ohm_refused", True)


@real_clocks_slow_on_trio
async def test_a_task_of_a_killed_program_goes_on_and_its_delivery_waits(desk):
    async with desk.server(), desk.program() as ohm:
        deliveries = ohm.deliveries("inbox")
        with forked(CLIENT, desk.directory, desk.socket) as process:
            task_id = (await to_thread.run_sync(process.stdout.readline)).strip()
            process.kill()
        await desk.tell("hello")
        assert (await anext(deliveries)).task.id == task_id
        assert (await ohm.handle(task_id).wait()).unwrap().output == "hello to first"


@real_clocks_slow_on_trio
async def test_each_line_of_the_log_of_a_server_names_the_task_that_it_is_about(desk):
    env = desk.env | {"XDG_RUNTIME_DIR": str(desk.directory), "PATH": os.environ["PATH"]}
    try:
        async with desk.program("none", server="auto", env=env) as ohm:
            task_id = (await ohm.run("finder", "look", allow=("nope",))).unwrap().task_id
    finally:
        await ask_server(socket_of(env), stops=True)
    (line,) = socket_of(env).with_suffix(".log").read_text().splitlines()
    assert f" WARNING diagnostic.raised task_id={task_id} session_id=" in line
    assert line.endswith(
        """ diagnostic="`allow` of the call names 'nope', which 'finder' does not have: it adds no tool.\""""
    )


@real_clocks_slow_on_trio
async def test_a_program_starts_the_server_of_its_user_which_outlives_it(desk):
    env = desk.env | {"XDG_RUNTIME_DIR": str(desk.directory), "PATH": os.environ["PATH"]}
    try:
        async with desk.program("none", server="auto", env=env) as ohm:
            handle = await ohm.start("finder", "look")
        async with desk.program("none", server="auto", env=env) as later:
            assert (await later.handle(handle.id).wait()).is_ok()
        status = (await ask_server(socket_of(env))).unwrap()
        assert status.pid != os.getpid()
        log = socket_of(env).with_suffix(".log")
        assert log.stat().st_mode & 0o777 == 0o600
    finally:
        stopped = (await ask_server(socket_of(env), stops=True)).unwrap()
    assert stopped.pid == status.pid
    assert not log.exists(), "it said nothing"
    assert (await ask_server(socket_of(env))).unwrap() is None
