"""The vectors of the section `registration`: what a host is told about our tools."""

import json
from typing import Any

import pytest
from golden_differences import same
from golden_recording import Json, recording
from golden_seams import catalog, environment, vector_profile

from ohm_subagents import Ohm
from ohm_subagents.contract import Profile


async def registration(vector: Json) -> None:
    """Fail if a tool is not registered as recorded."""
    if vector["name"] == "task":
        await _task_tool(vector)
    elif "expect" in vector:
        await _primary_tools(vector)
    else:
        await _call_line(vector)


async def _task_tool(vector: Json) -> None:
    async with _ohm(catalog()) as ohm:
        tool = ohm.tools["task"]
        same((vector["name"], vector["label"]), (tool.name, tool.label))
        roster = vector["description"].partition("Active subagent roster:\n")[2]
        same(roster, tool.description.partition("Active subagent roster:\n")[2])
        same(_shape(vector["parameters"]), _shape(tool.input_schema))
        for line in vector["render_call"]:
            same(line["text"], tool.render_call(line.get("args")))


async def _primary_tools(vector: Json) -> None:
    """Internal profiles are hidden from the direct tools too (Q59); the suite `task` is what reserves names."""
    if vector["reserved"] is not None:
        pytest.skip("a list of reserved names is no option of ours: what is mounted first has its name")
    profiles = [_listed_profile(entry) for entry in vector["catalog"]]
    internal = {profile.id for profile in profiles if profile.internal}
    async with _ohm(profiles) as ohm:
        tools = {name: tool for name, tool in ohm.tools.items() if name != "task"}
        wanted = [tool for tool in vector["expect"]["tools"] if tool["name"] not in internal]
        same([tool["name"] for tool in wanted], list(tools))
        for tool in wanted:
            ours = tools[tool["name"]]
            same((tool["label"], tool["description"]), (ours.label, ours.description))
            same(_shape(tool["parameters"]), _shape(ours.input_schema))


async def _call_line(vector: Json) -> None:
    async with _ohm(catalog(primary=[vector["tool"]])) as ohm:
        same(vector["text"], ohm.tools[vector["tool"]].render_call(vector["args"]))


def _listed_profile(entry: Json) -> Profile:
    known = {one["id"]: one for one in recording().catalog}
    texts = known.get(entry["id"], known["librarian"])
    return vector_profile({**texts, **entry, "name": texts["name"] if entry["id"] in known else "Task"})


def _shape(schema: Any) -> Any:
    """Return what a JSON schema allows, without words for people."""
    if isinstance(schema, dict):
        resolved = schema.get("$defs", {})
        text = json.dumps({key: value for key, value in schema.items() if key != "$defs"})
        for name, definition in resolved.items():
            text = text.replace(json.dumps({"$ref": f"#/$defs/{name}"}), json.dumps(definition))
        return _without_words(json.loads(text))
    return schema


def _without_words(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_words(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("pattern") == "\\S":  # ours refuses blank texts too (Q18)
        schema = {**schema, "minLength": 1}
    words = {"title", "default", "pattern"} | ({"description"} if isinstance(schema.get("description"), str) else set())
    return {key: _without_words(value) for key, value in schema.items() if key not in words}


def _ohm(profiles: list[Profile], **env: str) -> Any:
    return Ohm.open(cwd="proj", config={"subagentBackend": "none"}, env=environment(env), profiles=profiles)
