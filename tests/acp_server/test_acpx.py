"""An independent client of the protocol, installed from npm, asks the real `ohm acp`."""

import json
import subprocess

import pytest
from command_line import EXECUTABLE
from mcp_process import place_of
from real_agents import installed

ACPX = ("acpx", "0.19.1", "acpx")
PATIENCE_S = 120
pytestmark = [pytest.mark.slow, pytest.mark.timeout(5 * PATIENCE_S)]


@pytest.fixture
def acpx(tmp_path):
    env, program = place_of(tmp_path), installed(*ACPX)

    def run(*arguments):
        command = [program, "--agent", f"{EXECUTABLE} acp --agent finder", "--format", "text", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )

    return run


def test_it_shows_a_prompt_and_lists_its_session(acpx, tmp_path):
    asked = acpx("exec", "answer")
    listed = acpx("sessions", "list")

    assert asked.returncode == 0, asked.stderr
    assert f"files: {tmp_path}/src/app.py" in asked.stdout
    said = (
        "[tool] read src/app.py (completed)",
        "12 lines",
        "So far: app.py",
        "line one\n  line two",
        "[done] end_turn",
    )
    positions = [asked.stdout.find(part) for part in said]
    assert positions == sorted(positions)
    assert positions[0] >= 0
    session, title, cwd, *_ = listed.stdout.splitlines()[0].split("\t")
    assert (session.startswith("session_"), title, cwd) == (True, "answer", f"{tmp_path}")


def test_it_resumes_a_session_that_a_program_has_begun(acpx, tmp_path):
    begun = subprocess.run(
        [f"{EXECUTABLE}", "run", "finder", "remember", "--json"],
        cwd=tmp_path,
        env=place_of(tmp_path),
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    task = json.loads(begun.stdout)
    resumed = acpx("sessions", "new", "--resume-session", task["session_id"])
    assert (resumed.returncode, resumed.stdout.strip()) == (0, task["session_id"]), resumed.stderr


def test_it_reports_a_failure_by_its_sentence(acpx):
    failed = acpx("--format", "quiet", "exec", "fail")
    assert failed.returncode == 1
    assert "It broke. Repair it." in failed.stderr
