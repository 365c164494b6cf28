"""Subagents that write into clones, and whose work is kept until somebody lands or discards it."""

import os
from contextlib import asynccontextmanager

import anyio
from acting import ActingBackend
from git_trees import write

from ohm_subagents import Ohm
from ohm_subagents.contract import WorkspaceKept
from ohm_subagents.testing import HERMETIC
from ohm_subagents.workspaces import GitWorkspaces


@asynccontextmanager
async def opened(tmp_path, store="memory"):
    """An `Ohm` whose subagents write their prompt into `a`, in clones; those told `nothing` write nothing."""
    env = {**HERMETIC, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path}"}
    env |= {"PI_CONFIG_DIR": f"{tmp_path / 'config'}", "OHM_SUBAGENTS_STORE": store}
    clones = GitWorkspaces.of(env).unwrap()

    async def act(request, sink):
        if request.prompt == "wait":
            await anyio.sleep_forever()
        beginning = (await clones.begin(request.cwd, request.task_id)).unwrap()
        async with clones.clone(beginning) as clone:
            if request.prompt != "nothing":
                write(clone.unwrap().directory, a=request.prompt)
            done = (await clone.unwrap().work()).unwrap()
        if done:
            work = (await clones.keep(request.cwd, request.task_id, done)).unwrap()
            facts = {name: getattr(work, name) for name in ("base", "ref", "files", "insertions", "deletions")}
            sink.emit(WorkspaceKept(**facts))
        return "done"

    async with Ohm.open(env=env, config={"subagentBackend": "acting"}, plugins=[ActingBackend(act)]) as ohm:
        yield ohm


async def worked(ohm, parent, prompt):
    """Let a subagent write its prompt; return the id of its task."""
    return (await ohm.run("finder", prompt, cwd=f"{parent}")).unwrap().task_id
