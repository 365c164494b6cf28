"""Three children try three fixes, each on a clone; the one that its check accepts lands, the others are discarded.

Needs git, and no key: the backend below writes what it is asked for. With a model, leave it out and give it prompts.
"""

import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from ohm_subagents import Ohm
from ohm_subagents.config import process_env
from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    Capability,
    OhmError,
    Ok,
    Options,
    Result,
    RunOutput,
    RunRequest,
    Sink,
    TextDelta,
    hookimpl,
)

FIXES = ("a * b", "a + b", "a - b")
CHECK = f"run: {sys.executable} -B -c 'import calc; assert calc.add(2, 3) == 5'"


class Fixer:
    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        await anyio.Path(request.cwd, "calc.py").write_text(f"def add(a, b):\n    return {request.prompt}\n")
        sink.emit(TextDelta(text="fixed"))
        return Ok(RunOutput(text="fixed"))

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self

        rules = frozenset({Capability.CALL_RULES})
        return (BackendSpec(id="fixer", summary="Writes.", open=opened, options=Options, capabilities=rules),)


async def main(repository: Path, cache: Path) -> None:
    await anyio.run_process(["git", "init", "-q"], cwd=repository)
    calc = anyio.Path(repository, "calc.py")
    await calc.write_text("def add(a, b):\n    return None\n")
    config = {"subagentBackend": "fixer", "subagents": {"isolation": "clone", "store": "memory"}}
    env = {**process_env(), "XDG_CACHE_HOME": str(cache)}
    async with Ohm.open(config=config, env=env, cwd=repository, plugins=[Fixer()]) as ohm:
        for fix in FIXES:
            tried = (await ohm.run("task", fix, accept=[CHECK])).unwrap()
            task_id = tried.task_id or ""
            await (ohm.land(task_id) if tried.verified == "passed" else ohm.discard(task_id))
            ended = ohm.envelope(task_id)
            print(f"{fix}: {tried.verified}, {ended.workspace.landed if ended and ended.workspace else 'no change'}")
    print((await calc.read_text()).splitlines()[-1].strip())


with TemporaryDirectory() as place, TemporaryDirectory() as cache:
    anyio.run(main, Path(place), Path(cache))

# Prints:
# a * b: failed, discarded
# a + b: passed, clean
# a - b: failed, discarded
# return a + b
