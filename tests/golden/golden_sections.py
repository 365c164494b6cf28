"""The unit vectors of the recorded file: one table maps a section to our function, or says why there is none."""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from golden_differences import same
from golden_quirks import MASK, comparable_lines, replaced
from golden_recording import Json, recording
from golden_registration import registration
from golden_seams import catalog, environment, milliseconds, vector_profile
from golden_spawn import cli_spawn
from golden_views import collapsed_component, elapsed, presentation, snapshot_lines

from ohm_subagents import Ohm
from ohm_subagents._config.load import load_config
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.trust import trust_everything
from ohm_subagents._profiles.catalog import Catalog
from ohm_subagents._tools.task.inputs import TaskInput, parse
from ohm_subagents._views.tree import SPINNER_FRAME_MS, TreeEntry, TreeLimits, tree_lines
from ohm_subagents.cli.roster import profile_text, roster_text
from ohm_subagents.contract import Err, Ok, Profile, parse_model_pattern
from ohm_subagents.contract.ids import task_ids
from ohm_subagents.stores.snapshot.reading import parsed
from ohm_subagents.stores.snapshot.text import printed
from ohm_subagents.testing import HERMETIC

THINKING = ("off", "minimal", "low", "medium", "high", "xhigh")
Check = Callable[[Json], Awaitable[None] | None]

HOST = "machinery of the pi host, which is not ours"
NO_SECTION_FUNCTION = {
    "sdk_events": "pi's events are told from recorded streams: tests/backends/shell/pi/test_pi_reader.py",
    "stream_capture": "pi's own sessions are not run; the in-process backend has tests/backends/in_process",
    "sdk_end_to_end": "pi's own sessions are not run; the in-process backend has tests/backends/in_process",
    "store_abort": "an abort handle is a cancel scope here; the cancel cases play it",
    "command_args": f"{HOST}: our command line parses its own arguments",
    "live_mode_command": f"{HOST}: the mode is OHM_SUBAGENTS_UI_MODE",
    "extension": HOST,
    "catalog_shape": "other profiles ship here: five, with texts of our own (house.md 9.15)",
    "store_transitions": "the reference's registry methods; ours is apply(task, event): tests/contract/test_apply.py",
}


@dataclass(frozen=True, kw_only=True)
class Vector:
    """One unit vector, or a whole section that is skipped."""

    section: str
    name: str
    data: Json
    reason: str | None = None

    @property
    def id(self) -> str:
        return f"{self.section}/{self.name}" if self.name else self.section


def vectors() -> Iterator[Vector]:
    """Every vector of every section that we have a function for, and one that is skipped for each other section."""
    for section, content in recording().sections.items():
        if section in NO_SECTION_FUNCTION:
            yield Vector(section=section, name="", data={}, reason=NO_SECTION_FUNCTION[section])
        elif section not in CHECKS:
            yield Vector(section=section, name="", data={}, reason="no function is mapped to this section")
        else:
            for number, data in enumerate(_listed(section, content)):
                yield Vector(section=section, name=str(data.get("name", number)), data=data)


async def check(vector: Vector) -> None:
    """Fail if ours differs; skip what ours replaces."""
    if vector.reason is not None:
        pytest.skip(vector.reason)
    tags = [tag for tag in vector.data.get("quirks", []) if tag != "Q49"]
    if tags:
        pytest.skip(replaced(vector.id, tags))
    outcome = CHECKS[vector.section](vector.data)
    if outcome is not None:
        await outcome


def _listed(section: str, content: Any) -> list[Json]:
    match section:
        case "registration":
            task = {"name": "task", **content["task"]}
            lines = [{"name": f"call line {n}", **one} for n, one in enumerate(content["primary_render_call"])]
            return [task, *content["primary"], *lines]
        case "model_selection" | "default_store" | "cli_spawn":
            return content["cases"]
        case "task_ids":
            return [content]
        case _:
            return content


# parse


