"""The plugin `local-search`: `local/search`, the embedded default model, keyword search that speaks like a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.in_process.importing import ONE_AT_A_TIME
from ohm_subagents.plugin import Err, ErrorCode, ModelPattern, ModelSpec, OhmError, Ok, Result, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.models import Model


_PROVIDER: Final = "local"
_MODEL: Final = "search"


@hookimpl
def ohm_models() -> Iterable[ModelSpec]:
    """Offer the provider."""
    yield search_model_spec()


def search_model_spec() -> ModelSpec:
    """Return the provider `local`, whose one model needs no key, no network and no weights."""
    return ModelSpec(
        provider=_PROVIDER,
        summary="Keyword search over the code in the working directory; no language model, no key.",
        open=_open,
        is_free=True,
    )


def _open(pattern: ModelPattern) -> Result[Model, OhmError]:
    if pattern.model != _MODEL:
        return Err(
            OhmError(
                code=ErrorCode.MODEL_UNKNOWN,
                message=f'Unknown model "{pattern}".',
                advice=f"Provider {_PROVIDER} has one model: {_PROVIDER}/{_MODEL}.",
            )
        )
    with ONE_AT_A_TIME:
        from ohm_subagents.backends.in_process.search.stream import SearchModel  # noqa: PLC0415  it loads pydantic_ai

    return Ok(SearchModel(provider=_PROVIDER, name=_MODEL))
