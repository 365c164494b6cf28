"""The model and the thinking level of an agent file, in our terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.suite import Err, parse_model_pattern

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.agent_files.dialects import Dialect
    from ohm_subagents.contract.model_pattern import Thinking
    from ohm_subagents.suite import ModelPattern

EFFORTS: Final[Mapping[str, Thinking]] = {
    "none": "off",
    "off": "off",
    "minimal": "minimal",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "xhigh",
    "max": "xhigh",
}
"""The thinking level for each of their words."""
_INHERITED: Final = ("", "inherit", "default", "auto")


def model_of(
    value: object, dialect: Dialect, aliases: Mapping[str, ModelPattern]
) -> tuple[ModelPattern | None, object | None]:
    """Return the first model of a name or a list of names that we know, or None and the first that we do not.

    `aliases` are the user's, folded. A name that leaves the choice to the caller is no model and no fault.
    """
    names = cast("list[object]", value) if isinstance(value, list) else [value]
    wanted = [name for name in names if not (isinstance(name, str) and name.strip().lower() in _INHERITED)]
    found = (_named(name.strip(), dialect, aliases) for name in wanted if isinstance(name, str))
    model = next((one for one in found if one is not None), None)
    return model, wanted[0] if wanted and model is None else None


def _named(name: str, dialect: Dialect, aliases: Mapping[str, ModelPattern]) -> ModelPattern | None:
    if name.casefold() in aliases:
        return aliases[name.casefold()]
    provider = next((one for start, one in dialect.providers.items() if name.startswith(start)), None)
    parsed = parse_model_pattern(name if "/" in name or provider is None else f"{provider}/{name}")
    return None if isinstance(parsed, Err) else parsed.ok_value
