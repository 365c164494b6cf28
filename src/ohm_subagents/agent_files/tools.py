"""The tools of an agent file as a policy of ours. What cannot be understood, or not be kept to, gives less."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.agent_files.texts import Unreadable
from ohm_subagents.files import quoted_value
from ohm_subagents.suite import CHILD_TOOLS, RULED_TOOL, CallRules, ToolPolicy, has_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ohm_subagents.agent_files.dialects import ToolNames

_CHANGING: Final = ("bash", "edit", "write")
"""The tools that a reader has not."""
_SANDBOXES: Final = {"danger-full-access": (), "workspace-write": ("bash",)}
"""The tools that a sandbox takes away: no shell of ours stays in a workspace."""
_UNASKED: Final = ("never", "on-request", "on-failure")
_MODES: Final = ("default", "acceptEdits", "auto", "bypassPermissions")
_SWITCHES: Final[Mapping[str, bool]] = {"true": True, "false": False}
_SCOPED: Final = re.compile(r"([\w*-]+)\s*\(.*\)?", re.DOTALL)
_COMMAND: Final = re.compile(r"([\w-]+)\s*\(\s*([\w./][\w./=@+ -]*?)\s*(:\*|\s\*)?\s*\)")
"""Words of a command, and any more of them: `Bash(git diff:*)`."""
_PLAIN: Final = re.compile(r"[\w./:@-]+")
_SERVER: Final = re.compile(r"([\w.-]+)/([\w.*-]+)")
_TOOL_SETS: Final = ("agent", "edit", "execute", "read", "search", "todo", "vscode", "web")
"""The sets of VS Code's own tools, which are named like tools of a server: `search/usages`."""
_SPLIT: Final = re.compile(r",(?![^()]*\))")
"""A comma outside of parentheses: `Bash(git:*, ls)` is one name."""


def shown(value: object) -> str:
    """Quote a value of a file."""
    return quoted_value(str(value) if isinstance(value, Unreadable) else value)


