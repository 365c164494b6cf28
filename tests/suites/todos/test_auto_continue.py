"""The countdown that keeps an agent going, on the clock of the event loop."""

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio
STOPPED = {"messages": [{"role": "assistant", "stopReason": "stop"}]}


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


def opened(host):
    return Ohm.open(config={}, env=HERMETIC, suites=["todos"], host=host)


async def written(ohm, *texts):
    await ohm.call("write_todos", {"mode": "replace", "todos": [{"text": text} for text in texts]})


def line(seconds):
    return f"⏳ Auto-continuing in {seconds}s... (type anything to interrupt)"


def said(host):
    return [call for call in host.calls if call[0] == "send_user_message"]


async def test_it_follows_the_event_loop_and_speaks_after_three_seconds():
    spoken_at = []

    class Listening(MemoryHost):
        def send_user_message(self, text, *, follow_up=False):
            spoken_at.append(anyio.current_time())

    async with opened(Listening()) as ohm:
        await written(ohm, "a")
        began = anyio.current_time()
        await ohm.emit("agent_end", STOPPED)
        assert anyio.current_time() == began
        await anyio.sleep(10)
    assert spoken_at == [began + 3]


async def test_closing_the_ohm_ends_the_countdown_at_once():
    host = MemoryHost()
    async with opened(host) as ohm:
        await written(ohm, "a")
        began = anyio.current_time()
        await ohm.emit("agent_end", STOPPED)
    assert anyio.current_time() == began
    await anyio.sleep(10)
    assert said(host) == []


async def test_a_reconfiguration_neither_stops_nor_doubles_it():
    host = MemoryHost()
    async with opened(host) as ohm:
        await written(ohm, "a")
        await ohm.emit("agent_end", STOPPED)
        await anyio.sleep(1.5)
        await ohm.reconfigure()
        await anyio.sleep(10)
        assert len(said(host)) == 1
        for _ in range(20):
            await ohm.reconfigure()
            await ohm.emit("agent_end", STOPPED)
            await anyio.sleep(3.1)
        assert len(said(host)) == 20
        [limit] = [call for call in host.calls if call[0] == "send_message"]
        assert "limit reached (20 iterations)" in limit[2]


async def test_one_that_is_replaced_at_its_last_moment_is_silent():
    """The second one begins in the very moment in which the first is due."""
    for _ in range(20):  # who of two that wake at once comes first is a matter of chance
        host = MemoryHost()
        async with opened(host) as ohm:
            await written(ohm, "a")
            began = anyio.current_time()
            await ohm.emit("agent_end", STOPPED)
            await anyio.sleep_until(began + 3)
            await ohm.emit("agent_end", STOPPED)
            before = len(said(host))
            assert host.widgets["til-done-countdown"] == (line(3),)
            await anyio.sleep(2.9)
            assert host.widgets["til-done-countdown"] == (line(1),)
            assert len(said(host)) == before
            await anyio.sleep(1)
            assert len(said(host)) == before + 1
            assert "til-done-countdown" not in host.widgets


async def _finished(ohm):
    await ohm.call("edit_todos", {"action": "complete", "indices": [0]})


async def _emptied(ohm):
    await written(ohm)


async def _finished_and_ended(ohm):
    await _finished(ohm)
    await ohm.emit("agent_end", STOPPED)


async def _aborted(ohm):
    await ohm.emit("agent_end", {"messages": [{"role": "assistant", "stopReason": "aborted"}]})


async def _failed(ohm):
    await ohm.emit("agent_end", {"messages": [{"role": "assistant", "stopReason": "error"}]})


async def _typed(ohm):
    await ohm.emit("input", {"text": "wait"})


async def _shut_down(ohm):
    await ohm.emit("session_shutdown", {})


async def _unmounted(ohm):
    await ohm.reconfigure(config={"suites": []})


async def _restarted_elsewhere(ohm):
    await ohm.emit("session_tree", {})


OVERTAKEN = [
    *(_finished, _emptied, _finished_and_ended, _aborted, _failed, _typed, _shut_down, _unmounted),
    _restarted_elsewhere,
]


@pytest.mark.parametrize("overtake", OVERTAKEN, ids=lambda one: one.__name__.strip("_"))
@pytest.mark.parametrize("has_ui", [True, False])
async def test_one_whose_reason_is_gone_says_nothing_and_leaves_the_screen(overtake, has_ui):
    host = MemoryHost(has_ui=has_ui)
    async with Ohm.open(config={"suites": ["todos"]}, env=HERMETIC, host=host) as ohm:
        await written(ohm, "a")
        await ohm.emit("agent_end", STOPPED)
        await anyio.sleep(1)
        await overtake(ohm)
        assert host.widgets == {}
        await anyio.sleep(10)
        assert said(host) == []


@pytest.mark.parametrize("event", ["session_start", "session_tree"])
async def test_another_session_ends_it_though_that_has_open_todos_too(event):
    details = {"action": "write", "todos": [{"text": "theirs", "status": "not_started"}]}
    kept = {"role": "toolResult", "toolName": "write_todos", "details": details}
    host = MemoryHost(branch=[{"type": "message", "message": kept}])
    async with opened(host) as ohm:
        await written(ohm, "a")
        await ohm.emit("agent_end", STOPPED)
        await anyio.sleep(1)
        await ohm.emit(event, {"reason": "resume"})
        assert (await ohm.call("list_todos", {})).text == "\N{EN DASH} [0] theirs"
        assert host.widgets == {}
        await anyio.sleep(10)
        assert said(host) == []


