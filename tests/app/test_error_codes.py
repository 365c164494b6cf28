"""Every code that the library has is what some caller gets, with the category that it declares."""

import os
import sys
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time

import anyio
import pytest
from acting import ActingBackend
from another_process import another_process
from model_server import Body, Drop, ModelServer, Reply, Say, Stall, Status, Wire
from remote_backends import Mortal, Remotely
from store_tasks import Clock, Hand, opened
from surface import item, mounted

from ohm_subagents import Approve, ErrorCode, Limits, Ohm, OhmError
from ohm_subagents._orchestrator import elsewhere
from ohm_subagents.contract import AnswerAwaited, Profile, Request, Start, ToolEnded, ToolStarted
from ohm_subagents.plugin import Capability, PluginInvalidError, Tool, ToolCall, ToolPolicy, ToolSuiteSpec, hookimpl
from ohm_subagents.serve import serve
from ohm_subagents.shell.process import Launch, Supervisor
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step, quick_ohm
from ohm_subagents.workspaces import GitWorkspaces

PROFILE = Profile(id="finder", name="Finder", summary="Finds.", prompt="Find.")
START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}


# What a caller gets: the code and the category, of a tool result or of a `Result`


async def called(tool, payload, *before, config=None, abort=None, **opened):
    """The last of several calls."""
    backend = ScriptedBackend(default=Step(text="done"))
    config = {"subagentBackend": "scripted", **(config or {})}
    async with Ohm.open(env=HERMETIC, plugins=[backend], config=config, **opened) as ohm:
        for earlier in before:
            await ohm.call("task", earlier)
        details = (await ohm.call(tool, payload, abort=abort)).details
    several = details.get("items", [])
    return next((one for one in [details, *several] if "error_code" in one), {})


def given_to_no_model() -> None:
    pass


async def ran(*, profile="finder", env=None, limits=None, model=None, step=None, tools=(), **opened):
    backend = ScriptedBackend(step or Step(text="done"))
    async with Ohm.open(env=HERMETIC | (env or {}), plugins=[backend], **opened) as ohm:
        return (await ohm.run(profile, "p", limits=limits, model=model, tools=tools)).err_value


async def asked_for(**options):
    """A run of a call with such options."""
    backend = ScriptedBackend(default=Step(text="done"))
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": backend.id}, plugins=[backend]) as ohm:
        return (await ohm.run("finder", "p", **options)).err_value


async def unchecked():
    """A required check of what works on another machine: nothing runs."""
    backend = ActingBackend(never, capabilities=frozenset({Capability.ATTACHES}))
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": backend.id}, plugins=[backend]) as ohm:
        error = (await ohm.run("finder", "p", accept={"checks": ["file: a"], "require": True})).err_value
    assert not backend.requests
    return error


async def never(_request, _sink):
    return "done"


async def served(**options):
    async with Ohm.open(env=HERMETIC, server="/dev/null/no.sock") as ohm:
        return (await ohm.run("finder", "p", **options)).err_value


async def served_here(**options):
    """A run that a server in this process is asked for."""
    listening, stop = anyio.Event(), anyio.Event()
    with TemporaryDirectory() as place:
        socket, env = (
            Path(place) / "own" / "ohm.sock",
            HERMETIC | {"PI_CONFIG_DIR": place, "OHM_SUBAGENTS_STORE": "sqlite"},
        )
        async with anyio.create_task_group() as group:
            group.start_soon(partial(serve, socket, idle_s=60, listening=listening.set, stop=stop))
            await listening.wait()
            async with Ohm.open(env=env, cwd=place, server=socket) as ohm:
                error = (await ohm.run("finder", "p", **options)).err_value
            stop.set()
    return error


async def scripted(step=None, **config):
    return await ran(step=step, config={"subagentBackend": "scripted", **config})


async def modelled(reply: Reply, **options):
    """A run on a model whose provider gives this reply to everything."""
    async with ModelServer(lambda _: reply) as server:
        return await on_model(server.url, **options)


