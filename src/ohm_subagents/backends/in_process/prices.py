"""What models cost, by the price list of genai-prices. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from pydantic_ai.models import Model

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

    return price if _is_listed(name, provider, url) else None


def cost_of(response: ModelResponse) -> Decimal | None:
    """What a response has cost so far in USD; None when its model has no price, or the provider counted nothing."""
    used = response.usage
    if used.cost is not None:
        return used.cost
    if not response.model_name or not (used.input_tokens or used.output_tokens):
        return None
    if not _is_listed(response.model_name, response.provider_name, response.provider_url):
        return None
    try:
        return response.cost().total_price
    except (LookupError, ValueError):
        return None


@lru_cache(maxsize=256)  # to look in vain for a model costs more than to find one
def _is_listed(name: str, provider: str | None, url: str | None) -> bool:
    """Look the model up in the price list."""
    used = RequestUsage(input_tokens=1, output_tokens=1)
    response = ModelResponse(parts=[], usage=used, model_name=name, provider_name=provider, provider_url=url)
    try:
        response.cost()
    except (LookupError, ValueError):
        return False
    return True
