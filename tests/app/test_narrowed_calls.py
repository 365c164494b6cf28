"""A call may leave a subagent fewer tools, and fewer calls of them, than its profile gives; never more."""

import pytest
from acting import ActingBackend

from ohm_subagents import ErrorCode, Ohm, tool
from ohm_subagents.contract import Profile, ToolPolicy

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """One loop is enough: the rows differ in rules alone."""
    return "asyncio"


WORKER = Profile(
    id="worker", name="Worker", summary="", prompt="", tools=ToolPolicy(allowed=("read", "bash", "edit", "ask_parent"))
)


class Place:
    """An `Ohm` on a backend that notes, of each run, its tools and what the gate says of some calls."""

    def __init__(self, root):
        self.root = root
        self.backend = ActingBackend(self.act)
        self.refused = []

    async def act(self, request, _sink):
        calls = {"git push": await self.says(request, "bash", command="git push"), "ls": None}
        calls["ls"] = await self.says(request, "bash", command="ls")
        calls["a.py"] = await self.says(request, "edit", path="src/a.py")
        self.refused.append({name for name, refusal in calls.items() if refusal is not None})
        return "done"

    async def says(self, request, name, **arguments):
        return await request.gate.tool(name, arguments)

    @property
    def tools(self):
        return self.backend.requests[-1].tools

    def open(self, **subagents):
        config = {"subagentBackend": "acting", "subagents": {"sendToFinished": "resume", **subagents}}
        env = {"HOME": str(self.root), "PI_CONFIG_DIR": str(self.root / "home")}
        return Ohm.open(cwd=self.root, env=env, config=config, profiles=[WORKER], plugins=[self.backend])


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


@tool
def price(of: str) -> str:
    """Return the price of a thing."""
    return of


@pytest.mark.parametrize(
    ("options", "tools", "refused"),
    [
        ({"allow": ["read"]}, ("read",), {"git push", "ls", "a.py"}),
        ({"allow": []}, (), {"git push", "ls", "a.py"}),
        ({"allow": None}, ("read", "bash", "edit", "ask_parent"), set()),
        ({"deny": ["Bash"]}, ("read", "edit", "ask_parent"), {"git push", "ls"}),
        ({"deny": ["bash: git push *"]}, ("read", "bash", "edit", "ask_parent"), {"git push"}),
        ({"allow": ["bash: ls", "edit: docs/**"]}, ("bash", "edit"), {"git push", "a.py"}),
        ({"allow": ["bash", "edit"], "deny": ["ed*"]}, ("bash",), {"a.py"}),
        ({"allow": ["read"], "tools": [price]}, ("read", "price"), {"git push", "ls", "a.py"}),
    ],
)
async def test_a_call_leaves_fewer_tools_and_says_nothing_of_it(place, options, tools, refused):
    async with place.open() as ohm:
        envelope = (await ohm.run(WORKER, "Work.", **options)).unwrap()
    assert place.tools == tools
    assert place.refused == [refused]
    assert not envelope.diagnostics


async def test_it_holds_for_each_task_of_a_call_of_a_tool(place):
    async with place.open() as ohm:
        item = {"subagent_type": "worker", "description": "d", "prompt": "p"}
        start = {"op": "start", "tasks": [item, item]}
        call = await ohm.begin("task", start, deny=["bash", "edit"])
        await call.wait()
    assert [request.tools for request in place.backend.requests] == [("read", "ask_parent")] * 2


async def test_what_continues_the_task_has_no_more(place):
    async with place.open() as ohm:
        first = (await ohm.run("worker", "Work.", allow=["read", "bash: ls"])).unwrap()
    async with place.open() as ohm:
        second = (await ohm.handle(first.task_id).send("Go on.")).unwrap()
        await ohm.run("worker", "Again.", session=second.session_id, deny=["read"])
    assert [request.tools for request in place.backend.requests] == [("read", "bash"), ("read", "bash"), ("bash",)]
    assert place.refused == [{"git push", "a.py"}] * 3
    assert "'edit', 'ask_parent' are not given: the call that started this left them out." in (second.diagnostics or [])


async def test_it_holds_for_what_the_subagent_starts(place):
    async with place.open() as ohm:
        await ohm.run("worker", "Work.", allow=["read", "bash: ls"])
    passes = place.backend.requests[-1].passes
    assert passes.own.names == ("read", "bash")
    assert [rule.allow for rule in passes.own.call_rules] == [("ls",)]
    assert all(rule.cwd for rule in (*passes.own.call_rules, *passes.above.call_rules))


async def test_an_allowed_tool_that_the_profile_lacks_is_told_and_not_given(place):
    async with place.open() as ohm:
        envelope = (await ohm.run("worker", "Work.", allow=["read", "write"])).unwrap()
    assert place.tools == ("read",)
    assert envelope.diagnostics == ["`allow` of the call names 'write', which 'worker' does not have: it adds no tool."]


async def test_an_allowed_tool_that_is_misspelt_is_told_with_the_one_that_is_perhaps_meant(place):
    async with place.open() as ohm:
        envelope = (await ohm.run("worker", "Work.", allow=["reed"])).unwrap()
    assert place.tools == ()
    assert envelope.diagnostics[0].endswith("it adds no tool. Did you mean 'read'?")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tools": ["read"]}, "names 'read', which the profile 'worker' has already; `tools` only adds."),
        ({"tools": ["bash: git *"]}, "names the calls 'bash: git *', and it only adds whole tools."),
        ({"deny": ["bsh"]}, "The call denies 'bsh', which is no tool of a subagent."),
        ({"allow": ["bash: *"]}, "cannot be kept: 'bash: *' names no command"),
        ({"tools": [price], "deny": ["price"]}, "both gives the tool 'price' (`tools`) and denies it (`deny`)."),
    ],
)
async def test_lists_that_would_not_do_what_they_say_are_refused(place, options, sentence):
    async with place.open() as ohm:
        error = (await ohm.run("worker", "Work.", **options)).unwrap_err()
    assert error.code == ErrorCode.INVALID_TASK_PAYLOAD
    assert sentence in error.message
    assert place.backend.requests == []


@pytest.mark.parametrize("options", [{"allow": "read"}, {"deny": [price]}, {"deny": 3}])
async def test_a_list_of_anything_but_texts_is_a_fault_of_the_program(place, options):
    async with place.open() as ohm:
        with pytest.raises(TypeError, match=r"allowed: a list of texts, such as \['read', 'bash: git diff \*'\]"):
            await ohm.run("worker", "Work.", **options)


async def test_a_backend_that_cannot_keep_the_calls_of_it_is_not_asked(place):
    place.backend.capabilities = frozenset()
    async with place.open() as ohm:
        error = (await ohm.run("worker", "Work.", deny=["bash: git push *"])).unwrap_err()
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
