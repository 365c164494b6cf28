"""Tasks of the real `pi`: answers, tools, errors, follow-ups, told alike by every version."""

import json
from contextlib import aclosing

import anyio
import pytest
from advancing_loop import advance
from model_server import Call, Gate, ModelServer, Say, Stall, Status
from pi_desk import say
from real_pi import NEW, NEWEST, OLD

from ohm_subagents import ErrorCode, Limits, Ohm
from ohm_subagents.contract import Err, FollowUpTaken, TextDelta, ToolEnded, ToolStarted

pytestmark = [pytest.mark.anyio, pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]

newest_version = pytest.mark.parametrize("pi", [NEWEST], indirect=True)


async def events_of(handle):
    return [event async for event in handle.events()]


@pytest.mark.parametrize("pi", [OLD, NEW, NEWEST], indirect=True)
async def test_a_tool_call_is_run_told_and_counted(desk):
    asked = Say("Let me look. ", Call("bash", {"command": "echo from the tool"}))
    async with ModelServer(asked, Say("It said ", "so.")) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "what does it say?")
        envelope = (await handle.wait()).ok_value
        events = await events_of(handle)
        task = ohm.task(handle.id)
    assert envelope.output == "It said so."
    assert (envelope.backend, envelope.runtime, envelope.route) == ("interactive-shell", "pi-cli", "interactive-shell")
    assert (envelope.provider, envelope.model) == ("acme", "m1")
    (started,) = (event for event in events if isinstance(event, ToolStarted))
    (ended,) = (event for event in events if isinstance(event, ToolEnded))
    assert (started.tool, ended.status, ended.call_id) == ("bash", "success", started.call_id)
    assert "echo from the tool" in started.args
    assert "from the tool" in ended.text
    assert "".join(event.text for event in events if isinstance(event, TextDelta)).endswith("It said so.")
    assert (task.activity.usage.requests, task.activity.usage.tool_calls) == (2, 1)
    assert task.activity.usage.output_tokens == 40
    assert (
        server.requests[1].tool_results == ["from the tool\n"] or "from the tool" in server.requests[1].tool_results[0]
    )
    assert server.requests[0].headers["authorization"] == "Bearer sk-acme"


async def test_who_the_subagent_is_and_what_is_asked_reach_the_model_untouched(desk):
    prompt = "--help @nobody -x\n$HOME 'quoted' \u2028 日本"
    async with ModelServer(Say("Yes.")) as server, desk.ohm(server) as ohm:
        assert (await ohm.run("task", prompt)).ok_value.output == "Yes."
        (request,) = server.requests
        assert request.prompt == prompt
        assert "You work alone on one task" in request.messages[0]["content"]


@newest_version
async def test_the_tools_of_the_profile_are_the_tools_of_the_child(desk):
    async with ModelServer(Say("Yes.")) as server, desk.ohm(server) as ohm:
        await ohm.run("oracle", "look")
    assert {"bash", "edit", "write"}.isdisjoint(server.requests[0].tool_names)
    assert {"read", "ls"} <= {*server.requests[0].tool_names}


@pytest.mark.parametrize(
    ("pi", "status", "code"),
    [
        (OLD, 400, ErrorCode.PROVIDER_REQUEST_REJECTED),
        (NEWEST, 400, ErrorCode.PROVIDER_REQUEST_REJECTED),
        (NEWEST, 401, ErrorCode.PROVIDER_AUTHENTICATION),
    ],
    indirect=["pi"],
)
async def test_a_model_error_is_the_error_of_the_run(desk, status, code):
    async with ModelServer(lambda _request: Status(status, "the model says no")) as server, desk.ohm(server) as ohm:
        result = await ohm.run("task", "go")
    assert result.err_value.code == code
    assert "acme/m1" in result.err_value.message
    assert len(server.requests) == 1


async def test_an_overloaded_model_is_asked_again(desk):
    async with ModelServer(Status(503), Say("At last.")) as server, desk.ohm(server) as ohm:
        assert (await ohm.run("task", "go")).ok_value.output == "At last."
    assert len(server.requests) == 2


@newest_version
async def test_a_tool_that_fails_is_told_as_failed_and_the_run_goes_on(desk):
    failing = Say(Call("bash", {"command": "exit 3"}))
    async with ModelServer(failing, Say("It failed.")) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go")
        assert (await handle.wait()).ok_value.output == "It failed."
        statuses = [event.status for event in await events_of(handle) if isinstance(event, ToolEnded)]
    assert statuses == ["error"]


async def test_a_run_that_takes_too_long_keeps_what_it_said(desk):
    async with ModelServer(Say("I begin. ", Stall())) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go", limits=Limits(soft_ms=600_000, idle_ms=900_000))
        async with aclosing(handle.events()) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        advance(600)
        error = (await handle.wait()).err_value
        assert error.code == ErrorCode.BACKEND_TIMEOUT
        assert ohm.task(handle.id).text == "I begin. "
        await server.until(lambda server: server.aborts == 1)


async def test_a_follow_up_reaches_a_run_that_goes_on_or_is_the_next(desk):
    fifo = desk.fifo()

    def model(request):
        if request.prompt == "change of plan":
            return Say("Changed.")
        return Say("Done.") if request.tool_results else Say(Call("bash", {"command": f"cat {fifo}"}))

    async with ModelServer(model) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go")
        answers = []

        async def follow_up():
            answers.append((await handle.send("change of plan")).ok_value.output)

        async with anyio.create_task_group() as group:
            taken = anyio.Event()

            async def watch():
                async for event in handle.events():
                    if isinstance(event, ToolStarted):
                        group.start_soon(follow_up)
                        if desk.pi.is_old:
                            taken.set()
                    if isinstance(event, FollowUpTaken):
                        taken.set()

            group.start_soon(watch)
            await taken.wait()
            await say(fifo)
        runs = ohm.task(handle.id).runs
    assert answers == ["Changed."]
    assert [run.follow_ups for run in runs] == ([(), ()] if desk.pi.is_old else [("change of plan",)])


