"""`finalize` and `resultSchema` in the file of a profile."""

import pytest

from ohm_subagents._profiles.markdown import parse_profile
from ohm_subagents.contract import ErrorCode


def parsed(*keys):
    return parse_profile("\n".join(["---", "summary: Looks.", *keys, "---", "Look."]), source="scout.md", stem="scout")


def test_a_profile_can_demand_that_its_answer_is_handed_in():
    assert parsed("finalize: required").unwrap().profile.finalize == "required"
    assert parsed().unwrap().profile.finalize is None


def test_the_result_may_have_a_schema():
    profile = parsed("finalize: required", "resultSchema: {type: object, required: [files]}").unwrap().profile

    assert profile.result_schema == {"type": "object", "required": ["files"]}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["finalize: maybe"], ["scout.md:3", "'finalize'", "required"]),
        (["finalize: required", "resultSchema: {type: nothing}"], ["resultSchema", "JSON schema", "nothing"]),
        (["finalize: required", "resultSchema: {$ref: 'file:///etc/passwd'}"], ["resultSchema", "nothing is fetched"]),
        (["finalize: required", "resultSchema: {$ref: '#'}"], ["resultSchema", "in a circle"]),
        (["resultSchema: {type: object}"], ["resultSchema", "finalize: required"]),
    ],
)
def test_what_is_wrong_with_them_is_told(keys, said):
    error = parsed(*keys).err_value

    assert error.code == ErrorCode.PROFILE_INVALID
    assert all(part in f"{error}" for part in said), f"{error}"
