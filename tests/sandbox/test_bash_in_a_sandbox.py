"""`bash` in a sandbox: real commands of a real run, held to the workspace."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from deafness import deafened
from git_trees import git, repository
from model_server import Call, ModelServer, Say

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.contract import ToolEnded
from ohm_subagents.sandbox import this_machine

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The in-process backend is for asyncio."""
    return "asyncio"


class Place:
    """A user's directory with a secret, and a project with a subagent `worker` that has `bash`."""

    def __init__(self, root: Path) -> None:
        self.user, self.cwd = root / "user", root / "project"
        (self.user / "subagents").mkdir(parents=True)
        (self.cwd / ".pi").mkdir(parents=True)
        self.secret = self.user / "secret"
        self.secret.write_text("s3cret")
        self.profile()

    def profile(self, keys: str = "") -> None:
        text = f"---\nid: worker\nsummary: Works\nmodel: acme/m1\ntools: [bash]\n{keys}\n---\nWork."
        (self.user / "subagents" / "worker.md").write_text(text)

    @asynccontextmanager
    async def open(
        self, server: ModelServer, *, project: Any = None, plugins: Any = (), **subagents: Any
    ) -> AsyncGenerator[Ohm]:
        acme = {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["m1"]}
        requests = {"unattended": "allow"}
        config = {"providers": {"acme": acme}, "subagents": {"requests": requests, **subagents}}
        (self.user / "ohm.json").write_text(json.dumps(config))
        if project is not None:
            (self.cwd / ".pi" / "ohm.json").write_text(json.dumps({"subagents": project}))
        env = {"PI_CONFIG_DIR": str(self.user), "ACME_KEY": "k", "PATH": os.environ["PATH"], "HOME": str(self.user)}
        async with Ohm.open(cwd=self.cwd, env=env, plugins=plugins) as ohm:
            yield ohm

    async def ran(self, command: str, *, call: Any = None, project: Any = None, **subagents: Any) -> str:
        """Have the subagent run a command; return what its model reads."""
        script = Say(Call("bash", {"command": command})), Say("Done.")
        async with ModelServer(*script) as server, self.open(server, project=project, **subagents) as ohm:
            handle = await ohm.start("worker", "Do it.", **(call or {}))
            events = [event async for event in handle.events()]
            (await handle.wait()).unwrap()
        return next(event.text for event in events if isinstance(event, ToolEnded))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_this_machine_can_hold_a_program() -> None:
    """Else no other test of a sandbox would say anything."""
    assert this_machine().mechanism is not None, this_machine().lacks


async def test_without_a_sandbox_a_command_reads_a_secret(place: Place) -> None:
    assert await place.ran(f"cat {place.secret}") == "s3cret"


async def test_a_command_in_a_sandbox_changes_its_workspace_and_reads_no_secret(place: Place) -> None:
    told = await place.ran(f"cat {place.secret}; echo x > {place.user}/new; echo made > made", sandbox="required")
    assert "s3cret" not in told
    assert (place.cwd / "made").read_text() == "made\n"
    assert not (place.user / "new").exists()


