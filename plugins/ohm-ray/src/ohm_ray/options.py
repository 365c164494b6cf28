"""The options of the backend `ray`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic.alias_generators import to_camel

from ohm_subagents.plugin import INTERACTIVE_SDK, Options
from ohm_subagents.redaction import REDACTED, Redaction

_CAMEL: Final = ConfigDict(defer_build=True, alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$")]


def _address(given: str) -> str:
    if not re.fullmatch(r"local|auto|[^\s:]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}", given):
        wrong = f"'{given}' is no address of a Ray cluster; allowed: local, auto, <host>:<port>"
        raise ValueError(wrong)
    return given


def _without_keys(given: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    if REDACTED in json.dumps(Redaction().object(dict(given))):
        wrong = "has what looks like a key, and travels to the runners; set keys in the environment of their machines"
        raise ValueError(wrong)
    return given


class RunnerRange(Options):
    """The bounds of the number of runners: `min` at once, and up to `max` as they fill."""

    model_config = _CAMEL

    min: int = Field(default=1, ge=1)
    max: int = Field(default=4, ge=1)
    idle_ms: int = Field(default=60_000, ge=5_000)
    """The milliseconds after which a runner above `min` ends that has no run and is not asked for any."""

    @model_validator(mode="after")
    def _is_range(self) -> Self:
        if self.min > self.max:
            usual = "" if "max" in self.model_fields_set else ", unless you set it"
            wrong = f"'min' is {self.min}, and 'max' is {self.max}{usual}; allowed: a 'min' of at most 'max'"
            raise ValueError(wrong)
        return self


class RayOptions(Options):
    """`subagents.backends.ray` of ohm.json."""

    model_config = _CAMEL

    address: Annotated[str, AfterValidator(_address)] = "local"
    """`local` starts a cluster on this machine that ends with the last `Ohm`; `auto` joins the one that runs here, and
    `<host>:<port>` the one there."""
    pool: _Name = "default"
    """The name of the runners: submitters that name the same pool share them."""
    runners: Annotated[int, Field(ge=1)] | RunnerRange = 1
    """The number of runners, or its bounds: `{"min": 1, "max": 8}`."""
    runs_per_runner: int = Field(default=100, ge=1)
    """The runs of this `Ohm` at one runner, beyond which another is started while there may be more."""
    run: Annotated[str, Field(min_length=1)] = INTERACTIVE_SDK
    """The backend that the runners run."""
    run_options: Annotated[Mapping[str, JsonValue], AfterValidator(_without_keys)] = {}
    """Options of that backend. They travel, so that what looks like a key is refused."""
    labels: Mapping[str, str] = {}
    """The labels that the node of a runner must have, as Ray's `label_selector` writes them."""
    resources: Mapping[str, float] = {}
    """The resources of Ray that each runner takes."""
    runtime_env: Mapping[str, JsonValue] = {}
    """Ray's `runtime_env` for the runners. Whoever may use the cluster can read it: set keys on the nodes instead."""
    workspace: Literal["shared", "bundle"] = "shared"
    """The files of a task: in a directory that is the same on all machines, or sent to the runner as a git bundle."""
    on_lost: Literal["fail", "retry"] = "fail"
    """The fate of a run whose runner is lost: it fails, or goes on at another runner from its last checkpoint."""
    ledger_after_ms: int | None = Field(default=None, ge=1000)
    """The milliseconds without a word of this program after which a ledger grants its runs model requests, within their
    budgets; None for never."""
    ledger_idle_ms: int = Field(default=600_000, ge=60_000)
    """The milliseconds without a call after which the ledger ends, also where nobody has told it that runs are over."""

    @property
    def ledger_after_s(self) -> float | None:
        """The seconds of silence after which the ledger is asked; None for never."""
        return None if self.ledger_after_ms is None else self.ledger_after_ms / 1000

    @property
    def ledger_idle_s(self) -> float:
        """The seconds without a call after which the ledger ends."""
        return self.ledger_idle_ms / 1000

    @property
    def idle_s(self) -> float:
        """The seconds after which a runner ends that the pool need not have."""
        return (self.runners if isinstance(self.runners, RunnerRange) else RunnerRange()).idle_ms / 1000

    @property
    def fewest(self) -> int:
        """The number of runners that there are at least."""
        return self.runners if isinstance(self.runners, int) else self.runners.min

    @property
    def most(self) -> int:
        """The number of runners that there are at most."""
        return self.runners if isinstance(self.runners, int) else self.runners.max
