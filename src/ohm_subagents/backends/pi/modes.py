"""The ways to speak to a pi, as dialects: an event stream that ends with the answer, one that goes on, plain text."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents.backends.pi.flags import arguments, has_task_argument, of_profile, write_instructions
from ohm_subagents.backends.pi.options import BACKEND_ID, COMMAND, INSTALL, SUMMARY
from ohm_subagents.backends.pi.reader import PiReader
from ohm_subagents.backends.pi.text import TextReader, text_arguments, text_prompt
from ohm_subagents.shell import Dialect

if TYPE_CHECKING:
    from ohm_subagents.backends.pi.config_dir import PiHome
    from ohm_subagents.backends.pi.flags import Mode
    from ohm_subagents.backends.pi.probe import PiVersion
    from ohm_subagents.plugin import RunRequest
    from ohm_subagents.shell import Invocation


def event_mode(mode: Mode, pi: PiVersion, home: PiHome) -> Dialect:
    """Return the dialect of `--mode json` or `--mode rpc`. In the latter the prompt is a command."""
    return Dialect(
        id=BACKEND_ID,
        summary=SUMMARY,
        command=COMMAND,
        install=INSTALL,
        arguments=partial(arguments, pi, mode=mode),
        prompt=lambda invocation: "" if has_task_argument(invocation.request, mode) else invocation.request.prompt,
        reader=lambda invocation: event_reader(invocation.request, pi, home),
        keys=home.keys_for,
        settings=lambda invocation: home.environment(invocation.request),
        needs=lambda invocation: home.needs(invocation.request),
    )


def event_reader(request: RunRequest, pi: PiVersion, home: PiHome) -> PiReader:
    """Return the reader of the events of a run."""
    return PiReader(request, settles=pi.settles, secrets=home.secrets(request))


def text_mode(pi: PiVersion, home: PiHome) -> Dialect:
    """Return the dialect of plain text; an agent profile has its own flags."""

    def arguments_of(invocation: Invocation) -> tuple[str, ...]:
        if invocation.request.profile.agent is None:
            return text_arguments(invocation.request)
        write_instructions(invocation)
        return ("--print", "--no-session", *of_profile(pi, invocation))

    return Dialect(
        id=BACKEND_ID,
        summary=SUMMARY,
        command=COMMAND,
        install=INSTALL,
        arguments=arguments_of,
        prompt=lambda invocation: text_prompt(invocation.request),
        reader=lambda invocation: TextReader(invocation.request, secrets=home.secrets(invocation.request)),
        keys=home.keys_for,
        settings=lambda invocation: home.environment(invocation.request),
        needs=lambda invocation: home.needs(invocation.request),
    )
