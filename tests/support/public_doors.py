"""The modules that others import from."""

DOORS = (
    "ohm_subagents",
    "ohm_subagents.acp",
    "ohm_subagents.commands",
    "ohm_subagents.config",
    "ohm_subagents.contract",
    "ohm_subagents.contract.wire",
    "ohm_subagents.files",
    "ohm_subagents.mcp",
    "ohm_subagents.plugin",
    "ohm_subagents.redaction",
    "ohm_subagents.remote",
    "ohm_subagents.sandbox",
    "ohm_subagents.serve",
    "ohm_subagents.shell",
    "ohm_subagents.store",
    "ohm_subagents.suite",
    "ohm_subagents.testing",
    "ohm_subagents.views",
    "ohm_subagents.workspaces",
)
