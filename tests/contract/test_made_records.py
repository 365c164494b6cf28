"""Records that each start makes by `maker`: they are what the constructor makes."""

from dataclasses import FrozenInstanceError

import pytest

from ohm_subagents.contract.activity import Activity, maker
from ohm_subagents.contract.task import Assignment, Route, Run, Task

RUN = {"prompt": "Do it.", "started_ms": 3}
ASSIGNMENT = {
    "profile": "finder",
    "name": "Finder",
    "description": "Find it",
    "prompt": "Do it.",
    "invocation": "task-routed",
    "backend": "none",
    "created_ms": 3,
}
TASK = {
    "summary": "Queued",
    "updated_ms": 3,
    "id": "task_1",
    "session_id": "session_1",
    "assignment": Assignment(**ASSIGNMENT),
    "activity": Activity(),
    "route": Route(runtime="none", route="none"),
}


@pytest.mark.parametrize(("record", "given"), [(Run, RUN), (Assignment, ASSIGNMENT), (Task, TASK)])
def test_a_made_record_is_what_the_constructor_makes(record, given):
    made, usual = maker(record)(**given), record(**given)

    assert (made, repr(made), hash(made)) == (usual, repr(usual), hash(usual))
    assert list(vars(made)) == list(vars(usual))
    with pytest.raises(FrozenInstanceError):
        made.summary = "other"