async def served_another():
    """A strict run on a provider that answers with another model than the one asked for."""
    async with ModelServer(lambda _: Say("Done.", model="m2")) as server:
        config = {
            "providers": {"acme": {"baseUrl": server.url}},
            "subagents": {"model": "acme/m1", "strictModel": True},
        }
        return await ran(config=config)


async def on_model(url, **options):
    config = {
        "providers": {"acme": {"baseUrl": url}},
        "subagents": {
            "model": "acme/m1",
            "requestRetries": 0,
            "backends": {"interactive-sdk": options},
        },
    }
    return await ran(config=config)


async def unreachable():
    async with ModelServer() as server:
        url = server.url
    return await on_model(url)


async def misdeclared():
    class Typo:
        @hookimpl
        def ohm_backend(self):
            return []

    with pytest.raises(PluginInvalidError) as raised:
        async with Ohm.open(env=HERMETIC, plugins=[Typo()]):
            pass
    return raised.value.error


async def without_runner():
    """A run at a runner that is gone when it begins."""

    def gone(transport):
        wire = Mortal(transport)
        wire.killed.set()
        return wire

    plugin = Remotely(ActingBackend(lambda _request, _sink: anyio.sleep_forever()), gone)
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "acting"}, plugins=[plugin]) as ohm:
        return (await ohm.run("finder", "p")).err_value


async def without_git():
    """Its files are to travel, and there is no git that could pack them."""
    plugin = Remotely(ScriptedBackend(Step(text="done")), clones=GitWorkspaces(Path("/dev/null"), {"PATH": ""}))
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "scripted"}, plugins=[plugin]) as ohm:
        return (await ohm.run("finder", "p")).err_value


