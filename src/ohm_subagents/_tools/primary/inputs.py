"""The input of a direct tool, derived from `profile.inputs`: its schema, and payload → StartItem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass
from ohm_subagents._tools.arguments import ASYNC, overridden_key, short_json, unknown_key
from ohm_subagents.contract.commands import StartItem
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import InputSpec
from ohm_subagents.contract.restraints import REFUSED, is_restraint
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from ohm_subagents._plugins.suites.tool import JsonObject
    from ohm_subagents.contract.profile import InputRole, Profile

LEGACY: Final = "prompt"
PLAIN: Final = (
    InputSpec(name=LEGACY, role="prompt", required=True, description="The whole task for the subagent."),
    InputSpec(name="description", role="description", description="A title of a few words."),
)
"""The inputs of a profile that has none of its own."""
TEXT: Final[JsonObject] = {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimaryInput:
    """A valid payload: the item to start, if in the background, and notes on what is ignored."""

    item: StartItem
    background: bool
    ignored: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidInput:
    """An invalid payload: its error, and notes on the keys that are ignored."""

    error: OhmError
    ignored: tuple[str, ...] = ()


def inputs_of(profile: Profile) -> tuple[InputSpec, ...]:
    """Return the fields of a profile's direct tool."""
    return profile.inputs or PLAIN


def schema_of(profile: Profile, *, starts_async: bool = False) -> JsonObject:
    """Return the JSON schema of the tool's arguments."""
    properties: JsonObject = {}
    for field in inputs_of(profile):
        of_role: JsonObject = {"type": "array", "minItems": 1, "items": TEXT} if field.role == "files" else {**TEXT}
        properties[field.name] = {**of_role, "description": field.description} if field.description else of_role
    properties.setdefault(LEGACY, {**TEXT})
    properties["async"] = {"type": "boolean", "description": ASYNC} if starts_async else {"type": "boolean"}
    return {
        "type": "object",
        "properties": properties,
        "required": [field.name for field in inputs_of(profile) if field.required],
        "additionalProperties": False,
    }


def parse(profile: Profile, arguments: JsonValue) -> Result[PrimaryInput, InvalidInput]:
    """Parse a payload; null and blank texts count as missing, and a text that is no text is an error."""
    if not isinstance(arguments, dict):
        message = f"Primary tool payload for '{profile.id}' must be an object"
        return Err(InvalidInput(error=_invalid(profile, message)))
    ignored = tuple(_ignored(profile, arguments))
    wrong = _wrong(profile, arguments)
    if wrong:
        return Err(InvalidInput(error=_invalid(profile, wrong), ignored=ignored))
    item = StartItem(
        profile=profile.id,
        description=_of_role(profile, arguments, "description") or f"{profile.name} direct tool request",
        prompt="\n\n".join([_main(profile, arguments), *_blocks(profile, arguments)]),
        invocation="primary-tool",
    )
    return Ok(PrimaryInput(item=item, background=arguments.get("async") is True, ignored=ignored))


def _wrong(profile: Profile, arguments: dict[str, JsonValue]) -> str:
    """Return what makes a payload unusable; empty if nothing does."""
    fields = {LEGACY, "async", *(field.name for field in inputs_of(profile))}
    for key, value in arguments.items():
        if key not in fields and is_restraint(key, value):
            return f"'{profile.id}' does not take '{key}', which is {short_json(value)}. {REFUSED}"
    if not isinstance(arguments.get("async"), bool | None):
        return f"'async' of '{profile.id}' must be true or false"
    for field in inputs_of(profile):
        value = arguments.get(field.name)
        if value is not None and not isinstance(value, list if field.role == "files" else str):
            return f"'{field.name}' of '{profile.id}' must be {'a list' if field.role == 'files' else 'text'}"
    if _main(profile, arguments):
        return ""
    if not isinstance(arguments.get(LEGACY), str | None):
        return f"'{LEGACY}' of '{profile.id}' must be text"
    return _missing(profile)


def _main(profile: Profile, arguments: dict[str, JsonValue]) -> str:
    return _of_role(profile, arguments, "prompt") or _text(arguments.get(LEGACY))


def _ignored(profile: Profile, arguments: dict[str, JsonValue]) -> Iterator[str]:
    """Return the keys that count for nothing: reported, never dropped in silence."""
    fields: dict[str, InputRole] = {field.name: field.role for field in inputs_of(profile)}
    roles: dict[str, InputRole] = fields if LEGACY in fields else {**fields, LEGACY: "prompt"}
    counts: dict[InputRole, str] = {}
    for name, role in roles.items():
        if _text(arguments.get(name)):
            counts.setdefault(role, name)
    for key, value in arguments.items():
        if key == "async":
            continue
        if key not in roles:
            yield unknown_key(key)
        elif isinstance(value, list) and roles[key] == "files":
            wrong = (index for index, name in enumerate(value) if not isinstance(name, str | None))
            yield from (f"Ignored '{key}.{index}', which is no text." for index in wrong)
        elif counts.get(roles[key], key) != key and (_text(value) or not isinstance(value, str | None)):
            yield overridden_key(key, by=counts[roles[key]])


def _blocks(profile: Profile, arguments: dict[str, JsonValue]) -> Iterator[str]:
    context = _of_role(profile, arguments, "context")
    if context:
        yield f"Context:\n{context}"
    for field in inputs_of(profile):
        if field.role == "files":
            listed = arguments.get(field.name)
            names = [_text(name) for name in listed] if isinstance(listed, list) else []
            paths = [f"- {name}" for name in names if name]
            if paths:
                yield "\n".join(["Files:", *paths, "Inspect these paths first."])


def _of_role(profile: Profile, arguments: dict[str, JsonValue], role: InputRole) -> str:
    fields = (field for field in inputs_of(profile) if field.role == role)
    return next((text for field in fields if (text := _text(arguments.get(field.name)))), "")


def _text(value: JsonValue) -> str:
    return value.strip() if isinstance(value, str) else ""


def _missing(profile: Profile) -> str:
    main = next((field.name for field in inputs_of(profile) if field.role == "prompt"), LEGACY)
    if main == LEGACY:
        return f"primary tool '{profile.id}' requires '{LEGACY}'"
    return f"{profile.id} requires '{main}' (or legacy '{LEGACY}')"


def _invalid(profile: Profile, message: str) -> OhmError:
    return OhmError(code=ErrorCode.INVALID_PRIMARY_PAYLOAD, message=message, advice=_advice(profile))


def _advice(profile: Profile) -> str:
    fields = {
        field.name: f"{field.name} ({'list of texts' if field.role == 'files' else 'text'}"
        f"{', required' if field.required else ''})"
        for field in sorted(inputs_of(profile), key=lambda field: not field.required)
    }
    fields.setdefault(LEGACY, f"{LEGACY} (text)")
    return f"Fields: {', '.join(fields.values())}, async (true or false)."
