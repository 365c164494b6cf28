"""A host without a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._plugins.suites.embedding import Host

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ohm_subagents._plugins.suites.delivery import Delivery
    from ohm_subagents._plugins.suites.embedding import WidgetPlacement
    from ohm_subagents._plugins.suites.tool import JsonObject


class MemoryHost(Host):
    """The reference `Host`: remembers what it is told. Pass it as `Ohm.open(host=...)`.

    `calls` are the names and arguments of everything it was told, in order; `statuses` and `widgets` are what stands
    on the screen now, by key; `deliveries` are the tasks that it was notified of. `branch`, `tools` and `has_ui` are
    the session, the tools and the screen that it pretends to have, `file` is where it pretends to keep the session.
    """

    def __init__(
        self,
        *,
        branch: Iterable[JsonObject] = (),
        tools: Iterable[str] = (),
        has_ui: bool = True,
        file: Path | None = None,
    ) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.statuses: dict[str, str] = {}
        self.widgets: dict[str, tuple[str, ...]] = {}
        self.deliveries: list[Delivery] = []
        self._branch = list(branch)
        self._tools = tuple(tools)
        self._has_ui = has_ui
        self._file = file

    def append_entry(self, kind: str, data: JsonObject) -> None:
        """Keep the entry; `branch` gives it back."""
        self.calls.append(("append_entry", kind, data))
        self._branch.append({"type": "custom", "customType": kind, "data": data})

    def branch(self) -> Sequence[JsonObject]:
        """The session it was given, and the entries that were appended."""
        return tuple(self._branch)

    def send_message(self, kind: str, text: str, *, display: bool = True) -> None:
        """Remember the message."""
        self.calls.append(("send_message", kind, text, display))

    def send_user_message(self, text: str, *, follow_up: bool = False) -> None:
        """Remember the message."""
        self.calls.append(("send_user_message", text, follow_up))

    def set_status(self, key: str, text: str | None) -> None:
        """Show or clear a status line."""
        self.calls.append(("set_status", key, text))
        if text is None:
            self.statuses.pop(key, None)
        else:
            self.statuses[key] = text

    def set_widget(self, key: str, lines: Sequence[str] | None, *, placement: WidgetPlacement | None = None) -> None:
        """Show or clear a widget; `placement` is remembered if it is given."""
        shown = None if lines is None else tuple(lines)
        self.calls.append(("set_widget", key, shown, *([] if placement is None else [placement])))
        if shown is None:
            self.widgets.pop(key, None)
        else:
            self.widgets[key] = shown

    def active_tools(self) -> Sequence[str]:
        """The tools that it was given."""
        return self._tools

    def has_ui(self) -> bool:
        """As it was told."""
        return self._has_ui

    def notify(self, delivery: Delivery) -> None:
        """Remember the delivery."""
        self.deliveries.append(delivery)

    def session_file(self) -> Path | None:
        """The file that it was given."""
        return self._file
