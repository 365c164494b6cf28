"""The services of ohm.json as backends know them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._backends.services import CompatibleModel, CompatibleProvider

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._config.schema import Provider


def compatible_providers(providers: Mapping[str, Provider]) -> tuple[CompatibleProvider, ...]:
    """Each service under the name that ohm.json gives it."""
    return tuple(
        CompatibleProvider(
            name=name,
            base_url=provider.base_url,
            api_key_env=provider.api_key_env,
            models=tuple(
                CompatibleModel(
                    id=model.id, supports_thinking=model.supports_thinking, context_window=model.context_window
                )
                for model in provider.models
            ),
        )
        for name, provider in providers.items()
    )
