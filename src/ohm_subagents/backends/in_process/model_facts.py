"""The settings, the price and the warnings of a model, the same for every run. Imports pydantic_ai."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from genai_prices.data_snapshot import get_snapshot
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from ohm_subagents.contract.model_pattern import misspelt_level
from ohm_subagents.plugin import Diagnostic, ModelPattern, Thinking, without_thinking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic_ai.models import Model

    Price: TypeAlias = Callable[[int, int], Decimal]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """The settings, the price and the warnings of a model; looked up once, not for each run."""

    settings: ModelSettings
    price: Price | None
    diagnostics: tuple[Diagnostic, ...]


def facts_of(model: Model, pattern: ModelPattern, *, read_timeout_s: float, is_free: bool) -> ModelFacts:
    """Look up what holds for every run of a model."""
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


def price_of(model: Model) -> Price | None:
    """Return a function from tokens in and out to USD; None if the price list does not have the model."""
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
    """Return the cost of a response so far in USD; None if its model has no price, or nothing was counted."""
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


def model_diagnostics(model: Model, pattern: ModelPattern) -> Iterator[Diagnostic]:
    """Warn of a thinking level without effect, and of a name that the price list of its provider does not have."""
    if pattern.thinking is not None and (ignored := _ignored(model, pattern.thinking)) is not None:
        yield Diagnostic(subject=str(pattern), message=f'Model "{pattern.provider}/{pattern.model}" {ignored}.')
    if not is_listed(model):
        yield Diagnostic(
            subject=str(pattern),
            message=f'Model "{pattern.provider}/{pattern.model}" is in no price list known here: '
            f"{'' if misspelt_level(pattern) else 'its name may be misspelt, and '}its cost is not counted.",
        )


def _ignored(model: Model, level: Thinking) -> str | None:
    """Say how the model departs from `level`; None if it does not. Upstream drops or rounds it silently."""
    profile: Mapping[str, object] = {**model.profile}
    if level == "off":
        return "cannot stop thinking; it thinks as little as it can" if profile.get("thinking_always_enabled") else None
    if not profile.get("supports_thinking"):
        return without_thinking(level)
    efforts = profile.get("openai_reasoning_efforts")
    if isinstance(efforts, frozenset) and level not in efforts:
        return f'has no thinking level "{level}"; the nearest one is used'
    return None


def is_listed(model: Model) -> bool:
    """Return True if the offline price list has the model, or does not cover its provider at all."""
    prices = get_snapshot()
    try:
        provider = prices.find_provider(None, model.system, None)
    except LookupError:
        return True
    return provider.find_model(model.model_name.lower(), all_providers=prices.providers) is not None
