"""Make a backend of a command-line agent: a `Dialect` says how to call it and how to read its output."""

import sys
from collections.abc import Iterable

import anyio

from ohm_subagents import Err, Ohm, Ok
from ohm_subagents.contract import ErrorCode, OhmError, Result, RunEvent, TextDelta
from ohm_subagents.plugin import BackendSpec, RunOutput, hookimpl
from ohm_subagents.shell import Dialect, Ended, ShellOptions, full_prompt, records, shell_backend

CLI = "import json, sys; print(json.dumps({'say': f'{sys.argv[1][:15]}… was asked: {sys.stdin.read()}'}))"


class ParrotReader:
    is_over, text = False, ""  # the command ends by itself

    def read(self, line: bytes) -> Iterable[RunEvent]:
        said = (records(line) or {}).get("say")
        if isinstance(said, str):
            self.text += said
            yield TextDelta(text=said)

    def last(self, ended: Ended) -> Iterable[RunEvent]:
        return ()

    def outcome(self, ended: Ended) -> Result[RunOutput, OhmError]:
        error = OhmError(code=ErrorCode.BACKEND_FAILED, message=f"parrot ended with {ended.code}: {ended.stderr}")
        return Err(error) if ended.code else Ok(RunOutput(text=self.text))


PARROT = Dialect(
    id="parrot",
    summary="Repeats what it is asked.",
    command=(sys.executable, "-c", CLI),
    install="pip install parrot",
    arguments=lambda invocation: [invocation.request.instructions],  # pass the model and the tools likewise
    prompt=lambda invocation: full_prompt(invocation.request),
    reader=lambda _invocation: ParrotReader(),
)


class ParrotPlugin:
    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec[ShellOptions]]:
        return (shell_backend(PARROT),)


async def main() -> None:
    async with Ohm.open(config={"subagentBackend": "parrot"}, plugins=[ParrotPlugin()]) as ohm:
        print((await ohm.run("finder", "Where?")).unwrap().output)


anyio.run(main)

# Prints:
# You are Finder,… was asked: Where?
