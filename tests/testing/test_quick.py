"""The support for tests of others: an exact script, a log of events, an environment that holds nothing."""

import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC, EventLog, quick_ohm

pytestmark = pytest.mark.anyio


async def played(script, *prompts):
    async with quick_ohm(*script) as ohm:
        return [await ohm.run("finder", prompt) for prompt in prompts]


@pytest.mark.parametrize(
    ("script", "prompts", "told"),
    [
        (["one"], ["first", "second"], "0 steps were never run, 1 runs had no step."),
        (["one", "two"], ["first"], "1 steps were never run, 0 runs had no step."),
    ],
)
async def test_a_script_that_is_not_played_exactly_fails_the_test(script, prompts, told):
    with pytest.raises(AssertionError) as raised:
        await played(script, *prompts)
    assert str(raised.value) == told


async def test_without_a_script_every_run_answers():
    assert [answer.ok_value.output for answer in await played([], "first", "second")] == ["done", "done"]


async def test_a_log_tells_the_events_of_one_task_apart():
    log = EventLog()
    async with quick_ohm("one", "two", plugins=[log]) as ohm:
        await ohm.run("finder", "first")
        await ohm.run("finder", "second")

    assert log.kinds("task_1") == log.kinds("task_2")
    assert log.kinds() == [*log.kinds("task_1"), *log.kinds("task_2")]
    assert log.kinds("task_3") == []


class TestInRealTime:
    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"

    async def test_a_hermetic_environment_finds_nothing_of_the_user_and_leaves_nothing_with_them(self, tmp_path):
        home, project = tmp_path / "home", tmp_path / "project"
        profile = home / ".pi" / "agent" / "agent-profiles" / "mine.md"
        for file, text in (
            (profile, "---\nname: mine\n---\nYou are mine.\n"),
            (home / ".pi" / "agent" / "ohm.json", '{"subagentBackend": "none"}'),
            (project / "search.py", "def find_words():\n    pass\n"),
        ):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        before = sorted(home.rglob("*"))
        async with Ohm.open(cwd=project, env={"HOME": str(home), **HERMETIC}, suites=["delegate"]) as ohm:
            asked = {"tasks": [{"name": "a", "prompt": "b", "profile": "mine"}]}
            told = (await ohm.call("delegate_to_subagents", asked)).text
            assert 'Unknown profile: "mine". Available profiles: (none)' in told
            assert {
                plugin.state for plugin in ohm.inspect().plugins if plugin.distribution not in {None, "ohm-subagents"}
            } <= {"blocked"}
            assert "find_words" in (await ohm.run("finder", "find words")).ok_value.output
            assert ohm.store.place is None
        assert sorted(home.rglob("*")) == before
