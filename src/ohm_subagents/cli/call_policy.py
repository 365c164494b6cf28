"""The verdict on one call of a tool, with every step that leads to it: lists, files, and the runs above."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents.config import approval_of, config_dir, judge_call
from ohm_subagents.contract.call_rules import PATH_TOOLS, RULED_TOOL
from ohm_subagents.contract.profile import Decision, Verdict, fold_id
from ohm_subagents.contract.result import Err
from ohm_subagents.suite import has_tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents import Ohm
    from ohm_subagents.cli.readiness import Readiness
    from ohm_subagents.contract import CallRules, LaunchRecord, Profile, Task


class Step(NamedTuple):
    """One step to a verdict."""

    who: str
    """The kind of the step: a list, a file, or a run above."""
    verdict: Verdict
    """The verdict of the step alone."""
    source: str = ""
    """The file, with the line where it is known."""
    reason: str = ""
    """The reason, for people."""

    def __str__(self) -> str:
        """Return the step as one line."""
        place = f" ({self.source})" if self.source else ""
        return f"- {self.who}: {self.verdict}{place}{f': {self.reason}' if self.reason else ''}"


class Explained(NamedTuple):
    """A verdict with its steps."""

    decision: Decision
    """The verdict; the strictest of the steps."""
    steps: tuple[Step, ...]
    """The steps, in the order in which they apply."""


def of_profile(profile: Profile, tool: str, args: str, ready: Readiness, cwd: Path) -> Explained:
    """Explain a call that a run of a profile would make."""
    tools = ready.tools_of(profile)
    if isinstance(tools, Err):
        return Explained(Decision(verdict="deny", source="tools", reason=tools.err_value.message), ())
    names, rules = tools.ok_value.shown, tools.ok_value.call_rules
    steps = (*_lists(profile, tool, ready), *_rules(rules, tool, args, cwd, profile.source))
    explained = Explained(_decided(names, rules, tool, args, cwd), steps)
    return _approved(explained, tool, args, cwd, config_dir(ready.parts.place.env))


def of_task(task: Task, launch: LaunchRecord, tool: str, args: str, ohm: Ohm) -> Explained:
    """Explain a call by the settings that a task was started with, and by those of the tasks above it."""
    cwd = Path(launch.cwd)
    held = f"the tools of the task are: {', '.join(launch.tools) or 'none'}"
    has = has_tool(launch.tools, tool)
    steps = [Step("task", "allow" if has else "deny", task.id, "" if has else held)]
    steps += _rules(launch.call_rules, tool, args, cwd, "")
    steps += _above(task, tool, args, ohm)
    explained = Explained(_decided(launch.tools, launch.call_rules, tool, args, cwd), tuple(steps))
    return _approved(explained, tool, args, cwd, config_dir(ohm.inspect().place.env))


def _approved(explained: Explained, tool: str, args: str, cwd: Path, directory: Path) -> Explained:
    """Add the approval for always of a call that would be asked about."""
    if explained.decision.verdict != "ask":
        return explained
    file = approval_of(directory, tool, arguments_of(tool, args), cwd=cwd)
    if file is None:
        return explained
    step = Step("approved for always", "allow", str(file), "remove the file to be asked again")
    return Explained(Decision(verdict="allow", source=str(file), reason=step.reason), (*explained.steps, step))


def arguments_of(tool: str, text: str) -> Mapping[str, JsonValue]:
    """Return the arguments of a call: JSON, or the text of a command or a path."""
    try:
        found: JsonValue = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, dict):
        return found
    name = fold_id(tool)
    if name == RULED_TOOL:
        return {"command": text}
    return {"path": text} if name in PATH_TOOLS and text else {}


def _decided(names: tuple[str, ...], rules: tuple[CallRules, ...], tool: str, args: str, cwd: Path) -> Decision:
    if not has_tool(names, tool):
        return Decision(verdict="deny", source="tools", reason=f"its tools are: {', '.join(names) or 'none'}")
    return judge_call(rules, tool, arguments_of(tool, args), cwd=cwd)


def _lists(profile: Profile, tool: str, ready: Readiness) -> Iterator[Step]:
    """Yield what the lists of whole tools say."""
    policy, rules = profile.tools, ready.entry_of(profile).tools
    users = None if rules is None else rules.allowed
    if policy.allowed is None and users is None:
        yield Step("default", "allow", "", "no list of tools")
    if policy.allowed is not None and users is None:
        yield Step("profile", _gives(has_tool(policy.allowed, tool)), profile.source, "its list of tools")
    if policy.denied and users is None:
        yield Step("profile", _gives(not has_tool(policy.denied, tool)), profile.source, "the tools that it denies")
    if rules is None:
        return
    for listed, reason in ((rules.allowed, "the list of tools"), (rules.at_most, "the list of a project")):
        if listed is not None:
            yield Step("ohm.json", _gives(has_tool(listed, tool)), rules.source, reason)
    if rules.denied:
        yield Step("ohm.json", _gives(not has_tool(rules.denied, tool)), rules.source, "the tools that are denied")


def _gives(has: bool) -> Verdict:  # noqa: FBT001  a word for a truth value
    return "allow" if has else "deny"


def _rules(rules: Iterable[CallRules], tool: str, args: str, cwd: Path, own: str) -> Iterator[Step]:
    """Yield what each file's rules for calls say."""
    for one in rules:
        if has_tool((one.tool,), tool):
            found = judge_call([one], tool, arguments_of(tool, args), cwd=cwd)
            who = "default" if one.is_default else "profile" if one.source == own else "rules"
            yield Step(who, found.verdict, one.source, found.reason)


def _above(task: Task, tool: str, args: str, ohm: Ohm) -> Iterator[Step]:
    """Yield what the tasks above could do themselves, the nearest first."""
    below, parent = task, task.assignment.parent
    while parent is not None and (found := ohm.task(parent)) is not None and found.launch is not None:
        decision = _decided(found.launch.tools, found.launch.call_rules, tool, args, Path(found.launch.cwd))
        who = f"ceiling of '{found.assignment.profile}'"
        if any(one.subject == "delegate" for one in below.diagnostics):
            who = f"'{found.assignment.profile}', which grants by 'delegate'"
        yield Step(who, decision.verdict, found.id, decision.reason)
        below, parent = found, found.assignment.parent
