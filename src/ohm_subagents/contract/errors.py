"""Failure as a value: a code, its category, one sentence, and what to do next."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from ohm_subagents._records import dataclass
from ohm_subagents.contract.text import with_advice


class Category(StrEnum):
    """The kind of a failure: `error_category` of an envelope."""

    VALIDATION = "validation"
    POLICY = "policy"
    RUNTIME = "runtime"
    PERSISTENCE = "persistence"
    NOT_FOUND = "not_found"


class _Declared(str):
    """A wire code and what is declared of it. With a tuple as enum value, type checkers refuse `code == member`."""

    __slots__ = ("category", "when")
    category: Category
    when: str


def _code(value: str, category: Category, when: str) -> str:
    declared = _Declared(value)
    declared.category, declared.when = category, when
    return declared


class ErrorCode(StrEnum):
    """Every code that the library itself returns; the value is the wire code."""

    category: Category
    """The kind of the failure."""
    when: str
    """The occasion, in one sentence."""

    def __new__(cls, value: str) -> Self:
        """Take category and occasion from the declaration."""
        if not isinstance(value, _Declared):
            undeclared = f"{value!r} is declared without a category."
            raise TypeError(undeclared)
        member = str.__new__(cls, value)
        member._value_ = str(value)
        member.category, member.when = value.category, value.when
        return member

    # What the caller asked
    INVALID_TASK_PAYLOAD = _code(
        "invalid_task_tool_payload",
        Category.VALIDATION,
        "The arguments of `task` do not fit its schema; the message names the field.",
    )
    INVALID_PRIMARY_PAYLOAD = _code(
        "invalid_primary_tool_payload", Category.VALIDATION, "The arguments of a direct tool do not fit its schema."
    )
    INVALID_TOOL_ARGUMENTS = _code(
        "invalid_tool_arguments", Category.VALIDATION, "The arguments of a plugin's tool do not fit its schema."
    )
    UNKNOWN_TOOL = _code("unknown_tool", Category.NOT_FOUND, "No tool of this name is mounted.")
    TOOL_FAILED = _code("tool_failed", Category.RUNTIME, "A tool of a plugin raised.")
    UNKNOWN_SUBAGENT_TYPE = _code("unknown_subagent_type", Category.NOT_FOUND, "No profile has this id.")
    OPERATION_NOT_SUPPORTED = _code(
        "task_operation_not_supported",
        Category.VALIDATION,
        "The operation is `help`, which the `task` tool does not have.",
    )
    ASYNC_DISABLED = _code(
        "task_async_disabled",
        Category.RUNTIME,
        "A model asked for `async: true`, and `subagents.asyncStart` does not allow it.",
    )
    INVALID_MODEL = _code("invalid_model", Category.VALIDATION, "A model is not `<provider>/<model>[:<thinking>]`.")
    CWD_INVALID = _code("cwd_invalid", Category.VALIDATION, "The `cwd` of an item is relative, or has a `..` in it.")
    CWD_UNREADABLE = _code("cwd_unreadable", Category.VALIDATION, "The working directory is not a readable directory.")

    # What the configuration and the policy say
    CONFIG_INVALID = _code("task_config_load_failed", Category.RUNTIME, "ohm.json cannot be read: nothing starts.")
    PROFILE_INVALID = _code("profile_invalid", Category.VALIDATION, "A profile file cannot be used.")
    PROFILE_TOOLS_CONFLICT = _code("profile_tools_conflict", Category.VALIDATION, "Both `tools` and `excludeTools`.")
    PROFILE_SKILLS_CONFLICT = _code(
        "profile_skills_conflict", Category.VALIDATION, "An agent profile names skills and has `noSkills`."
    )
    PROFILE_ARGUMENT_REFUSED = _code(
        "profile_argument_refused", Category.POLICY, "`extraArgs` or a skill's path of an agent profile is not safe."
    )
    UNKNOWN_SKILLS = _code("unknown_skills", Category.NOT_FOUND, "An agent profile names skills that do not exist.")
    SUBAGENTS_DISABLED = _code("subagents_disabled", Category.RUNTIME, "`features.subagents` is off.")
    SUBAGENT_UNAVAILABLE = _code("subagent_unavailable", Category.RUNTIME, "The feature flag of the profile is off.")
    PERMISSION_DENIED = _code("task_permission_denied", Category.POLICY, "A rule or a plugin denies the profile.")
    INTERNAL_SUBAGENT_HIDDEN = _code(
        "task_internal_subagent_hidden", Category.POLICY, "The profile is internal, and internal routing is off."
    )

    # What a plugin is
    PLUGIN_INVALID = _code("plugin_invalid", Category.VALIDATION, "A plugin does not implement its hooks correctly.")
    UNSUPPORTED_BACKEND = _code(
        "unsupported_subagent_backend", Category.RUNTIME, "No plugin offers the configured backend."
    )
    UNSUPPORTED_STORE = _code("unsupported_store", Category.RUNTIME, "No plugin offers the configured store.")
    BACKEND_OPTIONS_INVALID = _code(
        "backend_options_invalid", Category.VALIDATION, "`subagents.backends.<id>` does not fit the backend."
    )

    COMMAND_UNUSABLE = _code(
        "backend_command_unusable",
        Category.RUNTIME,
        "The command of a command-line backend is missing, too old, or does not start.",
    )

    # What a run met
    UNKNOWN_TASK_ID = _code(
        "unknown_task_id", Category.NOT_FOUND, "The id was never assigned, or its task was removed long ago."
    )
    TASK_EXPIRED = _code("task_expired", Category.NOT_FOUND, "Retention or capacity removed the task.")
    REHYDRATED_INCOMPLETE = _code(
        "task_rehydrated_incomplete", Category.RUNTIME, "The process that ran the task died before the task was over."
    )
    OWNED_ELSEWHERE = _code(
        "task_owned_elsewhere", Category.RUNTIME, "The process of a task did not take a command, or ended over it."
    )
    SERVER_UNREACHABLE = _code("server_unreachable", Category.RUNTIME, "The server of a task is not there, or refuses.")
    NOT_SERVED = _code("not_served", Category.VALIDATION, "A command cannot be sent to the server of the tasks.")
    SESSION_NOT_FOUND = _code("session_not_found", Category.NOT_FOUND, "No session of this id is kept.")
    SESSION_BUSY = _code("session_busy", Category.RUNTIME, "The session to be resumed is still running.")
    NOT_RESUMABLE = _code("task_not_resumable", Category.RUNTIME, "A follow-up was sent to a settled task.")
    WAIT_TIMEOUT = _code("task_wait_timeout", Category.RUNTIME, "`timeout_ms` or `background_after_ms` passed first.")
    WAIT_ABORTED = _code("task_wait_aborted", Category.RUNTIME, "The caller aborted the wait; the tasks go on.")
    UNKNOWN_REQUEST_ID = _code("unknown_request_id", Category.NOT_FOUND, "No subagent has made a request of this id.")
    REQUEST_CLOSED = _code(
        "request_closed", Category.RUNTIME, "The request was answered, or denied when it expired or its run ended."
    )
    ANSWER_NOT_TAKEN = _code(
        "answer_not_taken",
        Category.PERSISTENCE,
        "An answer to a request cannot be stored, or the process that runs the task does not take it in time.",
    )
    INVALID_ANSWER = _code("invalid_answer", Category.VALIDATION, "A request is given something that is no answer.")
    DUPLICATE_TASK_ID = _code("duplicate_task_id", Category.RUNTIME, "`new_task_id` returned the id of another task.")
    SANDBOX_UNAVAILABLE = _code("sandbox_unavailable", Category.POLICY, "A required sandbox cannot be had here.")
    WORKSPACE_FAILED = _code("workspace_failed", Category.RUNTIME, "A workspace cannot be made, or its work be kept.")
    LANDING_CONFLICT = _code("landing_conflict", Category.RUNTIME, "What a task changed does not fit; nothing landed.")
    WORKSPACE_ESCAPED = _code("workspace_escaped", Category.POLICY, "A task in a clone has changed its parent's files.")
    NOTHING_TO_LAND = _code("nothing_to_land", Category.VALIDATION, "A task has no changes that could land.")
    BACKEND_FAILED = _code("task_backend_execution_failed", Category.RUNTIME, "The backend failed or raised.")
    BACKEND_TIMEOUT = _code(
        "task_backend_timeout",
        Category.RUNTIME,
        "One of the four clocks of a run ran out, or its backend was not ready within ten minutes.",
    )
    CHECKS_FAILED = _code("task_checks_failed", Category.RUNTIME, "The outcome did not pass checks that are required.")
    CHECKS_UNSUPPORTED = _code(
        "checks_unsupported", Category.RUNTIME, "Checks that are required cannot run where the backend works."
    )
    FINALIZE_MISSING = _code(
        "task_finalize_missing",
        Category.RUNTIME,
        "A subagent that has to hand in its answer with `subagent_finalize` did not, despite reminders.",
    )
    FINALIZED_WITH_ERROR = _code(
        "task_finalized_with_error", Category.RUNTIME, "The subagent reported that it could not do the task."
    )
    FINALIZE_UNSUPPORTED = _code("finalize_unsupported", Category.RUNTIME, "The backend has no `subagent_finalize`.")
    TOOLS_UNSUPPORTED = _code(
        "tools_unsupported",
        Category.RUNTIME,
        "The backend cannot give a subagent the tools of a call, or cannot keep it to its tools and rules for calls.",
    )
    LOOP_DETECTED = _code(
        "task_loop_detected", Category.RUNTIME, "A run repeated itself and ignored the request to answer."
    )
    BUDGET_EXCEEDED = _code("task_budget_exceeded", Category.POLICY, "A budget of the task or its tree is spent.")
    BUDGET_UNENFORCEABLE = _code(
        "task_budget_unenforceable",
        Category.POLICY,
        "A budget cannot be enforced: the model has no known price, or the backend reports no usage.",
    )
    RUNNER_LOST = _code("runner_lost", Category.RUNTIME, "The runner of a remote run is gone, or cannot be reached.")
    DEPTH_EXCEEDED = _code("task_depth_exceeded", Category.POLICY, "A subagent may not start subagents this deep.")
    TASK_ABORTED = _code("task_aborted", Category.RUNTIME, "The task was cancelled.")
    EVENT_LOOP_UNSUPPORTED = _code(
        "event_loop_unsupported", Category.RUNTIME, "The backend does not run on this event loop."
    )

    # What a model provider answered
    MODEL_MISSING = _code("task_model_missing", Category.RUNTIME, "Nothing names a model, and no provider key is set.")
    MODEL_UNKNOWN = _code("model_unknown", Category.NOT_FOUND, "The provider or its model does not exist.")
    MODEL_MISMATCH = _code(
        "model_mismatch",
        Category.POLICY,
        "Another model answered than the one that was asked for, and `strictModel` forbids it.",
    )
    MODEL_KEY_MISSING = _code("model_key_missing", Category.RUNTIME, "The key of the provider is not set.")
    PROVIDER_NOT_INSTALLED = _code(
        "provider_not_installed",
        Category.RUNTIME,
        "The SDK of the provider is not installed, or its version does not fit.",
    )
    PROVIDER_AUTHENTICATION = _code("provider_authentication_failed", Category.RUNTIME, "The provider refused the key.")
    PROVIDER_RATE_LIMITED = _code("provider_rate_limited", Category.RUNTIME, "The provider asked to slow down.")
    PROVIDER_QUOTA_EXCEEDED = _code("provider_quota_exceeded", Category.RUNTIME, "The account has no quota left.")
    PROVIDER_UNAVAILABLE = _code("provider_unavailable", Category.RUNTIME, "The provider failed or is overloaded.")
    PROVIDER_REQUEST_REJECTED = _code(
        "provider_request_rejected", Category.RUNTIME, "The provider refused the request."
    )
    PROVIDER_CONNECTION_FAILED = _code(
        "provider_connection_failed", Category.RUNTIME, "The provider could not be reached, or the connection broke."
    )
    PROVIDER_TIMEOUT = _code("provider_timeout", Category.RUNTIME, "The provider did not answer in time.")
    PROVIDER_MALFORMED_RESPONSE = _code(
        "provider_malformed_response", Category.RUNTIME, "The provider's answer is malformed or too large."
    )
    PROVIDER_EMPTY_RESPONSE = _code("provider_empty_response", Category.RUNTIME, "The provider's answer is empty.")
    CONTEXT_WINDOW_EXCEEDED = _code(
        "context_window_exceeded", Category.RUNTIME, "The conversation is too long for the model."
    )
    CONTENT_FILTERED = _code("content_filtered", Category.POLICY, "The provider's filter stopped the answer.")
    USAGE_LIMIT_EXCEEDED = _code("usage_limit_exceeded", Category.RUNTIME, "A limit on requests or tokens was reached.")


_OURS = {str(code): code for code in ErrorCode}


def as_declared(code: str) -> str:
    """Return one of our codes as the member that knows its category, any other as it is."""
    return _OURS.get(code, code)


@dataclass(frozen=True, slots=True, kw_only=True)
class OhmError:
    """An expected failure."""

    code: str
    """One of `ErrorCode`, or a plugin's own."""
    message: str
    """The fact, in one sentence that quotes the offending value."""
    advice: str = ""
    """The values that are allowed, and the way out."""
    summary: str = ""
    """A shorter form of the message; empty for the message."""
    category: Category | None = None
    """The kind of the failure; by default that of the code, or the one that a plugin's code tells by its name."""
    retryable: bool = False
    """True if the same again may succeed."""
    task_id: str | None = None
    """The task that holds the partial work."""
    exit_code: int | None = None
    """The exit code of the process that failed, where there was one."""
    cause: str = ""
    """The words of the program or the provider that failed, where the message is about more than that."""

    def __post_init__(self) -> None:
        """Never leave the message empty, nor the category: that of one of our codes, else what a code's name tells."""
        declared = self.code.category if isinstance(self.code, ErrorCode) else self.category or _category_of(self.code)
        object.__setattr__(self, "category", declared)
        if not self.message.strip():
            object.__setattr__(self, "message", self._no_message)

    @property
    def is_wordless(self) -> bool:
        """True if the error came without a message, and its code is all that is known."""
        return self.message == self._no_message

    @property
    def _no_message(self) -> str:
        return f"Failed with {self.code} and no message."

    def __repr__(self) -> str:
        """Return the code and the text, as `unwrap` shows them: the other fields are for programs."""
        return f"OhmError({str(self.code)!r}, {str(self)!r})"

    def __str__(self) -> str:
        """Return the whole text for a person: the fact, then the advice."""
        return with_advice(self.message, self.advice)

    @property
    def resolved_category(self) -> Category:
        """`category`, which is never None once the error is made, for type checkers."""
        return self.category or Category.RUNTIME


_TELLING = (
    (Category.NOT_FOUND, ("not_found",)),
    (Category.POLICY, ("permission", "policy")),
    (Category.PERSISTENCE, ("persistence", "corrupt", "retention")),
)


def _category_of(code: str) -> Category:
    """Return the category of a code that we do not declare; no plugin's failure is a fault of the payload."""
    told = (category for category, words in _TELLING if any(word in str(code) for word in words))
    return next(told, Category.RUNTIME)
