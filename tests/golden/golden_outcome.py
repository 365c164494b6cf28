"""The outcome of a call of a suite case, in the form that a case wants."""

from dataclasses import dataclass, field

from golden_recording import Json

from ohm_subagents._views.theme import PLAIN
from ohm_subagents.plugin import Theme


@dataclass(kw_only=True)
class Outcome:
    """`facts` are what was seen, by subject; `error` is what a tool or a function threw.

    `saved` are the facts of each call of a sequence, by name.
    """

    facts: Json = field(default_factory=dict)
    error: str | None = None
    saved: Json = field(default_factory=dict)


def rendered(text: str) -> Outcome:
    """Something that was shown to a person."""
    return Outcome(facts={"plain": text, "themed": text, "plain_lines": text.split("\n"), "value": text})


def stamped(window: Json, now_ms: int) -> Json:
    """A window with the stamps that make it last as long as the case says."""
    if "elapsed" not in window:
        return window
    started_at = now_ms - round(window["elapsed"] * 1000)
    over = {} if window["status"] == "running" else {"completedAt": now_ms}
    return {key: value for key, value in window.items() if key != "elapsed"} | {"startedAt": started_at, **over}


class Markers:
    """Shows every mark: `[token]text`, `**text**`, `~~text~~`."""

    def fg(self, token: str, text: str) -> str:
        return f"[{token}]{text}"

    def bold(self, text: str) -> str:
        return f"**{text}**"

    def strikethrough(self, text: str) -> str:
        return f"~~{text}~~"


def theme_named(name: str | None) -> Theme:
    """`plain`, which is what no word means, or `markers`."""
    return {None: PLAIN, "plain": PLAIN, "markers": Markers()}[name]
