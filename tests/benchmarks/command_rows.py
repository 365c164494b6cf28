"""The cost of commands of `ohm`."""

from measure import Case, Row

TARGETS = {("--help",): 0.25, ("run", "finder", "x", "--backend", "none"): 0.5}


def commands() -> Row:
    """Processor time of whole processes."""
    return Row(
        name="command",
        title="Processes of the command line: user and system time, from start to end",
        cases=tuple(
            Case(
                name=f"ohm {' '.join(command)}",
                file="commands.py",
                function="cpu",
                unit="CPU s",
                scale=1,
                arguments={"command": command},
                target=target,
            )
            for command, target in TARGETS.items()
        ),
    )
