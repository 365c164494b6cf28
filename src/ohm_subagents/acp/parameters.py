"""Parameters of a client that count for nothing: told in the answer, or refused if they restrain a subagent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from acp import RequestError
from acp.schema import (
    CloseSessionRequest,
    InitializeRequest,
    ListSessionsRequest,
    LoadSessionRequest,
    NewSessionRequest,
    PromptRequest,
    ResumeSessionRequest,
    SetSessionConfigOptionBooleanRequest,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
)
from pydantic import BaseModel

from ohm_subagents.acp.stops import INVALID_PARAMS
from ohm_subagents.contract.restraints import REFUSED, is_restraint

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_SHAPES: Final[Mapping[str, tuple[type[BaseModel], ...]]] = {
    "initialize": (InitializeRequest,),
    "session/new": (NewSessionRequest,),
    "session/load": (LoadSessionRequest,),
    "session/resume": (ResumeSessionRequest,),
    "session/prompt": (PromptRequest,),
    "session/list": (ListSessionsRequest,),
    "session/close": (CloseSessionRequest,),
    "session/set_mode": (SetSessionModeRequest,),
    "session/set_config_option": (SetSessionConfigOptionBooleanRequest, SetSessionConfigOptionSelectRequest),
}
_NEVER_REFUSED: Final = frozenset({"initialize", "session/list", "session/close"})
"""The methods that give a subagent nothing to do."""
_NOT_KEPT: Final = frozenset({"additionalDirectories"})
"""Parameters of the protocol that have no effect here."""
IGNORED: Final = "ohm/ignored"
"""The key of `_meta` of an answer that lists the parameters that count for nothing."""


def ignored(method: str, params: object) -> tuple[str, ...]:
    """Return the parameters that count for nothing. Raises RequestError for one that restrains a subagent."""
    shapes = _SHAPES.get(method)
    if shapes is None or not isinstance(params, Mapping):
        return ()
    given = cast("Mapping[str, object]", params)
    fields: list[tuple[str, FieldInfo]] = [one for shape in shapes for one in shape.model_fields.items()]
    known = {name for key, field in fields for name in (key, field.alias)} - _NOT_KEPT
    unknown = tuple(key for key, value in given.items() if key not in known and value not in (None, []))
    for key in unknown if method not in _NEVER_REFUSED else ():
        if is_restraint(key, given[key]):
            raise RequestError(INVALID_PARAMS, f"{method} does not take '{key}'. {REFUSED}")
    return unknown


def telling(answer: object, unknown: tuple[str, ...]) -> object:
    """Return the answer to a request with the parameters that count for nothing in its `_meta`."""
    if not unknown:
        return answer
    if isinstance(answer, BaseModel) and "field_meta" in type(answer).model_fields:
        meta = cast("Mapping[str, object]", getattr(answer, "field_meta", None) or {})
        return answer.model_copy(update={"field_meta": {**meta, IGNORED: [*unknown]}})
    if isinstance(answer, dict):
        fields = cast("dict[str, object]", answer)
        meta = cast("Mapping[str, object]", fields.get("_meta") or {})
        return {**fields, "_meta": {**meta, IGNORED: [*unknown]}}
    return answer
