"""The conformance kit fails what breaks the law: by the law that is broken, on both event loops."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ohm_subagents.testing import HERMETIC

BAD = Path(__file__).with_name("bad_backends.py")
ANSWERED = {
    "test_an_answer_is_an_ok_with_the_whole_text",
    "test_large_and_non_ascii_prompts_survive",
    "test_parallel_runs_do_not_mix",
}
BROKEN = {
    "TestMixesRuns": {"test_parallel_runs_do_not_mix"},
    "TestSwallowsCancellation": {"test_cancellation_ends_a_run"},
    "TestAnswersANumber": ANSWERED,
    "TestReturnsBareText": ANSWERED,
    "TestEmitsJunk": ANSWERED
    | {
        "test_nothing_is_emitted_after_return",
        "test_nothing_is_left_after_close",
        "test_a_refusal_of_the_gate_is_returned_as_it_is",
    },
    "TestRemembersOnlyOnPaper": {"test_a_follow_up_sees_the_session"},
    "TestHasToolsOnlyOnPaper": {"test_a_child_tool_is_called"},
    "TestIgnoresChildTools": {"test_a_child_tool_is_called"},
}


@pytest.fixture(scope="module")
def failures() -> set[tuple[str, str, str]]:
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=no", "-p", "no:cacheprovider", str(BAD)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | HERMETIC)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    return set(re.findall(r"^FAILED \S+::(\w+)::(\w+)\[(\w+)\]", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("backend", BROKEN)
def test_a_bad_backend_fails_by_the_laws_that_it_breaks(backend, failures):
    assert {(law, loop) for name, law, loop in failures if name == backend} == {
        (law, loop) for law in BROKEN[backend] for loop in ("asyncio", "trio")
    }


def test_a_good_backend_passes_the_same_run(failures):
    assert {name for name, _, _ in failures} == {*BROKEN}
