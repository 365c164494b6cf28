"""The themes of the suite cases."""

from ohm_subagents._views.theme import PLAIN
from ohm_subagents.plugin import Theme


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
