"""Settings of a task that continues another: those of its launch record, where nothing has become stricter since."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic.alias_generators import to_camel

from ohm_subagents._config.tool_rules import has_tool
from ohm_subagents._orchestrator.admission.launches import FileSettings, Settings, instructions_digest, versions_of
from ohm_subagents._orchestrator.admission.model_order import NamedModel
from ohm_subagents.contract.diagnostics import Diagnostic, Severity
from ohm_subagents.contract.limits import Clocks, LoopPolicy
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.sandbox import strictest
from ohm_subagents.contract.task import UNAVAILABLE
from ohm_subagents.contract.workspace import strictest_isolation, strictest_landing

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from decimal import Decimal

    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._policy.allowance import RunLimits
    from ohm_subagents._policy.tools import ResolvedTools
    from ohm_subagents.contract.acceptance import Acceptance
    from ohm_subagents.contract.call_rules import CallRules
    from ohm_subagents.contract.commands import Overrides, StartItem
    from ohm_subagents.contract.launch import LaunchRecord
    from ohm_subagents.contract.sandbox import SandboxMode
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.workspace import Isolation, Land

SUBJECT: Final = "session"
_ADVICE: Final = "Start a new task for the settings of now."


class Relaunch:
    """Applies the launch record of a former task to the settings of now, and notes each difference.

    What the call itself says counts. The rest is as it was, but for what is stricter now: that holds. What cannot be
    as it was, because it is not there any more, is as it is now.
    """

    def __init__(self, former: Task, launch: LaunchRecord, item: StartItem) -> None:
        self._former = former
        self._launch = launch
        self._asked: Overrides = item.overrides
        self._kept: list[str] = []
        self._stricter: list[str] = []
        self._changed: list[str] = []

    def applied(self, now: Settings, backends: Mapping[str, BackendSpec]) -> tuple[Settings, tuple[Diagnostic, ...]]:
        """Return the settings of the continuation, and the diagnostic that names what differs from those of now."""
        launch = self._launch
        if fold_id(launch.profile) != fold_id(now.profile.id):
            return now, ()
        self._compare(now)
        backend = self._backend(now, backends)
        settings = now._replace(
            backend=backend,
            spec=backends.get(backend),
            named=self._model(now),
            strict_model=self._strict(now),
            sandbox=self._sandbox(now),
            tools=self._tools(now.tools),
            limits=self._limits(now.limits),
            cwd=self._cwd(now),
            files=now.files._replace(isolation=self._isolation(now.files), land=self._land(now.files)),
            accept=self._accept(now),
            programs=launch.programs if backend == launch.backend else {},
        )
        told = self._told()
        return settings, (() if told is None else (told,))

    def _told(self) -> Diagnostic | None:
        parts = (
            (f"It goes on as task '{self._former.id}' was started", self._kept),
            ("Stricter now, and in force", self._stricter),
            ("Changed since then", self._changed),
        )
        said = [f"{head}: {'; '.join(facts)}." for head, facts in parts if facts]
        if not said:
            return None
        severity: Severity = "warning" if self._kept or self._stricter else "info"
        advice = _ADVICE if self._kept else ""
        return Diagnostic(subject=SUBJECT, message=" ".join(said), advice=advice, severity=severity)

    def _compare(self, now: Settings) -> None:
        """Note what cannot be as it was: the text of the profile, and what is installed."""
        if instructions_digest(now.profile) != self._launch.instructions:
            self._changed.append(f"the instructions of '{now.profile.id}'")
        for name, version in versions_of(now.spec).items():
            former = self._launch.versions.get(name)
            if former not in {None, version}:
                self._changed.append(f"{name} {version} (was {former})")

    def _backend(self, now: Settings, backends: Mapping[str, BackendSpec]) -> str:
        former = self._launch.backend
        if self._asked.backend is not None or former == now.backend:
            return now.backend
        if former in backends:
            self._keep("backend", former, now.backend)
            return former
        self._changed.append(f"backend {now.backend}, from the prompts and answers alone (was {former}, which is gone)")
        return now.backend

    def _model(self, now: Settings) -> NamedModel | None:
        """Return the model of the launch; where it left that to the backend, the one that has answered."""
        launch = self._launch
        former = launch.model or (None if now.named is None else self._answered())
        is_same = former == now.model and (now.named is None or now.named.fallback == launch.fallback)
        if self._asked.model is not None or is_same:
            return now.named
        self._keep("model", former or "as the backend chooses", now.model or "as the backend chooses")
        return None if former is None else NamedModel(pattern=former, by="session", fallback=launch.fallback)

    def _answered(self) -> ModelPattern | None:
        route = self._former.route
        if UNAVAILABLE in {route.provider, route.model} or not (route.provider and route.model):
            return None
        return ModelPattern(provider=route.provider, model=route.model)

    def _strict(self, now: Settings) -> bool:
        former = self._launch.strict_model
        if self._asked.strict_model is not None or former == now.strict_model:
            return now.strict_model
        if former:
            self._keep("strictModel", "true", "false")
        else:
            self._stricter.append("strictModel true (was false)")
        return True

    def _sandbox(self, now: Settings) -> SandboxMode:
        """Return the stricter one, whatever the call says."""
        former = self._launch.sandbox
        found = strictest(former, now.sandbox)
        if found != now.sandbox:
            self._keep("sandbox", former, now.sandbox)
        elif found != former:
            self._stricter.append(f"sandbox {found} (was {former})")
        return found

    def _isolation(self, now: FileSettings) -> Isolation:
        """Return the stricter one: work that was kept apart stays apart, and goes on."""
        former = self._launch.isolation
        if former == now.isolation or now.around is not None:
            return now.isolation
        found = strictest_isolation(former, now.isolation)
        if found == former:
            self._keep("isolation", former, now.isolation)
        else:
            self._stricter.append(f"isolation {found} (was {former})")
        return found

    def _land(self, now: FileSettings) -> Land:
        """Return what the call says, as far as it counts; else the stricter one."""
        former = self._launch.land
        if self._asked.land is not None or former == now.land:
            return now.land
        found = strictest_landing(former, now.land)
        if found == former:
            self._keep("land", former, now.land)
        else:
            self._stricter.append(f"land {found} (was {former})")
        return found

    def _accept(self, now: Settings) -> Acceptance | None:
        """Return the checks of the launch, with those that there are now."""
        former = self._launch.accept
        both = now.accept if former is None else former.joined(now.accept)
        if both != now.accept:
            self._keep("accept", _checks(former), _checks(now.accept))
        if both != former:
            self._stricter.append(f"accept {_checks(both)} (was {_checks(former)})")
        return both

    def _cwd(self, now: Settings) -> Path:
        former = self._launch.cwd
        if self._asked.cwd is not None or not former or former == str(now.cwd):
            return now.cwd
        if (
            os.path.isdir(former) or self._former.assignment.cwd is not None
        ):  # one that was asked for is refused if gone
            self._keep("cwd", former, str(now.cwd))
            return Path(former)
        self._changed.append(f"cwd {now.cwd} (was {former}, which is gone)")
        return now.cwd

    def _tools(self, now: ResolvedTools) -> ResolvedTools:
        """Return the tools that are given now and were given then, and those that the call names, under all rules."""
        launch, explicit = self._launch, (*(tool.name for tool in self._asked.tools), *self._asked.tool_names)

        def stays(name: str) -> bool:
            return name in launch.tools or has_tool(explicit, name)

        names = tuple(name for name in now.names if stays(name))
        later = now.later
        if later is not None:
            later = replace(later, asked=tuple(name for name in later.asked if stays(name)))
        gained = [name for name in now.shown if not stays(name)]
        lost = [name for name in launch.tools if name not in now.shown]
        if gained:
            self._kept.append(f"without {_named(gained)}, which it would have now")
        if lost:
            self._stricter.append(f"without {_named(lost)}, which it had then")
        are_bounded = now.are_bounded or launch.tools_are_bounded or bool(gained)
        return replace(now, names=names, later=later, are_bounded=are_bounded, call_rules=self._rules(now.call_rules))

    def _rules(self, now: tuple[CallRules, ...]) -> tuple[CallRules, ...]:
        """Return the rules of both, each once, wherever it is written now."""
        known = [replace(rule, source="") for rule in now]
        former = [replace(rule, source="") for rule in self._launch.call_rules]
        lifted = [rule for rule, plain in zip(self._launch.call_rules, former, strict=True) if plain not in known]
        added = [rule for rule, plain in zip(now, known, strict=True) if plain not in former]
        if lifted:
            self._kept.append(f"rules for calls of {_named(rule.tool for rule in lifted)} that have changed since")
        if added:
            self._stricter.append(f"rules for calls of {_named(rule.tool for rule in added)}")
        return (*now, *lifted)

    def _limits(self, now: RunLimits) -> RunLimits:
        launch = self._launch
        clocks = now.clocks if self._asked.limits is not None else self._clocks(now.clocks)
        loop = now.loop if self._asked.loop is not None else self._loop(now.loop)
        budget = now.budget.lowered(launch.budget)
        for each in fields(budget):
            self._number(
                f"budget.{to_camel(each.name)}", *(getattr(one, each.name) for one in (launch.budget, now.budget))
            )
        return replace(now, clocks=clocks, loop=loop, budget=now.budget if budget == now.budget else budget)

    def _clocks(self, now: Clocks) -> Clocks:
        launch = self._launch.limits
        lower: dict[str, Any] = {}
        for each in fields(Clocks):
            then, given = getattr(launch, each.name), getattr(now, each.name)
            if isinstance(then, int):
                lower[each.name] = min(then, given)
                self._number(f"limits.{to_camel(each.name)}", then, given)
        if launch.extension != now.extension:
            self._keep("limits.extension", launch.extension, now.extension)
        return replace(launch, **lower)

    def _loop(self, now: LoopPolicy) -> LoopPolicy:
        launch = self._launch.loop
        if launch == now:
            return now
        for each in fields(LoopPolicy):
            then, given = getattr(launch, each.name), getattr(now, each.name)
            if then != given:
                self._keep(f"loop.{to_camel(each.name)}", then, given)
        return launch

    def _number(self, name: str, then: float | Decimal | None, now: float | Decimal | None) -> None:
        """Note a limit that differs; None is no limit."""
        if then == now:
            return
        if then is None or (now is not None and now < then):
            self._stricter.append(f"{name} {_shown(now)} (was {_shown(then)})")
        else:
            self._keep(name, then, now)

    def _keep(self, name: str, then: object, now: object) -> None:
        self._kept.append(f"{name} {_shown(then)} (now {_shown(now)})")


def _checks(accept: Acceptance | None) -> str:
    return "no checks" if accept is None else f"{accept}"


def _shown(value: object) -> str:
    return "no limit" if value is None else f"{value}"


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in dict.fromkeys(names))
