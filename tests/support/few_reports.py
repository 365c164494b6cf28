"""A pytest plugin for the workers of a parallel run: of a test that has passed, that alone is told.

pytest tells five things of each test: that it begins and ends, and how its setup, its call and its teardown went. To
pack and read all of that for ten thousand tests takes a twentieth of a run.
"""

import pytest
from _pytest.runner import runtestprotocol


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True
