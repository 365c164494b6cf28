"""The interface to an embedding program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents._plugins.suites.delivery import Delivery

    JsonObject: TypeAlias = dict[str, JsonValue]

WidgetPlacement: TypeAlias = Literal["aboveEditor", "belowEditor"]


class Host(Protocol):
    """The services of an embedding program, as `Ohm.open(host=...)`; `ohm_subagents.testing.MemoryHost` is a double.

    Every method is called in the event loop's thread and returns at once. One that raises loses what it was told:
    it is logged, and no task fails for it.
    """

    def append_entry(self, kind: str, data: JsonObject) -> None:
        """Keep `data` in the session of the parent agent, where no model reads it; `branch` gives it back later."""
        ...

    def branch(self) -> Sequence[JsonObject]:
        """Return the entries of the session's current branch as plain JSON, oldest first."""
        ...

    def send_message(self, kind: str, text: str, *, display: bool = True) -> None:
        """Put a message of ours into the conversation, without starting a turn; a person sees it if `display`."""
        ...

    def send_user_message(self, text: str, *, follow_up: bool = False) -> None:
        """Say `text` in the user's name, which starts a turn; with `follow_up`, after the turn that is going on.

        Without `follow_up`, raise while a turn is going on.
        """
        ...

    def set_status(self, key: str, text: str | None) -> None:
        """Show plain text in the status bar under `key`, in place of what was there; None removes it.

        It is one line; `til-done-active` of the suite `todos` has one for each item that is worked on.
        """
        ...

    def set_widget(self, key: str, lines: Sequence[str] | None, *, placement: WidgetPlacement | None = None) -> None:
        """Show plain lines of at most 100 terminal cells near the prompt under `key`; None removes them.

        `placement` is given where it matters; else it is the host's choice.
        """
        ...

    def has_ui(self) -> bool:
        """Return True if the host shows status lines and widgets; a host without this method does."""
        return True

    def active_tools(self) -> Sequence[str]:
        """Return the names of the tools that the parent agent may call now."""
        ...

    def notify(self, delivery: Delivery) -> None:
        """Tell the parent agent of a task that has settled while no call waited for it, say with `delivery.text`.

        A host without this method is not told. Each task is told once, in this process only; `Ohm.deliveries` repeats
        after a restart what was not acknowledged.
        """

    def session_file(self) -> Path | None:
        """Return the file of the parent's session, beside which records of subagents are put; None without one."""
        return None
