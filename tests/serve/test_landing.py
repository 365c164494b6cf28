"""The work of a task of a server, landed by the program that asked for it, by another one, and by itself."""

import os

import pytest
from git_trees import git, repository
from loops import real_clocks_slow_on_trio

pytestmark = pytest.mark.anyio


async def writing(request, _sink):
    (request.cwd / "a").write_text(f"{request.prompt}\n")
    return "done"


@pytest.mark.slow
@real_clocks_slow_on_trio
async def test_work_lands_and_is_discarded_through_a_server(desk, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    env = desk.env | {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path / 'cache'}"}
    async with desk.server(), desk.acting(writing, cwd=parent, env=env) as ohm:
        one, other = [(await ohm.run("finder", f"by {n}", isolation="clone")).unwrap().task_id for n in (1, 2)]
        assert (await ohm.land(one)).unwrap().workspace.landed == "clean"
        async with desk.program("acting", cwd=parent, env=env) as second:
            refused = (await second.land(other)).unwrap_err()
            assert refused.code == "landing_conflict"
            assert "a line 1: both have changed it" in f"{refused}"
            assert (await second.discard(other)).unwrap().workspace.landed == "discarded"
        by_itself = (await ohm.run("finder", "by 3", isolation="clone", land="clean")).unwrap()
    assert by_itself.workspace.landed == "clean"
    assert (parent / "a").read_text() == "by 3\n"
    assert git(parent, "for-each-ref", f"refs/ohm/{other}") == ""
