"""An `Ohm` whose tasks a server owns: the connection, and an engine at its other end."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ohm_subagents._app.served.answering import ServedAnswering
    from ohm_subagents._app.served.link import Link
    from ohm_subagents._app.served.orchestrator import ServedOrchestrator
    from ohm_subagents._orchestrator.answering import Answering
    from ohm_subagents._plugins.stores import Store


def served_parts(
    link: Link, store: Store, kept: Answering
) -> tuple[ServedOrchestrator, ServedAnswering, ServedAnswering]:
    """Return what carries out commands, what takes answers, and what asks for them; `kept` reads the store."""
    from ohm_subagents._app.served.answering import ServedAnswering  # noqa: PLC0415  most have no server
    from ohm_subagents._app.served.orchestrator import ServedOrchestrator  # noqa: PLC0415  as above

    answering = ServedAnswering(link, kept)
    return ServedOrchestrator(link, store), answering, answering
