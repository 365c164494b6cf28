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


class _Declared(str):
    """A wire code with its category. A plain tuple as enum value would make type checkers refuse `code == member`."""

    __slots__ = ("category",)
    category: Category


def _code(value: str, category: Category) -> str:
    declared = _Declared(value)
    declared.category = category
    return declared


class ErrorCode(StrEnum):
    """Every code that the library itself returns; the value is the wire code, the category is declared."""

    category: Category

    def __new__(cls, value: str) -> Self:
        """Take the category from the declaration."""
        member = str.__new__(cls, value)
        member._value_ = str(value)
        member.category = value.category if isinstance(value, _Declared) else Category.RUNTIME
        return member

    # What the caller asked
    INVALID_TASK_PAYLOAD = _code("invalid_task_tool_payload", Category.VALIDATION)
    INVALID_PRIMARY_PAYLOAD = _code("invalid_primary_tool_payload", Category.VALIDATION)
    UNKNOWN_TOOL = _code("unknown_tool", Category.NOT_FOUND)
    UNKNOWN_SUBAGENT_TYPE = _code("unknown_subagent_type", Category.NOT_FOUND)
    OPERATION_NOT_SUPPORTED = _code("task_operation_not_supported", Category.RUNTIME)
    ASYNC_DISABLED = _code("task_async_disabled", Category.RUNTIME)
    INVALID_MODEL = _code("invalid_model", Category.VALIDATION)
    CWD_UNREADABLE = _code("cwd_unreadable", Category.VALIDATION)

    # What the configuration and the policy say
    CONFIG_INVALID = _code("task_config_load_failed", Category.RUNTIME)
    PROFILE_INVALID = _code("profile_invalid", Category.VALIDATION)
    SUBAGENTS_DISABLED = _code("subagents_disabled", Category.RUNTIME)
    SUBAGENT_UNAVAILABLE = _code("subagent_unavailable", Category.RUNTIME)
    PERMISSION_DENIED = _code("task_permission_denied", Category.POLICY)
    INTERNAL_SUBAGENT_HIDDEN = _code("task_internal_subagent_hidden", Category.POLICY)
    UNKNOWN_CHILD_TOOL = _code("unknown_child_tool", Category.VALIDATION)

    # What a plugin is
    PLUGIN_INVALID = _code("plugin_invalid", Category.VALIDATION)
    UNSUPPORTED_BACKEND = _code("unsupported_subagent_backend", Category.RUNTIME)
    BACKEND_OPTIONS_INVALID = _code("backend_options_invalid", Category.VALIDATION)

    # What a run met
    UNKNOWN_TASK_ID = _code("unknown_task_id", Category.NOT_FOUND)
    TASK_EXPIRED = _code("task_expired", Category.NOT_FOUND)
    NOT_RESUMABLE = _code("task_not_resumable", Category.RUNTIME)
    WAIT_TIMEOUT = _code("task_wait_timeout", Category.RUNTIME)
    WAIT_ABORTED = _code("task_wait_aborted", Category.RUNTIME)
    DUPLICATE_TASK_ID = _code("duplicate_task_id", Category.RUNTIME)
    BACKEND_FAILED = _code("task_backend_execution_failed", Category.RUNTIME)
    BACKEND_TIMEOUT = _code("task_backend_timeout", Category.RUNTIME)
    TASK_ABORTED = _code("task_aborted", Category.RUNTIME)
    EVENT_LOOP_UNSUPPORTED = _code("event_loop_unsupported", Category.RUNTIME)

    # What a model provider answered
    MODEL_MISSING = _code("task_model_missing", Category.RUNTIME)
    MODEL_UNKNOWN = _code("model_unknown", Category.NOT_FOUND)
    MODEL_KEY_MISSING = _code("model_key_missing", Category.RUNTIME)
    PROVIDER_NOT_INSTALLED = _code("provider_not_installed", Category.RUNTIME)
    PROVIDER_AUTHENTICATION = _code("provider_authentication_failed", Category.RUNTIME)
    PROVIDER_RATE_LIMITED = _code("provider_rate_limited", Category.RUNTIME)
    PROVIDER_QUOTA_EXCEEDED = _code("provider_quota_exceeded", Category.RUNTIME)
    PROVIDER_UNAVAILABLE = _code("provider_unavailable", Category.RUNTIME)
    PROVIDER_REQUEST_REJECTED = _code("provider_request_rejected", Category.RUNTIME)
    PROVIDER_CONNECTION_FAILED = _code("provider_connection_failed", Category.RUNTIME)
    PROVIDER_TIMEOUT = _code("provider_timeout", Category.RUNTIME)
    PROVIDER_MALFORMED_RESPONSE = _code("provider_malformed_response", Category.RUNTIME)
    PROVIDER_EMPTY_RESPONSE = _code("provider_empty_response", Category.RUNTIME)
    CONTEXT_WINDOW_EXCEEDED = _code("context_window_exceeded", Category.RUNTIME)
    CONTENT_FILTERED = _code("content_filtered", Category.POLICY)
    USAGE_LIMIT_EXCEEDED = _code("usage_limit_exceeded", Category.RUNTIME)


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
