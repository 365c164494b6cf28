"""The README's tables come from the schema, so every field and variable has to be in them."""

from ohm_subagents._config.env import (
    CACHE_VARIABLE,
    CHILD_VARIABLE,
    CLONE_VARIABLE,
    DEPTH_VARIABLE,
    DIRECTORY_VARIABLES,
    MAX_DEPTH_VARIABLE,
    TASK_VARIABLE,
    TRACE_VARIABLES,
    VARIABLES,
)
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.tables import config_schema, config_table, env_table


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_every_variable_has_a_row_with_its_field_its_default_and_a_meaning():
    rows = {row[0].strip("`"): row for row in cells(env_table())}
    of_a_run = (DEPTH_VARIABLE, TASK_VARIABLE, CLONE_VARIABLE, MAX_DEPTH_VARIABLE, CHILD_VARIABLE)
    others = (*of_a_run, "`, `".join(TRACE_VARIABLES))
    assert [*rows] == [*(one.name for one in VARIABLES), *DIRECTORY_VARIABLES, CACHE_VARIABLE, *others]
    assert rows["OHM_SUBAGENTS_OUTPUT_MAX_CHARS"][1:3] == ["`outputMaxChars`", "`8000`"]
    assert all(row[3] for row in rows.values())


def test_every_field_has_a_row_with_what_it_accepts_and_a_meaning():
    rows = {row[0].strip("`"): row for row in cells(config_table())}
    assert rows["subagents.taskMaxConcurrency"][1:3] == ["positive integer", "`3`"]
    assert rows["defaultMode"][1] == "`rush`, `smart`, `deep`"
    assert rows["subagents.permissions.subagents.<id>"][1] == "`allow`, `deny`"
    assert rows["subagents.maxRequests.<provider>"][1] == "positive integer"
    assert rows["subagents.budget.depth"][1:3] == ["integer, 0 or more", "`1`"]
    assert rows["subagents.<id>.budget.costUsd"][1] == "number or decimal text above 0"
    assert rows["providers.<name>.apiKeyEnv"][1] == "text"
    assert {"subagents.<id>.model", "subagents.<id>.tools.allow", "subagents.<id>.limits.softMs"} <= set(rows)
    assert all(row[1] and row[3] and row[4] for row in rows.values())
    tops = {key.partition(".")[0] for key in rows}
    assert tops == {field.alias for field in OhmConfig.model_fields.values()}


def test_every_field_says_what_a_projects_file_may_do_with_it():
    may = {row[0].strip("`"): row[4] for row in cells(config_table())}
    assert may["providers.<name>.baseUrl"] == may["subagents.loop.polling"] == "not set it"
    assert may["subagents.<id>.limits.capMs"] == may["subagents.maxRequests.<provider>"] == "lower it"
    assert may["subagents.permissions.default"] == may["subagents.<id>.tools.allow"] == "tighten it"
    assert may["features.subagents"] == "switch it off"
    assert may["subagents.<id>.model"] == "set it if trusted"
    assert may["outputMaxChars"] == "lower it, or set it if trusted"


def test_the_json_schema_shows_every_key_as_it_is_written():
    def titles(value):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            if key == "title":
                yield one
            if isinstance(one, dict | list):
                yield from titles(one)

    assert list(titles(config_schema())) == ["ohm.json"]


def test_the_json_schema_knows_the_short_forms():
    definitions = config_schema()["$defs"]
    assert definitions["Subagents"]["additionalProperties"] == {"$ref": "#/$defs/SubagentEntry"}
    tools = definitions["SubagentEntry"]["properties"]["tools"]
    assert {one["type"] for one in tools["anyOf"]} == {"object", "array", "null"}
    assert {one["type"] for one in definitions["ProviderModel"]["anyOf"]} == {"object", "string"}
