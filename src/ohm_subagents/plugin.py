"""The door for plugin authors: everything a backend, model, suite or observer plugin needs, in one import."""

from typing import TYPE_CHECKING

from ohm_subagents._concurrency.event_loop import on_asyncio
from ohm_subagents._concurrency.faults import as_exception
from ohm_subagents._concurrency.own_loop import ClosedError, WrongEventLoopError
from ohm_subagents._concurrency.shared_resource import READY_WITHIN_S, SharedResource
from ohm_subagents._lazy import lazy_names
from ohm_subagents._plugins.backends.agent_options import (
    agent_fields,
    full_instructions,
    overriding_model,
    profile_key,
    thinking_level,
    unsupported_options,
    unused_key,
)
from ohm_subagents._plugins.backends.attaching import Attaching
from ohm_subagents._plugins.backends.backend_type import BackendType
from ohm_subagents._plugins.backends.child_call import call_child_tool
from ohm_subagents._plugins.backends.context import BackendContext, Log
from ohm_subagents._plugins.backends.fallback import INTERACTIVE_SDK, INTERACTIVE_SHELL
from ohm_subagents._plugins.backends.gate import Gate, Grant, OpenBudget, RequestNeed
from ohm_subagents._plugins.backends.interface import (
    Backend,
    BackendSpec,
    Capability,
    ModelSpec,
    Options,
    RunOutput,
    ToolRowRequest,
)
from ohm_subagents._plugins.backends.model_choice import ModelChoice
from ohm_subagents._plugins.backends.options import validated as validated_options
from ohm_subagents._plugins.backends.preparation import Preparing
from ohm_subagents._plugins.backends.provider_failures import (
    Phrase,
    agent_failure,
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
    has_written_rules,
    missing_tools,
    unasked_calls,
)
from ohm_subagents._plugins.backends.sink import RunFeed, Sink
from ohm_subagents._plugins.hooks.specs import Hooks, hookimpl
from ohm_subagents._plugins.host.host import PluginInfo, PluginInvalidError, installed_backends
from ohm_subagents._plugins.installation import install_command
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
    CloneOf,
    Decision,
    Delegation,
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
    ToolCeiling,
    ToolEnded,
    ToolPolicy,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
    WorkspaceKept,
)
from ohm_subagents.contract.diagnostics import CUT_OFF, TOOLLESS
from ohm_subagents.contract.profile import ASK_PARENT, CHILD_TOOLS, FINALIZE
from ohm_subagents.contract.services import OHM_JSON, CompatibleModel, CompatibleProvider
from ohm_subagents.contract.spelling import nearest_name
from ohm_subagents.contract.text import encodable, encodable_json
from ohm_subagents.contract.usage import as_count

if TYPE_CHECKING:
    from ohm_subagents._plugins.suites.tools_as_data import (
        ResultFields,
        ResultMessage,
        result_as_data,
        result_of_data,
        tool_as_data,
        tool_of_data,
    )
    from ohm_subagents.contract.wire import WireImage, WireTool

__all__ = [
    "ASK_PARENT",
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
    "Attaching",
    "Backend",
    "BackendContext",
    "BackendSpec",
    "BackendType",
    "CallRules",
    "Capability",
    "Checkpointed",
    "CloneOf",
    "ClosedError",
    "CompatibleModel",
    "CompatibleProvider",
    "Decision",
    "Delegation",
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
    "OpenBudget",
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
    "ResultFields",
    "ResultMessage",
    "RouteResolved",
    "RunEvent",
    "RunFeed",
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
    "ToolCeiling",
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
    "WireImage",
    "WireTool",
    "WorkspaceKept",
    "WrongEventLoopError",
    "agent_failure",
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
    "has_written_rules",
    "hookimpl",
    "install_command",
    "installed_backends",
    "missing_key",
    "missing_tools",
    "nearest_name",
    "on_asyncio",
    "overriding_model",
    "parse_finalized",
    "parse_fitting",
    "profile_key",
    "provider_failure",
    "result_as_data",
    "result_of_data",
    "status_in",
    "thinking_level",
    "tool_as_data",
    "tool_of_data",
    "unasked_calls",
    "unknown_model",
    "unknown_thinking_level",
    "unsupported_options",
    "unused_key",
    "validated_options",
    "without_thinking",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "_plugins.suites.tools_as_data": "ResultFields ResultMessage result_as_data result_of_data tool_as_data "
        "tool_of_data",
        "contract.wire": "WireImage WireTool",
    },
)
