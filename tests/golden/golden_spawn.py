"""The vectors of the section `cli_spawn`: the documented command line of the text mode, and what its ends mean."""

import pytest
from golden_differences import same
from golden_recording import Json
from run_requests import changed

from ohm_subagents.backends.pi.text import TextReader, text_arguments
from ohm_subagents.contract import Ok, parse_model_pattern
from ohm_subagents.contract.profile import CHILD_TOOLS
from ohm_subagents.shell.dialect import Ended
from ohm_subagents.testing.scenarios import Scenarios, request_for

ENDED_BY_US = "a timeout, an abort and a missing command are played with real processes: tests/backends/shell"


def cli_spawn(vector: Json) -> None:
    """Fail if pi is called otherwise, or if its end is taken for another."""
    expect = vector["expect"]
    if expect["argv"] is None or expect["timed_out"] or expect["aborted"]:
        pytest.skip(ENDED_BY_US)
    request = request_for(vector["input"]["prompt"], Scenarios(tools=CHILD_TOOLS))
    named = vector["input"]["model_pattern"]
    if named is not None:
        request = changed(request, model=parse_model_pattern(named).ok_value)
    *arguments, prompt = text_arguments(request)
    same(expect["argv"][:-1], arguments)
    assert vector["input"]["prompt"] in prompt
    reader = TextReader(request, secrets=())
    for line in expect["stdout"].splitlines():
        assert not [*reader.read(line.encode())]
    outcome = reader.outcome(Ended(code=expect["exit_code"], stderr=expect["stderr"]))
    if expect["exit_code"] == 0:
        assert isinstance(outcome, Ok)
        same(expect["stdout"].strip(), outcome.ok_value.text)
    else:
        same(f"Task {request.task_id} backend failed: {expect['stderr'].strip()}", outcome.err_value.message)
