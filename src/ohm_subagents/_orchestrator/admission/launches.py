"""The settings of an item, and the launch record that is kept of them."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents.contract.launch import LaunchRecord
from ohm_subagents.contract.workspace import Cloning

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ohm_subagents._orchestrator.admission.model_order import NamedModel
    from ohm_subagents._orchestrator.call_context import SharedClone
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._policy.allowance import RunLimits
    from ohm_subagents._policy.tools import ResolvedTools
    from ohm_subagents.contract.acceptance import Acceptance
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.sandbox import SandboxMode
    from ohm_subagents.contract.tool_ceiling import ToolCeiling
    from ohm_subagents.contract.workspace import Isolation, Land

OURS: Final = "ohm-subagents"


class FileSettings(NamedTuple):
    """The files that the runs of an item work on.

    Fields:
        isolation: a clone of its own, or none.
        land: the landing of what they do there.
        around: the clone that the task works in which calls, and so does this one; None for none.
        includes: patterns of ignored files that a clone has all the same.
    """

    isolation: Isolation
    land: Land
    around: SharedClone | None
    includes: tuple[str, ...] = ()

    @property
    def cloning(self) -> Cloning | None:
        """The clone for the runs; None for none."""
        return Cloning(includes=self.includes) if self.isolation == "clone" else None


class Settings(NamedTuple):
    """The terms on which the runs of an item are made.

    Fields:
        profile: the profile that does the work.
        backend, spec: the id of the backend, and what a plugin offers under it.
        named: the model, the place that names it, and what is asked when it fails; None leaves it to the backend.
        strict_model, sandbox, cwd: as in `LaunchRecord`.
        files: the files that it works on.
        tools, limits: the child tools with their rules, and everything that bounds a run.
        permission: the rule that lets the profile run.
        ceiling: the most that the tools may do.
        accept: the checks of the outcome, those of the profile and of the call together.
        programs: the versions of the programs that have run the task which this one continues.
    """

    profile: Profile
    backend: str
    spec: BackendSpec | None
    named: NamedModel | None
    strict_model: bool
    sandbox: SandboxMode
    tools: ResolvedTools
    limits: RunLimits
    permission: str
    cwd: Path
    files: FileSettings
    ceiling: ToolCeiling | None
    accept: Acceptance | None = None
    programs: Mapping[str, str] = MappingProxyType({})

    @property
    def model(self) -> ModelPattern | None:
        """The model that is asked first; None leaves it to the backend."""
        return None if self.named is None else self.named.pattern


class Launches:
    """Makes launch records; the newest one of each profile is made once for as long as nothing changes."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[Settings, LaunchRecord]] = {}

    def of(self, settings: Settings) -> LaunchRecord:
        """Return the launch record."""
        newest = self._newest.get(settings.profile.id)
        if newest is not None and newest[0] == settings:
            return newest[1]
        launch = _launch(settings)
        self._newest[settings.profile.id] = settings, launch
        return launch


def _launch(settings: Settings) -> LaunchRecord:
    return LaunchRecord(
        profile=settings.profile.id,
        instructions=instructions_digest(settings.profile),
        backend=settings.backend,
        model=settings.model,
        fallback=() if settings.named is None else settings.named.fallback,
        strict_model=settings.strict_model,
        sandbox=settings.sandbox,
        tools=settings.tools.shown,
        tools_are_bounded=settings.tools.are_bounded,
        call_rules=settings.tools.call_rules,
        ceiling=settings.ceiling,
        permission=settings.permission,
        cwd=str(settings.cwd),
        isolation="none" if settings.files.around is None and settings.files.cloning is None else "clone",
        clone_of=None if settings.files.around is None else settings.files.around.task_id,
        land=settings.files.land,
        accept=settings.accept,
        limits=settings.limits.clocks,
        loop=settings.limits.loop,
        budget=settings.limits.budget,
        versions=versions_of(settings.spec),
        programs={**settings.programs},
    )


def instructions_digest(profile: Profile) -> str:
    """Return the SHA-256 of the system prompt of a profile."""
    return sha256(profile.prompt.encode("utf-8", "replace")).hexdigest()


def versions_of(spec: BackendSpec | None) -> dict[str, str]:
    """Return the versions of our distribution and of those that a backend names."""
    return {name: _installed(name) for name in (OURS, *(() if spec is None else spec.packages))}


@cache
def _installed(distribution: str) -> str:
    """Return the version of a distribution; `unknown` for one that is not installed as such."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"
