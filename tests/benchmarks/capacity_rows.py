"""The constants of the capacity model, docs/guides/capacity.md."""

from measure import Case, Row

FILE = "capacity.py"


def capacity() -> Row:
    """The cost of one echo task, wherever it runs."""
    return Row(
        name="capacity",
        title="An echo task, of 100 at once; and the peak of memory for one of 1,000, behind 16 slots or all running",
        cases=(
            *(
                Case(
                    name=f"an echo task, {way}, store {store}",
                    file=FILE,
                    function="echoes",
                    unit="CPU µs a task",
                    clock="cpu",
                    arguments={"way": way, "store": store},
                )
                for way, store in (
                    *(("in process", store) for store in ("memory", "sqlite", "postgres")),
                    ("loopback", "memory"),
                )
            ),
            Case(name="10,000 echo tasks in sqlite", file=FILE, function="growth", unit="bytes a task", scale=1),
            *(
                Case(
                    name=f"{what} task, {way}",
                    file=FILE,
                    function="memory",
                    unit="kB a task",
                    scale=1e-3,
                    target=target,
                    arguments={"way": way, **arguments},
                )
                for what, target, arguments in (
                    ("a queued", 10.0, {}),
                    ("a running", None, {"at_once": 1000, "delay_s": 2.0}),
                )
                for way in ("in process", "loopback")
            ),
        ),
        repeats=3,
    )
