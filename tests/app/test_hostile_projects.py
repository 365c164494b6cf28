"""A project that somebody else wrote: whatever is in its `.pi`, it opens, and says what is wrong."""

import pytest

from ohm_subagents import Err, Ohm
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project").mkdir()
    (tmp_path / "home").mkdir()
    return tmp_path / "project"


def opened(project):
    home = str(project.parent / "home")
    return Ohm.open(cwd=project, env=HERMETIC | {"HOME": home, "PI_CONFIG_DIR": home, "PI_CODING_AGENT_DIR": home})


@pytest.mark.parametrize(
    "path",
    [".pi", ".pi/settings.json", ".pi/ohm.json", ".pi/agent-profiles", ".pi/agent-profiles/a.md", ".pi/subagents"],
)
async def test_a_link_that_goes_in_circles_is_told(project, path):
    link = project / path
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(link.name)
    async with opened(project) as ohm:
        ran = await ohm.run("finder", "Look.", description="Look")
        told = "\n".join(str(one) for one in ohm.diagnostics)
    refusal = str(ran.err_value) if isinstance(ran, Err) else ""
    assert "oo many levels of symbolic links" in told
    assert ("oo many levels of symbolic links" in refusal) == (path in {".pi", ".pi/ohm.json"})  # rules may be lost
