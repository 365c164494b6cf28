"""The doors of one `Ohm`, each with the same five methods: a task begun through one is the same through another."""

from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import door_contract
from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents.acp import acp_agent
from ohm_subagents.testing import HERMETIC

CONFIG = {"subagentBackend": "acting", "subagents": {"sendToFinished": "resume", "asyncStart": "allow"}}


class Program:
    """The methods of `Ohm`."""

    def __init__(self, ohm):
        self._ohm = ohm

    async def begin(self, prompt):
        return (await self._ohm.start("finder", prompt)).id

    async def status(self, task_id):
        return self._ohm.task(task_id).status

    async def answer(self, task_id):
        return (await self._ohm.handle(task_id).wait()).unwrap().output

    async def go_on(self, task_id, prompt):
        return (await self._ohm.handle(task_id).send(prompt)).unwrap().output

    async def cancel(self, task_id):
        await self._ohm.handle(task_id).cancel()


class Tool:
    """The tool `task`, as the model of a framework or of an MCP client calls it."""

    def __init__(self, ohm, name):
        self._ohm = ohm
        self._door = door_contract.loaded(name)

    async def _call(self, **arguments):
        return (await self._door.delegate(self._ohm, "task", arguments)).details

    async def begin(self, prompt):
        item = {"subagent_type": "finder", "description": prompt, "prompt": prompt}
        return (await self._call(op="start", **item, **{"async": True}))["task_id"]

    async def status(self, task_id):
        return (await self._call(op="status", ids=[task_id]))["items"][0]["status"]

    async def answer(self, task_id):
        return (await self._call(op="wait", ids=[task_id]))["items"][0]["output"]

    async def go_on(self, task_id, prompt):
        return (await self._call(op="send", id=task_id, prompt=prompt))["output"]

    async def cancel(self, task_id):
        await self._call(op="cancel", id=task_id)


class Editor:
    """An editor, for which a task is a session."""

    def __init__(self, editor, place, group):
        self._editor = editor
        self._place = f"{place}"
        self._group = group

    async def begin(self, prompt):
        session = await self._editor.opened(self._place)
        self._editor.updates.clear()
        self._group.start_soon(self._editor.ask, session, prompt)
        return (await self._editor.told("session_info_update")).field_meta["ohm/task"]

    async def status(self, task_id):
        listed = (await self._editor.connection.list_sessions()).sessions
        return {each.field_meta["ohm/task"]: each.field_meta["ohm/status"] for each in listed}[task_id]

    async def answer(self, task_id):
        self._editor.updates.clear()
        await self._editor.connection.load_session(cwd=self._place, session_id=task_id)
        return self._editor.said()

    async def go_on(self, task_id, prompt):
        await self._editor.connection.resume_session(cwd=self._place, session_id=task_id)
        self._editor.updates.clear()
        await self._editor.ask(task_id, prompt)
        return self._editor.said()

    async def cancel(self, task_id):
        await self._editor.connection.resume_session(cwd=self._place, session_id=task_id)
        await self._editor.connection.cancel(session_id=task_id)


@asynccontextmanager
async def doors_of(place):
    """The doors by name, and a function that lets the tasks that wait go on; tasks are kept on disk."""
    released = [anyio.Event()]

    async def act(request, sink):
        if request.prompt == "hang":
            await anyio.sleep_forever()
        if request.prompt == "wait":
            await released[0].wait()
        return request.prompt.upper()

    async def release():
        await anyio.wait_all_tasks_blocked()
        released[0].set()
        released[0] = anyio.Event()

    from acp_editor import editor_of

    env = HERMETIC | {"PI_CONFIG_DIR": f"{place}", "OHM_SUBAGENTS_STORE": "sqlite"}
    async with AsyncExitStack() as stack:
        opened = Ohm.open(cwd=place, env=env, config=CONFIG, suites=["task"], plugins=[ActingBackend(act)])
        ohm = await stack.enter_async_context(opened)
        editor = await stack.enter_async_context(editor_of(acp_agent(ohm)))
        group = await stack.enter_async_context(anyio.create_task_group())
        doors = {
            "program": Program(ohm),
            "mcp": Tool(ohm, "mcp_server"),
            "framework": Tool(ohm, "pydantic_ai"),
            "editor": Editor(editor, place, group),
        }
        yield ohm, doors, release
