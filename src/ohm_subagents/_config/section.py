"""The base of every object of ohm.json: frozen, without unknown keys, in camelCase."""

from typing import Any, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.alias_generators import to_camel

JsonObject: TypeAlias = dict[str, JsonValue]


class Section(BaseModel):
    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    @classmethod
    def unwritten(cls) -> Self:
        """Return the section with its defaults. They need no check, and a validator is slow to build."""
        return cls.model_construct()

    def __deepcopy__(self, _memo: dict[int, Any] | None = None) -> Self:
        """Return itself: it is frozen, and pydantic copies a default that it cannot hash at each validation."""
        return self

    def as_arguments(self) -> dict[str, Any]:
        """Return the fields by name, as arguments of the record of the contract that they are for."""
        return {name: getattr(self, name) for name in type(self).model_fields}
