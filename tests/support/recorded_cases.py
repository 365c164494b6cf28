"""A pytest plugin: says at the end of a run, of a parallel one too, how each recorded file fared."""

from collections import defaultdict

import pytest

OUTCOMES = ("passed", "failed", "skipped")
_counts: defaultdict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(OUTCOMES, 0))
_skips: defaultdict[str, list[str]] = defaultdict(list)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count the cases and vectors of the recorded files."""
    file, case = _recorded(report.nodeid)
    if file is None:
        return
    if report.when == "call" or report.outcome != "passed":
        _counts[file][report.outcome] += 1
    if report.skipped and isinstance(report.longrepr, tuple):
        _skips[file].append(f"golden {file}: skipped {case}: {report.longrepr[2].removeprefix('Skipped: ')}")


def _recorded(nodeid: str) -> tuple[str | None, str]:
    """Of which recorded file, or which of its suites, a test is a case; None for any other test."""
    test, _, name = nodeid.partition("[")
    name = name.rstrip("]")
    if name and not name.startswith("NOTSET"):
        if "golden/test_task_v1.py::test_recorded" in test:
            return "task-v1", name
        if test.endswith("golden/test_suites.py::test_case"):
            suite, _, case = name.partition("/")
            return suite, case
    return None, name


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line for each file or suite, and above it each skip with its reason, where `-ra` asks for reasons."""
    for file, counts in _counts.items():
        for line in _skips[file] if terminalreporter.hasopt("s") else ():
            terminalreporter.write_line(line)
        terminalreporter.write_line(f"golden {file}: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
