"""`<provider>/<model>[:<thinking>]` ↔ `ModelPattern`."""

from __future__ import annotations

from typing import Final, Literal, get_args

from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import nearest_name

Thinking = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
THINKING_LEVELS: Final[tuple[Thinking, ...]] = get_args(Thinking)


FORM: Final = (
    f"'<provider>/<model>' or '<provider>/<model>:<thinking>', where thinking is one of {', '.join(THINKING_LEVELS)}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPattern:
    """A model of a provider, with an optional thinking level."""

    provider: str
    """The id of the provider, in lower case."""
    model: str
    """The name of the model at the provider."""
    thinking: Thinking | None = None
    """The thinking level; None leaves it to the model."""

    def __str__(self) -> str:
        """Return the pattern as a user writes it."""
        suffix = f":{self.thinking}" if self.thinking else ""
        return f"{self.provider}/{self.model}{suffix}"


def parse_model_pattern(text: str) -> Result[ModelPattern, OhmError]:
    """Split at the first slash; a last `:<level>` is thinking only if it is one of the six levels.

    So `openrouter/deepseek/deepseek-r1:free` and `ollama/qwen3:8b` keep their colons.
    Returns `invalid_model` when a side is blank.
    """
    provider, slash, model = (part.strip() for part in text.partition("/"))
    if not (provider and slash and model):
        return Err(
            OhmError(
                code=ErrorCode.INVALID_MODEL,
                message=f"Invalid subagent model {text!r}.",
                advice=f"Expected {FORM}.",
            )
        )
    name, _, suffix = model.rpartition(":")
    for level in THINKING_LEVELS:
        if name.strip() and suffix.strip().lower() == level:
            return Ok(ModelPattern(provider=provider.lower(), model=name.strip(), thinking=level))
    return Ok(ModelPattern(provider=provider.lower(), model=model))


_LIKE_A_LEVEL: Final = 0.75
"""`hgih` is; `mini`, a tag that Ollama has, is not."""


def misspelt_level(pattern: ModelPattern) -> Diagnostic | None:
    """Warn of a misspelt thinking level, which became part of the model's name; None if there is none."""
    _, colon, suffix = pattern.model.rpartition(":")
    near = nearest_name(suffix, THINKING_LEVELS, likeness=_LIKE_A_LEVEL) if colon else None
    if near is None:
        return None
    return Diagnostic(
        subject=str(pattern),
        message=f"'{suffix}' of model '{pattern}' is no thinking level: a model of this whole name is asked. "
        f"Did you mean '{near}'? The levels are {', '.join(THINKING_LEVELS)}.",
    )
