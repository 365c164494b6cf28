"""Makes the runner's modules importable, and says at the end how the recorded file fared."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

_counts = {"passed": 0, "failed": 0, "skipped": 0}
_skips: list[str] = []


@pytest.fixture
def anyio_backend(virtual_time):
    """trio, whose clock jumps: recorded times are exact."""
    return virtual_time


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count the cases and vectors of the recorded file."""
    if "golden/test_task_v1.py::test_recorded" not in report.nodeid or "[NOTSET" in report.nodeid:
        return
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        _counts[report.outcome] += 1
    if report.skipped and isinstance(report.longrepr, tuple):
        name = report.nodeid.partition("[")[2].rstrip("]")
        _skips.append(f"golden task-v1: skipped {name}: {report.longrepr[2].removeprefix('Skipped: ')}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line, and above it each skip with its reason."""
    if any(_counts.values()):
        for line in _skips:
            terminalreporter.write_line(line)
        terminalreporter.write_line(
            "golden task-v1: " + ", ".join(f"{count} {name}" for name, count in _counts.items())
        )
