"""The interface of plugins: backends, and models for one of them. Public as `.plugin`; a run gets a `request`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, Protocol

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeVar

from ohm_subagents._plugins.backends.request import RunRequest
from ohm_subagents._plugins.backends.sink import Sink
from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.result import Result

if TYPE_CHECKING:
    from pydantic_ai.models import Model
else:
    Model = object  # for typing.get_type_hints: to import pydantic-ai takes a second


class Options(BaseModel):
    """Base of a backend's options, validated from `subagents.backends.<id>` of ohm.json. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


OptionsT = TypeVar("OptionsT", bound=Options, default=Options)


class Capability(StrEnum):
    """A feature of a backend beyond one prompt, one answer. The engine degrades without it."""

    SESSIONS = "sessions"
    """Continues a conversation from `RunRequest.checkpoint`."""
    FILES = "files"
    """Works in the task's cwd, which therefore has to be a readable directory."""
    STEERING = "steering"
    """Takes follow-ups into the run that goes on, through `RunRequest.inbox`; without it each becomes the next run."""
    CHILD_TOOLS = "child_tools"
    """Gives the subagent the tools of `RunRequest.child_tools`."""
    FINALIZE = "finalize"
    """Gives the subagent `subagent_finalize` by itself, where the profile demands it, and reports `Finalized`; a
    backend with `CHILD_TOOLS` finds the tool among those of the request."""
    USAGE = "usage"
    """Reports what it consumed as `UsageAdded`."""
    AGENT_OPTIONS = "agent_options"
    """Looks at `Profile.agent`, and warns of what it does not support; for any other backend, the engine warns."""
    PREPARES = "prepares"
    """Is `Preparing`: it has a method `prepare` that is called before each run."""
    CALL_RULES = "call_rules"
    """Awaits `Gate.tool` before each call of a tool, and keeps to the answer; or calls no tool. On any other backend, a
    profile with rules for calls is refused, and the built-in `task` runs only where nobody has to be asked."""
    ATTACHES = "attaches"
    """Is `Attaching`: its runs go on where the process of the `Ohm` dies, and `attach` finds them again."""
    TRACES = "traces"
    """Makes the spans of its model requests and tool calls itself; for any other, they are made from its events."""
    SANDBOX = "sandbox"
    """Starts each process in `RunRequest.box`, or none; on any other backend, a run that requires a sandbox is
    refused."""
    IN_PROCESS = "in_process"
    """Starts no program with the variables of `shell.child_environment`; after a run of any other, what an `ohm` below
    such a program used is charged to the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutput:
    """The result of a run.

    Fields:
        text: the whole answer, uncut.
        summary: one line in place of the engine's `<Name>: <description>`; empty leaves that.
        exit_code: that of the process that gave the answer, if it has ended by itself; else None.
    """

    text: str
    summary: str = ""
    exit_code: int | None = None


class Backend(Protocol):
    """Turns a RunRequest into events and one result. Knows no task, policy, timeout or batch.

    The law: expected failures are `Err`, never raised. Cancellation is never swallowed. Every run reaches a checkpoint
    of the event loop. No event after return. Nothing is shared between runs except what `open` created.
    """

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run one prompt to its end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSpec(Generic[OptionsT]):
    """A backend that a plugin offers.

    A backend stays open when an `Ohm` is reconfigured, if its new spec and its options equal the former ones.

    Fields:
        id: the name that `subagentBackend` and calls use.
        summary: one sentence for `ohm doctor`.
        open: a context manager of the backend, for its options, entered on first use, left with the `Ohm`; a failure is
            that of the task that needed it. A run waits for it, and for `Preparing.prepare`, before its clocks begin.
        options: the model by which `subagents.backends.<id>` of ohm.json is validated.
        capabilities: what the backend does beyond one prompt, one answer.
        label: the name that envelopes show as `backend`; empty for the id.
        lacks: returns one sentence on what these options lack in this environment, or None; for `ohm doctor` alone.
        packages: the distributions whose versions are kept with each task, in its launch record, beside ours.
        runs: for a backend whose runs another one carries out elsewhere: returns the id of that, by the options. Where
            that one is installed here too, this one has no capability that it lacks, but for `ATTACHES`.
        backend_type: the `BackendType` of which ohm.json made it; the core sets it, and it is empty for all others.
    """

    id: str
    summary: str
    open: Callable[[OptionsT], AbstractAsyncContextManager[Backend]]
    options: type[OptionsT]
    capabilities: frozenset[Capability] = frozenset()
    label: str = ""
    lacks: Callable[[OptionsT, Mapping[str, str]], str | None] = lambda _options, _env: None
    runs: Callable[[OptionsT], str] | None = None
    backend_type: str = ""
    packages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model provider that a plugin offers to the in-process backend.

    Fields:
        provider: the name that model patterns use, in lower case.
        summary: one sentence for people.
        open: makes a pydantic-ai `Model` for a pattern of this provider, or returns why it cannot. Called in a thread,
            before the clocks of the run begin; they count what the model does at its first request, as reading its
            weights. Models are cached, and closed with the `Ohm`.
        keys: the environment variables of which one must be set; empty if none is needed.
        default_model: the model that runs where one of the keys is set and nothing else names a model; None for none.
        is_free: its models cost nothing, so a cost budget does not hold them up.
        open_with_key: `open` with this key in place of one from the environment, for one run alone; None for a
            provider that takes no key.
        key_place: what messages name in place of `keys`, where these must not be shown.
        lacks: returns what `open` needs beside a key and does not find, as a command that installs an SDK; None for
            nothing. Its default is no default where something is lacking and another model can be asked.
    """

    provider: str
    summary: str
    open: Callable[[ModelPattern], Result[Model, OhmError]]
    keys: tuple[str, ...] = ()
    default_model: str | None = None
    is_free: bool = False
    open_with_key: Callable[[ModelPattern, str], Result[Model, OhmError]] | None = None
    key_place: str = ""
    lacks: Callable[[], str | None] = lambda: None

    @property
    def key_names(self) -> tuple[str, ...]:
        """The names of the keys, as messages show them."""
        return (self.key_place,) if self.key_place and self.keys else self.keys


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRowRequest:
    """A tool event about to be shown as a row.

    Fields:
        tool: the name of the tool.
        payload: its arguments or its result, as text.
    """

    tool: str
    payload: str
