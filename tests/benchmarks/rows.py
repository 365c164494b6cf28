"""What is measured, beside what, and what we want it to be on two shared cores."""

from command_rows import commands
from measure import Case, Compared, Row
from search_rows import searches

OURS = "ours.py"
ALONE = "pydantic_ai_alone.py"
PEERS = {
    "openai-agents": "openai_agents.py",
    "deepagents": "deepagents_peer.py",
    "strands-agents": "strands_peer.py",
}
MODULES = {"openai-agents": "agents", "deepagents": "deepagents", "strands-agents": "strands"}
STEADY = 1.2
"""What a cost may grow by that is not meant to grow."""


def peers(function: str, what: str, unit: str, scale: float = 1e6) -> tuple[Case, ...]:
    """The same thing as the peers do it."""
    return tuple(
        Case(name=f"{peer}: {what}", file=file, function=function, unit=unit, scale=scale, peer=peer)
        for peer, file in PEERS.items()
    )


def calls() -> Row:
    """One subagent, on a fake model that answers at once."""
    unit = "µs a call"
    bare = "pydantic-ai: agent.run, streaming"
    reading = "pydantic-ai: agent.run, streaming, 5 tools"
    ways = {"Ohm.run": "run", "the task tool": "task"}

    def more(name: str, beside: str) -> Compared:
        return Compared(name=f"{name}, more than streaming agent.run", of=name, beside=beside, unit=unit, target=300)

    return Row(
        name="call",
        title="One subagent in process, fake model that answers at once",
        cases=(
            *(Case(name=name, file=OURS, function="call", unit=unit, arguments={"way": ways[name]}) for name in ways),
            Case(name="Ohm.run, 5 tools", file=OURS, function="call", unit=unit, arguments={"tools": True}),
            Case(name=bare, file=ALONE, function="call", unit=unit),
            Case(name=reading, file=ALONE, function="call", unit=unit, arguments={"tools": True}),
            Case(
                name="pydantic-ai: agent.run, plain",
                file=ALONE,
                function="call",
                unit=unit,
                arguments={"streaming": False},
            ),
            *peers("call", "one agent", unit),
        ),
        compared=(*(more(name, bare) for name in ways), more("Ohm.run, 5 tools", reading)),
    )


def turns() -> Row:
    """A parent agent delegates once."""
    unit = "µs a turn"
    return Row(
        name="turn",
        title="A parent's whole turn: its fake model calls a tool, the tool runs a subagent, the model answers",
        cases=(
            Case(name="pydantic-ai parent, our task tool", file=OURS, function="turn", unit=unit),
            Case(name="pydantic-ai: a tool that runs an agent, by hand", file=ALONE, function="turn", unit=unit),
            *peers("turn", "agent as a tool", unit),
        ),
    )


def starts() -> Row:
    """Echo tasks, with more and more tasks kept."""
    unit = "µs a start"
    kept = (1, 100, 10_000)
    targets = {"memory": 150.0, "sqlite": 400.0}

    def name(store: str, count: int) -> str:
        return f"echo start, {store}, {count:,} kept"

    return Row(
        name="start",
        title="`task` op start on backend none; every start pushes the oldest kept task out",
        cases=(
            *(
                Case(
                    name=name(store, count),
                    file=OURS,
                    function="echo_start",
                    unit=unit,
                    arguments={"store": store, "kept": count},
                    target=targets[store],
                )
                for store in targets
                for count in kept
            ),
            Case(
                name="Ohm.run, memory, 100 kept",
                file=OURS,
                function="echo_start",
                unit=unit,
                arguments={"kept": 100, "way": "run"},
            ),
        ),
        compared=tuple(
            Compared(
                name=f"{store}, 10,000 kept to 1 kept",
                of=name(store, 10_000),
                beside=name(store, 1),
                unit="times",
                is_ratio=True,
                target=STEADY,
            )
            for store in targets
        ),
    )


def events() -> Row:
    """Streamed events, of 20 characters each."""
    unit = "µs an event"
    short, long, huge = ("1,000 texts (20 kB)", "20,000 texts (400 kB)", "50,000 texts (1 MB)")
    streams = {
        long: {"count": 20_000},
        short: {"count": 1_000},
        huge: {"count": 50_000},
        "20,000 texts and tool events": {"count": 20_000, "mixed": True},
        "20,000 texts, with progress frames": {"count": 20_000, "watched": True},
    }
    unit_model = "µs a piece"
    return Row(
        name="event",
        title="A scripted backend streams; the whole run divided by its events",
        cases=(
            *(
                Case(name=name, file=OURS, function="stream", unit=unit, arguments=arguments, target=10)
                for name, arguments in streams.items()
            ),
            Case(
                name="2,000 pieces from a model, Ohm.run",
                file=OURS,
                function="model_stream",
                unit=unit_model,
                arguments={"count": 2_000},
            ),
            Case(
                name="2,000 pieces from a model, pydantic-ai",
                file=ALONE,
                function="model_stream",
                unit=unit_model,
                arguments={"count": 2_000},
            ),
        ),
        compared=(
            Compared(name="an event of 1 MB to one of 20 kB", of=huge, beside=short, unit="times", is_ratio=True),
        ),
    )


def fan_outs() -> Row:
    """100 subagents at once."""
    unit = "s in all"
    return Row(
        name="fan-out",
        title="100 subagents at once in process, each on a fake model that waits 100 ms",
        cases=(
            Case(name="one parallel batch", file=OURS, function="fan_out", unit=unit, scale=1, target=0.30),
            Case(
                name="pydantic-ai: asyncio.gather of agent.run, streaming",
                file=ALONE,
                function="fan_out",
                unit=unit,
                scale=1,
            ),
            Case(
                name="pydantic-ai: asyncio.gather of agent.run, plain",
                file=ALONE,
                function="fan_out",
                unit=unit,
                scale=1,
                arguments={"streaming": False},
            ),
            *peers("fan_out", "100 tool calls of one response", unit, 1),
        ),
    )


def queues() -> Row:
    """1,000 tasks, of which 16 run."""
    unit = "kB a task"
    name = "1,000 {} behind 16 slots, peak"
    return Row(
        name="queue",
        title="1,000 echo tasks of 1 ms behind 16 slots: the most Python memory in use at once (tracemalloc)",
        cases=(
            Case(name=name.format("in one batch"), file=OURS, function="queue", unit=unit, scale=1e-3, target=10),
            Case(
                name=name.format("background starts"),
                file=OURS,
                function="queue",
                unit=unit,
                scale=1e-3,
                target=10,
                arguments={"way": "background"},
            ),
            Case(
                name="pydantic-ai: 1,000 agent.run behind a semaphore",
                file=ALONE,
                function="queue",
                unit=unit,
                scale=1e-3,
            ),
        ),
        repeats=3,
    )


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


ROWS = {
    row.name: row
    for row in (
        *(calls(), turns(), starts(), events(), fan_outs(), queues(), imports(), commands(), follow_ups()),
        searches(),
    )
}
