"""The facts about a runner of a pool that decide if it may have a run."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from pydantic_core import from_json

from ohm_ray.services import read
from ohm_subagents.plugin import (
    Capability,
    Diagnostic,
    ErrorCode,
    OhmError,
    has_written_rules,
    unasked_calls,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_ray.options import RayOptions
    from ohm_ray.services import Services
    from ohm_subagents.plugin import RunRequest


_ANOTHER: Final = (
    "Name another one as subagents.backends.ray.pool, or end its runners: the next program starts them anew."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """A runner, as it tells of itself."""

    backend: str
    """The id of the backend that it runs; empty if it does not say."""
    capabilities: frozenset[str]
    """The capabilities of that."""
    digests: Mapping[str, str]
    """`digests` of the options that it was started with; none of an older release."""
    services: Services = ()
    """The OpenAI-compatible services that it was started with; none of an older release."""

    @classmethod
    def read(cls, backend: str, written: bytes) -> About:
        """Read the answer to `about`."""
        told = from_json(written)
        return cls(
            backend=backend,
            capabilities=frozenset(told["capabilities"]),
            digests=told.get("digests", {}),
            services=read(told.get("services", [])),
        )

    def misfit(self, options: RayOptions) -> OhmError | None:
        """Return the error of a program whose options are not those of the runner."""
        ours = digests(options)
        others = [name for name, theirs in self.digests.items() if theirs != ours.get(name, theirs)]
        if self.backend not in {"", options.run}:
            message = f"The pool '{options.pool}' runs '{self.backend}', not '{options.run}'."
        elif others:
            named = " and ".join(f"'{name}'" for name in others)
            message = f"The runners of the pool '{options.pool}' were started with other {named} than this program has."
        else:
            return None
        return OhmError(code=ErrorCode.BACKEND_OPTIONS_INVALID, message=message, advice=_ANOTHER)

    def stranger(self, request: RunRequest, options: RayOptions, ours: Services) -> OhmError | None:
        """Return the error of a run whose model is at a service that the runner knows in another way, or not at all."""
        asked = [one for one in ours if request.model is not None and one.name == request.model.provider]
        if all(one in self.services for one in asked):
            return None
        return OhmError(
            code=ErrorCode.BACKEND_OPTIONS_INVALID,
            message=f"The runners of the pool '{options.pool}' were started without the provider '{asked[0].name}' as "
            "this program has it.",
            advice=_ANOTHER,
        )

    def unable(self, request: RunRequest) -> OhmError | None:
        """Return the error of a run that needs what its backend cannot do."""
        if Capability.CALL_RULES not in self.capabilities and has_written_rules(request):
            cannot = "keep to the rules for calls of this subagent"
            advice = "or take the rules away"
        elif request.profile.finalize and not self.capabilities & {Capability.CHILD_TOOLS, Capability.FINALIZE}:
            cannot = "hand in the answer that the profile demands"
            advice = "or take 'finalize' out of the profile"
        else:
            return None
        return OhmError(
            code=ErrorCode.BACKEND_OPTIONS_INVALID,
            message=f"The backend '{self.backend}', which the runners run, cannot {cannot}.",
            advice=f"Name a backend that can as subagents.backends.ray.run, {advice}.",
        )

    def notes(self, request: RunRequest) -> Iterator[Diagnostic]:
        """Yield what the user should know of a run that its backend carries out in part."""
        if Capability.CALL_RULES not in self.capabilities:
            yield from unasked_calls(request, self.backend)
        if request.child_tools and Capability.CHILD_TOOLS not in self.capabilities:
            names = ", ".join(f"'{tool.name}'" for tool in request.child_tools)
            message = f"{names}: not given, because the backend '{self.backend}' at the runners gives no tools."
            yield Diagnostic(subject="tools", message=message)


def with_demands(error: OhmError, options: RayOptions) -> OhmError:
    """Add to the error of a runner that never answered what it demands of a node, which there may be nowhere."""
    asked = {"labels": dict(options.labels), "resources": dict(options.resources)}
    demands = {name: value for name, value in asked.items() if value}
    if not demands or error.code != ErrorCode.RUNNER_LOST:
        return error
    hint = f"It starts only on a node that has {json.dumps(demands)}, and waits in the cluster for one."
    return replace(error, advice=f"{error.advice} {hint}")


def digests(options: RayOptions) -> dict[str, str]:
    """Return digests of the options that a runner is started with, by name; `run` is not among them."""
    written = {
        "runOptions": options.run_options,
        "labels": options.labels,
        "resources": options.resources,
        "runtimeEnv": options.runtime_env,
    }
    return {name: _digest(value) for name, value in written.items()}


def _digest(value: Mapping[str, object]) -> str:
    return sha256(json.dumps(dict(value), sort_keys=True).encode()).hexdigest()[:16]
