"""`finalize` and `resultSchema`: the keys of any profile's file on how its answer is handed in."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, JsonValue, ValidationInfo
from pydantic.alias_generators import to_camel

from ohm_subagents.contract.acceptance import Acceptance, read_acceptance
from ohm_subagents.contract.json_schema import schema_fault
from ohm_subagents.contract.result import Err, Ok

FINALIZE_KEY: Final = "finalize"


def _of_what_is_handed_in(schema: dict[str, JsonValue] | None, info: ValidationInfo) -> dict[str, JsonValue] | None:
    """Check the schema of a result; `finalize` has to be a field before it, for fields are read in their order."""
    if schema is None:
        return None
    fault = schema_fault(schema)
    if fault is not None:
        msg = f"it has to be a JSON schema: {fault}"
        raise ValueError(msg)
    if info.data.get(FINALIZE_KEY) is None:
        msg = "'resultSchema' is of what is handed in, so 'finalize: required' has to stand beside it"
        raise ValueError(msg)
    return schema


def _checks(value: object) -> Acceptance | None:
    match read_acceptance(value):
        case Err(fault):
            raise ValueError(fault)
        case Ok(accept):
            return accept


class AnswerKeys(BaseModel):
    """The keys on how an answer is handed in; a base for the keys of a kind of file."""

    model_config = ConfigDict(defer_build=True, frozen=True, alias_generator=to_camel)

    finalize: Literal["required"] | None = None
    """`required`: an answer counts only if it is handed in by the tool `subagent_finalize`."""
    result_schema: Annotated[dict[str, JsonValue] | None, AfterValidator(_of_what_is_handed_in)] = None
    """The JSON schema of the result that is handed in."""
    accept: Annotated[Acceptance | None, BeforeValidator(_checks)] = None
    """Checks of the outcome: a list such as `[file: out.md, run: pytest -q]`, or an object with `checks`."""