async def test_a_path_with_the_home_in_it_or_a_directory_above_it_shows_nothing_of_it(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{place.user}:{place.user.parent}", prepend=os.pathsep)
    assert "s3cret" not in await place.ran(f"cat {place.secret}", sandbox="required")


async def test_a_host_that_ignores_signals_holds_commands_too(place: Place) -> None:
    with deafened():
        assert await place.ran("echo x", sandbox="required") == "x"


async def test_a_command_in_a_clone_changes_the_clone_and_not_the_files_that_it_is_of(place: Place) -> None:
    repository(place.cwd, a="one\n")
    command = f"echo two > a; git show HEAD:a; echo escaped > {place.cwd}/a; git diff --stat"
    told = await place.ran(command, sandbox="required", isolation="clone")
    assert told.startswith("one")
    assert "1 insertion(+), 1 deletion(-)" in told
    assert (place.cwd / "a").read_text() == "one\n"
    assert "refs/ohm/task_" in git(place.cwd, "for-each-ref", "refs/ohm")


@pytest.mark.slow
async def test_a_home_and_a_tmp_of_its_own_can_be_written_and_leave_nothing(place: Place) -> None:
    told = await place.ran('echo x > ~/new; echo y > "${TMPDIR:-/tmp}/more"; cat ~/new', sandbox="required")
    assert told == "x"
    assert not (place.user / "new").exists()


ASKED = [
    {"sandbox": "preferred"},
    {"sandbox": "requierd"},
    {"sandbox": "required", "project": {"sandbox": "off"}},
    {"sandbx": "required"},
    {"worker": {"sandbox": "required"}},
    {"call": {"sandbox": "required"}},
    {"project": {"sandbox": "required"}},
    {"sandbox": "required", "call": {"sandbox": "off"}},
    {"sandbox": "required", "worker": {"sandbox": "off"}},
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "asked", [*ASKED[:3], *(pytest.param(one, marks=pytest.mark.slow) for one in ASKED[3:])], ids=str
)
async def test_the_strictest_word_counts_and_one_that_is_unclear_requires(place: Place, asked: Any) -> None:
    assert "s3cret" not in await place.ran(f"cat {place.secret}", **asked)


@pytest.mark.slow
async def test_in_a_clone_the_sandbox_is_around_the_clone_and_git_works_there(place: Place) -> None:
    git = "git -c user.name=a -c user.email=a@b"
    first = f"git init -q && echo a > a && git add a && {git} commit -qm first"
    await anyio.run_process(("sh", "-c", first), cwd=place.cwd)
    command = f"git log --oneline; pwd > where; echo x > {place.cwd}/escaped"
    told = await place.ran(command, call={"sandbox": "required", "isolation": "clone"})
    assert "fatal" not in told
    assert not (place.cwd / "escaped").exists()
    assert not (place.cwd / "where").exists()


@pytest.mark.slow
async def test_a_check_of_a_task_in_a_clone_is_in_the_same_sandbox(place: Place) -> None:
    repository(place.cwd, a="one\n")
    checks = ["run: git show HEAD:a", f"run: echo escaped > {place.cwd}/a || true", "run: echo mine > a"]
    accept = {"checks": checks, "require": True}
    await place.ran("true", call={"sandbox": "required", "isolation": "clone", "accept": accept})
    assert (place.cwd / "a").read_text() == "one\n"


@pytest.mark.slow
async def test_a_profile_demands_a_sandbox(place: Place) -> None:
    place.profile("sandbox: required")
    assert "s3cret" not in await place.ran(f"cat {place.secret}", call={"sandbox": "off"})


@pytest.mark.slow
async def test_what_the_user_lists_may_be_read_and_changed(place: Place) -> None:
    rules = {"read": ["~/secret"], "write": [str(place.user / "shared")]}
    (place.user / "shared").mkdir()
    command = f"cat {place.secret}; echo x > {place.secret}; echo y > {place.user}/shared/new"
    assert (await place.ran(command, sandbox="required", sandboxRules=rules)).startswith("s3cret")
    assert (place.user / "shared" / "new").read_text() == "y\n"
    assert place.secret.read_text() == "s3cret"


@pytest.mark.slow
async def test_of_the_network_a_command_reaches_the_servers_that_the_user_lists(place: Place) -> None:
    async with ModelServer(Say("x")) as other:
        url = other.url.rstrip("/")
        server = url.split("/")[2]
        command = f"python3 -c \"import urllib.request as r; r.urlopen('{url}/none')\" 2>&1 | tail -1"
        no_server = await place.ran(command, sandbox="required", sandboxRules={"network": ["pypi.org:443"]})
        reached = await place.ran(command, sandbox="required", sandboxRules={"network": [server]})
    assert "403" in no_server
    assert "501" in reached


async def test_a_file_has_at_most_the_size_that_is_allowed(place: Place) -> None:
    rules = {"fileMb": 1}
    await place.ran("head -c 3000000 /dev/zero > big", sandbox="required", sandboxRules=rules)
    assert (place.cwd / "big").stat().st_size <= 2**20


async def test_a_required_sandbox_is_refused_where_the_workspace_holds_the_home(place: Place) -> None:
    async with ModelServer() as server, place.open(server, sandbox="required") as ohm:
        error = (await ohm.run("worker", "Do it.", cwd=place.user.parent)).unwrap_err()
    assert error.code == ErrorCode.SANDBOX_UNAVAILABLE
    assert "holds the home of the user" in error.message


async def test_a_preferred_sandbox_that_cannot_be_had_is_told(place: Place) -> None:
    async with ModelServer(Say("Done.")) as server, place.open(server, sandbox="preferred") as ohm:
        envelope = (await ohm.run("worker", "Do it.", cwd=place.user.parent)).unwrap()
    assert [one for one in envelope.diagnostics if "which a sandbox keeps private. It runs without a sandbox." in one]


async def test_a_call_with_an_unknown_sandbox_is_refused(place: Place) -> None:
    async with ModelServer() as server, place.open(server) as ohm:
        with pytest.raises(TypeError, match="sandbox is 'on'; allowed: 'required', 'preferred' or 'off'"):
            await ohm.run("worker", "Do it.", sandbox="on")
