"""Keys that close something: a misspelt one counts as meant, so that no rule is lost with a letter."""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.layers import object_at
from ohm_subagents._config.subagents import Subagents
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer

SECTION: Final = "subagents"
SETTINGS: Final = frozenset(field.alias for field in Subagents.model_fields.values())
"""The keys of `subagents` that are no subagent."""
_LIKENESS: Final = 0.75


@lru_cache(maxsize=1024)  # the same few keys, for each layer of each file
def is_like(key: str, names: tuple[str, ...]) -> bool:
    """Return True if a key is one of the names, or one of them misspelt."""
    return bool(get_close_matches(fold_id(key), names, n=1, cutoff=_LIKENESS))


def of_entries(layer: Layer, names: tuple[str, ...]) -> Iterator[tuple[KeyPath, JsonValue]]:
    """Yield what the entry of each subagent has under such a key: the long form, then the short form, which wins."""
    for prefix in ((SECTION, "profiles"), (SECTION,)):
        for name, entry in object_at(layer.values, prefix).items():
            if isinstance(entry, dict) and (len(prefix) == 2 or name not in SETTINGS):
                yield from (((*prefix, name, key), value) for key, value in entry.items() if is_like(key, names))
