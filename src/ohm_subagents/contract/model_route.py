"""Routes of models: those that may do the work in turn, and the failures after which the next is asked."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar, Final, Literal, get_args

from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.model_pattern import ModelPattern

INHERIT: Final = "inherit"
"""In place of a model: that of the parent."""
FailureClass = Literal["quota", "overload", "unavailable", "authentication"]
FAILURE_CLASSES: Final[tuple[FailureClass, ...]] = get_args(FailureClass)
_CLASS_OF: Final[Mapping[str, FailureClass]] = MappingProxyType(
    {
        ErrorCode.PROVIDER_QUOTA_EXCEEDED: "quota",
        ErrorCode.PROVIDER_RATE_LIMITED: "overload",
        ErrorCode.PROVIDER_UNAVAILABLE: "unavailable",
        ErrorCode.PROVIDER_CONNECTION_FAILED: "unavailable",
        ErrorCode.PROVIDER_TIMEOUT: "unavailable",
        ErrorCode.PROVIDER_AUTHENTICATION: "authentication",
        ErrorCode.MODEL_KEY_MISSING: "authentication",
    }
)


def failure_class(error: OhmError) -> FailureClass | None:
    """Return the class of a provider's failure; None for any other, after which no other model is asked."""
    return _CLASS_OF.get(error.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRoute:
    """The models that may do the work of a task, in the order in which they are asked."""

    models: tuple[ModelPattern, ...]
    """The models, each once; at least one."""
    why: str
    """The reason for the first one, as `ModelSelected.why`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSelected:
    """A model was chosen among several to do the work: at the beginning of a run, or because another one failed."""

    TEXTS: ClassVar[tuple[str, ...]] = ("model", "why")
    model: str
    """The model, as `<provider>/<model>` or `<provider>/<model>:<thinking>`."""
    why: str
    """The reason: `asked as fast`, `configured as fast`, `inherited from the parent`, `quota of <provider>/<model>`."""
    kind: Literal["model_selected"] = "model_selected"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteResolved:
    """The route of the run is known; an empty field keeps the value before it."""

    TEXTS: ClassVar[tuple[str, ...]] = ("provider", "model", "served_model", "program", "program_version")
    provider: str = ""
    """The id of the model's provider."""
    model: str = ""
    """The id of the model."""
    runtime: str = ""
    """The backend that really runs the task."""
    route: str = ""
    """The way that was taken to it."""
    served_model: str = ""
    """The model that answers, as the provider or the agent says it."""
    program: str = ""
    """The program that does the work in a process of its own, such as `pi`."""
    program_version: str = ""
    """The version of that program, as it says it."""
    kind: Literal["route_resolved"] = "route_resolved"
