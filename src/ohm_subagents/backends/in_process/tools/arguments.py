"""The arguments of a tool as the model writes them: camelCase on the wire, snake_case here."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Arguments(BaseModel):
    """Base of every tool's arguments. Both spellings are taken; unknown keys are ignored."""

    model_config = ConfigDict(
        defer_build=True,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        frozen=True,
        str_max_length=2_000_000,
    )
