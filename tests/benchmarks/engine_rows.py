"""The cost of the engine itself, beside bare pydantic-ai and its peers."""

from environments import PEERS
from measure import Case, Compared, Row

OURS = "ours.py"
ALONE = "pydantic_ai_alone.py"
TURNS = 25
"""So many turns of what takes milliseconds."""
STEADY = 1.2
"""The growth allowed for a cost that is not meant to grow."""
BARE = Case(
    name="pydantic-ai: agent.iter, streaming",
    file="pydantic_ai_alone.py",
    function="call",
    unit="CPU µs a call",
    clock="cpu",
)
"""One streamed run, bare: what our own costs are a part of, because machines differ and ratios do not.

By processor time, as all that waits for nothing: alone on a machine that is the time by the wall, and beside others it
is not what they take.
"""


def peers(function: str, what: str, unit: str, beside: str = BARE.name) -> tuple[Case, ...]:
    """The same thing as the peers do it."""
    return tuple(
        Case(name=f"{peer}: {what}", file=file, function=function, unit=unit, clock="cpu", peer=peer, beside=beside)
        for peer, file in PEERS.items()
    )


def alone(name: str, function: str = "call", unit: str = BARE.unit, clock: str = "cpu", **rest: object) -> Case:
    """pydantic-ai without us."""
    return Case(name=f"pydantic-ai: {name}", file=ALONE, function=function, unit=unit, clock=clock, **rest)


def calls() -> Row:
    """One subagent, on a fake model that answers at once."""
    reading = alone("agent.iter, streaming, 5 tools", arguments={"tools": True})

    def ours(name: str, beside: Case = BARE, **arguments: object) -> Case:
        return Case(
            name=name,
            file=OURS,
            function="call",
            unit=BARE.unit,
            clock="cpu",
            arguments=arguments,
            beside=beside.name,
            at_most=1.15,
        )

    return Row(
        name="call",
        title="One subagent in process, fake model that says three words at once",
        cases=(
            BARE,
            ours("Ohm.run"),
            ours("the task tool", way="task"),
            reading,
            ours("Ohm.run, 5 tools", reading, tools=True),
            alone("agent.run, event_stream_handler", arguments={"way": "handler"}, beside=BARE.name),
            alone("agent.run, not streaming", arguments={"way": "plain"}, beside=BARE.name),
            alone("direct.model_request_stream", function="direct", beside=BARE.name),
            *peers("call", "one agent", BARE.unit),
            Case(
                name="openai-agents: one agent, not streaming",
                file=PEERS["openai-agents"],
                function="call",
                unit=BARE.unit,
                clock="cpu",
                arguments={"streaming": False},
                peer="openai-agents",
                beside=BARE.name,
            ),
        ),
        repeats=TURNS,
        split=("Ohm.run",),
    )


def turns() -> Row:
    """A parent agent delegates once."""
    unit = "CPU µs a turn"
    by_hand = alone("a tool that runs an agent, by hand", function="turn", unit=unit)
    return Row(
        name="turn",
        title="A parent's whole turn: its fake model calls a tool, the tool runs a subagent, the model answers",
        cases=(
            by_hand,
            Case(
                name="pydantic-ai parent, our task tool",
                file=OURS,
                function="turn",
                unit=unit,
                clock="cpu",
                beside=by_hand.name,
            ),
            *peers("turn", "agent as a tool", unit, beside=by_hand.name),
        ),
        repeats=TURNS,
    )


def starts() -> Row:
    """Echo tasks, with more and more tasks kept."""
    unit = "µs a start"
    kept = (1, 100, 10_000)
    at_most = {"memory": 0.075, "sqlite": 0.20}
    clocks = {"memory": "cpu", "sqlite": "wall"}  # a start on sqlite waits until it is written down

    def name(store: str, count: int) -> str:
        return f"echo start, {store}, {count:,} kept"

    return Row(
        name="start",
        title="`task` op start on backend none; every start pushes the oldest kept task out",
        cases=(
            BARE,
            *(
                Case(
                    name=name(store, count),
                    file=OURS,
                    function="echo_start",
                    unit=unit,
                    clock=clocks[store],
                    arguments={"store": store, "kept": count},
                    beside=BARE.name,
                    at_most=at_most[store],
                )
                for store in at_most
                for count in kept
            ),
            Case(
                name="Ohm.run, memory, 100 kept",
                file=OURS,
                function="echo_start",
                unit=unit,
                clock="cpu",
                arguments={"kept": 100, "way": "run"},
                beside=BARE.name,
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
            for store in at_most
        ),
        repeats=TURNS,
        split=(name("memory", 100),),
    )


def events() -> Row:
    """Streamed events, of 20 characters each."""
    unit = "CPU µs an event"
    short, long, huge = ("1,000 texts (20 kB)", "20,000 texts (400 kB)", "50,000 texts (1 MB)")
    streams = {
        long: {"count": 20_000},
        short: {"count": 1_000},
        huge: {"count": 50_000},
        "20,000 texts and tool events": {"count": 20_000, "mixed": True},
        "20,000 texts, with progress frames": {"count": 20_000, "watched": True},
    }
    from_model = {"function": "model_stream", "unit": "CPU µs a piece", "arguments": {"count": 2_000}}
    pieces = alone("2,000 pieces from a model", **from_model)
    return Row(
        name="event",
        title="A scripted backend streams; the whole run divided by its events",
        cases=(
            BARE,
            *(
                Case(
                    name=name,
                    file=OURS,
                    function="stream",
                    unit=unit,
                    clock="cpu",
                    arguments=arguments,
                    beside=BARE.name,
                    at_most=0.004,
                )
                for name, arguments in streams.items()
            ),
            pieces,
            Case(name="Ohm.run: 2,000 pieces from a model", file=OURS, beside=pieces.name, clock="cpu", **from_model),
        ),
        compared=(
            Compared(
                name="an event of 1 MB to one of 20 kB",
                of=huge,
                beside=short,
                unit="times",
                is_ratio=True,
                target=STEADY,
            ),
        ),
        repeats=15,
        split=(long,),
    )


def charges() -> Row:
    """Requests that are reported of a task, and charged to the tasks above it."""
    unit = "CPU µs a request"
    root, deep = "a task of its own", "a task with 4 above it"
    shared = {"file": OURS, "function": "charges", "unit": unit, "clock": "cpu"}
    return Row(
        name="charge",
        title="A scripted backend reports 2,000 requests; the whole run divided by them",
        cases=(
            Case(name=root, arguments={"above": 0}, **shared),
            Case(name="a task with 1 above it", arguments={"above": 1}, **shared),
            Case(name=deep, arguments={"above": 4}, **shared),
        ),
        compared=(Compared(name="4 above it to none", of=deep, beside=root, unit="times", is_ratio=True),),
    )


def fan_outs() -> Row:
    """100 subagents at once."""
    shared = {"function": "fan_out", "scale": 1}
    gathered = alone("asyncio.gather of agent.iter, streaming", unit="s in all", clock="wall", **shared)

    def beside(name: str, file: str, *, clock: str = "wall", **rest: object) -> Case:
        unit = {"wall": "s in all", "cpu": "CPU s in all"}[clock]
        return Case(name=name, file=file, unit=unit, clock=clock, beside=gathered.name, **shared, **rest)

    return Row(
        name="fan-out",
        title="100 subagents at once in process, each on a fake model that waits 100 ms",
        cases=(
            gathered,
            beside("one parallel batch", OURS, at_most=1.15),
            beside("one parallel batch, of the processor", OURS, clock="cpu", at_most=1.2),
            beside("one parallel batch, 7 tools each", OURS, clock="cpu", at_most=1.2, arguments={"tools": True}),
            beside("pydantic-ai: asyncio.gather of agent.run, not streaming", ALONE, arguments={"streaming": False}),
            *(beside(f"{peer}: 100 tool calls of one response", file, peer=peer) for peer, file in PEERS.items()),
        ),
        repeats=11,
    )


def cancellations() -> Row:
    """100 tasks are cancelled."""
    unit = "ms, p99"
    shared = {"function": "cancel", "unit": unit, "scale": 1e3}
    return Row(
        name="cancel",
        title="100 running tasks whose model says nothing, cancelled at once, each by a call of its own",
        cases=(
            *(
                Case(
                    name=f"{called}, {store}",
                    file=OURS,
                    arguments={"way": way, "store": store},
                    target=50,
                    **shared,
                )
                for way, called in (("tool", "`cancel` of the task tool"), ("handle", "Handle.cancel"))
                for store in ("memory", "sqlite")
            ),
            alone("task.cancel() on 100 runs, until each is over", **shared),
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
            alone("1,000 agent.run behind a semaphore", function="queue", unit=unit, scale=1e-3),
        ),
        repeats=3,
    )
