"""A model is opened once, by a task of its own; whoever waits for it may leave."""

import threading
from typing import Self

import anyio
import pytest
from model_script import PATIENCE_S
from pydantic_ai.models.test import TestModel
from subagent_runs import EventLog, error, offering, request

from ohm_subagents._plugins.backends.interface import ModelSpec
from ohm_subagents.backends.in_process.models import ModelBook
from ohm_subagents.backends.in_process.options import InProcessOptions
from ohm_subagents.backends.in_process.spec import interactive_sdk_spec
from ohm_subagents.contract import Err, ErrorCode, ModelPattern, OhmError, Ok, Result

pytestmark = pytest.mark.anyio

PATTERN = ModelPattern(provider="plug", model="m")


class CountingModel(TestModel):
    """Knows in which task it was entered and left."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[int] = []

    async def __aenter__(self) -> Self:
        self.tasks.append(anyio.get_current_task().id)
        await anyio.lowlevel.checkpoint()
        return self

    async def __aexit__(self, *error: object) -> None:
        self.tasks.append(anyio.get_current_task().id)
        await anyio.lowlevel.checkpoint()


class Slow:
    """A provider whose `open` takes until `release()`."""

    def __init__(self) -> None:
        self.made: list[CountingModel] = []
        self._entered, self._released = threading.Event(), threading.Event()
        self.spec = ModelSpec(provider="plug", summary="A plugin's.", open=self._open)

    def _open(self, _: ModelPattern) -> Result[CountingModel, OhmError]:
        self._entered.set()
        assert self._released.wait(PATIENCE_S), "never released"
        self.made.append(CountingModel())
        return Ok(self.made[-1])

    async def entered(self) -> None:
        await anyio.to_thread.run_sync(self._entered.wait, PATIENCE_S)

    def release(self) -> None:
        self._released.set()


async def test_a_model_is_opened_once_for_all_thinking_levels_and_closed_by_the_task_that_opened_it() -> None:
    slow = Slow()
    slow.release()
    async with ModelBook([slow.spec], {}) as models:
        async with anyio.create_task_group() as tasks:
            for level in (None, "off", "high"):
                pattern = ModelPattern(provider="plug", model="m", thinking=level)  # type: ignore[arg-type]  # a literal level
                tasks.start_soon(models.open, pattern)
        (model,) = slow.made
        assert len(model.tasks) == 1
    assert len(model.tasks) == 2
    assert len(set(model.tasks)) == 1


async def test_a_waiter_that_is_cancelled_leaves_at_once_and_the_others_get_the_model() -> None:
    slow = Slow()
    got: list[object] = []

    async def ask(models: ModelBook) -> None:
        got.append(await models.open(PATTERN))

    async with ModelBook([slow.spec], {}) as models, anyio.create_task_group() as patient:
        async with anyio.create_task_group() as hasty:
            hasty.start_soon(ask, models)
            await slow.entered()
            patient.start_soon(ask, models)
            await anyio.lowlevel.checkpoint()
            hasty.cancel_scope.cancel()
        assert slow.made == [], "the waiter was gone before the model was there"
        slow.release()
    assert got == [Ok(slow.made[0])]
    assert len(slow.made) == 1


async def test_a_model_that_comes_after_its_only_waiter_left_is_kept_and_closed() -> None:
    slow = Slow()
    async with ModelBook([slow.spec], {}) as models:
        async with anyio.create_task_group() as hasty:
            hasty.start_soon(models.open, PATTERN)
            await slow.entered()
            hasty.cancel_scope.cancel()
        slow.release()
        assert await models.open(PATTERN) == Ok(slow.made[0])
    assert len(slow.made) == 1
    assert len(slow.made[0].tasks) == 2


async def test_a_run_whose_deadline_passes_while_its_model_opens_ends_then() -> None:
    slow = Slow()
    async with interactive_sdk_spec(offering(slow.spec, env={})).open(InProcessOptions()) as backend:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(backend.run, request(model=PATTERN), EventLog())
            await slow.entered()
            tasks.cancel_scope.cancel()
        assert slow.made == []
        slow.release()


async def test_closing_does_not_wait_for_a_model_that_is_still_being_opened() -> None:
    slow = Slow()
    got: list[object] = []

    async def ask(models: ModelBook) -> None:
        got.append(await models.open(PATTERN))

    async with anyio.create_task_group() as tasks:
        async with ModelBook([slow.spec], {}) as models:
            tasks.start_soon(ask, models)
            await slow.entered()
        assert slow.made == []
    slow.release()
    (closed,) = got
    assert isinstance(closed, Err)
    assert closed.err_value.code == ErrorCode.TASK_ABORTED


async def test_a_model_that_failed_to_open_is_asked_again() -> None:
    answers: list[Result[TestModel, OhmError]] = [
        Err(OhmError(code="busy", message="Not now.")),
        Ok(TestModel()),
    ]
    spec = ModelSpec(provider="plug", summary="A plugin's.", open=lambda _: answers.pop(0))
    async with ModelBook([spec], {}) as models:
        assert isinstance(await models.open(PATTERN), Err)
        assert isinstance(await models.open(PATTERN), Ok)


async def test_a_provider_that_raises_while_opening_is_a_typed_error_without_its_key() -> None:
    def raising(_: ModelPattern) -> Result[TestModel, OhmError]:
        raise LookupError("no route for plug-secret-1")

    env = {"PLUG_KEY": "plug-secret-1"}
    spec = ModelSpec(provider="plug", summary="A plugin's.", open=raising, keys=("PLUG_KEY",))
    async with interactive_sdk_spec(offering(spec, env=env)).open(InProcessOptions()) as backend:
        for _ in range(2):
            failed = error(await backend.run(request(model=PATTERN), EventLog()))
            assert failed.code == ErrorCode.BACKEND_FAILED
            assert failed.message == 'Model "plug/m" could not be run: LookupError: no route for ***.'


async def test_a_model_that_fails_to_be_entered_is_a_typed_error_and_costs_no_other() -> None:
    class Unenterable(TestModel):
        async def __aenter__(self) -> Self:
            raise OSError("no such device")

    models = {"bad": Unenterable(), "good": CountingModel()}
    spec = ModelSpec(provider="plug", summary="A plugin's.", open=lambda pattern: Ok(models[pattern.model]))
    async with ModelBook([spec], {}) as book:
        bad = await book.open(ModelPattern(provider="plug", model="bad"))
        assert isinstance(bad, Err)
        assert "OSError: no such device" in bad.err_value.message
        assert isinstance(await book.open(ModelPattern(provider="plug", model="good")), Ok)


async def test_a_model_that_fails_to_close_is_told_after_the_others_are_closed() -> None:
    class Unclosable(TestModel):
        async def __aexit__(self, *error: object) -> None:
            raise OSError("stuck")

    good = CountingModel()
    models = {"bad": Unclosable(), "good": good}
    spec = ModelSpec(provider="plug", summary="A plugin's.", open=lambda pattern: Ok(models[pattern.model]))

    async def open_and_close() -> None:
        async with ModelBook([spec], {}) as book:
            for name in models:
                await book.open(ModelPattern(provider="plug", model=name))

    with pytest.raises(ExceptionGroup) as raised:
        await open_and_close()
    assert [str(one) for one in raised.value.exceptions] == ["stuck"]
    assert len(good.tasks) == 2
