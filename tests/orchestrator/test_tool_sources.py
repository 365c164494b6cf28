"""Child tools that a source has only when a run needs them."""

from dataclasses import replace

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents.contract import Decision, Err, ErrorCode, OhmError, Ok, Profile, ToolPolicy
from ohm_subagents.plugin import Capability, hookimpl
from ohm_subagents.suite import Tool, ToolResult, ToolSource, ToolSuiteSpec
from ohm_subagents.testing import ScriptedBackend, quick_ohm

pytestmark = pytest.mark.anyio


class WithChildTools(ScriptedBackend):
    """A scripted backend that gives child tools."""

    @property
    def spec(self):
        plain = super().spec
        return replace(plain, capabilities=plain.capabilities | {Capability.CHILD_TOOLS})


class Offering:
    """A plugin whose suite offers one source."""

    def __init__(self, tools, prefix="far__"):
        self.needs = []
        self.asked = []
        self._answer = tools
        self._prefix = prefix

    @hookimpl
    def ohm_tool_suites(self):
        yield ToolSuiteSpec(name="far", summary="Far.", build=self.build, audience="child")

    @hookimpl
    def ohm_permission(self, request):
        self.asked.append(request.tools)

    def build(self, context):
        context.offer(ToolSource(prefix=self._prefix, tools=self.tools))
        return ()

    async def tools(self, need):
        await anyio.lowlevel.checkpoint()
        self.needs.append(need)
        return self._answer(need)


def tool(name):
    async def execute(call):
        await anyio.lowlevel.checkpoint()
        return ToolResult(text=name, details={})

    return Tool(
        name=name,
        label=name,
        description=name,
        input_schema={},
        execute=execute,
        call_view=lambda _arguments, _theme: name,
    )


FAR = tuple(map(tool, ("far__a", "far__b", "other")))


def profile(*allowed, denied=()):
    tools = ToolPolicy(allowed=allowed, denied=denied)
    return Profile(id="user", name="User", summary="Uses.", prompt="Use.", tools=tools)


async def played(source, *allowed, denied=(), backend=None, **options):
    backend = backend or WithChildTools("done")
    async with quick_ohm(backend=backend, plugins=[source], profiles=[profile(*allowed, denied=denied)]) as ohm:
        handle = await ohm.start("user", "go", **options)
        await handle.wait()
        task = ohm.task(handle.id)
    (request,) = backend.calls
    return request, [one.message for one in task.diagnostics], task


async def test_a_run_gets_the_tools_of_a_source_that_its_profile_names():
    source = Offering(lambda _need: Ok(FAR))
    request, said, task = await played(source, "read", "far__*", denied=("far__b",))

    assert request.tools == ("read", "far__a")
    assert [one.name for one in request.child_tools] == ["far__a"]
    assert said == []
    assert source.asked == [("read", "far__*")]
    assert source.needs[0].task_id == task.id
    await source.needs[0].settled()


async def test_the_gate_knows_the_tools_of_a_source():
    let_through = []

    async def act(request, _sink):
        names = ("far__a", "far__b", "bash")
        let_through.extend([name for name in names if await request.gate.tool(name, {}) is None])
        return "done"

    plugins = [Offering(lambda _need: Ok(FAR)), ActingBackend(act)]
    async with quick_ohm(plugins=plugins, profiles=[profile("read", "far__*", denied=("far__b",))]) as ohm:
        await ohm.run("user", "go", backend="acting")
    assert let_through == ["far__a"]


async def test_a_source_is_not_asked_if_no_tool_of_its_is_named():
    source = Offering(lambda _need: Ok(FAR))
    request, said, _ = await played(source, "read")

    assert (source.needs, request.tools, said) == ([], ("read",), [])


class OfferingOwn(Offering):
    """A plugin whose suite also has a tool that only a list gives."""

    def build(self, context):
        super().build(context)
        return (replace(tool("near"), only_if_named=True),)


async def test_a_call_names_tools_besides_those_of_the_profile_unless_that_denies_them():
    source = OfferingOwn(lambda _need: Ok(FAR))
    request, said, _ = await played(source, "read", denied=("far__b",), tools=["far__*", "NEAR", tool("mine")])

    assert request.tools == ("read", "mine", "near", "far__a")
    assert [one.name for one in request.child_tools] == ["near", "mine", "far__a"]
    assert (said, source.asked) == ([], [("read", "mine", "near", "far__*")])

    request, said, _ = await played(OfferingOwn(lambda _need: Ok(FAR)), "read", tools=["far__z"])
    assert (request.tools, said) == (
        ("read",),
        ["'far__z' is no tool that there is now, and is left out. The subagent works without them."],
    )


async def test_a_call_is_told_of_a_name_that_no_source_may_have():
    source = Offering(lambda _need: Ok(FAR))
    request, said, _ = await played(source, "read", tools=["fra__*"])

    assert (request.tools, source.needs) == (("read",), [])
    assert [one.partition(" Available: ")[0] for one in said] == [
        "The call names 'fra__*', which is no tool of a subagent and is left out. Did you mean 'far__*'?"
    ]


async def test_tools_of_a_call_are_a_list():
    async with quick_ohm() as ohm:
        with pytest.raises(TypeError, match=r"^tools is the text 'read'; allowed: a list"):
            await ohm.run("finder", "go", tools="read")


def unavailable(_need):
    return Err(OhmError(code=ErrorCode.TOOL_FAILED, message="Far is away."))


def broken(_need):
    raise ValueError("oops")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [(unavailable, "Far is away."), (broken, "The tools 'far__*' could not be listed: ValueError: oops.")],
)
async def test_a_source_that_fails_costs_its_tools_and_one_sentence(answer, sentence):
    request, said, _ = await played(Offering(answer), "read", "far__a", "far__*")
    assert request.tools == ("read",)
    assert said == [f"{sentence} The subagent works without them."]

    _, said, _ = await played(Offering(answer), "far__a")
    assert said == [f"{sentence} The subagent works without any tool."]


async def test_a_backend_without_child_tools_says_that_it_does_not_give_them():
    source = Offering(lambda _need: Ok(FAR))
    _, said, _ = await played(source, "read", "far__*", backend=ScriptedBackend("done"))

    assert source.needs == []
    assert said == ["'far__*': not given, because the backend 'scripted' gives subagents no tools of plugins."]


async def test_a_permission_can_forbid_a_profile_by_the_tools_that_it_names():
    class Careful(Offering):
        @hookimpl
        def ohm_permission(self, request):
            if any(name.startswith("far__") for name in request.tools):
                return Decision(verdict="deny", source="careful", reason="too far")
            return None

    source = Careful(lambda _need: Ok(FAR))
    async with quick_ohm(plugins=[source], profiles=[profile("far__*")]) as ohm:
        refused = await ohm.run("user", "go")
    assert refused.err_value.code == ErrorCode.PERMISSION_DENIED
    assert source.needs == []