async def test_a_finished_task_is_continued_with_all_that_was_said_and_done(desk):
    replies = (Say("Let me look. ", Call("bash", {"command": "echo one"})), Say("It is one."), Say("Still one."))
    async with ModelServer(*replies) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "what is it?")
        assert (await handle.wait()).ok_value.output == "It is one."
        assert (await handle.send("and now?")).ok_value.output == "Still one."
    last = server.requests[-1]
    assert last.prompt == "and now?"
    roles = [message["role"] for message in last.messages if message["role"] not in {"system", "developer"}]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


@newest_version  # the old one starts a process for each prompt anyway
async def test_a_conversation_outlives_the_process_that_held_it(desk):
    replies = (Say("Let me look. ", Call("bash", {"command": "echo one"})), Say("It is one."), Say("Still one."))
    async with ModelServer(*replies) as server, desk.ohm(server, idleTtlMs=0) as ohm:
        handle = await ohm.start("task", "what is it?")
        assert (await handle.wait()).ok_value.output == "It is one."
        assert (await handle.send("and now?")).ok_value.output == "Still one."
    assert "echo one" in str(server.requests[-1].messages)


@newest_version
async def test_two_at_once_do_not_mix(desk):
    gates = {"left": Gate(), "right": Gate()}

    def model(request):
        word = request.prompt
        return Say(f"{word} ", gates[word], "it is.")

    answers = {}
    async with ModelServer(model) as server, desk.ohm(server) as ohm:

        async def ask(word):
            answers[word] = (await ohm.run("task", word)).ok_value.output

        async with anyio.create_task_group() as group:
            for word in gates:
                group.start_soon(ask, word)
            for gate in gates.values():
                await gate.reached()
            for gate in gates.values():
                gate.open()
    assert answers == {"left": "left it is.", "right": "right it is."}


@newest_version
async def test_a_line_of_a_megabyte_is_read_whole(desk):
    answer = "x" * 1_000_000
    async with ModelServer(Say(answer)) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go")
        await handle.wait()
        assert ohm.task(handle.id).output == answer


@newest_version
async def test_a_tool_that_says_a_megabyte_does_no_harm(desk):
    loud = Say(Call("bash", {"command": "head -c 1000000 /dev/zero | tr '\\0' x"}))
    async with ModelServer(loud, Say("That was loud.")) as server, desk.ohm(server) as ohm:
        assert (await ohm.run("task", "go")).ok_value.output == "That was loud."


@newest_version  # and the old one in the tests of profiles
async def test_the_text_mode_answers_too(desk):
    async with ModelServer(Say("I use\n", "model: x")) as server, desk.ohm(server, mode="text") as ohm:
        envelope = (await ohm.run("oracle", "go")).ok_value
    assert envelope.output == "I use\nmodel: x"
    assert (envelope.runtime, envelope.route, envelope.diagnostics) == ("pi-cli", "interactive-shell", None)


@newest_version
async def test_an_answer_of_the_text_mode_that_begins_like_a_header_says_what_it_lost(desk):
    async with ModelServer(Say("Model: x\n", "is what I use.")) as server, desk.ohm(server, mode="text") as ohm:
        envelope = (await ohm.run("oracle", "go")).ok_value
    assert envelope.output == "is what I use."
    assert envelope.diagnostics == [
        "Read as the provider and model, not as part of the answer: Model: x.",
        "The model 'm1' was asked for, and 'x' answers, as its agent says.",
    ]


async def test_a_model_that_nobody_offers_is_an_error_of_one_sentence(desk):
    async with ModelServer() as server, desk.ohm(server) as ohm:
        result = await ohm.run("task", "go", model="nobody/x")
    assert isinstance(result, Err)
    assert "nobody" in result.err_value.message
    assert server.requests == []


@pytest.mark.parametrize("pi", [OLD], indirect=True)  # it runs on asyncio, as `interactive-sdk` does
async def test_what_has_no_model_here_is_run_by_the_pi_that_has_one(desk):
    async with ModelServer(Say("From pi's own model.")) as server:
        mine = {"baseUrl": server.url, "api": "openai-completions", "apiKey": "sk-mine", "models": [{"id": "m9"}]}
        (desk.agent / "models.json").write_text(json.dumps({"providers": {"mine": mine}}))
        (desk.agent / "settings.json").write_text(json.dumps({"defaultProvider": "mine", "defaultModel": "m9"}))
        backends = {"interactive-shell": {"command": list(desk.pi.command)}}
        config = {"sdkFallbackToCli": True, "subagents": {"backends": backends}}
        env = {name: value for name, value in desk.env.items() if not name.endswith("_API_KEY")}
        async with Ohm.open(cwd=desk.work, env=env, config=config) as ohm:
            envelope = (await ohm.run("finder", "go")).ok_value
    assert (envelope.output, envelope.provider, envelope.model) == ("From pi's own model.", "mine", "m9")
    assert (envelope.backend, envelope.route) == ("interactive-sdk", "interactive-shell")
    (told,) = envelope.diagnostics
    assert told.endswith("so interactive-shell gets the task instead of interactive-sdk.")
