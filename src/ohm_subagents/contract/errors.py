"""Failure as a value: a code, its category, one sentence, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class Category(StrEnum):
    """What kind of failure a code is (004, `error_category`)."""

    VALIDATION = "validation"
    POLICY = "policy"
    RUNTIME = "runtime"
    PERSISTENCE = "persistence"
    NOT_FOUND = "not_found"


class ErrorCode(StrEnum):
    """Every code that the library itself returns; the value is the wire code, the category is declared."""

    category: Category

    def __new__(cls, value: str, category: Category = Category.RUNTIME) -> Self:
        """Attach the declared category to the member."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.category = category
        return member

    # What the caller asked
    INVALID_TASK_PAYLOAD = "invalid_task_tool_payload", Category.VALIDATION
    UNKNOWN_TOOL = "unknown_tool", Category.NOT_FOUND
    UNKNOWN_SUBAGENT_TYPE = "unknown_subagent_type", Category.NOT_FOUND
    OPERATION_NOT_SUPPORTED = "task_operation_not_supported", Category.RUNTIME
    ASYNC_DISABLED = "task_async_disabled", Category.RUNTIME
    INVALID_MODEL = "invalid_model", Category.VALIDATION
    CWD_UNREADABLE = "cwd_unreadable", Category.VALIDATION

    # What the configuration and the policy say
    CONFIG_INVALID = "task_config_load_failed", Category.RUNTIME
    PROFILE_INVALID = "profile_invalid", Category.VALIDATION
    SUBAGENTS_DISABLED = "subagents_disabled", Category.RUNTIME
    SUBAGENT_UNAVAILABLE = "subagent_unavailable", Category.RUNTIME
    PERMISSION_DENIED = "task_permission_denied", Category.POLICY
    INTERNAL_SUBAGENT_HIDDEN = "task_internal_subagent_hidden", Category.POLICY
    UNKNOWN_CHILD_TOOL = "unknown_child_tool", Category.VALIDATION

    # What a plugin is
    PLUGIN_INVALID = "plugin_invalid", Category.VALIDATION
    UNSUPPORTED_BACKEND = "unsupported_subagent_backend", Category.RUNTIME
    BACKEND_OPTIONS_INVALID = "backend_options_invalid", Category.VALIDATION

    # What a run met
    DUPLICATE_TASK_ID = "duplicate_task_id", Category.RUNTIME
    BACKEND_FAILED = "task_backend_execution_failed", Category.RUNTIME
    BACKEND_TIMEOUT = "task_backend_timeout", Category.RUNTIME
    TASK_ABORTED = "task_aborted", Category.RUNTIME
    EVENT_LOOP_UNSUPPORTED = "event_loop_unsupported", Category.RUNTIME

    # What a model provider answered
    MODEL_MISSING = "task_model_missing", Category.RUNTIME
    MODEL_UNKNOWN = "model_unknown", Category.NOT_FOUND
    MODEL_KEY_MISSING = "model_key_missing", Category.RUNTIME
    PROVIDER_NOT_INSTALLED = "provider_not_installed", Category.RUNTIME
    PROVIDER_AUTHENTICATION = "provider_authentication_failed", Category.RUNTIME
    PROVIDER_RATE_LIMITED = "provider_rate_limited", Category.RUNTIME
    PROVIDER_QUOTA_EXCEEDED = "provider_quota_exceeded", Category.RUNTIME
    PROVIDER_UNAVAILABLE = "provider_unavailable", Category.RUNTIME
    PROVIDER_REQUEST_REJECTED = "provider_request_rejected", Category.RUNTIME
    PROVIDER_CONNECTION_FAILED = "provider_connection_failed", Category.RUNTIME
    PROVIDER_TIMEOUT = "provider_timeout", Category.RUNTIME
    PROVIDER_MALFORMED_RESPONSE = "provider_malformed_response", Category.RUNTIME
    PROVIDER_EMPTY_RESPONSE = "provider_empty_response", Category.RUNTIME
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded", Category.RUNTIME
    CONTENT_FILTERED = "content_filtered", Category.POLICY
    USAGE_LIMIT_EXCEEDED = "usage_limit_exceeded", Category.RUNTIME


@dataclass(frozen=True, slots=True, kw_only=True)
class OhmError:
    """An expected failure.

    `message` is one sentence of fact that quotes the offending value; `advice` says what is allowed and what to do;
    `summary` is a shorter form of the message where a document fixes one. A plugin may bring its own `code`: without a
    `category` it gets the one its name tells (004's rule). `task_id` names the task that holds the partial work.
    """

    code: str
    message: str
    advice: str = ""
    summary: str = ""
    category: Category | None = None
    retryable: bool = False
    task_id: str | None = None

    def __post_init__(self) -> None:
        """Never leave the message empty."""
        if not self.message.strip():
            object.__setattr__(self, "message", f"Failed with {self.code} and no message.")

    def __str__(self) -> str:
        """The whole text for a person: the fact, then the advice."""
        if not self.advice:
            return self.message
        return f"{self.message.rstrip('.')}. {self.advice}"

    @property
    def resolved_category(self) -> Category:
        """The declared category of one of our codes, else the plugin's own, else what the code's name tells."""
        if isinstance(self.code, ErrorCode):
            return self.code.category
        return self.category or _told_by(self.code)


_TELLING = (
    (Category.NOT_FOUND, ("not_found",)),
    (Category.VALIDATION, ("invalid_", "validation", "payload")),
    (Category.POLICY, ("permission", "policy")),
    (Category.PERSISTENCE, ("persistence", "corrupt", "retention")),
)


def _told_by(code: str) -> Category:
    """The category that task.v1 gives to a code it does not know."""
    return next((category for category, words in _TELLING if any(word in code for word in words)), Category.RUNTIME)
