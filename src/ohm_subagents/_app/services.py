"""The OpenAI-compatible services that backends may use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._config.env import agent_dir
from ohm_subagents._config.models_json import load_models_json
from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._config.schema import Provider
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.services import CompatibleProvider


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The services of ohm.json, and those of models.json of the agent directory."""

    providers: tuple[CompatibleProvider, ...]
    """Those of ohm.json, then those that only `models.json` has."""
    diagnostics: tuple[Diagnostic, ...]
    """The faults of `models.json`."""


def services_of(providers: Mapping[str, Provider], env: Mapping[str, str]) -> Services:
    """Return each service under the name that its file gives it; of two with one name, the one of ohm.json."""
    theirs, wrong = load_models_json(agent_dir(env), env)
    ours = tuple(provider.service(name) for name, provider in providers.items())
    others = tuple(one for one in theirs if one.name not in providers)
    return Services(providers=(*ours, *others), diagnostics=wrong)
