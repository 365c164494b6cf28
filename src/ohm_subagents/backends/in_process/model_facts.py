"""What is the same for every run of a model. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from pydantic_ai.settings import ModelSettings

from ohm_subagents.backends.in_process.model_warnings import model_diagnostics
from ohm_subagents.backends.in_process.prices import price_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from ohm_subagents.backends.in_process.prices import Price
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.model_pattern import ModelPattern


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """How a model is asked, what it costs, and what it will not honour; worth a look-up, not one a run."""

    settings: ModelSettings
    price: Price | None
    diagnostics: tuple[Diagnostic, ...]


def facts_of(model: Model, pattern: ModelPattern, *, read_timeout_s: float, is_free: bool) -> ModelFacts:
    """Look them up."""
    settings = ModelSettings()
    # A model that ignores one of these two would warn at each request.
    if "timeout" not in model.unsupported_settings:
        settings["timeout"] = read_timeout_s
    if "max_retries" not in model.unsupported_settings:
        settings["max_retries"] = 0
    if pattern.thinking is not None:
        settings["thinking"] = False if pattern.thinking == "off" else pattern.thinking
    price = _nothing if is_free else price_of(model)
    return ModelFacts(settings=settings, price=price, diagnostics=tuple(model_diagnostics(model, pattern)))


def _nothing(_tokens_in: int, _tokens_out: int) -> Decimal:
    return Decimal(0)
