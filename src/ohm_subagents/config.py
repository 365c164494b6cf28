"""The door to the configuration: load it, explain where a value comes from, and read or grant trust in a project."""

from ohm_subagents._config.approved_calls import approval_of
from ohm_subagents._config.env import DELEGATE_BACKEND, agent_dir, config_dir, process_env
from ohm_subagents._config.limits import (
    CommonBudget,
    CommonLimits,
    CommonLoop,
    LimitSource,
    OwnBudget,
    OwnLimits,
    OwnLoop,
)
from ohm_subagents._config.load import CONFIG_FILE, LoadedConfig, load_config
from ohm_subagents._config.mcp_servers import REFERENCE as VARIABLE_REFERENCE
from ohm_subagents._config.mcp_servers import McpServer
from ohm_subagents._config.model_menu import MenuEntry, ModelFallback
from ohm_subagents._config.permissions import Permissions
from ohm_subagents._config.reserved import reserved_fields
from ohm_subagents._config.sandbox import SandboxSettings
from ohm_subagents._config.schema import (
    AzurePainter,
    Features,
    GooglePainter,
    OhmConfig,
    OpenAIPainter,
    Painter,
    Provider,
    ProviderModel,
)
from ohm_subagents._config.subagents import RequestSettings, SubagentEntry, Subagents
from ohm_subagents._config.tables import config_schema, config_table, env_table
from ohm_subagents._config.tool_rules import ToolRules
from ohm_subagents._config.trust import (
    TRUST_COMMAND,
    Covers,
    Project,
    Trust,
    TrustRecord,
    changed_files,
    forget_trust,
    read_trust,
    trust_records,
    write_trust,
)
from ohm_subagents._config.values import ModelName, UnclearModel
from ohm_subagents._orchestrator.admission.model_order import NamedModel, configured_model
from ohm_subagents._policy.allowance import loop_policy
from ohm_subagents._policy.calls import judge_call
from ohm_subagents._policy.permissions import effective_decision, is_hidden
from ohm_subagents._policy.sources import ExplainedLimit, explain_limits
from ohm_subagents._policy.tool_names import unknown_of
from ohm_subagents._policy.tools import LaterTools, ResolvedTools, resolve_tools
from ohm_subagents.contract.call_rules import CallRules, CloneOf

__all__ = [
    "CONFIG_FILE",
    "DELEGATE_BACKEND",
    "TRUST_COMMAND",
    "VARIABLE_REFERENCE",
    "AzurePainter",
    "CallRules",
    "CloneOf",
    "CommonBudget",
    "CommonLimits",
    "CommonLoop",
    "Covers",
    "ExplainedLimit",
    "Features",
    "GooglePainter",
    "LaterTools",
    "LimitSource",
    "LoadedConfig",
    "McpServer",
    "MenuEntry",
    "ModelFallback",
    "ModelName",
    "NamedModel",
    "OhmConfig",
    "OpenAIPainter",
    "OwnBudget",
    "OwnLimits",
    "OwnLoop",
    "Painter",
    "Permissions",
    "Project",
    "Provider",
    "ProviderModel",
    "RequestSettings",
    "ResolvedTools",
    "SandboxSettings",
    "SubagentEntry",
    "Subagents",
    "ToolRules",
    "Trust",
    "TrustRecord",
    "UnclearModel",
    "agent_dir",
    "approval_of",
    "changed_files",
    "config_dir",
    "config_schema",
    "config_table",
    "configured_model",
    "effective_decision",
    "env_table",
    "explain_limits",
    "forget_trust",
    "is_hidden",
    "judge_call",
    "load_config",
    "loop_policy",
    "process_env",
    "read_trust",
    "reserved_fields",
    "resolve_tools",
    "trust_records",
    "unknown_of",
    "write_trust",
]
