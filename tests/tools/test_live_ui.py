"""The pace of the live UI, on a clock that jumps: every time is exact."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import anyio
import pytest
from made_tasks import queued_task

from ohm_subagents._tools.live_ui import KEY, LiveUi, kept_current
from ohm_subagents.contract import (
    Event,
    RunEnded,
    RunStarted,
    Succeeded,
    Task,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ToolStarted,
    apply,
)
from ohm_subagents.testing import MemoryHost

pytestmark = pytest.mark.anyio

IDLE = "subagents idle · done 1 · failed 0 · cancelled 0"
BUSY = "subagents 1 running · tools 0 active · done 0 · failed 0 · cancelled 0"
TREE = ("  ⠋ Finder · Auth scan", "    ├── Trace auth", "    ╰── Working...")


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


@dataclass(frozen=True)
class Settings:
    ui_mode: str = "verbose"
    ui_update_ms: int = 150
    ui_idle_grace_ms: int = 2000


class Stage:
    """Tasks, a host that notes when it is told something, and the live UI between them."""

    def __init__(self, settings: Settings | None = None, *, stamps: int | None = None) -> None:
        self.settings = settings or Settings()
        self.tasks: dict[str, Task] = {}
        self.told: list[tuple[object, ...]] = []
        self.logged: list[tuple[str, dict[str, object]]] = []
        self._stamps = stamps
        self._began = anyio.current_time()
        self.host = TimedHost(self)
        self.ui = LiveUi(
            self.host,
            tasks=self.tasks.values,
            settings=lambda: self.settings,
            clock=lambda: self.now() if stamps is None else stamps,
            logger=self,
        )

    def now(self) -> int:
        return round((anyio.current_time() - self._began) * 1000)

    def exception(self, event: str, **fields: object) -> None:
        self.logged.append((event, fields))

    def happens(self, *events: Event, task_id: str = "task_1") -> None:
        for event in events:
            task = self.tasks.get(task_id) or queued(task_id, self.now())
            self.tasks[task_id] = task = apply(task, event, at_ms=self.now())
            self.ui.notify(task, event)

    def heard(self) -> list[tuple[object, ...]]:
        told, self.told = self.told, []
        return told

    async def at(self, milliseconds: int) -> None:
        """Go to a moment, when everything that happens then has happened."""
        await anyio.sleep_until(self._began + milliseconds / 1000)
        await anyio.wait_all_tasks_blocked()


class TimedHost(MemoryHost):
    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._stage = stage

    def set_status(self, key: str, text: str | None) -> None:
        assert key == KEY
        super().set_status(key, text)
        self._stage.told.append((self._stage.now(), "status", text))

    def set_widget(self, key: str, lines: Sequence[str] | None) -> None:
        assert key == KEY
        super().set_widget(key, lines)
        self._stage.told.append((self._stage.now(), "widget", self.widgets.get(key)))


def queued(task_id: str, now_ms: int) -> Task:
    return queued_task(task_id, description="Auth scan", prompt="Trace auth", created_ms=now_ms)


START = (TaskQueued(), RunStarted(prompt="Trace auth"))
END = (RunEnded(outcome=Succeeded(), output="z"), TaskSettled(outcome=Succeeded()))


async def test_a_task_is_shown_until_the_grace_period_is_over() -> None:
    """The recorded case updates/live-ui-verbose-mode, with tool calls counted instead of runs (Q44)."""
    stage = Stage()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.ui.run)
        stage.happens(*START)
        await stage.at(130)
        assert stage.heard() == [(0, "status", BUSY), (0, "widget", TREE)]
        stage.happens(*END)
        await stage.at(3000)
        assert stage.heard() == [(150, "status", IDLE), (150, "widget", None), (2150, "status", None)]
        stage.ui.close()


async def test_events_that_come_together_are_one_refresh_and_the_last_one_is_never_lost() -> None:
    stage = Stage(stamps=0)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.ui.run)
        stage.happens(*START)
        await stage.at(10)
        for n in range(10):
            stage.happens(TextDelta(text=f"{n}"))
        await stage.at(20)
        stage.happens(ToolStarted(call_id="1", tool="read"))
        assert len(stage.heard()) == 2
        await stage.at(1000)
        times = [(told[0], told[1]) for told in stage.heard()]
        assert times == [(150, "status"), (150, "widget")]
        assert stage.host.widgets[KEY][-2:] == ("    ├── ○ read", "    ╰── 0123456789")
        stage.ui.close()


async def test_the_spinner_turns_while_a_task_is_at_work_and_says_nothing() -> None:
    stage = Stage(Settings(ui_update_ms=50))
    async with anyio.create_task_group() as group:
        group.start_soon(stage.ui.run)
        stage.happens(*START)
        await stage.at(500)
        turned = [(told[0], told[2][0][2]) for told in stage.heard() if told[1] == "widget"]
        assert turned == [(0, "⠋"), (120, "⠙"), (240, "⠹"), (360, "⠸"), (480, "⠼")]
        stage.ui.close()


async def test_what_has_not_changed_is_not_sent_again() -> None:
    stage = Stage(stamps=0)
    async with anyio.create_task_group() as group:
        group.start_soon(stage.ui.run)
        stage.happens(*START)
        await stage.at(5000)
        assert [told[1] for told in stage.heard()] == ["status", "widget"]
        stage.ui.close()


async def test_nothing_is_polled_while_nobody_works() -> None:
    stage = Stage()
    asked = 0

    def tasks():
        nonlocal asked
        asked += 1
        return stage.tasks.values()

    ui = LiveUi(stage.host, tasks=tasks, settings=lambda: stage.settings, clock=stage.now, logger=stage)
    async with anyio.create_task_group() as group:
        group.start_soon(ui.run)
        await stage.at(3_600_000)
        assert asked == 0
        stage.ui = ui
        stage.happens(*START, *END)
        await stage.at(7_200_000)
        assert asked == 1
        ui.close()


async def test_three_tasks_are_shown_and_all_are_counted() -> None:
    stage = Stage(Settings(ui_mode="compact"))
    async with anyio.create_task_group() as group:
        group.start_soon(stage.ui.run)
        for n in range(5):
            stage.happens(*START, task_id=f"task_{n}")
        await stage.at(0)
        assert stage.host.statuses[KEY].startswith("subagents 5 running")
        assert sum(line.startswith("  ⠋") for line in stage.host.widgets[KEY]) == 3
        stage.ui.close()


async def test_compact_shows_less_of_a_task_than_verbose() -> None:
    shown = {}
    for mode in ("compact", "verbose"):
        stage = Stage(Settings(ui_mode=mode))
        async with anyio.create_task_group() as group:
            group.start_soon(stage.ui.run)
            stage.happens(*START, TextDelta(text="one\ntwo\nthree"))
            await stage.at(0)
            shown[mode] = stage.host.widgets[KEY][2:]
            stage.ui.close()
    assert shown == {"compact": ("    ╰── three",), "verbose": ("    ╰── one", "        two", "        three")}


async def test_off_shows_nothing() -> None:
    stage = Stage(Settings(ui_mode="off"))
    async with anyio.create_task_group() as group:
        group.start_soon(stage.ui.run)
        stage.happens(*START)
        await stage.at(1000)
        stage.happens(*END)
        await stage.at(5000)
        stage.ui.close()
    assert stage.heard() == []


async def test_the_mode_may_change_while_a_task_runs() -> None:
    stage = Stage()
    async with anyio.create_task_group() as group:
        group.start_soon(stage.ui.run)
        stage.happens(*START)
        await stage.at(10)
        stage.settings = replace(stage.settings, ui_mode="off")
        stage.ui.refresh()
        await stage.at(200)
        assert (stage.host.statuses, stage.host.widgets) == ({}, {})
        stage.settings = replace(stage.settings, ui_mode="compact")
        stage.ui.refresh()
        await stage.at(210)
        assert stage.host.statuses == {KEY: BUSY}
        stage.ui.close()


@pytest.mark.parametrize("cancelled", [False, True])
async def test_leaving_clears_the_screen(cancelled: bool) -> None:
    stage = Stage()
    with anyio.CancelScope() as scope:
        async with kept_current(stage.ui):
            stage.happens(*START)
            await stage.at(10)
            if cancelled:
                scope.cancel()
    assert (stage.host.statuses, stage.host.widgets) == ({}, {})
    assert stage.heard()[-2:] == [(10, "status", None), (10, "widget", None)]


class BrokenHost(MemoryHost):
    def set_widget(self, key: str, lines: Sequence[str] | None) -> None:
        del key, lines
        message = "no screen"
        raise OSError(message)


async def test_a_host_that_raises_is_logged_once_and_told_nothing_more() -> None:
    stage = Stage()
    host = BrokenHost()
    stage.ui = LiveUi(host, tasks=stage.tasks.values, settings=lambda: stage.settings, clock=stage.now, logger=stage)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(stage.ui.run)
            stage.happens(*START)
            await stage.at(1000)
            stage.happens(*END)
    assert [event for event, _ in stage.logged] == ["host.muted"]
    assert [call[0] for call in host.calls] == ["set_status"]
