"""What models cost, by the price list of genai-prices. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from pydantic_ai.models import Model, StreamedResponse

    Price: TypeAlias = Callable[[int, int], Decimal]


def price_of(model: Model) -> Price | None:
    """USD for so many tokens in and out; None when the list does not have the model."""
    name, provider = model.model_name, model.system
    try:
        url = model.base_url
    except (AttributeError, UserError):  # some clients know theirs only later
        url = None

    def price(tokens_in: int, tokens_out: int) -> Decimal:
        used = RequestUsage(input_tokens=tokens_in, output_tokens=tokens_out)
        counted = ModelResponse(parts=[], usage=used, model_name=name, provider_name=provider, provider_url=url)
        return counted.cost().total_price

    try:
        price(1, 1)
    except (LookupError, ValueError):
        return None
    return price


def cost_of(stream: StreamedResponse) -> Decimal | None:
    """What a response has cost so far in USD; None when its model has no price, or the provider counted nothing."""
    used = stream.usage
    if used.cost is not None:
        return used.cost
    if not stream.model_name or not (used.input_tokens or used.output_tokens):
        return None
    counted = ModelResponse(
        parts=[],
        usage=used,
        model_name=stream.model_name,
        timestamp=stream.timestamp,
        provider_name=stream.provider_name,
        provider_url=stream.provider_url,
        provider_details=stream.provider_details,
    )
    try:
        return counted.cost().total_price
    except (LookupError, ValueError):
        return None
