"""The sandbox of this machine, as `ohm doctor` shows it: the means that there are, and whether they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.cli.models import MISSING, OK
from ohm_subagents.sandbox import ATTEMPTS, escaped, this_machine

if TYPE_CHECKING:
    from collections.abc import Iterator

_WRONG: Final = "✕"


def sandbox_lines() -> Iterator[str]:
    """Yield a line for each mechanism, and one for the proof, which starts programs: call it in a thread."""
    machine = this_machine()
    yield f"{MISSING} {machine.closed}" if machine.closed else f"{OK} {machine.version}, user namespaces are open"
    yield f"{OK} Landlock {machine.landlock}" if machine.landlock else f"{MISSING} no Landlock in this kernel"
    if machine.mechanism is None:
        yield f"{MISSING} {machine.lacks}"
        return
    try:
        found = escaped()
    except OSError as error:
        yield f"{MISSING} a program does not run with {machine.mechanism}: {error}"
        return
    if found:
        yield f"{_WRONG} tried with {machine.mechanism}: a program can {', '.join(found)}"
    else:
        yield f"{OK} tried with {machine.mechanism}: a program cannot {', '.join(ATTEMPTS)}"
    yield (
        f"{OK} of the network, programs can be kept to servers that `sandboxRules.network` lists"
        if machine.mechanism == "bubblewrap"
        else f"{MISSING} the network is on or off as a whole: only bubblewrap keeps programs to servers"
    )
    yield f"{MISSING} the limits of `sandboxRules` are those of each process: nothing limits all of a command together"
