"""The formats as data: the folders, keys, tool names and models of each program. What a key means is in `reader`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

Role: TypeAlias = Literal[
    "name",
    "description",
    "prompt",
    "model",
    "thinking",
    "tools",
    "denied",
    "verdicts",
    "mode",
    "read_only",
    "sandbox",
    "approval",
    "requests",
    "minutes",
    "skills",
    "manual",
    "disabled",
    "audience",
    "place",
    "lost",
    "cosmetic",
]
"""The meaning of a key: `lost` changes what the agent does and has no counterpart here, `cosmetic` changes nothing."""
ToolNames: TypeAlias = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The agent files of one program."""

    id: str
    """The name of the format in `agentFiles`."""
    project: tuple[str, ...]
    """Its folders below the project."""
    user: tuple[str, ...]
    """Its folders below the home directory."""
    keys: Mapping[str, Role]
    """The meaning of each key."""
    project_files: tuple[str, ...] = ()
    """The files below the project that have agents as entries of `agent`, in JSON with comments."""
    user_files: tuple[str, ...] = ()
    """The same below the home directory."""
    tools: ToolNames = field(default_factory=dict[str, tuple[str, ...]])
    """Our tools for each of its names, folded; none for a tool that only that program has."""
    providers: Mapping[str, str] = field(default_factory=dict[str, str])
    """The provider of a model that is named without one, by how its name begins."""
    suffix: str = ".md"
    """The end of the file names: Markdown with front matter, or TOML."""
    is_strict: bool = False
    """The program refuses a file with an unknown key, and so do we."""


def _keys(roles: Mapping[Role, str]) -> Mapping[str, Role]:
    """Return the role of each key; the keys of a role are separated by spaces."""
    return {key: role for role, keys in roles.items() for key in keys.split()}


_NONE: Final = ()
_WRITING: Final = ("edit", "write")
_CLAUDE_TOOLS: Final[ToolNames] = {
    "read": ("read",),
    "write": ("write",),
    "edit": ("edit",),
    "multiedit": ("edit",),
    "bash": ("bash",),
    "grep": ("grep",),
    "glob": ("find",),
    "ls": ("ls",),
    **dict.fromkeys(("notebookedit", "webfetch", "websearch", "todowrite", "agent", "task", "skill"), _NONE),
}
_OPENCODE_TOOLS: Final[ToolNames] = {
    "read": ("read",),
    "edit": _WRITING,
    "write": ("write",),
    "patch": _WRITING,
    "bash": ("bash",),
    "glob": ("find",),
    "grep": ("grep",),
    "list": ("ls",),
    **dict.fromkeys(
        (
            "webfetch",
            "websearch",
            "task",
            "skill",
            "todowrite",
            "todoread",
            "question",
            "external_directory",
            "doom_loop",
        ),
        _NONE,
    ),
}
_GEMINI_TOOLS: Final[ToolNames] = {
    "read_file": ("read",),
    "read_many_files": ("read",),
    "write_file": ("write",),
    "replace": ("edit",),
    "edit": ("edit",),
    "run_shell_command": ("bash",),
    "glob": ("find",),
    "grep_search": ("grep",),
    "search_file_content": ("grep",),
    "list_directory": ("ls",),
    **dict.fromkeys(("web_fetch", "google_web_search", "write_todos", "todo_write", "task", "skill"), _NONE),
}
_GITHUB_TOOLS: Final[ToolNames] = {
    **dict.fromkeys(("execute/runinterminal", "runinterminal"), ("bash",)),
    **dict.fromkeys(("read/readfile", "readfile"), ("read",)),
    **dict.fromkeys(("edit/editfiles", "edit/createfile", "createfile"), _WRITING),
    **dict.fromkeys(("search/codebase", "search/searchresults", "searchresults"), ("grep", "find")),
    **dict.fromkeys(("search/textsearch", "textsearch"), ("grep",)),
    **dict.fromkeys(("search/filesearch", "filesearch"), ("find",)),
    **dict.fromkeys(("search/listdirectory", "listdirectory"), ("ls",)),
    **dict.fromkeys(("execute", "shell", "bash", "powershell", "runcommands"), ("bash",)),
    "read": ("read",),
    "notebookread": ("read",),
    **dict.fromkeys(("edit", "write", "multiedit", "editfiles"), _WRITING),
    **dict.fromkeys(("search", "codebase"), ("grep", "find")),
    "grep": ("grep",),
    "glob": ("find",),
    **dict.fromkeys(
        ("notebookedit", "agent", "custom-agent", "task", "web", "websearch", "webfetch", "fetch", "todo", "todowrite"),
        _NONE,
    ),
    **dict.fromkeys(
        (
            *("changes", "extensions", "findtestfiles", "githubrepo", "new", "opensimplebrowser", "problems"),
            *("runnotebooks", "runsubagent", "runtasks", "runtests", "terminalcommand", "terminallastcommand"),
            *("terminalselection", "testfailure", "todos", "usages", "vscode", "vscodeapi"),
        ),
        _NONE,
    ),
}

