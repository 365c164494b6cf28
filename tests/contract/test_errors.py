"""Failures as values."""

import pytest
from result import UnwrapError

from ohm_subagents.contract import Category, Err, ErrorCode, OhmError


@pytest.mark.parametrize("code", list(ErrorCode))
def test_every_code_declares_its_category(code):
    assert isinstance(code.category, Category)
    assert OhmError(code=code, message="x", category=Category.POLICY).resolved_category is code.category


@pytest.mark.parametrize(
    ("code", "category"),
    [
        ("thing_not_found", "not_found"),
        ("my_policy", "policy"),
        ("x_persistence_y", "persistence"),
        ("exploded", "runtime"),
        *((code, "runtime") for code in ("invalid_thing", "my_payload_code", "validation_of_mine")),
    ],
)
def test_a_plugins_own_code_without_a_category_gets_what_its_name_tells_and_never_blames_the_payload(code, category):
    assert OhmError(code=code, message="x").resolved_category == category


def test_a_plugin_may_declare_the_category_of_its_own_code():
    assert OhmError(code="thing_not_found", message="x", category=Category.POLICY).resolved_category == "policy"


def test_a_blank_message_is_never_left_blank():
    assert OhmError(code="c", message=" ").message == "Failed with c and no message."


def test_the_text_of_an_error_is_the_fact_and_then_the_advice():
    assert str(OhmError(code="c", message="It broke", advice="Mend it.")) == "It broke. Mend it."
    assert str(OhmError(code="c", message="It broke")) == "It broke"


def test_an_error_that_is_unwrapped_says_what_happened_and_what_to_do():
    error = OhmError(code=ErrorCode.MODEL_MISSING, message="No model.", advice="Set OHM_MODEL.")
    with pytest.raises(UnwrapError, match=r"OhmError\('task_model_missing', 'No model. Set OHM_MODEL.'\)$"):
        Err(error).unwrap()