@dataclass(slots=True, kw_only=True)
class Tools:
    """The tools of one file, as its keys are read; each key only takes away."""

    names: ToolNames
    """Our tools for each name of the dialect."""
    tell: Callable[[str, str], None]
    """Receives a key and the sentence on what of it does not hold."""
    note: Callable[[str, str], None]
    """Receives the same, of what changes nothing."""
    source: str = ""
    """The file."""
    allowed: tuple[str, ...] | None = None
    """The list so far; None for every tool."""
    denied: set[str] = field(default_factory=set[str])
    """The tools that are taken away so far."""
    calls: list[CallRules] = field(default_factory=list[CallRules])
    """The rules for calls so far; a call has to pass all of them."""

    @property
    def policy(self) -> ToolPolicy:
        """Return the policy; a tool that is in both lists is denied, one that a pattern of the list matches too."""
        denied = tuple(sorted(self.denied))
        calls = tuple(self.calls)
        if self.allowed is None:
            return ToolPolicy(denied=denied, call_rules=calls)
        allowed = tuple(name for name in self.allowed if not has_tool(denied, name))
        kept = denied if any("*" in name for name in allowed) else ()
        return ToolPolicy(allowed=allowed, denied=kept, call_rules=calls)

    def allow(self, key: str, value: object) -> None:
        """Read a list of the tools that the agent has; one that cannot be read gives none."""
        listed = _listed(value)
        if listed is None:
            self.tell(key, f"is {shown(value)}, but has to be a list of tools: the agent gets no tool")
            self.allowed = ()
            return
        found: list[str] = []
        commands: list[str] = []
        for name in listed:
            if name == "*":
                return
            command = self._command(name)
            if command is None:
                found += self._ours(key, name)
            else:
                commands.append(command)
        if commands and RULED_TOOL not in found:
            found.append(RULED_TOOL)
            self.calls.append(CallRules(allow=tuple(commands), source=self.source, or_none=True))
        self.limit(dict.fromkeys(found))

    def _command(self, name: str) -> str | None:
        """Return the pattern of ours for commands of the shell, as `git diff *` for `Bash(git diff:*)`."""
        scoped = _COMMAND.fullmatch(name)
        if scoped is None or self._known(scoped[1]) != (RULED_TOOL,):
            return None
        return f"{scoped[2].strip()} *" if scoped[3] else scoped[2].strip()

    def _ours(self, key: str, name: str) -> tuple[str, ...]:
        scoped = _SCOPED.fullmatch(name)
        ours = self._known(scoped[1] if scoped else name)
        if ours is None:
            self.tell(key, f"names {shown(name)}, which is no tool here, and is left out")
        elif not ours:
            self.tell(key, f"names {shown(name)}, which has no counterpart here, and is left out")
        elif scoped:
            self.tell(key, f"gives {shown(name)}: a tool is given whole or not at all, so the agent does not get it")
            return ()
        return ours or ()

    def _known(self, name: str) -> tuple[str, ...] | None:
        """Return our tools for a name: those of its table, or the one of an MCP server; None for an unknown name."""
        found = self.names.get(name.casefold())
        if found is not None:
            return found
        server = _SERVER.fullmatch(name)
        if name.startswith("mcp__"):
            return (name,)
        if server is None:
            return None
        return () if server[1] in _TOOL_SETS else (f"mcp__{server[1]}__{server[2]}",)

    def deny(self, key: str, value: object) -> None:
        """Read a list of the tools that the agent has not; one that cannot be read leaves none."""
        listed = _listed(value)
        if listed is None:
            self.tell(key, f"is {shown(value)}, but has to be a list of tools: the agent gets no tool")
            self.allowed = ()
        for name in listed or ():
            command = self._command(name)
            if command is not None:
                self.calls.append(CallRules(deny=(command,), source=self.source, or_none=True))
                continue
            scoped = _SCOPED.fullmatch(name)
            known = self._known(scoped[1] if scoped else name)
            if known is not None:
                if scoped and known:
                    self.tell(
                        key, f"takes {shown(name)} away: a tool is taken away whole, so the agent does not get it"
                    )
                self.take(known)
            elif _PLAIN.fullmatch(name):
                self.tell(key, f"names {shown(name)}, which is no tool here")
            else:
                if name != "*":
                    self.tell(key, f"has {shown(name)}, which cannot be read: the agent gets no tool")
                self.allowed = ()

    def take(self, names: Iterable[str]) -> None:
        """Take these away. A name with `*` leaves only our own tools that it does not match."""
        for name in names:
            if "*" in name:
                self.limit(one for one in CHILD_TOOLS if not fnmatchcase(one, name))
            self.denied.add(name)

    def limit(self, names: Iterable[str]) -> None:
        """Leave only those of these that the list so far has."""
        kept = tuple(names)
        self.allowed = kept if self.allowed is None else tuple(one for one in self.allowed if one in kept)

    def judge(self, key: str, value: object) -> None:
        """Read verdicts by tool, of which the last that matches counts; all that is not plainly allowed is denied."""
        verdicts = {"*": value} if isinstance(value, str | bool) else value
        if not isinstance(verdicts, dict):
            self.tell(key, f"is {shown(value)}, but has to be a verdict for each tool: the agent gets no tool")
            self.allowed = ()
            return
        given: dict[str, bool] = {}
        is_open = True
        for written, verdict in cast("dict[object, object]", verdicts).items():
            name = str(written)
            known = () if name == "*" else self._known(name)
            allows = self._allows(f"{key}.{name}", verdict, matters=known != () or name == "*")
            if name == "*":
                given.clear()
                is_open = allows
            elif known:
                given |= dict.fromkeys(known, allows)
            elif allows or known is None:
                is_pattern = not allows and "*" in name
                taken = [one for one in CHILD_TOOLS if is_pattern and fnmatchcase(one, name)]
                told = self.note if is_pattern and not taken else self.tell
                told(f"{key}.{name}", "is of a tool that has no counterpart here")
                if is_pattern:
                    self.limit(CHILD_TOOLS)
                    self.take(taken)
        if not is_open:
            self.limit(name for name, allows in given.items() if allows)
        self.take(name for name, allows in given.items() if not allows)

    def _allows(self, key: str, verdict: object, *, matters: bool) -> bool:
        if verdict == "allow" or verdict is True:
            return True
        if verdict == "deny" or verdict is False or not matters:
            return False
        if isinstance(verdict, dict):
            inner = set(map(str, cast("dict[object, object]", verdict).values()))
            if inner == {"allow"}:
                return True
            if inner != {"deny"}:
                self.tell(key, "has rules for patterns, which cannot be kept to: the tool is denied")
        elif verdict == "ask":
            self.tell(key, "is 'ask', and there is no one to ask: the tool is denied")
        else:
            self.tell(key, f"is {shown(verdict)}; expected allow, ask or deny: the tool is denied")
        return False

    def keep_mode(self, key: str, value: object) -> None:
        if value in _MODES:
            self.note(key, "has no effect here: no tool asks before it is used")
            return
        if value != "plan":
            self.tell(key, f"is {shown(value)}, and there is no one to ask: the agent only reads")
        self.take(_CHANGING)

    def keep_read_only(self, key: str, value: object) -> None:
        is_reader = is_on(value)
        if is_reader is None:
            self.tell(key, f"is {shown(value)}, but has to be true or false: the agent only reads")
        if is_reader is not False:
            self.take(_CHANGING)

    def keep_sandbox(self, key: str, value: object) -> None:
        denied = _SANDBOXES.get(value, _CHANGING) if isinstance(value, str) else _CHANGING
        if value == "workspace-write":
            self.tell(key, "is 'workspace-write', in which no shell here can be held: 'bash' is denied")
        elif value not in (*_SANDBOXES, "read-only"):
            self.tell(key, f"is {shown(value)}, which is no sandbox: the agent only reads")
        self.take(denied)

    def keep_approval(self, key: str, value: object) -> None:
        if value in _UNASKED:
            self.note(key, "has no effect here: no tool asks before it is used")
            return
        self.tell(key, f"is {shown(value)}, and there is no one to ask: the agent only reads")
        self.take(_CHANGING)


def is_on(value: object) -> bool | None:
    """Return what `true` and `false` mean, as a text too; None for anything else."""
    if isinstance(value, str):
        return _SWITCHES.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _listed(value: object) -> tuple[str, ...] | None:
    """Return the names of a list, or of a text with commas between them; None for anything else."""
    parts = _SPLIT.split(value) if isinstance(value, str) else value
    if not isinstance(parts, list):
        return None
    names = cast("list[object]", parts)
    if not all(isinstance(one, str) for one in names):
        return None
    return tuple(filter(None, (name.strip() for name in cast("list[str]", names))))
