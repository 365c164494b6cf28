"""The cost of cooperation, beside the same without it."""

from measure import Case, Compared, Row

FILE = "cooperation.py"


def deliveries() -> Row:
    """Tasks whose results are delivered and acknowledged one by one, beside tasks that nobody follows."""
    unit = "CPU µs a task"
    shared = {"file": FILE, "function": "delivered", "unit": unit, "clock": "cpu"}
    counts = {"nobody follows": 0, "1 consumer": 1, "4 consumers": 4}
    stores = ("memory", "sqlite")
    return Row(
        name="deliveries",
        title="100 echo tasks, then each of their deliveries acknowledged by each consumer of `Ohm.deliveries`",
        cases=tuple(
            Case(
                name=f"{store}, {name}",
                arguments={"store": store, "consumers": count},
                beside=f"{store}, nobody follows" if count else None,
                **shared,
            )
            for store in stores
            for name, count in counts.items()
        ),
        compared=tuple(
            Compared(
                name=f"{store}, a delivery", of=f"{store}, 1 consumer", beside=f"{store}, nobody follows", unit=unit
            )
            for store in stores
        ),
    )


def routes() -> Row:
    """Runs whose model is one of several, beside runs on a model that is named outright."""
    unit, outright = "CPU µs a run", "a model that is named outright"
    shared = {"file": FILE, "function": "routed", "unit": unit, "clock": "cpu"}
    return Row(
        name="routes",
        title="`Ohm.run` on a scripted backend, with a menu of models in the configuration",
        cases=(
            Case(name=outright, **shared),
            Case(name="a name of the menu", arguments={"model": "fast"}, beside=outright, **shared),
            Case(
                name="a name of the menu whose first model fails",
                arguments={"model": "fast", "fails": True},
                beside=outright,
                **shared,
            ),
        ),
    )
