"""Whoever adds a field says what a project may do with it: by a policy at the field, or by a reason here for none."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields
from typing import get_args

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from ohm_subagents._config.limits import CommonBudget, CommonLimits, CommonLoop, OwnBudget, OwnLimits, OwnLoop
from ohm_subagents._config.merge import REPLACE, Merge
from ohm_subagents._config.reserved import RESERVED
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.section import Section
from ohm_subagents.contract.limits import Budget, ClockName, Clocks, Limits, LoopPolicy

WITHOUT_A_POLICY = {
    "subagents.backgroundAfterMs": "a project may say when its calls go on, where asyncStart allows it",
    "subagents.model": "a project may choose the model of its subagents, once it is trusted",
    "subagents.profiles.model": "the same, for one subagent",
    "editorSubagent": "a project may choose who answers in an editor, once it is trusted",
}
"""The fields that a trusted project replaces because nothing says otherwise, each with the reason why that is right."""
ZERO_IS_THE_LEAST = {
    "subagents.modelFallback.coolDownMs": "no cool-down",
    "subagents.requestRetries": "no retry",
    "subagents.budget.spawns": "no task of a task",
    "subagents.budget.depth": "no task at all",
    "subagents.profiles.budget.spawns": "no task of a task",
    "subagents.profiles.budget.depth": "no task at all",
}
"""The numbers that a project may lower to 0, each with what 0 means; where it meant no limit, it would lift one."""


def leaves(
    schema: type[BaseModel] = OhmConfig, path: tuple[str, ...] = (), around: Merge = REPLACE
) -> Iterator[tuple[str, FieldInfo, Merge]]:
    """Yield each field that is no section, reserved ones aside, with its policy: its own, or that of its section."""
    for name, field in schema.model_fields.items():
        at = (*path, field.alias or name)
        merge = next((one for one in field.metadata if isinstance(one, Merge)), around)
        types = (field.annotation, *get_args(field.annotation))
        sections = [one for one in types if isinstance(one, type) and issubclass(one, Section)]
        for section in sections if field.json_schema_extra != RESERVED else ():
            yield from leaves(section, at, merge)
        if not sections:
            yield ".".join(at), field, merge


def may_be_lowered_to_zero(field: FieldInfo, merge: Merge) -> bool:
    with suppress(ValidationError):
        if type(TypeAdapter(field.rebuild_annotation()).validate_python(0)) is int:
            with suppress(Exception):  # a policy for another kind of value
                return merge.untrusted(0, 1) == 0
    return False


def names(kind: type) -> set[str]:
    return {one.name for one in fields(kind)}


def test_a_field_without_a_policy_has_a_reason():
    unsaid = [at for at, _, merge in leaves() if merge is REPLACE]
    assert unsaid == [*WITHOUT_A_POLICY], "give the new field a policy of _config/merge.py, or a reason here"


def test_a_number_that_a_project_lowers_to_zero_means_nothing_by_it_rather_than_no_limit():
    found = {at for at, field, merge in leaves() if may_be_lowered_to_zero(field, merge)}
    assert found == ZERO_IS_THE_LEAST.keys(), "where 0 is no limit, the policy is ONLY_LOWER_COUNT"


WRITTEN: list[tuple[type[Section], type, set[str]]] = [
    (OwnLimits, Limits, {"extension"}),
    (CommonLimits, Limits, {"extension", "soft_ms"}),
    (OwnBudget, Budget, set()),
    (CommonBudget, Budget, set()),
    (OwnLoop, LoopPolicy, {"steps"}),
    (CommonLoop, LoopPolicy, {"steps"}),
]
"""Each section, the record of the contract, and the fields of that which are not written there."""


@pytest.mark.parametrize(("written", "resolved", "elsewhere"), WRITTEN)
def test_a_number_that_is_written_is_one_of_the_contract(
    written: type[Section], resolved: type, elsewhere: set[str]
) -> None:
    assert written.model_fields.keys() | elsewhere == names(resolved)


def test_each_limit_has_a_clock_and_each_clock_a_limit():
    assert names(Limits) == names(Clocks)
    assert {f"{clock}_ms" for clock in get_args(ClockName)} | {"extend_ms", "extension"} == names(Limits)
