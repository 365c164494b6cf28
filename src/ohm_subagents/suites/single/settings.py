"""The settings: `extensions/devkit-pi/config.json` of the agent directory, key `subagents`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents.files import MAX_INTEGER, Layer, parse_switch, quoted_value, read_settings
from ohm_subagents.suite import Diagnostic, Err

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

FILE: Final = Path("extensions", "devkit-pi", "config.json")
SECTION: Final = "subagents"
LSP_ACTIONS: Final = (
    *("definition", "references", "hover", "signature", "symbols"),
    *("diagnostics", "workspace-diagnostics", "servers"),
)
"""The actions of an `lsp` tool that change nothing; a subagent never gets another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleSettings:
    """The values in force."""

    enabled: bool = True
    """False takes the tool away."""
    max_depth: int = 1
    """Levels of subagents, 0 for none."""
    timeout_ms: int = 120_000
    """The time of one attempt."""
    idle_timeout_ms: int | None = None
    """The longest silence of an attempt; None for as long as it lasts."""
    allow_write: bool = False
    """Agents may get tools that change something."""
    allow_lsp_tools: bool = True
    """Agents may get the tool `lsp`."""
    allowed_lsp_actions: tuple[str, ...] = LSP_ACTIONS
    """The values of its argument `action` that they may give."""
    injects_policy: bool = True
    """The tool tells the parent agent when to delegate."""
    retries: bool = True
    """A failure that may pass is tried again."""
    max_attempts: int = 2
    """Attempts in all, with `retries`."""


_DEFAULT: Final = SingleSettings()
_ENABLED: Final = (SECTION, "enabled")
_SWITCHES: Final[Mapping[str, str]] = {
    "enabled": "enabled",
    "allowWrite": "allow_write",
    "allowLspTools": "allow_lsp_tools",
    "injectDelegationPolicy": "injects_policy",
}
_NUMBERS: Final[Mapping[str, tuple[str, int]]] = {
    "maxDepth": ("max_depth", 0),
    "timeoutMs": ("timeout_ms", 1),
    "idleTimeoutMs": ("idle_timeout_ms", 1),
}


def load_settings(agent_dir: Path) -> tuple[SingleSettings, tuple[Diagnostic, ...]]:
    """Read the file; each fault is a diagnostic.

    A wrong value counts as its default, a wrong `enabled` as false, an unreadable file as empty.
    """
    read = read_settings(agent_dir / FILE, "given")
    if isinstance(read, Err):
        message = f"{read.err_value.message} It counts as empty."
        return _DEFAULT, (Diagnostic(subject=FILE.name, message=message),)
    layer = read.ok_value
    return (_DEFAULT, ()) if layer is None else _Section(layer).settings()


class _Section:
    """Reads the section of a file and collects its faults."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._wrong: list[Diagnostic] = []

    def settings(self) -> tuple[SingleSettings, tuple[Diagnostic, ...]]:
        given = self._section(self._layer.values, (SECTION,))
        retry = self._section(given, (SECTION, "retry"))
        values: dict[str, object] = {}
        for key, name in _SWITCHES.items():
            values[name] = self._switch(given, (SECTION, key), default=getattr(_DEFAULT, name))
        for key, (name, least) in _NUMBERS.items():
            values[name] = self._number(given, (SECTION, key), least=least, default=getattr(_DEFAULT, name))
        settings = SingleSettings(
            **values,  # type: ignore[arg-type]  # each value is of the type of the default that it stands for
            allowed_lsp_actions=self._actions(given),
            retries=self._switch(retry, (SECTION, "retry", "enabled"), default=_DEFAULT.retries),
            max_attempts=self._number(retry, (SECTION, "retry", "maxAttempts"), least=1, default=_DEFAULT.max_attempts),
        )
        return settings, tuple(self._wrong)

    def _section(self, values: Mapping[str, JsonValue], path: tuple[str, ...]) -> Mapping[str, JsonValue]:
        value = values.get(path[-1])
        if value is None or isinstance(value, dict):
            return value or {}
        self._note(path, value, "an object; it is ignored")
        return {}

    def _switch(self, values: Mapping[str, JsonValue], path: tuple[str, ...], *, default: bool) -> bool:
        value = values.get(path[-1])
        if isinstance(value, bool):
            return value
        if value is not None:
            if path == _ENABLED:  # it may be meant to switch the suite off
                default = parse_switch(value) is True
            self._note(path, value, f"true or false; it counts as {quoted_value(default)}")
        return default

    def _number(self, values: Mapping[str, JsonValue], path: tuple[str, ...], *, least: int, default: int) -> int:
        value = values.get(path[-1])
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(whole, int) and not isinstance(whole, bool) and least <= whole <= MAX_INTEGER:
            return whole
        if value is not None:
            self._note(path, value, f"an integer, {least} or more; it counts as {quoted_value(default)}")
        return default

    def _actions(self, values: Mapping[str, JsonValue]) -> tuple[str, ...]:
        """Return the listed actions that change nothing, each once."""
        path, value = (SECTION, "allowedLspActions"), values.get("allowedLspActions")
        if not isinstance(value, list):
            if value is not None:
                self._note(path, value, f"a list of {', '.join(LSP_ACTIONS)}; it counts as all of them")
            return LSP_ACTIONS
        other = [action for action in value if action not in LSP_ACTIONS]
        if other:
            named, allowed = ", ".join(map(quoted_value, other)), ", ".join(LSP_ACTIONS)
            self._say(path, f"names {named}, which a subagent never gets. Allowed: {allowed}.")
        return tuple(dict.fromkeys(action for action in value if isinstance(action, str) and action in LSP_ACTIONS))

    def _note(self, path: tuple[str, ...], value: JsonValue, allowed: str) -> None:
        self._say(path, f"is {quoted_value(value)}, but has to be {allowed}.")

    def _say(self, path: tuple[str, ...], message: str) -> None:
        place = self._layer.place(path)
        self._wrong.append(place.diagnostic(f"'{place.key}' {message}"))
