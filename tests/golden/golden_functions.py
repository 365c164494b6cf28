"""The functions that suite cases name, each with the function of the library that does it."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from golden_nested_pi import flags_of, variables_of
from golden_outcome import Outcome, rendered, stamped, theme_named
from golden_recording import Json
from golden_todos import set_up
from golden_world import DELEGATE, World

from ohm_subagents._config.trust import trust_everything
from ohm_subagents.contract import Err, Profile, ToolEnded
from ohm_subagents.contract.ids import SessionId
from ohm_subagents.plugin import ToolCall
from ohm_subagents.suite import Place as SuitePlace
from ohm_subagents.suites.delegate.agents import AgentFile, parse_agent_profile
from ohm_subagents.suites.delegate.details import Window
from ohm_subagents.suites.delegate.live_window import LiveWindow
from ohm_subagents.suites.delegate.profile_summary import profile_summary
from ohm_subagents.suites.delegate.rules import argument_refused, conflict, without_excluded
from ohm_subagents.suites.delegate.settings import load_settings
from ohm_subagents.suites.delegate.skills import Skills, discover, equipped
from ohm_subagents.suites.delegate.tool_previews import tool_call_preview, tool_result_summary
from ohm_subagents.suites.delegate.windows import global_header, summary_text, window_header

WIDTH = 160
SWITCHES = {
    "noExtensions": "no_extensions",
    "noSkills": "no_skills",
    "noContextFiles": "no_context_files",
}
LISTS = {
    "extensions": "extensions",
    "suggestedSkills": "suggested_skills",
    "loadSkills": "load_skills",
    "extraArgs": "extra_args",
}
TEXTS = {"provider": "provider", "model": "model", "thinkingLevel": "thinking", "apiKey": "api_key"}


async def build_prompt(world: World, call: Json) -> Outcome:
    """Return what a child is asked when the task is delegated."""
    before = len(world.children.requests)
    result = await world.ohm.call(DELEGATE, {"tasks": [call["task"]]})
    if result.is_error:
        return Outcome(error=result.text)
    assert len(world.children.requests) == before + 1, result.text
    request = world.children.requests[-1]
    return Outcome(facts={"prompt": request.prompt})


# Profiles


async def load_profile(_world: World, call: Json) -> Outcome:
    read = _read(call["content"], is_local=call.get("scope") == "project")
    warned = "\n".join(one.message for one in read.diagnostics)
    if read.profile is None:
        return Outcome(facts={"loaded": False, "warns": warned})
    facts = {"loaded": True, "name": read.profile.name, "profile": documented(read.profile), "warns": warned}
    return Outcome(facts=facts)


def _read(content: str, *, is_local: bool = False) -> AgentFile:
    return parse_agent_profile(content, source="agent-profiles/case.md", is_local=is_local)


def documented(profile: Profile) -> Json:
    """A profile of ours with the keys of the document; what is not set is not there."""
    agent = profile.agent
    assert agent is not None
    tools = profile.tools
    said: Json = {key: getattr(agent, name) for key, name in {**TEXTS, **SWITCHES}.items()}
    said |= {key: [*getattr(agent, name)] for key, name in LISTS.items()}
    said |= {"systemPrompt": profile.prompt, "appendSystemPrompt": agent.appended_prompt}
    said |= {"noTools": tools.allowed == (), "tools": [*(tools.allowed or ())], "excludeTools": [*tools.denied]}
    return {key: value for key, value in said.items() if value not in (None, "", False, [])}


def profile_of(content: Json, *, name: str = "case") -> Profile:
    """A profile of the document's keys, read like a file."""
    keys = {"name": name, **{key: value for key, value in content.items() if key != "systemPrompt"}}
    matter = "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
    profile = _read(f"---\n{matter}---\n\n{content.get('systemPrompt', '')}").profile
    assert profile is not None, content
    return profile


async def summary(_world: World, call: Json) -> Outcome:
    name, content = call["args"]
    return Outcome(facts={"value": profile_summary(profile_of(content, name=name))})


async def apply_exclude_tools(_world: World, call: Json) -> Outcome:
    content, parent_tools = call["args"]
    profile = profile_of(content)
    refused = conflict(profile)
    if refused is not None:
        return Outcome(error=refused.message)
    return Outcome(facts={"value": documented(without_excluded(profile, parent_tools))})


async def profile_to_args(world: World, call: Json) -> Outcome:
    """The command line of a profile whose skills are files already."""
    (content,) = call["args"]
    profile = profile_of({key: value for key, value in content.items() if key != "suggestedSkills"})
    assert profile.agent is not None
    paths = tuple(content.get("suggestedSkills", ()))
    found = equipped(
        replace(profile, agent=replace(profile.agent, skill_paths=paths)), Skills(known={}), **directories(world)
    )
    refused = found.err_value if isinstance(found, Err) else argument_refused(profile)
    if refused is not None:
        return Outcome(error=refused.message)
    value = {"args": flags_of(found.unwrap()), "env": variables_of(profile, world.place)}
    return Outcome(facts={"value": value})


