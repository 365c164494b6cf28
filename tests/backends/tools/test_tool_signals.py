"""Processes of tools hear every signal, whatever the host ignores or blocks."""

import pytest
from deafness import HEARS_ALL, SHOW, deafened, heard

pytestmark = pytest.mark.anyio


@pytest.fixture
def deaf():
    with deafened():
        yield


async def test_a_command_of_bash_hears_every_signal(use, deaf):
    assert heard((await use("bash", command=SHOW)).text) == HEARS_ALL


async def test_a_command_of_bash_is_ended_by_a_signal(use, deaf):
    assert (await use("bash", command="kill -INT $$; echo deaf")).text == "[Exit code 130.]"


async def test_a_writer_ends_with_its_reader(use, deaf):
    assert (await use("bash", command="yes | head -n 1")).text == "y"


async def test_ripgrep_hears_every_signal(desk, deaf):
    desk.put("found.py", "needle\n")
    desk.fake_ripgrep(f"{SHOW} > ../heard; printf './found.py\\0001:needle\\n'")
    assert "found.py" in (await desk.use("grep", pattern="needle")).text
    assert heard((desk.cwd.parent / "heard").read_text()) == HEARS_ALL


async def test_a_ripgrep_that_does_not_start_costs_its_call(desk, deaf):
    desk.ripgrep = "/no/such/rg"
    outcome = await desk.use("grep", pattern="needle")
    assert (outcome.kind, "/no/such/rg: No such file or directory" in outcome.text) == ("failed", True)
