"""The agents that can be kept to the tools of a profile, as data, and all others."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.shell import HomeFolders

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ohm_acp.options import AcpOptions
    from ohm_subagents.plugin import JsonObject, RunRequest

SERVER: Final = "ohm"
"""The name under which an agent knows the MCP server with our tools."""
_OPENCODE_AGENT: Final = "ohm-subagent"
_OPENCODE_CONFIG: Final = "OPENCODE_CONFIG_CONTENT"
_FOLDERS: Final = {
    "claude": HomeFolders(own=(".claude",), kept=(".claude/projects",), mover="CLAUDE_CONFIG_DIR"),
    "opencode": HomeFolders(own=(".config/opencode", ".local/share/opencode"), kept=(".local/share/opencode",)),
    "qwen": HomeFolders(own=(".qwen",), kept=(".qwen/projects", ".qwen/tmp")),
    "codex": HomeFolders(own=(".codex",), kept=(".codex/sessions",), mover="CODEX_HOME"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """An agent, as data."""

    name: str
    """Its name in options."""
    install: str = "as its own documentation says"
    """The command that installs it."""
    words: tuple[str, ...] = ()
    """Words of which one is in its command, and in the name that it gives itself."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its names for our tools; empty for an agent that cannot be kept to some."""
    names_servers: bool = False
    """True if it never calls a tool of an MCP server by the name of the tool alone."""
    warnings: str = ""
    """A pattern of its warnings, for an agent that sends them as text of the answer."""
    provider: str = ""
    """The provider of its models, if it has one only."""
    keys: Iterable[str] = ()
    """Variables that it may have besides the common ones."""
    arguments: Callable[[RunRequest], Sequence[str]] = lambda _request: ()
    """Return arguments after those of its command."""
    settings: Callable[[RunRequest], Mapping[str, str]] = lambda _request: {}
    """Return variables to set for it."""
    meta: Callable[[RunRequest], JsonObject] = lambda _request: {}
    """Return the `_meta` of the requests that open its session."""
    takes_instructions: bool = False
    """True if they are passed on by one of these; they stand above the first prompt otherwise."""

    chooses_model: bool = False
    """True if it is told any model that is asked for when it starts."""
    turns_thinking_off: bool = False
    """True if `settings` turn reasoning off where that is asked for."""
    asking_mode: str | None = None
    """The mode of a session in which it asks before each call of a tool that has rules, empty for any; None for an
    agent that does not."""

    @property
    def folders(self) -> HomeFolders:
        """Its own directories, which it needs in a sandbox; none are known of an agent that is not."""
        return _FOLDERS.get(self.name, HomeFolders())

    @property
    def is_boundable(self) -> bool:
        """Return True if it can be kept to the tools of a profile."""
        return bool(self.tools)

    @property
    def asks(self) -> bool:
        """Return True if it asks before each call of a tool that has rules."""
        return self.asking_mode is not None

    def is_named_by(self, text: str) -> bool:
        """Return True if a text names it."""
        return any(word in text.lower() for word in self.words)


def named(request: RunRequest, names: Mapping[str, str]) -> list[str]:
    """Return an agent's names for the tools of a request, each once."""
    return list(dict.fromkeys(names[tool] for tool in request.tools if tool in names))


_CLAUDE_TOOLS: Final = {
    "read": "Read",
    "bash": "Bash",
    "edit": "Edit",
    "write": "Write",
    "grep": "Grep",
    "find": "Glob",
    "ls": "Glob",
}
_OPENCODE_TOOLS: Final = {
    "read": "read",
    "bash": "bash",
    "edit": "edit",
    "write": "edit",  # one permission for both
    "grep": "grep",
    "find": "glob",
    "ls": "list",
}
_QWEN_TOOLS: Final = {
    "read": "read_file",
    "bash": "run_shell_command",
    "edit": "edit",
    "write": "write_file",
    "grep": "grep_search",
    "find": "glob",
    "ls": "list_directory",
}
_QWEN_UNASKED: Final = (
    *("agent", "ask_user_question", "exit_plan_mode", "monitor", "send_message", "skill", "task_stop", "tool_search"),
)
"""Tools that are offered although `--core-tools` does not name them."""
_LONGEST_CONNECT_MS: Final = 2 * 60 * 1000
_QWEN_AUTH: Final = {"openai": "openai", "anthropic": "anthropic", "google": "gemini"}
"""The protocol that it uses for each provider; others are in its own settings."""


def _claude_meta(request: RunRequest) -> JsonObject:
    """Only the tools of the request, and no settings, hooks or servers that the folder brings."""
    options: JsonObject = {"settingSources": ["user"], "strictMcpConfig": True}
    if request.tools_are_bounded:
        options["tools"] = [*named(request, _CLAUDE_TOOLS)]
    if request.call_rules:  # else it runs what it takes for harmless, such as `ls`, without a word
        asked = named(request, _CLAUDE_TOOLS) if request.tools_are_bounded else _CLAUDE_TOOLS.values()
        options["settings"] = {"permissions": {"ask": [*dict.fromkeys(asked)]}}
    meta: JsonObject = {"claudeCode": {"options": options}}
    if request.instructions:
        meta["systemPrompt"] = {"append": request.instructions}
    return meta


def _claude_settings(request: RunRequest) -> dict[str, str]:
    thinking = request.model.thinking if request.model else None
    quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    if request.child_tools:  # else it begins without those that it has not got to know within 5 s
        quiet |= dict.fromkeys(("MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT_MS"), f"{_LONGEST_CONNECT_MS}")
    model = {"ANTHROPIC_MODEL": request.model.model} if request.model else {}
    return quiet | model | ({"MAX_THINKING_TOKENS": "0"} if thinking == "off" else {})


def _opencode_settings(request: RunRequest) -> dict[str, str]:
    """Return an agent with the instructions, and with all tools denied but those of the request."""
    agent: JsonObject = {"mode": "primary", **_opencode_permission(request)}
    if request.instructions:
        agent["prompt"] = request.instructions
    written = _object(request.env.get(_OPENCODE_CONFIG, ""))
    agents = written.get("agent")
    ours: JsonObject = {**(agents if isinstance(agents, dict) else {}), _OPENCODE_AGENT: agent}
    config: JsonObject = {**written, "default_agent": _OPENCODE_AGENT, "agent": ours}
    if request.call_rules:  # else a call that is refused would end its turn
        experimental = written.get("experimental")
        config["experimental"] = {
            **(experimental if isinstance(experimental, dict) else {}),
            "continue_loop_on_deny": True,
        }
    if request.model:
        config["model"] = f"{request.model.provider}/{request.model.model}"
    text = json.dumps(config, separators=(",", ":"))
    return {_OPENCODE_CONFIG: text, "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_PURE": "1"}


def _opencode_permission(request: RunRequest) -> JsonObject:
    verdict = "ask" if request.call_rules else "allow"
    if request.tools_are_bounded:
        own = dict.fromkeys(named(request, _OPENCODE_TOOLS), verdict)
        return {"permission": {"*": "deny", **own, f"{SERVER}_*": "allow"}}
    return {"permission": dict.fromkeys(_OPENCODE_TOOLS.values(), "ask")} if request.call_rules else {}


def _qwen_arguments(request: RunRequest) -> list[str]:
    """Only the tools of the request; ours unasked, because it does not say which one it asks for."""
    argv = [f"--append-system-prompt={request.instructions}"] if request.instructions else []
    if request.tools_are_bounded:
        argv += [f"--core-tools={tool}" for tool in named(request, _QWEN_TOOLS) or ["none"]]
        argv += [f"--exclude-tools={tool}" for tool in _QWEN_UNASKED]
    argv += [f"--allowed-tools=mcp__{SERVER}__{tool.name}" for tool in request.child_tools]
    if request.model:
        argv += ["--model", request.model.model]
        auth = _QWEN_AUTH.get(request.model.provider)
        argv += ["--auth-type", auth] if auth else []
    return argv


def _object(text: str) -> JsonObject:
    """Return the user's own settings, to which ours are added."""
    try:
        value: object = json.loads(text or "{}")
    except ValueError:
        return {}
    return cast("JsonObject", value) if isinstance(value, dict) else {}


CLAUDE: Final = Agent(
    name="claude",
    install="npm install -g @agentclientprotocol/claude-agent-acp",
    words=("claude",),
    tools=_CLAUDE_TOOLS,
    names_servers=True,
    provider="anthropic",
    keys=(
        *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS"),
        *("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_EXECUTABLE"),
    ),
    settings=_claude_settings,
    meta=_claude_meta,
    takes_instructions=True,
    chooses_model=True,
    turns_thinking_off=True,
    asking_mode="default",
)
OPENCODE: Final = Agent(
    name="opencode",
    install="npm install -g opencode-ai",
    words=("opencode",),
    tools=_OPENCODE_TOOLS,
    names_servers=True,
    keys=(
        *("OPENCODE_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR"),
        *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
        "OPENROUTER_API_KEY",
    ),
    settings=_opencode_settings,
    takes_instructions=True,
    chooses_model=True,
    asking_mode="",
)
QWEN: Final = Agent(
    name="qwen",
    install="npm install -g @qwen-code/qwen-code",
    words=("qwen",),
    tools=_QWEN_TOOLS,
    keys=(
        *("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"),
        *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    ),
    arguments=_qwen_arguments,
    takes_instructions=True,
    chooses_model=True,
)
CODEX: Final = Agent(
    name="codex",
    install="npm install -g @agentclientprotocol/codex-acp",
    words=("codex",),
    names_servers=True,
    warnings=r"Model metadata for `[^`]*` not found\.|Under-development features enabled:|Heads up,",
    keys=("OPENAI_API_KEY", "CODEX_API_KEY", "CODEX_HOME"),
)
OTHER: Final = Agent(name="other")
AGENTS: Final = (CLAUDE, OPENCODE, QWEN, CODEX, OTHER)


def agent_of(options: AcpOptions) -> Agent:
    """Return the agent that the options name, or that the file names in their command tell."""
    if options.agent is not None:
        return next(one for one in AGENTS if one.name == options.agent)
    words = " ".join(Path(word).name for word in (*options.command, *options.args))
    return next((one for one in AGENTS if one.is_named_by(words)), OTHER)
