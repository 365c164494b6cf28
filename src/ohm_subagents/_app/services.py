"""The services of ohm.json, and those of models.json of the agent directory, as backends know them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents._config.env import agent_dir
from ohm_subagents._config.models_json import COMPLETIONS, FILE_NAME, load_models_json
from ohm_subagents._plugins.context import CompatibleModel, CompatibleProvider

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._config.models_json import PiProvider
    from ohm_subagents._config.schema import Provider
    from ohm_subagents.contract.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Those of ohm.json, then those that only `models.json` has; and what is wrong with that file."""

    providers: tuple[CompatibleProvider, ...]
    diagnostics: tuple[Diagnostic, ...]


def services_of(providers: Mapping[str, Provider], env: Mapping[str, str]) -> Services:
    """Each service under the name that its file gives it; of two with one name, the one of ohm.json."""
    ours = compatible_providers(providers)
    theirs, wrong = load_models_json(agent_dir(env), env)
    names = {one.name for one in ours}
    others = (_of_pi(one) for one in theirs if one.name not in names)
    return Services(providers=(*ours, *others), diagnostics=wrong)


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


def _of_pi(provider: PiProvider) -> CompatibleProvider:
    return CompatibleProvider(
        name=provider.name,
        base_url=provider.base_url or "",
        api_key_env=provider.key_env,
        api_key=provider.key,
        key_place=provider.key_place,
        models=tuple(
            CompatibleModel(id=one.id, supports_thinking=one.reasons, context_window=one.context_window)
            for one in provider.models
        ),
        source=FILE_NAME,
        obstacle=_obstacle(provider),
    )


def _obstacle(provider: PiProvider) -> str:
    who = f'Provider "{provider.name}" of {FILE_NAME}'
    if provider.api != COMPLETIONS:
        return f'{who} speaks "{provider.api}", of which interactive-sdk knows {COMPLETIONS} only'
    if provider.is_command:
        return f"{who} has its key from a command, which only pi runs"
    return "" if provider.base_url else f"{who} has no baseUrl"