RESTRAINTS: Final[Mapping[str, Role]] = {
    "tools": "tools",
    "disallowedTools": "denied",
    "permissionMode": "mode",
    "readonly": "read_only",
    "sandbox_mode": "sandbox",
}
"""Keys that take tools away in one format; a file of another that has one means the same by it."""

DIALECTS: Final[Mapping[str, Dialect]] = {
    one.id: one
    for one in (
        Dialect(
            id="claude",
            project=(".claude/agents",),
            user=(".claude/agents",),
            keys=_keys(
                {
                    "name": "name",
                    "description": "description",
                    "tools": "tools",
                    "denied": "disallowedTools",
                    "model": "model",
                    "thinking": "effort",
                    "mode": "permissionMode",
                    "requests": "maxTurns",
                    "skills": "skills",
                    "lost": "mcpServers hooks autoCompactWindow initialPrompt memory isolation omitClaudeMd",
                    "cosmetic": "background color",
                }
            ),
            tools=_CLAUDE_TOOLS,
            providers={"claude-": "anthropic"},
        ),
        Dialect(
            id="opencode",
            project=(".opencode/agent", ".opencode/agents"),
            user=(".config/opencode/agent", ".config/opencode/agents"),
            project_files=tuple(
                f"{folder}opencode.{end}" for folder in ("", ".opencode/") for end in ("json", "jsonc")
            ),
            user_files=(".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
            keys=_keys(
                {
                    "description": "description",
                    "model": "model",
                    "thinking": "variant",
                    "verdicts": "tools permission",
                    "requests": "steps maxSteps",
                    "disabled": "disable disabled",
                    "audience": "mode",
                    "lost": "prompt temperature top_p",
                    "cosmetic": "hidden color",
                }
            ),
            tools=_OPENCODE_TOOLS,
        ),
        Dialect(
            id="codex",
            project=(".codex/agents",),
            user=(".codex/agents",),
            keys=_keys(
                {
                    "name": "name",
                    "description": "description",
                    "prompt": "developer_instructions",
                    "model": "model",
                    "thinking": "model_reasoning_effort",
                    "sandbox": "sandbox_mode",
                    "approval": "approval_policy",
                    "lost": "web_search mcp_servers skills tools",
                    "cosmetic": "nickname_candidates",
                }
            ),
            providers={"": "openai"},
            suffix=".toml",
        ),
        Dialect(
            id="gemini",
            project=(".gemini/agents",),
            user=(".gemini/agents",),
            keys=_keys(
                {
                    "name": "name",
                    "description": "description",
                    "tools": "tools",
                    "model": "model",
                    "requests": "max_turns",
                    "minutes": "timeout_mins",
                    "place": "kind",
                    "lost": "mcp_servers temperature agent_card_url auth",
                    "cosmetic": "display_name",
                }
            ),
            tools=_GEMINI_TOOLS,
            providers={"gemini-": "google"},
            is_strict=True,
        ),
        Dialect(
            id="github",
            project=(".github/agents",),
            user=(".copilot/agents",),
            keys=_keys(
                {
                    "description": "description",
                    "tools": "tools",
                    "model": "model",
                    "manual": "disable-model-invocation infer",
                    "lost": "target mcp-servers handoffs agents hooks",
                    "cosmetic": "name user-invocable metadata argument-hint",
                }
            ),
            tools=_GITHUB_TOOLS,
        ),
        Dialect(
            id="cursor",
            project=(".cursor/agents",),
            user=(".cursor/agents",),
            keys=_keys(
                {
                    "name": "name",
                    "description": "description",
                    "model": "model",
                    "read_only": "readonly",
                    "cosmetic": "is_background",
                }
            ),
            tools=_CLAUDE_TOOLS,
        ),
        Dialect(
            id="qwen",
            project=(".qwen/agents",),
            user=(".qwen/agents",),
            keys=_keys(
                {"name": "name", "description": "description", "tools": "tools", "model": "model", "cosmetic": "color"}
            ),
            tools=_GEMINI_TOOLS,
        ),
    )
}
"""Every format by its name, in the order in which one of two files for one id counts."""
