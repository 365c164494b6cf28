"""Every async test runs on both event loops; on trio, time is virtual and jumps when nobody is busy."""

import os
import signal

import leaks
import pytest
import real_processes
import trio.testing


def pytest_configure(config):
    os.environ["XDG_CACHE_HOME"] = "/dev/null"  # no test writes into the cache of whoever runs it
    config.pluginmanager.register(leaks)
    config.pluginmanager.register(real_processes)


@pytest.fixture(autouse=True)
def _signals_are_heard():
    """Whoever runs the tests may have left them ignored (`nohup`, `&`), and children inherit that."""
    heard = {signal.SIGHUP: signal.SIG_DFL, signal.SIGINT: signal.default_int_handler}
    ignored = [number for number in heard if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, heard[number])
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    if request.param == "asyncio":
        return "asyncio"
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture
def virtual_time():
    """An event loop whose clock jumps, for tests about time."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}
