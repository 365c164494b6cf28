"""The cost of whole processes: a Python that imports us, and a nested pi."""

from measure import Case, Compared, Row

MODULES = {"openai-agents": "agents", "deepagents": "deepagents", "strands-agents": "strands"}


def imports() -> Row:
    """Imports in fresh processes."""
    first = (
        "import anyio; from ohm_subagents import Ohm\n"
        "async def main():\n"
        "    environment = {'PI_CONFIG_DIR': '/dev/null', 'OHM_SUBAGENTS_LOAD_PLUGINS': 'none'}\n"
        "    async with Ohm.open(config={'subagentBackend': 'none'}, env=environment) as ohm:\n"
        "        (await ohm.run('finder', 'x')).unwrap()\n"
        "anyio.run(main)"
    )
    bare = "a Python that does nothing"
    own = "import ohm_subagents"
    statements: dict[str, tuple[str, str | None]] = {
        own: (own, None),
        "from ohm_subagents import Ohm": ("from ohm_subagents import Ohm", None),
        "until the first echo answer": (first, None),
        bare: ("pass", None),
        "import pydantic.BaseModel": ("from pydantic import BaseModel", None),
        "import pydantic_ai": ("import pydantic_ai", None),
        **{f"import {module}": (f"import {module}", peer) for peer, module in MODULES.items()},
    }
    return Row(
        name="import",
        title="Fresh processes that do one thing and end",
        cases=tuple(
            Case(
                name=name,
                file="imports.py",
                function="importing",
                unit="s",
                scale=1,
                arguments={"statement": statement},
                peer=peer,
            )
            for name, (statement, peer) in statements.items()
        ),
        compared=tuple(
            Compared(
                name=f"{name}, more than bare Python",
                of=name,
                beside=bare,
                unit="s",
                target=0.10 if name == own else None,
            )
            for name in statements
            if name != bare
        ),
    )


def mcp_calls() -> Row:
    """A start through the MCP server, beside one in a program."""
    unit, alone = "ms a start", "Ohm.call"
    ways = {alone: "program", "ohm mcp, stdio": "stdio", "ohm mcp, HTTP": "http"}
    return Row(
        name="mcp",
        title="`task` op start on backend none, kept in sqlite, by the official client of the protocol 2026-07-28",
        cases=tuple(
            Case(name=name, file="mcp_server.py", function="call", unit=unit, scale=1e3, arguments={"way": way})
            for name, way in ways.items()
        ),
        compared=tuple(
            Compared(name=f"{name}, more than {alone}", of=name, beside=alone, unit=unit, target=10.0)
            for name in ways
            if name != alone
        ),
    )


def editor_prompts() -> Row:
    """A prompt of an editor, beside a run in a program."""
    unit, alone, ours = "ms a prompt", "Ohm.run", "ohm acp, stdio"
    return Row(
        name="acp",
        title="A prompt on backend none that continues a session, kept in sqlite, by the client of the ACP library",
        cases=tuple(
            Case(name=name, file="acp_agent.py", function="call", unit=unit, scale=1e3, arguments={"way": way})
            for name, way in {alone: "program", ours: "stdio"}.items()
        ),
        compared=(Compared(name=f"{ours}, more than {alone}", of=ours, beside=alone, unit=unit, target=10.0),),
    )


def child_tool_calls() -> Row:
    """A child tool that an agent of another process calls, beside one of an agent in process."""
    unit, here, over = "CPU ms a call", "in process", "over the bridge"
    return Row(
        name="bridge",
        title="One call of a child tool that adds two numbers, by the official client, whose own time counts too",
        cases=tuple(
            Case(
                name=name,
                file="tool_bridge.py",
                function="call",
                unit=unit,
                scale=1e3,
                clock="cpu",
                arguments={"way": way},
            )
            for name, way in ((here, "here"), (over, "bridge"))
        ),
        compared=(Compared(name=f"{over}, more than {here}", of=over, beside=here, unit=unit, target=10.0),),
    )


def follow_ups() -> Row:
    """A send that continues a finished task, on a nested pi that has waited for it and on a new one."""
    unit = "ms a send"
    file = "nested_pi.py"
    alone = "the model alone: one streamed request"
    cases = tuple(
        Case(
            name=f"pi {version}, {name}",
            file=file,
            function="follow_up",
            unit=unit,
            scale=1e3,
            arguments={"version": version, "mode": mode},
        )
        for version in ("0.87.1", "1.5.2")
        for name, mode in (("kept running", "auto"), ("a new process", "json"))
    )
    return Row(
        name="send",
        title="A `send` to a finished task that continues it on a real pi, on a model that answers at once",
        cases=(*cases, Case(name=alone, file=file, function="model_alone", unit=unit, scale=1e3)),
        compared=tuple(
            Compared(
                name=f"{case.name}, more than the model",
                of=case.name,
                beside=alone,
                unit=unit,
                target=25.0 if "kept" in case.name else None,
            )
            for case in cases
        ),
    )