async def escaped():
    """It works in a clone, and a call of it names the directory of its parent, which has changed."""
    with TemporaryDirectory() as folder:

        async def act(_request, sink):
            sink.emit(ToolStarted(call_id="1", tool="bash", args=f"touch {folder}/parent/new"))
            await anyio.Path(folder, "parent", "new").touch()
            return "done"

        await anyio.Path(folder, "parent").mkdir()
        env = HERMETIC | {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{folder}/cache"}
        config, plugins = {"subagentBackend": "acting"}, [ActingBackend(act)]
        async with Ohm.open(cwd=Path(folder, "parent"), env=env, config=config, plugins=plugins) as ohm:
            return (await ohm.run("finder", "p", isolation="clone")).err_value


async def unlandable(*, by_user):
    """A task has changed in a clone what its user has changed too, or nothing."""
    with TemporaryDirectory() as folder:
        parent = Path(folder, "parent")

        async def act(request, _sink):
            if by_user:
                await anyio.Path(request.cwd, "a").write_text("by the task")
                await anyio.Path(parent, "a").write_text("by the user")
            return "done"

        await anyio.Path(parent).mkdir()
        env = HERMETIC | {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{folder}/cache"}
        config, plugins = {"subagentBackend": "acting"}, [ActingBackend(act)]
        async with Ohm.open(cwd=parent, env=env, config=config, plugins=plugins) as ohm:
            envelope = (await ohm.run("finder", "p", isolation="clone")).unwrap()
            return (await ohm.land(envelope.task_id)).err_value


async def raising_tool(**arguments):
    async def execute(call):
        raise LookupError("no luck")

    tool = Tool(
        name="dice",
        label="",
        description="",
        input_schema={"properties": {"sides": {"type": "integer"}}},
        execute=execute,
        call_view=lambda arguments, _theme: str(arguments),
    )

    class Dice:
        @hookimpl
        def ohm_tool_suites(self):
            return [ToolSuiteSpec(name="dice", summary="", build=lambda _context: (tool,))]

    async with Ohm.open(env=HERMETIC, plugins=[Dice()], suites=["dice"]) as ohm:
        return (await ohm.call("dice", arguments)).details


async def repeated_id():
    return await called("task", START, START, new_task_id=lambda: "task_1")


async def outwaited(**how):
    async with quick_ohm(Step(gate=anyio.Event())) as ohm:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        abort = anyio.Event()
        if "timeout_ms" not in how:
            abort.set()
        details = (await ohm.call("task", {"op": "wait", "id": handle.id, **how}, abort=abort)).details
        await handle.cancel()
        return details


async def stopped():
    async with quick_ohm(Step(gate=anyio.Event())) as ohm:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        await handle.cancel()
        return (await handle.wait()).err_value


async def without_sdk():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pydantic_ai.providers.anthropic", None)
        return await ran(model="anthropic/claude-x", env={"ANTHROPIC_API_KEY": "k"})


def profile(**changes):
    return [replace(PROFILE, **changes)]


def limited(error_code):
    return Status(400, "maximum context length is 10 tokens", error_code=error_code)


async def looping():
    calls = [{"call_id": f"{n}", "tool": "read"} for n in range(9)]
    events = tuple(each for one in calls for each in (ToolStarted(**one), ToolEnded(**one, status="success", text="")))
    return await scripted(Step(events=events, gate=anyio.Event()))


async def acted(finalize):
    """A run whose answer has to be handed in by a tool that it is given."""

    async def act(request, sink):
        called = finalize(next(tool for tool in request.child_tools if tool.name == "subagent_finalize"))
        if called is not None:
            await called
        return "done"

    plugins, config = [ActingBackend(act)], {"subagentBackend": "acting"}
    async with Ohm.open(env=HERMETIC, plugins=plugins, config=config, profiles=profile(finalize="required")) as ohm:
        return (await ohm.run("finder", "p")).err_value


async def nested():
    async def act(request, sink):
        return await ohm.run("finder", "p")

    async with Ohm.open(env=HERMETIC, plugins=[ActingBackend(act)], config={"subagentBackend": "acting"}) as ohm:
        return (await ohm.run("finder", "p")).err_value


async def without_command():
    """A backend that starts a command which is not there."""

    async def act(request, sink):
        async with Supervisor.open() as supervisor:
            return await supervisor.start(Launch(command=("no-such-agent",), cwd=request.cwd, env=request.env))

    async with Ohm.open(env=HERMETIC, plugins=[ActingBackend(act)], config={"subagentBackend": "acting"}) as ohm:
        return (await ohm.run("finder", "p")).err_value


async def not_taken():
    """An owner that lives, and looks for no answer."""
    async with owned_elsewhere() as (ohm, request):
        return (await ohm.answer(request.id, Approve())).err_value


async def owned_by_another():
    """An owner that lives, and looks for no command."""
    async with owned_elsewhere() as (ohm, request):
        return (await ohm.call("task", {"op": "cancel", "id": request.task_id})).details


@asynccontextmanager
async def owned_elsewhere():
    clock = Clock(round(time() * 1000))
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(elsewhere, "TAKEN_WITHIN_S", 0)
        async with opened("sqlite", Path(folder), clock) as store:
            task = Hand(store, clock).started()
            request = Request(
                id="req_1_task_1", task_id=task.id, session_id=task.session_id, path=(task.id,), profile="finder"
            )
            Hand(store, clock).tell(task, AnswerAwaited(request=request))
            await store.flush()
            env = HERMETIC | {"PI_CONFIG_DIR": folder, "OHM_SUBAGENTS_STORE": "sqlite"}
            async with Ohm.open(env=env, plugins=[ScriptedBackend()]) as ohm:
                yield ohm, request


async def died():
    """As above, and then it was killed."""
    with TemporaryDirectory() as folder:
        env = HERMETIC | {"PI_CONFIG_DIR": folder, "OHM_SUBAGENTS_STORE": "sqlite"}
        with another_process(folder) as (task_id, _process):
            pass
        async with Ohm.open(env=env, config={"subagentBackend": "none"}) as ohm:
            return (await ohm.call("task", {"op": "status", "id": task_id})).details["items"][0]


async def refused_items(*items):
    """The second of two items of one call."""
    async with mounted() as surface:
        return (await surface.engine.execute(Start(items=items))).items[1].error


async def answered(*answers, to=None):
    """The error for the last answer to a request of a subagent."""

    async def act(request, _sink):
        await request.gate.tool("edit", {"path": "a"})
        return "done"

    config = {"subagentBackend": "acting", "subagents": {"task": {"tools": {"ask": ["edit"]}}}}
    asked = Asked()
    async with Ohm.open(env=HERMETIC, plugins=[ActingBackend(act)], config=config) as ohm:
        with ohm.answering(asked, by="program"):
            handle = await ohm.start("task", "p")
            request = await asked.first()
            results = [await ohm.answer(to or request.id, answer) for answer in answers]
            await handle.cancel()
    return results[-1].err_value


class Asked:
    """A callback that leaves requests to others, and tells of the first."""

    def __init__(self):
        self.event = anyio.Event()

    async def __call__(self, request):
        self.request = request
        self.event.set()

    async def first(self):
        await self.event.wait()
        return self.request


async def unknown_session():
    task = {"name": "a", "prompt": "Go on.", "resume": "a3f7b9c2d1e8f4a1"}
    async with Ohm.open(env=HERMETIC, suites=["delegate"]) as ohm:
        told = await ohm.call("delegate_to_subagents", {"tasks": [task]})
    return {
        "error_code": told.details["errorCode"],
        "error_category": ErrorCode(told.details["errorCode"]).category,
        "error_message": told.text,
    }


def agent_refused(keys):
    """A task for an agent profile of these keys."""

    async def refused():
        with TemporaryDirectory() as folder:
            write(Path(folder, "agent-profiles"))
            env = HERMETIC | {"PI_CODING_AGENT_DIR": folder}
            async with Ohm.open(env=env, config={"subagentBackend": "none"}, suites=["delegate"]) as ohm:
                task = {"name": "t", "prompt": "p", "profile": "p"}
                told = await ohm.call("delegate_to_subagents", {"tasks": [task]})
                if not told.is_error:
                    return next(ohm.store.tasks()).error
            code = ErrorCode(told.details["errorCode"])
            return {"error_code": code, "error_category": code.category, "error_message": told.text}

    def write(folder):
        folder.mkdir()
        (folder / "p.md").write_text(f"---\nname: p\n{keys}\n---\n")

    return refused


TRIGGERS = {
    ErrorCode.INVALID_TASK_PAYLOAD: lambda: called("task", {}),
    ErrorCode.INVALID_PRIMARY_PAYLOAD: lambda: called("librarian", 3),
    ErrorCode.INVALID_TOOL_ARGUMENTS: lambda: raising_tool(sides="six"),
    ErrorCode.UNKNOWN_TOOL: lambda: called("hammer", {}),
    ErrorCode.TOOL_FAILED: raising_tool,
    ErrorCode.UNKNOWN_SUBAGENT_TYPE: lambda: called("task", START | {"subagent_type": "nobody"}),
    ErrorCode.OPERATION_NOT_SUPPORTED: lambda: called("task", {"op": "help"}),
    ErrorCode.ASYNC_DISABLED: lambda: called("task", START | {"async": True}),
    ErrorCode.INVALID_MODEL: lambda: ran(model="big"),
    ErrorCode.CWD_INVALID: lambda: refused_items(item(), item(cwd=Path("src"))),
    ErrorCode.CWD_UNREADABLE: lambda: ran(cwd="/nowhere/at/all"),
    ErrorCode.CONFIG_INVALID: lambda: ran(config=Path("absent.json")),
    ErrorCode.PROFILE_INVALID: lambda: ran(
        profiles=profile(tools=ToolPolicy(allowed=("read",), denied=("read",))),
    ),
    ErrorCode.PROFILE_TOOLS_CONFLICT: agent_refused("tools: read\nexcludeTools: bash"),
    ErrorCode.PROFILE_SKILLS_CONFLICT: agent_refused("loadSkills: x\nnoSkills: true"),
    ErrorCode.PROFILE_ARGUMENT_REFUSED: agent_refused("extraArgs: a;b"),
    ErrorCode.UNKNOWN_SKILLS: agent_refused("loadSkills: x"),
    ErrorCode.SUBAGENTS_DISABLED: lambda: scripted(features={"subagents": False}),
    ErrorCode.SUBAGENT_UNAVAILABLE: lambda: ran(profile="painter", config={"features": {"painterImagegen": False}}),
    ErrorCode.PERMISSION_DENIED: lambda: scripted(subagents={"permissions": {"default": "deny"}}),
    ErrorCode.INTERNAL_SUBAGENT_HIDDEN: lambda: ran(profiles=profile(internal=True)),
    ErrorCode.PLUGIN_INVALID: misdeclared,
    ErrorCode.UNSUPPORTED_BACKEND: lambda: ran(config={"subagentBackend": "custom-plugin"}),
    ErrorCode.UNSUPPORTED_STORE: lambda: ran(env={"OHM_SUBAGENTS_STORE": "sqlit"}),
    ErrorCode.BACKEND_OPTIONS_INVALID: lambda: scripted(subagents={"backends": {"scripted": {"speed": 3}}}),
    ErrorCode.COMMAND_UNUSABLE: without_command,
    ErrorCode.UNKNOWN_TASK_ID: lambda: called("task", {"op": "status", "id": "task_9"}),
    ErrorCode.TASK_EXPIRED: lambda: called(
        "task", {"op": "cancel", "id": "task_0_0001"}, START, START, config={"taskMaxEntries": 1}, clock=lambda: 0
    ),
    ErrorCode.SESSION_NOT_FOUND: unknown_session,
    ErrorCode.SESSION_BUSY: lambda: refused_items(*[item(session_id="a3f7b9c2d1e8f4a1")] * 2),
    ErrorCode.UNKNOWN_REQUEST_ID: lambda: answered(Approve(), to="req_1_task_9"),
    ErrorCode.REQUEST_CLOSED: lambda: answered(Approve(), Approve()),
    ErrorCode.ANSWER_NOT_TAKEN: not_taken,
    ErrorCode.INVALID_ANSWER: lambda: answered("yes"),
    ErrorCode.NOT_RESUMABLE: lambda: called(
        "task", {"op": "send", "id": "task_0_0001", "prompt": "and?"}, START, clock=lambda: 0
    ),
    ErrorCode.WAIT_TIMEOUT: lambda: outwaited(timeout_ms=1),
    ErrorCode.WAIT_ABORTED: outwaited,
    ErrorCode.DUPLICATE_TASK_ID: repeated_id,
    ErrorCode.BACKEND_FAILED: lambda: scripted(Step(crash=RuntimeError("a bug"))),
    ErrorCode.BACKEND_TIMEOUT: lambda: ran(
        step=Step(gate=anyio.Event()), limits=Limits(soft_ms=1), config={"subagentBackend": "scripted"}
    ),
    ErrorCode.LOOP_DETECTED: looping,
    ErrorCode.FINALIZE_MISSING: lambda: acted(lambda tool: None),
    ErrorCode.FINALIZED_WITH_ERROR: lambda: acted(
        lambda tool: tool.execute(ToolCall(arguments={"status": "ERROR", "error": "No such file."}))
    ),
    ErrorCode.FINALIZE_UNSUPPORTED: lambda: ran(
        profiles=profile(finalize="required"), config={"subagentBackend": "none"}
    ),
    ErrorCode.TOOLS_UNSUPPORTED: lambda: ran(config={"subagentBackend": "none"}, tools=[given_to_no_model]),
    ErrorCode.BUDGET_EXCEEDED: lambda: scripted(subagents={"budget": {"wallMs": 1}}, step=Step(gate=anyio.Event())),
    ErrorCode.BUDGET_UNENFORCEABLE: lambda: scripted(subagents={"budget": {"tokens": 1}}),
    ErrorCode.DEPTH_EXCEEDED: nested,
    ErrorCode.RUNNER_LOST: without_runner,
    ErrorCode.WORKSPACE_FAILED: without_git,
    ErrorCode.WORKSPACE_ESCAPED: escaped,
    ErrorCode.LANDING_CONFLICT: lambda: unlandable(by_user=True),
    ErrorCode.NOTHING_TO_LAND: lambda: unlandable(by_user=False),
    ErrorCode.CHECKS_FAILED: lambda: asked_for(accept={"checks": ["file: absent.md"], "require": True}),
    ErrorCode.CHECKS_UNSUPPORTED: unchecked,
    ErrorCode.SANDBOX_UNAVAILABLE: lambda: asked_for(sandbox="required"),
    ErrorCode.OWNED_ELSEWHERE: owned_by_another,
    ErrorCode.SERVER_UNREACHABLE: served,
    ErrorCode.NOT_SERVED: lambda: served_here(model=5),
    ErrorCode.REHYDRATED_INCOMPLETE: died,
    ErrorCode.TASK_ABORTED: stopped,
    ErrorCode.EVENT_LOOP_UNSUPPORTED: lambda: ran(model="openai/gpt-x", env={"OPENAI_API_KEY": "k"}),
    ErrorCode.MODEL_MISSING: lambda: ran(profile="oracle"),
    ErrorCode.MODEL_UNKNOWN: lambda: ran(model="nobody/x"),
    ErrorCode.MODEL_MISMATCH: served_another,
    ErrorCode.MODEL_KEY_MISSING: lambda: ran(model="openai/gpt-x"),
    ErrorCode.PROVIDER_NOT_INSTALLED: without_sdk,
    ErrorCode.PROVIDER_AUTHENTICATION: lambda: modelled(Status(401)),
    ErrorCode.PROVIDER_RATE_LIMITED: lambda: modelled(Status(429)),
    ErrorCode.PROVIDER_QUOTA_EXCEEDED: lambda: modelled(Status(402)),
    ErrorCode.PROVIDER_UNAVAILABLE: lambda: modelled(Status(503)),
    ErrorCode.PROVIDER_REQUEST_REJECTED: lambda: modelled(Status(422)),
    ErrorCode.PROVIDER_CONNECTION_FAILED: lambda: modelled(Drop()),
    ErrorCode.PROVIDER_TIMEOUT: lambda: modelled(Stall(), readTimeoutMs=150),
    ErrorCode.PROVIDER_MALFORMED_RESPONSE: lambda: modelled(Say("half", Wire(b"data: {oops\n\n"))),
    ErrorCode.PROVIDER_EMPTY_RESPONSE: lambda: modelled(Body()),
    ErrorCode.CONTEXT_WINDOW_EXCEEDED: lambda: modelled(limited("context_length_exceeded")),
    ErrorCode.CONTENT_FILTERED: lambda: modelled(Say(finish="content_filter")),
    ErrorCode.USAGE_LIMIT_EXCEEDED: lambda: modelled(Say(finish="length")),
}


def test_every_code_has_a_way_to_come_about():
    assert TRIGGERS.keys() == {*ErrorCode}


@pytest.mark.sample(3)
@pytest.mark.parametrize("code", list(ErrorCode))
def test_a_caller_gets_the_code_with_its_category(code):
    loop = "trio" if code == ErrorCode.EVENT_LOOP_UNSUPPORTED else "asyncio"  # pydantic-ai runs on asyncio only
    match anyio.run(TRIGGERS[code], backend=loop):
        case OhmError() as error:
            told = {"error_code": error.code, "error_category": error.resolved_category, "error_message": error.message}
        case details:
            told = details
    assert (told["error_code"], told["error_category"]) == (code.value, code.category.value)
    assert told["error_message"].strip()