def _parse(vector: Json) -> None:
    expect = vector["expect"]
    if expect["ok"] and any(not expect["value"].get(key, "x").strip() for key in ("description", "prompt")):
        pytest.skip(replaced(f"parse/{vector['name']}", ["Q18"]))
    match parse(vector["payload"]):
        case Ok(understood):
            same(_understood(expect["value"]) if expect["ok"] else expect, _command(understood))
        case Err(misunderstood):
            error = misunderstood.error
            path = re.search(r"\(path: (.+)\)", error.message)
            ours = {"ok": False, "code": str(error.code), "path": path and path[1], "message": error.summary}
            theirs = {"path": None, **expect}
            if "Q49" in vector.get("quirks", []):
                theirs |= {"path": MASK, "message": MASK}
                ours |= {"path": MASK, "message": MASK}
            same(theirs, ours)


def _understood(value: Json) -> Json:
    """A normalised payload of the reference as a command."""
    if value.get("op") != "start":
        return value
    tasks = value.get("tasks", [value])
    return {
        "op": "start",
        "batch": "tasks" in value,
        "items": [(task["subagent_type"], task["description"], task["prompt"]) for task in tasks],
        "parallel": value.get("parallel", False),
        "background": any(one.get("async", False) for one in (value, *tasks)),
    }


def _command(understood: TaskInput) -> Json:
    command = understood.command
    if command.op == "start":
        return {
            "op": "start",
            "batch": understood.batch,
            "items": [(item.profile, item.description, item.prompt) for item in command.items],
            "parallel": command.parallel,
            "background": command.background,
        }
    fields = ("ids", "timeout_ms", "id", "prompt")
    found = {name: getattr(command, name) for name in fields if getattr(command, name, None) is not None}
    return {"op": command.op} | {key: list(one) if isinstance(one, tuple) else one for key, one in found.items()}


# views


def _tree(vector: Json) -> None:
    options = vector.get("options", {})
    entries = [_entry(entry) for entry in vector["entries"]]
    if any(entry.elapsed_ms < 0 for entry in entries):
        pytest.skip("time does not run backwards: a clock that was put back shows the first frame")
    spaced = options.get("includeSpacerBetweenEntries", True)
    drawn = tree_lines(entries, limits=_limits(options), width=vector["width"], spaced=spaced)
    same(*comparable_lines("\n".join(vector["expect"]), "\n".join(drawn), {"Q41"}))


def _entry(entry: Json) -> TreeEntry:
    return TreeEntry(
        status=entry["status"],
        title=entry["title"],
        prompt=entry["prompt"],
        rows=tuple(entry["toolCalls"]),
        result=entry["result"],
        elapsed_ms=entry.get("spinnerFrame", 0) * SPINNER_FRAME_MS,
    )


def _limits(options: Json) -> TreeLimits:
    """A typed record here; in the reference a limit is rounded down, and one below 1 is none."""
    library = TreeLimits(prompt_lines=6, rows=8, result_lines=4)
    limits = TreeLimits(prompt_lines=2, rows=2, result_lines=1) if options.get("compact") else library
    named = {"maxPromptLines": "prompt_lines", "maxToolCalls": "rows", "maxResultLines": "result_lines"}
    given = {ours: int(options[theirs]) for theirs, ours in named.items() if theirs in options}
    return replace(limits, **{name: limit for name, limit in given.items() if limit >= 1})


def _command_text(vector: Json) -> None:
    """`ohm subagents` and `ohm subagent <id>`; the recorded texts of the reference's profiles are placeholders."""
    read = load_config(cwd=Path(recording().cwd), config=vector["config_patch"], env=HERMETIC)
    assert isinstance(read, Ok)
    loaded = replace(read.ok_value, loaded_from=tuple(vector.get("loaded_from", ())))
    profiles = [_placeholder(name, vector["expect"]) for name in ("librarian", "oracle", "finder")]
    match vector["command"].split():
        case ["ohm-subagents"]:
            text = roster_text(profiles, loaded, command="/ohm-subagent")
        case ["ohm-subagent", wanted]:
            text = _shown(next(one for one in profiles if one.id == wanted), loaded.config)
        case _:
            text = _shown(vector_profile(vector["profile"]), loaded.config)
    recorded = vector["expect"].replace("defaults + extension settings", "defaults")  # house.md 9.10
    same(re.sub("requiresPackage: .+", "requiresPackage: none", recorded), text)


