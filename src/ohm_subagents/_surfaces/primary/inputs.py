"""The input of a direct tool, derived from `profile.inputs`: its schema, and payload → StartItem (task-v1, 18)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.commands import StartItem
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import InputSpec
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from ohm_subagents._plugins.interfaces import JsonObject
    from ohm_subagents.contract.profile import InputRole, Profile

LEGACY: Final = "prompt"
PLAIN: Final = (
    InputSpec(name=LEGACY, role="prompt", required=True, description="The whole task for the subagent."),
    InputSpec(name="description", role="description", description="A title of a few words."),
)
"""What a profile without inputs of its own takes."""
TEXT: Final[JsonObject] = {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrimaryInput:
    """A payload understood: the item to start, whether in the background, and the keys that mean nothing to us."""

    item: StartItem
    background: bool
    ignored: tuple[str, ...]


def inputs_of(profile: Profile) -> tuple[InputSpec, ...]:
    """The fields of a profile's direct tool."""
    return profile.inputs or PLAIN


def schema_of(profile: Profile) -> JsonObject:
    """JSON Schema of the tool's arguments."""
    properties: JsonObject = {}
    for field in inputs_of(profile):
        of_role: JsonObject = {"type": "array", "minItems": 1, "items": TEXT} if field.role == "files" else {**TEXT}
        properties[field.name] = {**of_role, "description": field.description} if field.description else of_role
    properties.setdefault(LEGACY, {**TEXT})
    properties["async"] = {"type": "boolean"}
    return {
        "type": "object",
        "properties": properties,
        "required": [field.name for field in inputs_of(profile) if field.required],
        "additionalProperties": False,
    }


def parse(profile: Profile, arguments: JsonValue) -> Result[PrimaryInput, OhmError]:
    """Understand a payload; blank texts count as missing, and a text that is no text is an error."""
    if not isinstance(arguments, dict):
        return Err(_invalid(f"Primary tool payload for '{profile.id}' must be an object"))
    background = arguments.get("async", False)
    if not isinstance(background, bool):
        return Err(_invalid(f"'async' of '{profile.id}' must be true or false"))
    wrong = _first_wrong(profile, arguments)
    if wrong is not None:
        return Err(
            _invalid(f"'{wrong.name}' of '{profile.id}' must be {'a list' if wrong.role == 'files' else 'text'}")
        )
    main = _of_role(profile, arguments, "prompt") or _text(arguments.get(LEGACY))
    if not main:
        return Err(_invalid(_missing(profile)))
    item = StartItem(
        profile=profile.id,
        description=_of_role(profile, arguments, "description") or f"{profile.name} direct tool request",
        prompt="\n\n".join([main, *_blocks(profile, arguments)]),
        invocation="primary-tool",
    )
    known = {LEGACY, "async", *(field.name for field in inputs_of(profile))}
    return Ok(
        PrimaryInput(item=item, background=background, ignored=tuple(key for key in arguments if key not in known))
    )


def _first_wrong(profile: Profile, arguments: dict[str, JsonValue]) -> InputSpec | None:
    for field in inputs_of(profile):
        value = arguments.get(field.name)
        if value is not None and not isinstance(value, list if field.role == "files" else str):
            return field
    return None


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


def _invalid(message: str) -> OhmError:
    return OhmError(code=ErrorCode.INVALID_PRIMARY_PAYLOAD, message=message)
