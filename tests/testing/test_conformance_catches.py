"""The conformance kit fails what breaks the law: by the law that is broken, on both event loops."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from ohm_subagents.testing import HERMETIC

BAD = Path(__file__).with_name("bad_backends.py")
AN_ANSWER, A_FAILURE = "an_answer_is_an_ok_with_the_whole_text", "an_expected_failure_is_an_err_and_never_raised"
CALLS, CANCELLATION = "tool_calls_start_and_end_in_pairs", "cancellation_ends_a_run"
CHECKPOINT, SILENCE = "every_run_reaches_a_checkpoint", "nothing_is_emitted_after_return"
PARALLEL, SESSIONS = "parallel_runs_do_not_mix", "a_follow_up_sees_the_session"
CHILD_TOOLS, USAGE = "a_child_tool_is_called", "usage_is_reported"
GATE, LARGE, CLOSE = (
    "a_refusal_of_the_gate_is_returned_as_it_is",
    "large_and_non_ascii_prompts_survive",
    "nothing_is_left_after_close",
)
APPROVED, DENIED = "an_approved_call_runs_once_and_not_before", "a_denied_call_never_runs"
PREPARING = "preparing_answers_with_a_result"
ANSWERED = {AN_ANSWER, CALLS, PARALLEL, SESSIONS, CHILD_TOOLS, USAGE, LARGE}
RAN = ANSWERED | {A_FAILURE, GATE, SILENCE, CLOSE}
FAULTS = {
    "MixesRuns": ({PARALLEL}, "Beside another run, 'Say hello."),
    "SwallowsCancellation": ({CANCELLATION}, "The run ended by itself, or swallowed its cancellation."),
    "SpeaksAfterItsCancellation": (
        {CANCELLATION},
        "The run emitted TextDelta(text='late', kind='text_delta') after it was cancelled.",
    ),
    "SpeaksAfterTheReturn": (
        {SILENCE},
        "The run emitted TextDelta(text='late', kind='text_delta') after it had returned.",
    ),
    "NeverReachesACheckpoint": ({CHECKPOINT}, "it never reached a checkpoint."),
    "LeavesTasksBehind": ({CLOSE}, "Tasks were left behind: "),
    "AnswersNothing": ({AN_ANSWER}, "The run was answered with an empty text."),
    "AnswersOtherThanItStreams": ({AN_ANSWER}, "The run streamed 'Something else: Say hello.' and answered"),
    "AnswersANumber": (ANSWERED | {A_FAILURE, GATE}, ""),
    "SummarisesWithANumber": (ANSWERED | {A_FAILURE, GATE}, ""),
    "ReturnsBareText": (ANSWERED | {A_FAILURE, GATE}, ""),
    "EmitsJunk": (RAN, "The backend emitted 'junk', which is not an event of a run."),
    "Raises": (RAN, "The run raised ValueError('unheard of'); what may fail is returned as an Err."),
    "RaisesWhereItMayFail": ({A_FAILURE}, "The run raised ValueError('unheard of')"),
    "SucceedsInFailing": ({A_FAILURE}, "The run was to fail, and returned Ok("),
    "FailsWithBareText": ({A_FAILURE}, "an Err of 'It does not work.', which is no OhmError."),
    "FailsWithoutACode": ({A_FAILURE}, "The error has no code."),
    "FailsWithoutAMessage": ({A_FAILURE}, "The error has no message."),
    "LeavesCallsOpen": ({CALLS}, "Calls were started and never ended: '3'."),
    "StartsACallTwice": ({CALLS}, "The call '1' was started twice."),
    "EndsWhatItDidNotStart": ({CALLS}, "The call '3' ended without having started."),
    "EndsAnotherTool": ({CALLS}, "The call '2' started as 'read' and ended as 'write'."),
    "CallsOneToolOnly": ({CALLS}, "The run was to call two tools; calls that ended: 1."),
    "RemembersOnlyOnPaper": ({SESSIONS}, "Scenarios.recalls has to be given."),
    "Forgets": ({SESSIONS}, "The follow-up was to recall 'hello', and was answered with '?'."),
    "HasToolsOnlyOnPaper": ({CHILD_TOOLS}, "Scenarios.calls_child_tool has to be given."),
    "IgnoresChildTools": ({CHILD_TOOLS}, "The child tool 'conformance_note' was not called."),
    "CallsChildToolsWithoutTheirArguments": ({CHILD_TOOLS}, "was called with {'texts': ['n']}"),
    "PreparesOnlyOnPaper": ({PREPARING}, "The backend declares PREPARES, and has no method `prepare`."),
    "PreparesNothingTheSecondTime": ({PREPARING}, "`prepare` returned True, which is no Ok of None"),
    "PreparesAThing": ({PREPARING}, "`prepare` returned Ok(5), which is no Ok of None"),
    "IsBrokenByACancelledPreparation": ({PREPARING}, "`prepare` raised ValueError('half made')"),
    "RaisesInPreparing": ({PREPARING}, "`prepare` raised ValueError('unheard of')"),
    "ReportsNoUsage": ({USAGE}, "An answered run reported 0 requests."),
    "GoesOnAgainstTheGate": ({GATE}, "The gate refused the request, and the run returned Ok("),
    "GoesOnAndThenObeysTheGate": ({GATE}, "The gate refused the request, and the run went on with UsageAdded("),
    "SpeaksAndThenObeysTheGate": ({GATE}, "The gate refused the request, and the run went on with TextDelta("),
    "ObeysAnotherGate": ({GATE}, "The gate refused the request, and the run returned Err("),
    "KeepsRulesOnlyOnPaper": ({APPROVED, DENIED}, "Scenarios.calls_bash has to be given."),
    "RunsBeforeItAsks": ({APPROVED, DENIED}, "The gate was asked about [('bash', 1)] (tool, runs so far)."),
    "RunsAnApprovedCallTwice": ({APPROVED}, "The call was approved, and ran 2 times."),
    "RunsWhatWasDenied": ({DENIED}, "The call was denied, and ran 1 times."),
    "ChokesOnLargePrompts": ({LARGE}, "The run failed: "),
}


SHOWN = {law: name for name, (laws, _) in reversed(FAULTS.items()) for law in laws if len(laws) == 1}
SOME = dict.fromkeys(SHOWN.values())
"""A fault for each law; the slow tests have all of them."""
ASKED = {"some": SOME, "all": FAULTS}
ALL = pytest.param("all", marks=pytest.mark.slow)


@cache
def failures(asked: str) -> dict[tuple[str, str, str], str]:
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "-p", "no:cacheprovider", "-n", "0", str(BAD)]
    command += ["-m", "", "-k", " or ".join(f"Test{one}" for one in (*ASKED[asked], "Good"))]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | HERMETIC | {"COLUMNS": "1000"}
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    lines = re.findall(r"^FAILED \S+::Test(\w+)::test_(\w+)\[(\w+)\](.*)$", done.stdout, re.MULTILINE)
    return {(backend, law, loop): told for backend, law, loop, told in lines}


@pytest.mark.parametrize(
    ("asked", "backend"),
    [*(("some", name) for name in SOME), *(pytest.param("all", name, marks=pytest.mark.slow) for name in FAULTS)],
)
def test_a_bad_backend_fails_by_the_laws_that_it_breaks_and_is_told_why(asked, backend):
    laws, message = FAULTS[backend]
    told = {(law, loop): text for (name, law, loop), text in failures(asked).items() if name == backend}
    assert {*told} == {(law, loop) for law in laws for loop in ("asyncio", "trio")}
    for text in told.values():
        assert re.match(r" - (AssertionError|Failed): \S", text), text
        assert message in text


@pytest.mark.parametrize("asked", ["some", ALL])
def test_a_good_backend_passes_the_same_run(asked):
    assert {name for name, _, _ in failures(asked)} == {*ASKED[asked]}
