"""The request of one run: its prompt, the facts about its task, the session so far, follow-ups. Public as `.plugin`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import Protocol

from ohm_subagents._config.tool_rules import has_tool
from ohm_subagents._plugins.backends.gate import Gate
from ohm_subagents._plugins.backends.sink import RunFeed
from ohm_subagents._plugins.suites.tool import Tool
from ohm_subagents._records import dataclass
from ohm_subagents.contract.call_rules import CallRules
from ohm_subagents.contract.diagnostics import TOOLLESS, Diagnostic
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.profile import FINALIZE, Profile
from ohm_subagents.contract.sandbox import NO_SANDBOX, Sandbox
from ohm_subagents.contract.tool_ceiling import Delegation
from ohm_subagents.sandbox.box import Box


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An earlier run of the session.

    Fields:
        prompt: what was asked.
        output: what was answered; empty if the run failed.
    """

    prompt: str
    output: str


class Inbox(Protocol):
    """Follow-ups that arrive while a run goes on."""

    def offered_to(
        self, offer: Callable[[str, Callable[[bool], None]], None], finish: Callable[[str], bool] | None = None
    ) -> AbstractContextManager[None]:
        """Do what `steered_by` does for a run that answers an offer later, say from another process.

        `offer` calls the function that it gets with True once the run has taken the text, and with False if it has
        not, now or at any time; an offer that has no answer when the context is left becomes the next run. The next
        follow-up is offered when the one before is answered.
        """
        ...

    def steered_by(
        self, steer: Callable[[str], bool], finish: Callable[[str], bool] | None = None
    ) -> AbstractContextManager[None]:
        """Offer every follow-up to `steer` while this is open, those that wait already first.

        `steer` says whether the run has taken it; what it refuses becomes the next run. `finish` is called at most once
        with the engine's wish that the run answers now with what it has: the text is for the model, which gets no tools
        any more. Both are called in the event loop's thread, must not block, and are never called after the context
        was left.
        """
        return self.offered_to(lambda text, answer: answer(steer(text)), finish)


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """The facts about the runs of a task that a backend may know.

    Fields:
        profile: the profile that does the work.
        description: what the task is called.
        instructions: the system text; it says who the subagent is.
        cwd: the directory of the task.
        tools: the names of the child tools that the policy allows.
        tools_are_bounded: no other tool may be given, not even one of the backend's own.
        child_tools: tools that plugins bring for subagents.
        call_rules: rules for the calls of `tools`, which a backend with `CALL_RULES` keeps by `Gate.tool`.
        passes: the ceilings of the tools of what the run starts; None without any.
        model: the model that is asked for; None leaves the choice to the backend.
        mode: `defaultMode` of ohm.json.
        is_one_shot: no follow-up is expected, so nothing has to be kept ready for one.
        env: the environment that the `Ohm` was opened with, keys included.
        sandbox: the sandbox that is asked for; of a run, `RunRequest.box` is what came of it.
    """

    profile: Profile
    description: str
    instructions: str
    cwd: Path
    tools: tuple[str, ...] = ()
    tools_are_bounded: bool = True
    child_tools: tuple[Tool, ...] = ()
    call_rules: tuple[CallRules, ...] = ()
    passes: Delegation | None = None
    model: ModelPattern | None = None
    mode: str = "smart"
    is_one_shot: bool = False
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    sandbox: Sandbox = NO_SANDBOX


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One prompt for one backend. The fields of `spec` can be read here as well.

    Fields:
        task_id, session_id: the task, and the session that it belongs to.
        prompt: the text for the model, untouched.
        spec: how the run is made.
        history: the session so far, oldest first.
        checkpoint: the newest state that this backend recorded in the session.
        inbox: follow-ups to this run, for a backend that declares `STEERING`.
        gate: asked before each model request; for a backend that never asks, budgets are checked afterwards, from the
            usage that it reports.
        depth: how deep this subagent is, 1 for one that a program starts.
        feed: for a backend that declares `ATTACHES`: records what the run reports.
        box: for a backend that declares `SANDBOX`: every process that it starts is held by it; None for no sandbox.
    """

    task_id: TaskId
    session_id: SessionId
    prompt: str
    spec: RunSpec
    history: tuple[Exchange, ...] = ()
    checkpoint: str | None = None
    inbox: Inbox | None = None
    gate: Gate | None = None
    depth: int = 1
    feed: RunFeed | None = None
    box: Box | None = None

    @property
    def profile(self) -> Profile:
        return self.spec.profile

    @property
    def description(self) -> str:
        return self.spec.description

    @property
    def instructions(self) -> str:
        return self.spec.instructions

    @property
    def cwd(self) -> Path:
        return self.spec.cwd

    @property
    def tools(self) -> tuple[str, ...]:
        return self.spec.tools

    @property
    def tools_are_bounded(self) -> bool:
        return self.spec.tools_are_bounded

    @property
    def child_tools(self) -> tuple[Tool, ...]:
        return self.spec.child_tools

    @property
    def call_rules(self) -> tuple[CallRules, ...]:
        return self.spec.call_rules

    @property
    def passes(self) -> Delegation | None:
        return self.spec.passes

    @property
    def model(self) -> ModelPattern | None:
        return self.spec.model

    @property
    def mode(self) -> str:
        return self.spec.mode

    @property
    def is_one_shot(self) -> bool:
        return self.spec.is_one_shot

    @property
    def env(self) -> Mapping[str, str]:
        return self.spec.env

    @property
    def sandbox(self) -> Sandbox:
        return self.spec.sandbox


def missing_tools(missing: Sequence[str], request: RunRequest, what: str) -> Diagnostic:
    """Return the warning that a subagent lacks these tools; `what` says why. `TOOLLESS` if it has no other."""
    if has_another_tool(missing, request):
        return Diagnostic(subject="tools", message=f"{what}; the subagent works without it.")
    return Diagnostic(subject=TOOLLESS, message=f"{what}; the subagent works without any tool.")


def has_another_tool(missing: Sequence[str], request: RunRequest) -> bool:
    """Return True if the subagent has a tool beside these, and beside that by which it hands in its answer."""
    return any(tool not in (*missing, FINALIZE) for tool in request.tools)


def unasked_calls(request: RunRequest, backend: str) -> Iterator[Diagnostic]:
    """Tell which calls nobody is asked about, where a backend cannot be asked and only a built-in profile's rules ask.

    Emit them where `has_written_rules` lets a run go on that the backend will not ask about.
    """
    ruled = dict.fromkeys(one.tool for one in request.call_rules if one.is_default)
    yield from (not_asked(tool, backend) for tool in ruled if any(has_tool((tool,), one) for one in request.tools))


def not_asked(tool: str, backend: str) -> Diagnostic:
    """Return the diagnostic of rules that come with a profile, on a backend that cannot be asked about calls."""
    return Diagnostic(
        subject="requests",
        message=f"Calls of '{tool}' are not asked about: the backend '{backend}' cannot ask.",
        advice='Run it on \'interactive-sdk\', or set subagents.requests.unattended to "wait" or "deny" to refuse it.',
        severity="info",
    )


def has_written_rules(request: RunRequest) -> bool:
    """Return True if somebody has written rules for calls of a tool that the subagent may have.

    Where only those of a built-in profile are left, a backend that cannot be asked lets every call through.
    """
    written = [rules.tool for rules in request.call_rules if not rules.is_default]
    given = (*request.tools, *(tool.name for tool in request.child_tools)) if written else ()
    return any(not request.tools_are_bounded or any(has_tool((tool,), one) for one in given) for tool in written)
