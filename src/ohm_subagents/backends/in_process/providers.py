"""The model providers that come with us, and the OpenAI-compatible ones of ohm.json, as `ModelSpec`s.

Nothing is read from the process's environment: keys and base URLs come from the mapping that is given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.backends.in_process.importing import ONE_AT_A_TIME
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.plugin import ModelSpec, install_command, unknown_model, unknown_thinking_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.services import CompatibleProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class _BuiltIn:
    """`extra`: our distribution's extra that brings its SDK. `url_env`: overrides `url`, the base URL of the API.

    `has_catalogue`: the price list has all of its models, so that a name which is not there is misspelt.
    """

    provider: str
    label: str
    keys: tuple[str, ...]
    default: str | None
    extra: str = "openai"
    url: str | None = None
    url_env: str | None = None
    is_free: bool = False
    has_catalogue: bool = True


# In the order in which a key decides the default model.
_BUILT_IN: Final = (
    _BuiltIn(
        provider="anthropic",
        label="Anthropic",
        keys=("ANTHROPIC_API_KEY",),
        default="claude-sonnet-5-5",
        extra="anthropic",
        url="https://api.anthropic.com",
        url_env="ANTHROPIC_BASE_URL",
    ),
    _BuiltIn(
        provider="openai",
        label="OpenAI (Responses API)",
        keys=("OPENAI_API_KEY",),
        default="gpt-6.1-terra",
        url="https://api.openai.com/v1",
        url_env="OPENAI_BASE_URL",
    ),
    _BuiltIn(
        provider="google",
        label="Google Gemini",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        default="gemini-3.8-flash",
        extra="google",
    ),
    _BuiltIn(
        provider="openrouter",
        label="OpenRouter",
        keys=("OPENROUTER_API_KEY",),
        default="~openai/gpt-latest",
        has_catalogue=False,
    ),
    _BuiltIn(provider="deepseek", label="DeepSeek", keys=("DEEPSEEK_API_KEY",), default="deepseek-v4-pro"),
    _BuiltIn(provider="xai", label="xAI", keys=("XAI_API_KEY",), default="grok-4.7", extra="xai"),
    _BuiltIn(
        provider="mistral",
        label="Mistral",
        keys=("MISTRAL_API_KEY",),
        default="mistral-medium-latest",
        extra="mistral",
        url="https://api.mistral.ai",
    ),
    _BuiltIn(
        provider="groq",
        label="Groq",
        keys=("GROQ_API_KEY",),
        default="openai/gpt-oss-120b",
        extra="groq",
        url="https://api.groq.com",
        url_env="GROQ_BASE_URL",
    ),
    # No key and no default: it is there for everybody, so it must be asked for by name.
    _BuiltIn(
        provider="ollama",
        label="Ollama (local server)",
        is_free=True,
        has_catalogue=False,
        keys=(),
        default=None,
        url="http://127.0.0.1:11434/v1",
        url_env="OLLAMA_BASE_URL",
    ),
)

_MODULES: Final = {"google": "google.genai", "mistral": "mistralai", "xai": "xai_sdk"}
"""The modules of the SDKs that are called other than their extra."""
_FINE_TUNED: Final = "ft:"
EXAMPLE_MODEL: Final = f"{_BUILT_IN[0].provider}/{_BUILT_IN[0].default}"
EXAMPLE_KEY: Final = _BUILT_IN[0].keys[0]
"""An example for messages where no model is named."""


def builtin_model_specs(env: Mapping[str, str], listed: Iterable[CompatibleProvider] = ()) -> tuple[ModelSpec, ...]:
    """The providers we know by name, in the order of the default table. What is `listed` of one says more of it."""
    more = {one.name: one for one in listed}
    return tuple(
        ModelSpec(
            provider=row.provider,
            summary=row.label,
            open=partial(_open_builtin, row, env, more.get(row.provider)),
            open_with_key=partial(_open_builtin_with, row, env, more.get(row.provider)) if row.keys else None,
            keys=row.keys,
            default_model=row.default,
            is_free=row.is_free,
            lacks=partial(_missing_sdk, row.extra),
        )
        for row in _BUILT_IN
    )


def custom_model_specs(providers: Iterable[CompatibleProvider], env: Mapping[str, str]) -> tuple[ModelSpec, ...]:
    """Return the OpenAI-compatible services of ohm.json. None of them is a default: their models are named."""
    return tuple(
        ModelSpec(
            provider=provider.name.lower(),
            summary=f"OpenAI-compatible service at {provider.base_url}",
            open=partial(_open_compatible, provider, env),
            open_with_key=partial(_open_compatible_with, provider, env) if provider.api_key_env else None,
            keys=() if provider.api_key_env is None else (provider.api_key_env,),
            key_place=provider.key_place,
        )
        for provider in providers
    )


def _missing_sdk(extra: str) -> str | None:
    """Return the command that installs an SDK; None if it is there. Looks for it, and imports nothing of it."""
    try:
        is_there = find_spec(_MODULES.get(extra, extra)) is not None
    except (ImportError, ValueError):  # a package above it is missing, or stands half made among the loaded ones
        is_there = False
    return None if is_there else install_command(extra)


def _open_builtin(
    row: _BuiltIn, env: Mapping[str, str], listed: CompatibleProvider | None, pattern: ModelPattern
) -> Result[Model, OhmError]:
    with ONE_AT_A_TIME:
        return _builtin_model(row, env, listed, pattern)


def _builtin_model(
    row: _BuiltIn, env: Mapping[str, str], listed: CompatibleProvider | None, pattern: ModelPattern
) -> Result[Model, OhmError]:
    from pydantic_ai.models import infer_model  # noqa: PLC0415  loaded by the first run, not by `import ohm_subagents`
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415  as above

    from ohm_subagents.backends.in_process.bounded_stream import UnboundedError, bounded  # noqa: PLC0415  as above
    from ohm_subagents.backends.in_process.model_facts import is_listed  # noqa: PLC0415  as above

    key = next((env[name].strip() for name in row.keys if env.get(name, "").strip()), "no-key")
    if listed is not None and listed.base_url and row.url is None:
        return Err(_unreachable(replace(listed, obstacle=f"Provider {row.provider} takes no baseUrl here"), pattern))
    elsewhere = (env.get(row.url_env, "").strip() if row.url_env else "") or (listed.base_url if listed else "")
    url = elsewhere or row.url

    def provider(name: str) -> Provider[object]:
        provider_class = cast("Callable[..., Provider[object]]", infer_provider_class(name))
        return bounded(provider_class(api_key=key) if url is None else provider_class(api_key=key, base_url=url))

    try:
        model = infer_model(f"{row.provider}:{pattern.model}", provider)
        is_named = listed is not None and any(one.id == pattern.model for one in listed.models)
        is_somebodys_own = pattern.model.startswith(_FINE_TUNED)
        if elsewhere or is_named or is_somebodys_own or not row.has_catalogue:
            return Ok(model)
        name, colon, level = pattern.model.rpartition(":")
        if colon:
            return Err(unknown_thinking_level(pattern, name, level))
        return Ok(model) if is_listed(model) else Err(_unlisted_model(pattern))
    except UnboundedError:
        return Err(_unbounded(pattern))
    except ImportError:
        return Err(
            OhmError(
                code=ErrorCode.PROVIDER_NOT_INSTALLED,
                message=f'The SDK of provider "{row.provider}" of model "{pattern}" is not installed.',
                advice=f"Install it: {install_command(row.extra)}.",
            )
        )


def _open_builtin_with(
    row: _BuiltIn, env: Mapping[str, str], listed: CompatibleProvider | None, pattern: ModelPattern, key: str
) -> Result[Model, OhmError]:
    return _open_builtin(row, {**env, **dict.fromkeys(row.keys, key)}, listed, pattern)


def _open_compatible_with(
    provider: CompatibleProvider, env: Mapping[str, str], pattern: ModelPattern, key: str
) -> Result[Model, OhmError]:
    return _open_compatible(provider, {**env, f"{provider.api_key_env}": key}, pattern)


def _open_compatible(
    provider: CompatibleProvider, env: Mapping[str, str], pattern: ModelPattern
) -> Result[Model, OhmError]:
    if provider.obstacle:
        return Err(_unreachable(provider, pattern))
    known = next((model for model in provider.models if model.id == pattern.model), None)
    if provider.models and known is None:
        return Err(unknown_model(provider, pattern))
    key = env.get(provider.api_key_env, "").strip() if provider.api_key_env else provider.api_key
    with ONE_AT_A_TIME:
        from ohm_subagents.backends.in_process.bounded_stream import UnboundedError  # noqa: PLC0415  as above
        from ohm_subagents.backends.in_process.compatible import compatible_model  # noqa: PLC0415  loads an SDK

        try:
            return Ok(
                compatible_model(
                    name=pattern.model,
                    provider=provider.name.lower(),
                    base_url=provider.base_url,
                    api_key=key,
                    supports_thinking=None if known is None else known.supports_thinking,
                    supports_images=known is not None and known.supports_images,
                    context_window=None if known is None else known.context_window,
                )
            )
        except UnboundedError:
            return Err(_unbounded(pattern))


def _unlisted_model(pattern: ModelPattern) -> OhmError:
    """Return the error of a model that a provider does not have, as far as this release knows."""
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'Provider "{pattern.provider}" has no model "{pattern.model}" that is known here.',
        advice="Check its name. If it is newer than this release, list it in models.json of the agent directory, "
        f"under providers.{pattern.provider}.models.",
    )


def _unreachable(provider: CompatibleProvider, pattern: ModelPattern) -> OhmError:
    """Return the error of a model whose provider cannot be asked from this process."""
    return OhmError(
        code=ErrorCode.MODEL_UNKNOWN,
        message=f'Model "{pattern}" cannot be asked: {provider.obstacle}.',
        advice="Use interactive-shell for it, or sdkFallbackToCli, or a provider of ohm.json.",
    )


def _unbounded(pattern: ModelPattern) -> OhmError:
    """Return the error of a model whose answers cannot be held to sizes."""
    return OhmError(
        code=ErrorCode.PROVIDER_NOT_INSTALLED,
        message=f'Model "{pattern}" is not asked: the installed pydantic-ai keeps the HTTP client of provider '
        f'"{pattern.provider}" where it cannot be given limits.',
        advice="Install a version of pydantic-ai that this release was made for.",
    )
