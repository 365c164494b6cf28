"""Messages as versioned JSON, and back. What a newer release adds survives a load and a dump."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from ohm_subagents.contract.text import encodable_json
from ohm_subagents.contract.wire import callbacks, frames, ledger, messages, reports, serving
from ohm_subagents.contract.wire.messages import StartRun, UnknownMessage, WireMessage
from ohm_subagents.contract.wire.profiles import profile_fields, profile_size, read_profile
from ohm_subagents.contract.wire.versions import NEWEST, VERSIONS, WireError, lowered, raised

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.wire.messages import WireObject

M = TypeVar("M", bound=WireMessage)
_UNKNOWN: Final = "unknown"
_NESTED: Final[frozenset[type]] = frozenset({dict, list})


def dump(message: WireMessage, *, version: int = NEWEST, strict: bool = False) -> WireObject:
    """Write a message as plain JSON with its `version` and `kind`. Do not change it: messages share parts of theirs.

    Raises `WireError` for a version that this release does not write, for a message that an older version cannot say,
    and, with `strict`, for one with values of wrong types, which the other side could not read.
    """
    return sized(message, version=version, strict=strict)[0]


def sized(message: WireMessage, *, version: int = NEWEST, strict: bool = False) -> tuple[WireObject, int]:
    """Write a message as `dump` does, and return how many bytes of text it is too, without those that it carries."""
    if version not in VERSIONS:
        raise WireError(_unreadable(version))
    if isinstance(message, UnknownMessage):
        return {**message.unknown, "version": version}, len(to_json(message.unknown))
    try:
        fields = _fields(message, warnings="error" if strict else True)
    except PydanticSerializationError as invalid:
        wrong = f"It cannot be sent, for a value of it has a wrong type: {_first_fault(invalid)}."
        raise WireError(wrong) from None
    if message.unknown:
        fields = cast("WireObject", _merged(fields, message.unknown))
    fields, size = _encodable(fields, beside=_profile_of(message))
    written: WireObject = {"version": version, **lowered(fields, version)}
    if message.CARRIES:
        written[message.CARRIES] = [*getattr(message, message.CARRIES)]
    return written, size


def load(fields: Mapping[str, JsonValue]) -> WireMessage:
    """Return the message that `dump` wrote, in any version; an `UnknownMessage` for a kind of a newer release.

    Raises `WireError` for a version of the future, and for what is no message.
    """
    version = fields.get("version")
    if version not in VERSIONS:
        raise WireError(_unreadable(version))
    plain = {**fields}
    del plain["version"]
    plain.pop(_UNKNOWN, None)
    kind = str(plain.get("kind"))
    known = _messages().get(kind)
    if known is None:
        return UnknownMessage(kind=kind, unknown=plain)
    plain = raised(plain, cast("int", version))
    try:
        message: WireMessage = _adapter(kind).validate_python(_with_read_profile(plain) if known is StartRun else plain)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_context=False, include_input=False)[0]
        wrong = f"This is no message '{plain.get('kind')}': {'.'.join(map(str, first['loc']))}: {first['msg']}."
        raise WireError(wrong) from None
    if _is_all_known(plain, known):
        return message
    plain.pop(message.CARRIES, None)
    known_fields = _fields(message)
    if plain != known_fields and (beyond := _beyond(plain, known_fields)):
        object.__setattr__(message, _UNKNOWN, beyond)
    return message


def _with_read_profile(fields: WireObject) -> WireObject:
    """Return the fields of a start with the profile itself in place of its fields, if there is one."""
    run = fields.get("run")
    spec = run.get("spec") if isinstance(run, dict) else None
    if not isinstance(run, dict) or not isinstance(spec, dict) or "profile" not in spec:
        return fields
    read = {**spec, "profile": read_profile(spec["profile"])}
    return cast("WireObject", {**fields, "run": {**run, "spec": read}})


def _is_all_known(fields: WireObject, message: type[WireMessage]) -> bool:
    """Return True for a flat message with no field of a newer release, as most are: its values need no second look."""
    if not fields.keys() <= message.__dataclass_fields__.keys():
        return False
    values = [value for key, value in fields.items() if key != message.CARRIES] if message.CARRIES else fields.values()
    return _NESTED.isdisjoint(map(type, values))


def load_as(expected: type[M], fields: Mapping[str, JsonValue]) -> M:
    """Return the message, which has to be of this type: the answer to a call has. Raises `WireError` for another."""
    message = load(fields)
    if not isinstance(message, expected):
        wrong = f"Expected a message '{expected.__name__}', got '{type(message).__name__}'."
        raise WireError(wrong)
    return message


def common_version(theirs: tuple[int, ...], *, they: str, we: str) -> int:
    """Return the newest version that both sides know; `they` and `we` name the sides.

    Raises `WireError` if there is none: the sentence reads the same on both sides.
    """
    both = [version for version in VERSIONS if version in theirs]
    if not both:
        older = they if max(theirs, default=0) < NEWEST else we
        wrong = f"Of messages, {they} speaks {_listed(theirs)}, {we} {_listed(VERSIONS)}: update {older}."
        raise WireError(wrong)
    return max(both)


def kinds() -> set[str]:
    """Return the kinds of the messages that this release knows."""
    return {*_messages()}


@cache
def _messages() -> dict[str, type[WireMessage]]:
    """The messages by their kind."""
    modules = (messages, reports, frames, ledger, serving, callbacks)
    parts = (one for module in modules for one in vars(module).values() if isinstance(one, type))
    return {kind: one for one in parts if issubclass(one, WireMessage) and (kind := _kind_of(one))}


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    """Return what reads and writes messages of a known kind; made on first use, which takes some milliseconds."""
    return TypeAdapter(_messages()[kind])


@cache
def _beside(kind: str) -> dict[str, Any]:
    """Return the parts of messages of a known kind that are written by themselves, as pydantic excludes them."""
    known = _messages()[kind]
    profile = {"run": {"spec": {"profile": True}}} if known is StartRun else {}
    return {_UNKNOWN: True, known.CARRIES: True, **profile}


def _kind_of(message: type[WireMessage]) -> str:
    """Return the kind of a message; empty for a base, and for those of a newer release."""
    field = message.__dataclass_fields__.get("kind")
    return "" if field is None else str(field.default)


def _fields(message: WireMessage, *, warnings: bool | Literal["error"] = True) -> WireObject:
    """Return what is known of a message as plain JSON, without the messages that it carries."""
    kind = _kind_of(type(message))
    adapter, beside = _adapter(kind), _beside(kind)
    fields: dict[str, Any] = adapter.dump_python(message, mode="json", exclude=beside, warnings=warnings)
    if isinstance(message, StartRun):
        fields["run"]["spec"]["profile"] = profile_fields(message.run.spec.profile)
    return fields


def _profile_of(message: WireMessage) -> Profile | None:
    """Return the profile of a message whose fields have what `profile_fields` has written of it."""
    return message.run.spec.profile if isinstance(message, StartRun) and not message.unknown else None


def _encodable(fields: dict[str, Any], *, beside: Profile | None = None) -> tuple[WireObject, int]:
    """Return fields with texts that any encoding can write, and their bytes as text; most are so already.

    The profile `beside`, which is the largest part of a run, is known to be so, and how large it is.
    """
    if beside is not None:
        fields["run"]["spec"]["profile"] = None
    try:
        size = len(to_json(fields))
    except (PydanticSerializationError, ValueError):
        fields = cast("WireObject", encodable_json(fields))
        size = len(to_json(fields))
    if beside is None:
        return fields, size
    fields["run"]["spec"]["profile"] = profile_fields(beside)
    return fields, size + profile_size(beside)


def _beyond(given: Mapping[str, JsonValue], known: Mapping[str, JsonValue]) -> WireObject:
    """Return what is in an object that was read, and not in what was understood of it; items of lists by number."""
    found: WireObject = {}
    for key, value in given.items():
        if key not in known:
            found[key] = value
            continue
        match value, known[key]:
            case dict() as inner, dict() as understood:
                more = _beyond(inner, understood)
            case list() as items, list() as seen if len(items) == len(seen):
                more = _beyond(_numbered(items), _numbered(seen))
            case _:
                continue
        if more:
            found[key] = more
    return found


def _merged(known: JsonValue, beyond: JsonValue) -> JsonValue:
    """Return a value with the fields of `_beyond` at their places."""
    match known, beyond:
        case dict(), dict():
            return {**known, **{key: _merged(known.get(key), value) for key, value in beyond.items()}}
        case list(), dict():
            return [_merged(item, beyond[str(at)]) if str(at) in beyond else item for at, item in enumerate(known)]
        case _:
            return beyond


def _numbered(items: list[JsonValue]) -> WireObject:
    return {str(at): item for at, item in enumerate(items)}


def _first_fault(invalid: PydanticSerializationError) -> str:
    """Return the first fault of a message whose values have wrong types, without the names of pydantic."""
    faults = re.findall(r"Expected `[^`]*`[^\[]*\[field_name='([^']*)', input_value=(.*?), input_type", str(invalid))
    return f"{faults[0][0]} is {faults[0][1]:.60}" if faults else f"{invalid}".partition("\n")[0].rstrip(".")


def _unreadable(version: object) -> str:
    update = ", and has to be updated" if isinstance(version, int) and version > NEWEST else ""
    return f"The message has version {version!r}; its reader knows {_listed(VERSIONS)}{update}."


def _listed(versions: tuple[int, ...]) -> str:
    *others, last = map(str, versions or ("none",))
    return f"versions {', '.join(others)} and {last}" if others else f"version {last}" if versions else last
