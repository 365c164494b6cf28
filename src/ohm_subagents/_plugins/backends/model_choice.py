"""The choice of a model where nothing names one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.model_pattern import FORM, ModelPattern, parse_model_pattern
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ohm_subagents._plugins.backends.interface import ModelSpec
    from ohm_subagents.contract.agent import AgentOptions
    from ohm_subagents.contract.profile import Profile


class ModelChoice:
    """Choose among model providers by the keys that are in an environment."""

    def __init__(self, specs: Iterable[ModelSpec], env: Mapping[str, str]) -> None:
        self._specs = tuple(specs)
        self._env = env

    @property
    def specs(self) -> tuple[ModelSpec, ...]:
        """The providers, in the order in which their defaults are tried."""
        return self._specs

    def spec_of(self, pattern: ModelPattern) -> ModelSpec | None:
        """Return the provider of a model, or None if no plugin offers it."""
        return next((spec for spec in self._specs if spec.provider == pattern.provider), None)

    def has_key(self, spec: ModelSpec) -> bool:
        """Tell whether the provider needs no key, or one of its keys is in the environment and not blank."""
        return not spec.keys or any(self._env.get(key, "").strip() for key in spec.keys)

    def lacks(self, spec: ModelSpec) -> str:
        """Return what the provider needs before a model of it can be asked: a key, or an SDK; empty for nothing."""
        return spec.lacks() or "" if self.has_key(spec) else " or ".join(spec.key_names)

    def choose(self, pattern: ModelPattern | None, profile: Profile) -> Result[ModelPattern, OhmError]:
        """Return the pattern given; else the default of the first provider whose key is set; else the fallback model.

        One whose SDK is not installed is left out, unless there is no other: opening it says how to install that.

        The error `task_model_missing` names the settings that name a model, and the keys that were looked for.
        """
        if pattern is not None:
            return Ok(pattern)
        wanted = [spec for spec in self._specs if spec.default_model and self._is_wanted(spec, profile.agent)]
        usable = next((spec for spec in wanted if spec.lacks() is None), None)
        if usable is None and profile.fallback_model is not None:
            return Ok(profile.fallback_model)
        if wanted:
            chosen = usable or wanted[0]
            return parse_model_pattern(f"{chosen.provider}/{chosen.default_model}")
        if profile.agent is not None and profile.agent.model:
            message = f'The model "{profile.agent.model}" of subagent "{profile.id}" names no provider.'
            return Err(OhmError(code=ErrorCode.MODEL_MISSING, message=message, advice=f"Expected {FORM}."))
        keys = ", ".join(sorted({key for spec in self._specs if spec.default_model for key in spec.key_names}))
        own = f" or subagents.{profile.id}.model" if profile.agent is None else ""  # an entry is about no agent's file
        return Err(
            OhmError(
                code=ErrorCode.MODEL_MISSING,
                message=f'No model for subagent "{profile.id}": set OHM_MODEL, or subagents.model{own} in ohm.json, to '
                f'"<provider>/<model>", or put one of the keys {keys} in the environment.',
            )
        )

    def _is_wanted(self, spec: ModelSpec, agent: AgentOptions | None) -> bool:
        """Tell whether its default is to run: it is the provider that an agent profile names, else one with a key."""
        if agent is None or not agent.provider:
            return self.has_key(spec)
        named = agent.provider.lower()
        return spec.provider == named or (self.has_key(spec) and not self._has_default(named))

    def _has_default(self, provider: str) -> bool:
        return any(spec.default_model is not None for spec in self._specs if spec.provider == provider)
