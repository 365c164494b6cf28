"""A bad value as a message quotes it."""

from datetime import date

import pytest

from ohm_subagents._config.load import load_config
from ohm_subagents._config.values import quoted_value
from ohm_subagents.contract.result import Ok


def doubled(times: int) -> object:
    value: object = ["x"]
    for _ in range(times):
        value = {"a": value, "b": value}
    return value


def endless() -> object:
    value: list[object] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("it's", '"it\'s"'),
        (["é", 1, None], '["é", 1, null]'),
        ({"on": date(2001, 2, 3)}, '{"on": "2001-02-03"}'),
        ({("a",): 1}, "a dict"),
        (endless(), "a list"),
        ("x" * 58, f"'{'x' * 58}'"),
        ("x" * 59, f"'{'x' * 58}…"),
        ("x" * 10_000_000, f"'{'x' * 58}…"),
        (doubled(60), '{"a": ' * 9 + '{"a":…'),
    ],
)
def test_it_is_quoted_in_sixty_characters_however_large_it_is(value, quoted):
    assert quoted_value(value) == quoted


def test_an_empty_name_of_a_store_is_named_in_plain_words(tmp_path):
    loaded = load_config(cwd=tmp_path, config={"subagents": {"store": ""}}, env={})
    assert isinstance(loaded, Ok)
    (found,) = loaded.ok_value.diagnostics
    assert "'subagents.store' is '', but has to be a text that is not empty" in str(found)
