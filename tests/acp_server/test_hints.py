"""The hint of `ohm acp` about a request that an editor cannot ask about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ohm_subagents import Request
from ohm_subagents.acp.requests import answering_command
from ohm_subagents.contract import SessionId, TaskId

if TYPE_CHECKING:
    from typing import Literal


@pytest.mark.parametrize(("kind", "answer"), [("tool", "approve"), ("question", "text '…'")])
@pytest.mark.parametrize(
    ("config", "typed"), [(None, ""), (Path("/else where/ohm.json"), "--config '/else where/ohm.json' ")]
)
def test_a_request_is_answered_with_the_ohm_json_that_was_typed(
    kind: Literal["tool", "question"], answer: str, config: Path | None, typed: str
) -> None:
    task = TaskId("task_1")
    request = Request(id="r1", task_id=task, session_id=SessionId("s"), path=(task,), profile="finder", kind=kind)
    assert answering_command(request, config) == f"ohm answer {typed}r1 {answer}"
