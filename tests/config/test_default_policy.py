"""Whoever adds a field says what a project may do with it: by a policy at the field, or by a reason here for none."""

from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel

from ohm_subagents._config.merge import REPLACE, Merge
from ohm_subagents._config.reserved import RESERVED
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.section import Section

WITHOUT_A_POLICY = {
    "subagents.model": "a project may choose the model of its subagents, once it is trusted",
    "subagents.profiles.model": "the same, for one subagent",
    "editorSubagent": "a project may choose who answers in an editor, once it is trusted",
}
"""The fields that a trusted project replaces because nothing says otherwise, each with the reason why that is right."""


def unsaid(schema: type[BaseModel] = OhmConfig, path: tuple[str, ...] = (), around: Merge = REPLACE) -> Iterator[str]:
    """Yield each field, reserved ones aside, for which neither it nor a section around it names a policy."""
    for name, field in schema.model_fields.items():
        at = (*path, field.alias or name)
        merge = next((one for one in field.metadata if isinstance(one, Merge)), around)
        types = (field.annotation, *get_args(field.annotation))
        sections = [one for one in types if isinstance(one, type) and issubclass(one, Section)]
        for section in sections if field.json_schema_extra != RESERVED else ():
            yield from unsaid(section, at, merge)
        if not sections and merge is REPLACE:
            yield ".".join(at)


def test_a_field_without_a_policy_has_a_reason():
    assert [*unsaid()] == [*WITHOUT_A_POLICY], "give the new field a policy of _config/merge.py, or a reason here"
