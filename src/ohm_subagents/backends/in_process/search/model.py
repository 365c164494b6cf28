"""The plugin `local-search`: `local/search`, the embedded default model, keyword search that speaks like a model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.in_process.importing import ONE_AT_A_TIME
from ohm_subagents.plugin import (
    BackendContext,
    Err,
    ErrorCode,
    ModelChoice,
    ModelPattern,
    ModelSpec,
    OhmError,
    Ok,
    Result,
    hookimpl,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.models import Model


_PROVIDER: Final = "local"
_MODEL: Final = "search"


@hookimpl
def ohm_models(context: BackendContext) -> Iterable[ModelSpec]:
    """Offer the provider."""
    yield search_model_spec(context)


def search_model_spec(context: BackendContext | None = None) -> ModelSpec:
    """Return the provider `local`, whose one model needs no key, no network and no weights.

    Its advice looks through the keys and the providers of the context for a model that lacks an SDK alone.
    """
    return ModelSpec(
        provider=_PROVIDER,
        summary="Keyword search over the code in the working directory; no language model, no key.",
        open=partial(_open, context or BackendContext()),
        is_free=True,
    )


def _open(context: BackendContext, pattern: ModelPattern) -> Result[Model, OhmError]:
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

    return Ok(SearchModel(provider=_PROVIDER, name=_MODEL, advice=_advice(context)))


def _advice(context: BackendContext) -> str:
    """Return how to install the SDK of a provider whose key is there; empty if another model is ready, or no key is."""
    models = ModelChoice(context.models().values(), context.env)
    keyed = {spec.provider: spec.lacks() for spec in models.specs if spec.default_model and models.has_key(spec)}
    provider, command = next(iter(keyed.items()), ("", None))
    if command is None or None in keyed.values():
        return ""
    return (
        f"For a model that reasons, install the SDK of provider {provider}, whose key is in the environment: {command}."
    )
