"""A field that nothing obeys yet says so wherever a user could meet it."""

from pathlib import Path

import pytest

from ohm_subagents._config.load import load_config
from ohm_subagents._config.reserved import NOTE, reserved_fields
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.tables import config_schema, config_table, env_table


def told(loaded):
    return [(one.severity, str(one)) for one in loaded.diagnostics]


def test_setting_a_reserved_field_is_told_with_its_place(home):
    home.write(
        user='{\n  "features": {\n    "handoff": false\n  }\n}', project='{"painter": {"openai": {"model": "x"}}}'
    )
    loaded = home.load()
    assert told(loaded) == [
        (
            "info",
            f"{home.user}/ohm.json:3:5: 'features.handoff' is reserved: it is read and checked, but has no effect yet.",
        ),
        (
            "info",
            f"{home.cwd}/.pi/ohm.json:1:25: 'painter.openai.model' is reserved: it is read and checked, "
            "but has no effect yet.",
        ),
    ]


def test_a_reserved_field_at_its_default_is_nothing_to_tell(home):
    home.write(user='{"painter": {"openai": {}}, "features": {"handoff": true}}')
    assert home.load().diagnostics == ()


def test_a_wrong_value_of_a_reserved_field_is_checked_like_any_other():
    (one,) = load_config(
        cwd=Path("/nowhere"), config={"painter": {"openai": {"model": 3}}}, env={}
    ).ok_value.diagnostics
    assert (one.severity, one.subject) == ("warning", "painter.openai.model")


@pytest.mark.parametrize("path", [*reserved_fields(OhmConfig)], ids=".".join)
def test_tables_and_schema_mark_every_reserved_field(path):
    rows = [line for line in config_table().splitlines() if line.startswith(f"| `{'.'.join(path)}")]
    assert rows
    assert all(NOTE in row for row in rows)
    at = config_schema()
    for part in path:
        at = config_schema()["$defs"][at["$ref"].rpartition("/")[2]] if "$ref" in at else at
        at = at["properties"][part]
    assert at["$comment"] == NOTE


def test_nothing_else_is_marked():
    marked = [line.split("`")[1] for line in config_table().splitlines() if NOTE in line]
    reserved = [".".join(path) for path in reserved_fields(OhmConfig)]
    assert [key for key in marked if not key.startswith(tuple(reserved))] == []
    assert NOTE not in env_table()
