"""A model of any OpenAI-compatible service. Imports the OpenAI SDK, so import it late."""

from __future__ import annotations

from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider

from ohm_subagents.backends.in_process.bounded_stream import bounded


class _NamedProvider(OpenAIProvider):
    """The name keeps state of one service from being sent to another, and its prices from being OpenAI's."""

    def __init__(self, name: str, *, base_url: str, api_key: str) -> None:
        self._named = name
        super().__init__(base_url=base_url, api_key=api_key)

    @property
    def name(self) -> str:
        return self._named


def compatible_model(
    *,
    name: str,
    provider: str,
    base_url: str,
    api_key: str,
    supports_thinking: bool | None,
    supports_images: bool,
    context_window: int | None,
) -> OpenAIChatModel:
    """Return a chat-completions model at `base_url`. What is None is left to what upstream knows of the name."""
    # Upstream takes the end of a stream for the end of the answer; an answer that broke off is no answer.
    profile = OpenAIModelProfile(
        openai_chat_streaming_requires_finish_reason=True, supports_image_input=supports_images
    )
    if supports_thinking is not None:
        profile["supports_thinking"] = supports_thinking
    if context_window is not None:
        profile["context_window"] = context_window
    # The SDK insists on a key.
    service = bounded(_NamedProvider(provider, base_url=base_url, api_key=api_key or "no-key"))
    return OpenAIChatModel(name, provider=service, profile=profile)
