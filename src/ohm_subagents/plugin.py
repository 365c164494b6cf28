"""The door for plugin authors: everything a backend, model, suite or observer plugin needs, in one import."""

from ohm_subagents._concurrency.event_loop import on_asyncio
from ohm_subagents._concurrency.faults import as_exception
from ohm_subagents._concurrency.own_loop import ClosedError, WrongEventLoopError
from ohm_subagents._concurrency.shared_resource import READY_WITHIN_S, SharedResource
from ohm_subagents._plugins.backends.agent_options import (
    agent_fields,
    full_instructions,
    overriding_model,
    profile_key,
    thinking_level,
    unsupported_options,
    unused_key,
)
from ohm_subagents._plugins.backends.backend_type import BackendType
from ohm_subagents._plugins.backends.child_call import call_child_tool
from ohm_subagents._plugins.backends.context import BackendContext, Log
from ohm_subagents._plugins.backends.fallback import INTERACTIVE_SDK, INTERACTIVE_SHELL
from ohm_subagents._plugins.backends.gate import Gate, Grant, RequestNeed
from ohm_subagents._plugins.backends.interface import (
    Backend,
    BackendSpec,
    Capability,
    ModelSpec,
    Options,
    RunOutput,
    Sink,
    ToolRowRequest,
)
from ohm_subagents._plugins.backends.model_choice import ModelChoice
from ohm_subagents._plugins.backends.options import validated as validated_options
from ohm_subagents._plugins.backends.preparation import Preparing
from ohm_subagents._plugins.backends.provider_failures import (
    Phrase,
    did_you_mean,
    failure_code,
    missing_key,
    provider_failure,
    status_in,
    unknown_model,
    unknown_thinking_level,
    without_thinking,
)
from ohm_subagents._plugins.backends.request import (
    Exchange,
    Inbox,
    RunRequest,
    RunSpec,
    has_another_tool,
    missing_tools,
)
from ohm_subagents._plugins.hooks.specs import Hooks, hookimpl
from ohm_subagents._plugins.host.host import PluginInfo, PluginInvalidError
from ohm_subagents._plugins.host.installation import install_command
from ohm_subagents._plugins.suites.embedding import Host
from ohm_subagents._plugins.suites.finalization import DESCRIPTION as FINALIZE_DESCRIPTION
from ohm_subagents._plugins.suites.finalization import HANDED_IN as FINALIZE_HANDED_IN
from ohm_subagents._plugins.suites.finalization import input_schema as finalize_schema
from ohm_subagents._plugins.suites.finalization import parse_final as parse_finalized
from ohm_subagents._plugins.suites.finalization import parse_fitting
from ohm_subagents._plugins.suites.image import Image
from ohm_subagents._plugins.suites.interface import EventHandler, Executor, SessionTask, SuiteContext, ToolSuiteSpec
from ohm_subagents._plugins.suites.observer import Observer
from ohm_subagents._plugins.suites.profile_source import ProfileSource
from ohm_subagents._plugins.suites.tool import JsonObject, OnUpdate, Tool, ToolCall, ToolResult
from ohm_subagents._policy.calls import refused_call
from ohm_subagents._views.theme import Theme, View
from ohm_subagents.contract import (
    THINKING_LEVELS,
    UNREADABLE_SESSION,
    Activity,
    AgentEnded,
    AgentOptions,
    Assignment,
    CallRules,
    Checkpointed,
    Decision,
    Diagnostic,
    DiagnosticRaised,
    Err,
    ErrorCode,
    Event,
    FileChanged,
    Finalized,
    InputSpec,
    ModelPattern,
    OhmError,
    Ok,
    PermissionRequest,
    Place,
    Profile,
    Redactor,
    Result,
    RouteResolved,
    RunEvent,
    SessionId,
    Severity,
    SkillText,
    Task,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolEnded,
    ToolPolicy,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
)
from ohm_subagents.contract.diagnostics import CUT_OFF, TOOLLESS
from ohm_subagents.contract.profile import CHILD_TOOLS, FINALIZE
from ohm_subagents.contract.services import OHM_JSON, CompatibleModel, CompatibleProvider
from ohm_subagents.contract.text import encodable, encodable_json
from ohm_subagents.contract.usage import as_count

__all__ = [
    "CHILD_TOOLS",
    "CUT_OFF",
    "FINALIZE",
    "FINALIZE_DESCRIPTION",
    "FINALIZE_HANDED_IN",
    "INTERACTIVE_SDK",
    "INTERACTIVE_SHELL",
    "OHM_JSON",
    "READY_WITHIN_S",
    "THINKING_LEVELS",
    "TOOLLESS",
    "UNREADABLE_SESSION",
    "Activity",
    "AgentEnded",
    "AgentOptions",
    "Assignment",
    "Backend",
    "BackendContext",
    "BackendSpec",
    "BackendType",
    "CallRules",
    "Capability",
    "Checkpointed",
    "ClosedError",
    "CompatibleModel",
    "CompatibleProvider",
    "Decision",
    "Diagnostic",
    "DiagnosticRaised",
    "Err",
    "ErrorCode",
    "Event",
    "EventHandler",
    "Exchange",
    "Executor",
    "FileChanged",
    "Finalized",
    "Gate",
    "Grant",
    "Hooks",
    "Host",
    "Image",
    "Inbox",
    "InputSpec",
    "JsonObject",
    "Log",
    "ModelChoice",
    "ModelPattern",
    "ModelSpec",
    "Observer",
    "OhmError",
    "Ok",
    "OnUpdate",
    "Options",
    "PermissionRequest",
    "Phrase",
    "Place",
    "PluginInfo",
    "PluginInvalidError",
    "Preparing",
    "Profile",
    "ProfileSource",
    "Redactor",
    "RequestNeed",
    "Result",
    "RouteResolved",
    "RunEvent",
    "RunOutput",
    "RunRequest",
    "RunSpec",
    "SessionId",
    "SessionTask",
    "Severity",
    "SharedResource",
    "Sink",
    "SkillText",
    "SuiteContext",
    "Task",
    "TextDelta",
    "Theme",
    "Thinking",
    "ThinkingDelta",
    "Tool",
    "ToolCall",
    "ToolEnded",
    "ToolPolicy",
    "ToolResult",
    "ToolRowRequest",
    "ToolStarted",
    "ToolSuiteSpec",
    "ToolUpdated",
    "Usage",
    "UsageAdded",
    "View",
    "WrongEventLoopError",
    "agent_fields",
    "as_count",
    "as_exception",
    "call_child_tool",
    "did_you_mean",
    "encodable",
    "encodable_json",
    "failure_code",
    "finalize_schema",
    "full_instructions",
    "has_another_tool",
    "hookimpl",
    "install_command",
    "missing_key",
    "missing_tools",
    "on_asyncio",
    "overriding_model",
    "parse_finalized",
    "parse_fitting",
    "profile_key",
    "provider_failure",
    "refused_call",
    "status_in",
    "thinking_level",
    "unknown_model",
    "unknown_thinking_level",
    "unsupported_options",
    "unused_key",
    "validated_options",
    "without_thinking",
]