def directories(world: World) -> dict[str, Path]:
    return {"cwd": world.place.cwd, "agent_dir": world.place.agent_dir}


async def resolve_profile_skills(world: World, call: Json) -> Outcome:
    """Return what is left of the names: the files of those that are suggested, and the text of those to be loaded."""
    (content,) = call["args"]
    place = directories(world)
    found = equipped(profile_of(content), discover(**place, trusts=trust_everything), **place)
    if isinstance(found, Err):
        return Outcome(error=found.err_value.message)
    profile = found.ok_value
    assert profile.agent is not None
    resolved = replace(profile.agent, suggested_skills=profile.agent.skill_paths, load_skills=())
    return Outcome(facts={"value": documented(replace(profile, agent=resolved))})


# Settings


SETTINGS = {
    "maxLinesPerWindow": "max_lines_per_window",
    "commandPreviewWidth": "command_preview_width",
    "extend_timeout_debounce": "extend_timeout_debounce_s",
    "looping_tool_count": "looping_tool_count",
}


async def load_setting(world: World, call: Json) -> Outcome:
    (key,) = call["args"]
    columns = world.setup.get("terminal_columns")
    place = SuitePlace(agent_dir=world.place.agent_dir, cwd=world.place.cwd, trusts=trust_everything)
    settings, wrong = load_settings(place, columns=columns)
    warned = "\n".join(one.message for one in wrong)
    return Outcome(facts={"value": getattr(settings, SETTINGS[key]), "warns": warned})


# Sessions


async def register_sessions(world: World, call: Json) -> Outcome:
    """Sessions that were run before, one after the other."""
    await world.learn([run for one in call["args"] for run in _runs(one)])
    return Outcome()


def _runs(content: Any) -> Iterator[Json]:
    """The runs in a list, in a session, or in sessions by id."""
    if isinstance(content, list):
        for one in content:
            yield from _runs(one)
    elif "runs" in content:
        session_id = content.get("sessionId") or content.get("id")
        yield from ({"sessionId": session_id, **run} for run in content["runs"])
    elif "status" in content:
        yield content
    else:
        yield from _runs([{"id": session_id, **one} for session_id, one in content.items()])


# Views


async def format_tool_call(world: World, call: Json) -> Outcome:
    name, arguments = call["args"]
    shown = tool_call_preview(
        name,
        arguments,
        width=world.setup.get("width", WIDTH),
        cwd=str(world.place.cwd),
        home=str(world.place.home),
    )
    return Outcome(facts={"value": shown})


async def format_tool_result(_world: World, call: Json) -> Outcome:
    name, text, *details = call["args"]
    return Outcome(facts={"value": tool_result_summary(name, text, *details)})


async def render_window_header(world: World, call: Json) -> Outcome:
    (content,) = call["args"]
    window = Window.model_validate(stamped(content, world.now_ms()))
    return rendered(window_header(window, now_ms=world.now_ms(), theme=theme_named(world.setup.get("theme"))))


async def render_global_header(world: World, call: Json) -> Outcome:
    (statuses,) = call["args"]
    return rendered(global_header(statuses, theme_named(world.setup.get("theme"))))


async def progress_text(_world: World, call: Json) -> Outcome:
    (statuses,) = call["args"]
    return Outcome(facts={"value": summary_text(statuses)})


# Todos


async def update_ui(world: World, call: Json) -> Outcome:
    """Return what the screen is told of a list: of what was made of it last."""
    (todos,) = call["args"]
    await set_up(world.ohm, world.host, todos)
    await world.ohm.call("write_todos", {"mode": "append", "todos": []})
    return Outcome()


async def track_todos(world: World, call: Json) -> Outcome:
    """Return how far a list is after the calls of a child, by what its tools answered."""
    (calls,) = call["args"]
    opened = Window(name="t", session_id="s")
    live = LiveWindow(opened, prompt="p", max_lines=1, preview_width=WIDTH, cwd=world.place.cwd)
    for tool, arguments in calls:
        answer = await world.ohm.child_tools[tool].execute(ToolCall(arguments=arguments, session_id=SessionId("s")))
        live.add(ToolEnded(call_id="1", tool=tool, status="success", text=answer.text))
    window = live.window()
    return Outcome(facts={"value": {"todoTotal": window.todo_total, "todoCompleted": window.todo_completed}})


Function = Callable[[World, Json], Awaitable[Outcome]]
FUNCTIONS: Mapping[str, Function] = {
    "build_prompt": build_prompt,
    "load_profile": load_profile,
    "profile_summary": summary,
    "apply_exclude_tools": apply_exclude_tools,
    "profile_to_args": profile_to_args,
    "resolve_profile_skills": resolve_profile_skills,
    "load_setting": load_setting,
    "register_sessions": register_sessions,
    "format_tool_call": format_tool_call,
    "format_tool_result": format_tool_result,
    "render_window_header": render_window_header,
    "render_global_header": render_global_header,
    "summary_text": progress_text,
    "update_ui": update_ui,
    "track_todos": track_todos,
}
