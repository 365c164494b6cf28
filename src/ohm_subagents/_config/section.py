"""What every object of ohm.json is: frozen, without unknown keys, in camelCase."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Section(BaseModel):
    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )
