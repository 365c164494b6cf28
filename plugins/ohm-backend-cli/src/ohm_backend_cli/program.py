"""The command-line agents as the host lists them. Cheap: what runs one is in a module of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents.plugin import Capability
from ohm_subagents.shell import HomeFolders

if TYPE_CHECKING:
    from ohm_backend_cli.agent import Agent

SERVER: Final = "ohm-run"
"""The name under which an agent knows the MCP server with the tools of its run; no user has one of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The facts of a command-line agent that are asked for before it runs."""

    id: str
    """The id of the backend, and the command."""
    product: str
    """The name of the program."""
    install: str
    """The command that installs it."""
    child_prefix: str = ""
    """The prefix of its names for tools of `SERVER`; empty for one that connects to no MCP server."""
    folders: HomeFolders = field(default_factory=HomeFolders)
    """Its own directories, which it needs in a sandbox."""
    asks: bool = False
    """True if it speaks the control protocol, by which it asks before each call of a tool where these have rules."""
    api: str = ""
    """The API by which it asks the services of ohm.json; empty for one that asks none."""

    @property
    def summary(self) -> str:
        """The purpose of its backend, in one line."""
        return f"Runs the subagent in {self.product}, as the command `{self.id}`."

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities of its backend, but for those of every process."""
        reached = {Capability.CHILD_TOOLS} if self.child_prefix else set[Capability]()
        ruled = {Capability.CALL_RULES} if self.asks else set[Capability]()
        return frozenset({Capability.SESSIONS, Capability.USAGE, *reached, *ruled})

    @property
    def facts(self) -> dict[str, Any]:
        """The fields, as arguments of the `Agent` that completes them."""
        return {one.name: getattr(self, one.name) for one in fields(Program)}

    def agent(self) -> Agent:
        """Return it with all that its runs need: the constant of its name, in the module of its name."""
        found: Agent = getattr(import_module(f"{__package__}.{self.id}"), self.id.upper())
        return found


CLAUDE: Final = Program(
    id="claude",
    product="Claude Code",
    install="npm install -g @anthropic-ai/claude-code",
    child_prefix=f"mcp__{SERVER}__",
    folders=HomeFolders(own=(".claude",), kept=(".claude/projects",), mover="CLAUDE_CONFIG_DIR"),
    asks=True,
)
CODEX: Final = Program(
    id="codex",
    product="Codex CLI",
    install="npm install -g @openai/codex",
    child_prefix=f"{SERVER}/",
    folders=HomeFolders(own=(".codex",), kept=(".codex/sessions",), mover="CODEX_HOME"),
    api="Responses",
)
OPENCODE: Final = Program(
    id="opencode",
    product="OpenCode",
    install="npm install -g opencode-ai",
    child_prefix=f"{SERVER}_",
    folders=HomeFolders(own=(".config/opencode", ".local/share/opencode"), kept=(".local/share/opencode",)),
    api="Chat Completions",
)
GEMINI: Final = Program(
    id="gemini",
    product="Gemini CLI",
    install="npm install -g @google/gemini-cli",
    folders=HomeFolders(own=(".gemini",), kept=(".gemini/tmp",)),
)
QWEN: Final = Program(
    id="qwen",
    product="Qwen Code",
    install="npm install -g @qwen-code/qwen-code",
    child_prefix=f"mcp__{SERVER}__",
    folders=HomeFolders(own=(".qwen",), kept=(".qwen/projects", ".qwen/tmp")),
)
PROGRAMS: Final = (CLAUDE, CODEX, OPENCODE, GEMINI, QWEN)