async def test_the_last_word_ends_the_one_that_runs():
    host = MemoryHost()
    async with opened(host) as ohm:
        await written(ohm, "a")
        for _ in range(21):
            await ohm.emit("agent_end", STOPPED)
        assert host.widgets == {}
        await anyio.sleep(10)
        assert said(host) == []
        [limit] = [call for call in host.calls if call[0] == "send_message"]
        assert limit[2].endswith("Take over manually.")


async def test_it_tells_of_the_list_as_it_is_when_the_time_is_over():
    host = MemoryHost()
    async with opened(host) as ohm:
        await written(ohm, "a", "b")
        await ohm.emit("agent_end", STOPPED)
        await anyio.sleep(1)
        await _finished(ohm)
        await anyio.sleep(10)
        [(_, prompt, _)] = said(host)
        assert "[0]" not in prompt
        assert prompt.endswith("Next action: edit_todos with action 'start' and indices [1]")


async def test_a_suite_that_is_mounted_no_longer_leaves_the_screen_and_is_back_on_it_with_its_list():
    host = MemoryHost()
    async with Ohm.open(config={"suites": ["todos"]}, env=HERMETIC, host=host) as ohm:
        await written(ohm, "a")
        await ohm.call("edit_todos", {"action": "start", "indices": [0]})
        shown = dict(host.statuses)
        assert shown == {"til-done": "📋 0/1", "til-done-active": "[0] a"}
        await ohm.reconfigure(config={"suites": []})
        assert (host.statuses, host.widgets, dict(ohm.tools)) == ({}, {}, {})
        await ohm.emit("agent_end", STOPPED)
        await anyio.sleep(10)
        assert said(host) == []
        await ohm.reconfigure(config={"suites": ["todos"]})
        assert host.statuses == shown
        await ohm.emit("agent_end", STOPPED)
    assert (host.statuses, host.widgets) == ({}, {})


async def test_what_is_redacted_from_now_on_is_so_in_a_list_that_is_there_already():
    host = MemoryHost()
    secret = "api_key=" + "k" * 24
    async with Ohm.open(config={"suites": ["todos"]}, env=HERMETIC, host=host) as ohm:
        await written(ohm, secret)
        await ohm.reconfigure(config={"suites": ["todos"], "subagents": {"redact": True}})
        await ohm.emit("agent_end", STOPPED)
        await anyio.sleep(10)
        [(_, prompt, _)] = said(host)
        assert "[0] api_key=[REDACTED]" in prompt


async def test_a_last_word_that_cannot_be_said_is_logged_and_the_next_event_is_heard(caplog):
    class Mute(MemoryHost):
        def send_message(self, kind, text, *, display=True):
            raise OSError("no channel")

    async with opened(Mute()) as ohm:
        await written(ohm, "a")
        for _ in range(21):
            await ohm.emit("agent_end", STOPPED)
        assert "handler.raised" in caplog.text
        [answer] = await ohm.emit("before_agent_start")
        assert answer["message"]["customType"] == "til-done-context"


async def test_a_host_that_cannot_say_whether_it_has_a_screen_is_told_to_go_on():
    class Broken(MemoryHost):
        def has_ui(self):
            raise OSError("no idea")

    host = Broken()
    async with opened(host) as ohm:
        await written(ohm, "a")
        await ohm.emit("agent_end", STOPPED)
        await anyio.sleep(3.1)
        assert [name for name, *_ in host.calls] == ["send_user_message"]


async def test_a_host_that_is_at_work_is_told_after_its_turn_and_has_not_broken_by_saying_so():
    class Busy(MemoryHost):
        def send_user_message(self, text, *, follow_up=False):
            if not follow_up:
                raise RuntimeError("the agent is at work")
            super().send_user_message(text, follow_up=follow_up)

    host = Busy()
    async with opened(host) as ohm:
        await written(ohm, "a")
        await ohm.emit("agent_end", STOPPED)
        await anyio.sleep(3.1)
        [(_, _, follow_up)] = said(host)
        assert (follow_up, ohm.diagnostics) == (True, ())


async def test_without_a_host_nothing_is_awaited():
    async with opened(None) as ohm:
        await written(ohm, "a")
        assert await ohm.emit("agent_end", STOPPED) == ()
        await ohm.emit("session_start", {})
        assert (await ohm.call("list_todos", {})).text == "No todos"


@pytest.mark.parametrize("messages", [None, "x", [None, "x", 3], [{"role": "user", "stopReason": "aborted"}]])
async def test_an_event_that_tells_nothing_sensible_is_the_end_of_a_turn_like_any_other(messages):
    host = MemoryHost(has_ui=False)
    async with opened(host) as ohm:
        await written(ohm, "a")
        await ohm.emit("agent_end", {} if messages is None else {"messages": messages})
        await anyio.sleep(3.1)
    assert len(said(host)) == 1
    assert not [call for call in host.calls if call[0] in {"set_widget", "set_status"}]
