"""The suite's own check for processes that are left running can fail."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from leaks import MARKER

SUPPORT = Path(__file__).parents[2] / "support"
LEAK = """
import subprocess

def test_leaks():
    command = ["sh", "-c", "echo up; while :; do sleep 1000; done"]
    left = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    assert left.stdout.readline() == b"up\\n"
"""
CRASH = LEAK + "    import os\n    os._exit(1)\n"
CLEAN = "import subprocess\ndef test_is_clean():\n    subprocess.run(['true'], check=True)\n"


@pytest.fixture
def run(tmp_path):
    """Runs pytest on a test with the plugin of this suite, in another process."""

    def run(test, *options):
        (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-p", "leaks", "-p", "no:cacheprovider", *options, "test_it.py"]
        env = os.environ | {"PYTHONPATH": f"{SUPPORT}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)

    return run


ALONE, BY_A_WORKER = (), ("-p", "xdist", "-n", "1")


@pytest.mark.sample(2)
@pytest.mark.parametrize("options", [ALONE, BY_A_WORKER], ids=["alone", "by a worker"])
def test_a_process_that_is_left_running_fails_the_run_and_is_named(run, options):
    finished = run(LEAK, *options)
    assert "1 passed" in finished.stdout
    assert finished.returncode == pytest.ExitCode.TESTS_FAILED
    assert "sleep 1000" in finished.stdout


@pytest.mark.slow
def test_a_process_that_a_crashed_worker_has_left_is_named(run):
    finished = run(CRASH, *BY_A_WORKER)
    assert finished.returncode == pytest.ExitCode.TESTS_FAILED
    assert "sleep 1000" in finished.stdout


@pytest.mark.parametrize(
    "options", [ALONE, pytest.param(BY_A_WORKER, marks=pytest.mark.slow)], ids=["alone", "by a worker"]
)
def test_a_run_that_leaves_nothing_passes(run, options):
    finished = run(CLEAN, *options)
    assert finished.returncode == pytest.ExitCode.OK
    assert "left running" not in finished.stdout


def test_whatever_the_suite_starts_carries_its_marker(suite_marker):
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        process.stdin.write(b"up")
        assert process.stdout.read(2) == b"up"
        assert psutil.Process(process.pid).environ()[MARKER] == suite_marker
