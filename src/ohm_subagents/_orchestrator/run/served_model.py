"""The model that answers, beside the one that was asked for: names of one model, and what is another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.model_pattern import parse_model_pattern
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents.contract.model_route import RouteResolved
    from ohm_subagents.contract.task import Route

FREE_CHOICE: Final = frozenset({"auto", "default", "router"})
"""Names that leave the choice to the service."""
FAMILIES: Final = frozenset({"sonnet", "opus", "haiku", "fable", "flash", "pro"})
"""Names that agents have for the newest model of a family: any that has the word in its name is meant."""
VARIANTS: Final = frozenset({"free", "nitro", "floor", "online", "extended", "exacto", "latest"})
"""Words of a name that say how a model is served, not which it is."""
VERSION: Final = re.compile(
    r"20\d{6}"  # 20250514
    r"|20\d\d-?(?:0\d|1[0-2])-?[0-3]\d"  # 2025-08-07
    r"|(?:0\d|1[0-2])-20\d\d"  # 09-2025
    r"|(?:0\d|1[0-2])-[0-3]\d"  # 05-06
    r"|(?:0\d|1[0-2]|2\d)[0-3]\d"  # 0613, 2411
    r"|00\d"  # a count of three digits
    r"|v\d+:\d+"  # v1:0
)
"""A release of a model, behind its name."""
_RELEASE: Final = re.compile(rf"[-@:.](?:{VERSION.pattern})(?=$|[-@:\[])")
_REGION: Final = re.compile(r"^(?:(?:us|eu|apac|jp|au|ca|global|us-gov)\.)?(?:[a-z0-9]+\.)(?=[a-z])")
"""The region and the maker before a name at Bedrock, as `us.anthropic.`."""
_TOKEN: Final = re.compile(r"[a-z]*\d*[a-z]+\d*|\d+")
_OPTIONS: Final = re.compile(r"\[[^\]]*\]$")


def is_same_model(asked: str, served: str) -> bool:
    """Return True if both are names of one model: they are equal but for the release, its alias, and a router's path.

    A release counts only where both names have one: `gpt-5` is `gpt-5-2025-08-07`, and no `gpt-5-mini`.
    """
    asked, served = _plain(asked), _plain(served)
    if asked == served or asked in FREE_CHOICE:
        return True
    if asked in FAMILIES:
        return asked in _words(served)
    releases = _releases(asked), _releases(served)
    if all(releases) and releases[0] != releases[1]:
        return False
    wanted, given = _RELEASE.sub("", asked), _RELEASE.sub("", served)
    is_newest = "latest" in _TOKEN.findall(asked)
    numbers = _numbers(wanted), _numbers(given)
    is_version = numbers[0] == numbers[1] or (is_newest and not numbers[0])
    extra = _words(given) - _words(wanted)
    return is_version and not _words(wanted) - _words(given) and extra <= ({"preview"} if is_newest else set())


def _plain(name: str) -> str:
    last = name.strip().casefold().rpartition("/")[2]
    return _REGION.sub("", _OPTIONS.sub("", last))


def _releases(name: str) -> list[str]:
    found = (one[0].lstrip("-@:.") for one in _RELEASE.finditer(name))
    return [one.replace("-", "") for one in found if not one.startswith("v")]


def _words(name: str) -> set[str]:
    return {token for token in _TOKEN.findall(_RELEASE.sub("", name)) if not token.isdecimal()} - VARIANTS


def _numbers(name: str) -> list[str]:
    """Return the numbers of a version, `4` and `5` of `4-5`; a `0` behind is none: `4-0` is `4`."""
    numbers = [token for token in _TOKEN.findall(name) if token.isdecimal()]
    while numbers and not numbers[-1].strip("0"):
        numbers.pop()
    return numbers


class ServedModel:
    """Compares the model that answers in one run with the one that was asked for."""

    __slots__ = ("_asked", "_is_strict", "_told")

    def __init__(self, plan: Plan) -> None:
        model = plan.spec.model
        self._asked = "" if model is None else model.model
        self._is_strict = plan.launch.strict_model
        self._told: set[str] = set()

    def check(self, event: RouteResolved, route: Route) -> Diagnostic | OhmError | None:
        """Return what is told of another model than the one asked for, once each; an error stops the run."""
        served = event.served_model
        if not served:
            self._asked = self._asked if event.model in {"", UNAVAILABLE} else event.model
            return None
        asked = _selected(route) or self._asked
        if not asked or served in self._told or is_same_model(asked, served):
            return None
        self._told.add(served)
        message = f"The model '{asked}' was asked for, and '{served}' answers, as {event.provider or 'its agent'} says."
        if not self._is_strict:
            return Diagnostic(subject="model", message=message)
        return OhmError(
            code=ErrorCode.MODEL_MISMATCH,
            message=message,
            advice="The run was stopped, and what it did is kept. Name the model that is served, or set "
            "subagents.strictModel to false in ohm.json to let it answer.",
        )


def _selected(route: Route) -> str:
    """Return the model that was chosen last from several; empty where there was no choice."""
    chosen = parse_model_pattern(route.models_used[-1].model).ok() if route.models_used else None
    return "" if chosen is None else chosen.model
