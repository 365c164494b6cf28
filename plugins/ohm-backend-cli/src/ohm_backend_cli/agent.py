"""A command-line agent that prints JSON lines, as the modules of this package describe it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from ohm_backend_cli.checkpoint import Checkpoint
from ohm_backend_cli.children import ChildTools
from ohm_backend_cli.program import Program
from ohm_backend_cli.run_state import RunState
from ohm_backend_cli.start import Link, Start
from ohm_backend_cli.stream import Ending, StreamReader, Table
from ohm_subagents.shell import Dialect, Invocation, Needs, full_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ohm_subagents.plugin import RunRequest

OURS: Final = frozenset({"code_search"})
"""Tools that live in our process; the CLI's own search stands in for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent(Program):
    """A command-line agent, as data."""

    arguments: Callable[[Start], Sequence[str]]
    """Return the arguments of a run; the prompt goes to standard input."""
    table: Table
    """The readers of its records, by the kind of record."""
    provider: str = ""
    """The provider whose models it runs when nothing names one."""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its names for our tools."""
    writes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Those of its tools that write a file, with the argument that names it."""
    keys: Callable[[RunRequest], Iterable[str]] = lambda _request: ()
    """As in a dialect."""
    settings: Callable[[Start], Mapping[str, str]] = lambda _start: {}
    """Return variables to set for it."""
    unsupported: Callable[[RunRequest], Iterable[str]] = lambda _request: ()
    """Return sentences about what it cannot honour of a request."""
    ending: Ending = field(default_factory=Ending)
    """The readers of its exit code and its standard error."""

    def dialect(self, link: Link | None = None) -> Dialect:
        """Return the same for the host; `link` holds the connections of a run."""
        link = link or Link()
        return Dialect(
            id=self.id,
            summary=self.summary,
            command=(self.id,),
            install=self.install,
            arguments=lambda invocation: self.arguments(self._start(invocation, link)),
            prompt=self._prompt,
            reader=partial(self._reader, link=link),
            capabilities=self.capabilities,
            packages=("ohm-backend-cli",),
            keys=self.keys,
            needs=lambda invocation: self.needs(invocation.request),
            settings=lambda invocation: link.settings(invocation.request, self.settings(self._start(invocation, link))),
        )

    def needs(self, request: RunRequest) -> Needs:
        """Return its own files, for a sandbox."""
        return self.folders.needs(request.env)

    def agent(self) -> Agent:
        """Return itself: nothing has to be imported."""
        return self

    def our_names(self, tool: str) -> Sequence[str]:
        """Return our names for a tool by its own name; none for one of `SERVER`, which is judged where it is called."""
        if self.child_prefix and tool.startswith(self.child_prefix):
            return ()
        return [ours for ours, own in self.tools.items() if own == tool] or [tool]

    def _start(self, invocation: Invocation, link: Link) -> Start:
        return Start(
            request=invocation.request,
            folder=invocation.folder,
            session=self.resumed(invocation.request).session or None,
            link=link,
        )

    def resumed(self, request: RunRequest) -> Checkpoint:
        """Return the state of the session."""
        return Checkpoint.read(request.checkpoint)

    def _prompt(self, invocation: Invocation) -> str:
        request = invocation.request
        return full_prompt(request if self.resumed(request).session else replace(request, checkpoint=None))

    def _reader(self, invocation: Invocation, *, link: Link) -> StreamReader:
        request = invocation.request
        run = RunState(
            id=self.id,
            request=request,
            provider=request.model.provider if request.model else self.provider,
            before=self.resumed(request),
            writes=self.writes,
            unsupported=(*self.unsupported(request), *self._lacking(request, link)),
            children=ChildTools(self.child_prefix, link.endpoint),
        )
        return StreamReader(run, self.table, self.ending)

    def _lacking(self, request: RunRequest, link: Link) -> Iterable[str]:
        plugged = [tool.name for tool in request.child_tools]
        if plugged and link.endpoint is None:
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