def _shown(profile: Profile, config: OhmConfig) -> str:
    return profile_text(profile, config.features, model=config.subagents.entry(profile.id).model)


def _placeholder(profile_id: str, text: str) -> Profile:
    uses = text.count(f"{{{{{profile_id}.when.")
    return Profile(
        id=profile_id,
        name=profile_id.capitalize(),
        summary=f"{{{{{profile_id}.summary}}}}",
        prompt=f"{{{{{profile_id}.scaffold}}}}",
        when_to_use=tuple(f"{{{{{profile_id}.when.{n}}}}}" for n in range(1, uses + 1)),
        primary=profile_id == "librarian",
    )


# configuration, profiles, ids


def _lookup(vector: Json) -> None:
    found = Catalog.of(catalog()).find(vector["id"])
    same(vector["expect"], found and found.id)


def _configured_model(vector: Json) -> None:
    loaded = load_config(cwd=Path(recording().cwd), config={"subagents": {"finder": {"model": "a/b"}}}, env=HERMETIC)
    assert isinstance(loaded, Ok)
    model = loaded.ok_value.config.subagents.entry(vector["id"]).model
    same(vector["expect"], None if model is None else str(model))


def _config_load(vector: Json) -> None:
    if not set(vector["files"]) <= {"global", "project"}:
        pytest.skip("ohm.providers.json and extension settings are not read (house.md 9.10)")
    if any(not isinstance(_root(content), dict) for content in vector["files"].values()):
        pytest.skip("a file without an object is an error here: what it denies must not vanish with it")
    with TemporaryDirectory() as home:
        places = {f"<{name}>": str(Path(home) / name) for name in ("cfg", "cwd", "alt")}
        _write_files(vector["files"], places)
        env = {name: _placed(value, places) for name, value in vector["env"].items() if value is not None}
        loaded = load_config(cwd=Path(places["<cwd>"]), config=None, env=env, trusts=trust_everything)
    assert isinstance(loaded, Ok), loaded
    same([_placed(path, places) for path in vector["expect"]["loaded_from"]], list(loaded.ok_value.loaded_from))
    same(_as_ours(vector), _changed(_as_json(loaded.ok_value.config), _as_json(OhmConfig())))


def _as_ours(vector: Json) -> Json:
    """The recorded changes without what a project may not do here; the rest of them holds.

    It lets no internal subagents in (tests/config/test_permission_rules.py), and chooses no backend whose tools are not
    confined (tests/config/test_load.py).
    """
    expect = json.loads(json.dumps(vector["expect"]["changed_from_defaults"]))
    user, project = (_root(vector["files"].get(name, {})) for name in ("global", "project"))
    if project.get("subagentBackend") == "interactive-shell":
        expect["subagentBackend"] = user.get("subagentBackend")
    if "allowInternalRouting" in _permissions(project) and "allowInternalRouting" not in _permissions(user):
        expect["subagents"]["permissions"].pop("allowInternalRouting", None)
    return _without_blanks(expect)


def _permissions(content: Json) -> Json:
    subagents = content.get("subagents", {})
    permissions = subagents.get("permissions", {}) if isinstance(subagents, dict) else {}
    return permissions if isinstance(permissions, dict) else {}


def _without_blanks(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _without_blanks(one) for key, one in value.items()}
    return {key: one for key, one in inner.items() if one not in ({}, None)}


def _root(content: Any) -> Any:
    return json.loads(content) if isinstance(content, str) else content


def _write_files(files: Json, places: Json) -> None:
    paths = {"global": Path(places["<cfg>"], "ohm.json"), "project": Path(places["<cwd>"], ".pi", "ohm.json")}
    for name, path in paths.items():
        path.parent.mkdir(parents=True)
        if name in files:
            content = files[name]
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def _placed(text: str, places: Json) -> str:
    for name, directory in places.items():
        text = text.replace(name, directory)
    return text


