"""A command-line agent that prints JSON lines, as the modules of this package describe it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ohm_backend_cli.checkpoint import Checkpoint
from ohm_backend_cli.run_state import RunState
from ohm_backend_cli.stream import StreamReader, Table
from ohm_subagents.plugin import Capability, RunRequest
from ohm_subagents.shell import Dialect, Ended, Invocation, full_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

OURS: Final = frozenset({"code_search"})
"""Tools that live in our process; the CLI's own search stands in for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A command-line agent, as data.

    `arguments` are those of a run, given the session to resume, if any; the prompt goes to standard input. `table` says
    what a record of a kind tells. `tools` are its names for our tools, `writes` those of its tools that write a file,
    with the argument that names it. `provider` is whose models it runs when nothing names one. `keys` and `settings`
    are as in a dialect. `unsupported` are sentences about what it cannot honour of a request.
    """

    id: str
    product: str
    install: str
    arguments: Callable[[Invocation, str | None], Sequence[str]]
    table: Table
    provider: str = ""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    writes: Mapping[str, str] = field(default_factory=dict[str, str])
    keys: Callable[[RunRequest], Iterable[str]] = lambda _request: ()
    settings: Callable[[Invocation], Mapping[str, str]] = lambda _invocation: {}
    unsupported: Callable[[RunRequest], Iterable[str]] = lambda _request: ()
    http_status: Callable[[Ended], int | None] = lambda _ended: None

    def dialect(self) -> Dialect:
        """Return the same for the host."""
        return Dialect(
            id=self.id,
            summary=f"Runs the subagent in {self.product}, as the command `{self.id}`.",
            command=(self.id,),
            install=self.install,
            arguments=lambda invocation: self.arguments(invocation, self.resumed(invocation.request).session or None),
            prompt=self._prompt,
            reader=self._reader,
            capabilities=frozenset({Capability.SESSIONS, Capability.USAGE}),
            keys=self.keys,
            settings=self.settings,
        )

    def resumed(self, request: RunRequest) -> Checkpoint:
        """Return the state of the session."""
        return Checkpoint.read(request.checkpoint)

    def _prompt(self, invocation: Invocation) -> str:
        request = invocation.request
        return full_prompt(request if self.resumed(request).session else replace(request, checkpoint=None))

    def _reader(self, invocation: Invocation) -> StreamReader:
        request = invocation.request
        run = RunState(
            id=self.id,
            request=request,
            provider=request.model.provider if request.model else self.provider,
            before=self.resumed(request),
            writes=self.writes,
            unsupported=(*self.unsupported(request), *self._lacking(request)),
        )
        return StreamReader(run, self.table, self.http_status)

    def _lacking(self, request: RunRequest) -> Iterable[str]:
        plugged = [tool.name for tool in request.child_tools]
        if plugged:
            yield f"{self.id} cannot be given tools of plugins, so the subagent does without {', '.join(plugged)}."
        foreign = [name for name in request.tools if name not in {*self.tools, *plugged, *OURS}]
        if foreign:
            yield f"{self.id} has no tool for {', '.join(foreign)}, so the subagent does without."


def named(request: RunRequest, names: Mapping[str, str]) -> list[str]:
    """Return a CLI's names for the tools of a request, each once."""
    return list(dict.fromkeys(names[tool] for tool in request.tools if tool in names))


def without_thinking(cli: str) -> Callable[[RunRequest], Iterable[str]]:
    """Return the function that warns of a thinking level, for a CLI without one."""

    def sentences(request: RunRequest) -> Iterable[str]:
        if request.model and request.model.thinking:
            yield f'{cli} takes no thinking level, so "{request.model.thinking}" has no effect.'

    return sentences


def bound_to(cli: str, provider: str) -> Callable[[RunRequest], Iterable[str]]:
    """Return the function that warns of another provider, for a CLI that has one."""

    def sentences(request: RunRequest) -> Iterable[str]:
        if request.model and request.model.provider != provider:
            yield (
                f'{cli} is given the model "{request.model.model}" alone and has its own settings for where models '
                f'are, so "{request.model.provider}" has no effect.'
            )

    return sentences