def _as_json(config: OhmConfig) -> Json:
    values = config.model_dump(mode="json", by_alias=True, exclude_none=True)
    for entry in values["subagents"]["profiles"].values():
        assert entry.pop("limits") == entry.pop("budget") == {}
        assert entry.pop("loop") == {"polling": []}
    return values


def _changed(value: Any, default: Any) -> Any:
    if not (isinstance(value, dict) and isinstance(default, dict)):
        return value
    return {key: _changed(one, default.get(key)) for key, one in value.items() if one != default.get(key)}


def _model_pattern(vector: Json) -> None:
    expect = vector["expect"]
    if expect.get("reason", "invalid_format") != "invalid_format" or vector["pattern"] == "x/a:high":
        pytest.skip("needs the provider's list of models, which a pattern is read without")
    match parse_model_pattern(vector["pattern"]):
        case Ok(pattern):
            found = {"provider": pattern.provider, "modelId": pattern.model}
            thinking = {} if pattern.thinking is None else {"thinkingLevel": pattern.thinking}
            same(expect, {"ok": True, "value": found | thinking})
        case Err(error):
            same(expect["message"], str(error).replace(f", where thinking is one of {', '.join(THINKING)}", ""))


def _task_ids(vector: Json) -> None:
    now = iter((vector["given_now"],) * 2 + (vector["given_now"] + 1,))
    next_id = task_ids(lambda: next(now))
    same(vector["first_three"], [next_id() for _ in range(3)])


async def _backend_id(vector: Json) -> None:
    if vector["subagentBackend"] == "weird":
        pytest.skip("an id that no plugin registered is refused by name, not replaced")
    config = {"subagentBackend": vector["subagentBackend"]}
    async with Ohm.open(cwd="proj", config=config, env=environment({}), profiles=catalog()) as ohm:
        result = await ohm.call("task", {"op": "status", "ids": ["x"]})
    same(vector["expect"], result.details["backend"])


async def _record(vector: Json) -> None:
    """A record of a snapshot file is good or not."""
    entry = {"record": vector["record"], "summary": "s", "backend": "b", "invocation": "task-routed"}
    contents = parsed(json.dumps({"schemaVersion": 1, "entries": [entry]}), name_of=str, max_events=120)
    same(vector["expect"]["ok"], not contents.lost)
    if contents.tasks:
        (shown,) = json.loads(printed(contents.tasks, {}, now_ms=0))["entries"]
        same(vector["expect"]["record"], shown["record"])


async def _default_store(vector: Json) -> None:
    begun = anyio.current_time()
    async with Ohm.open(
        cwd="proj",
        config={"subagentBackend": "none"},
        env=environment(vector["env"]),
        profiles=catalog(),
        clock=lambda: milliseconds(begun),
    ) as ohm:
        item = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
        ids = [(await ohm.call("task", item)).details["task_id"] for _ in range(4)]
        await anyio.sleep(0.03)
        items = (await ohm.call("task", {"op": "status", "ids": ids})).details["items"]
    expect = vector["expect"]
    same(expect["found"], [item["found"] for item in items])
    for key, index in (("reason_of_first", 0), ("reason_of_third", 2)):
        if key in expect:
            same(expect[key], re.sub(r"task_\d+_", "task_<ms>_", items[index]["summary"]))


CHECKS: dict[str, Check] = {
    "parse": _parse,
    "registration": registration,
    "tree_render": _tree,
    "presentation": presentation,
    "snapshot_lines": snapshot_lines,
    "elapsed": elapsed,
    "collapsed_component": collapsed_component,
    "commands": _command_text,
    "config_load": _config_load,
    "lookup": _lookup,
    "configured_model": _configured_model,
    "model_selection": _model_pattern,
    "task_ids": _task_ids,
    "backend_ids": _backend_id,
    "cli_spawn": cli_spawn,
    "default_store": _default_store,
    "record_schema": _record,
}
