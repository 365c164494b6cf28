"""Every async test runs on both event loops, the short tests on asyncio; on trio, time is virtual and jumps when nobody
is busy.
"""

import gc
import os
import sys
import tomllib
from collections import Counter
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

import few_reports
import forking
import httpcore2
import hypothesis  # its import asks the garbage collector who holds what, so it comes before the freeze below
import leaks
import pytest
import ray_clusters
import real_processes
import recorded_cases
import rewriting
import trio.testing
from advancing_loop import advancing
from hypothesis.internal.conjecture import providers

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
MEMORY = Path("/dev/shm")
ROOM = 2**30
"""Bytes: several times what one run of all tests writes."""
ALLOCATED = 20_000
"""Objects after which the garbage collector looks: it would take a fifteenth of the time to look at modules again."""
LONG_FIRST = ["remote", "store", "docs", "testing", "adapters", "cli", "mcp_server", "acp_server", "plugins", "app"]
LONG_FIRST += ["ui", "orchestrator", "workspaces", "backends", "suites"]


# Where bytecode is not kept, as in many containers, each worker rewrites the assertions of all tests anew, and each
# program that a test starts compiles the package anew: half of what collecting costs, and a third of a short command.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test speaks TLS, and to read all certificates of the machine for each client of a model takes longer than a run.
httpcore2.default_ssl_context = cache(httpcore2.default_ssl_context)

SHARED = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("whole", SHARED)
hypothesis.settings.register_profile("short", SHARED, max_examples=25)


def is_short(config):
    """Tell the README's command from one that asks for the slow tests too."""
    return config.option.markexpr == "not slow"


def pytest_configure(config):
    if "CI" in os.environ:  # nothing that is skipped goes unseen there
        config.option.reportchars = "a"
    hypothesis.settings.load_profile("short" if is_short(config) else "whole")
    if is_short(config):  # no example from the constants of the sources, all of which each worker would read first
        providers._get_local_constants = providers.Constants
    declared = tomllib.loads(PROJECT.read_text())["project"]["entry-points"]["ohm_subagents"]
    is_installed = declared.items() <= {(one.name, one.value) for one in entry_points(group="ohm_subagents")}
    if not is_installed and not config.pluginmanager.hasplugin("outside_suites"):
        pytest.exit("pyproject.toml has other entry points than what is installed: run `uv sync --all-packages`.", 1)
    if has_room(MEMORY):  # thousands of stores would wait for a disk otherwise, and prove no more by it
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", f"{MEMORY}")
    if "PYTEST_XDIST_WORKER" in os.environ:
        config.pluginmanager.register(few_reports)
    config.pluginmanager.register(forking)
    config.pluginmanager.register(leaks)
    config.pluginmanager.register(ray_clusters)
    config.pluginmanager.register(real_processes)
    config.pluginmanager.register(recorded_cases)
    config.pluginmanager.register(rewriting)


def pytest_xdist_auto_num_workers(config):
    """One more than there are processors, four at most: while a test waits for a process, others work.

    The slow tests wait twice as much: two more.
    """
    return min(4, (os.cpu_count() or 1) + (1 if is_short(config) else 2))


def has_room(place):
    """Check that the files of the tests, programs among them, fit into this directory."""
    try:
        found = os.statvfs(place)
    except OSError:
        return False
    may_run = not found.f_flag & os.ST_NOEXEC
    return may_run and os.access(place, os.W_OK | os.X_OK) and found.f_bavail * found.f_frsize >= ROOM


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Keep the garbage collector away from what collecting makes: thousands of tests that all stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(ALLOCATED)


@pytest.hookimpl(tryfirst=True)  # before what is slow is left out
def pytest_collection_modifyitems(config, items):
    """Leave to `slow` what is on trio as on asyncio, what `sample` leaves to it, and all examples of each property.

    Of the cases of a test whose loop is not what it is about, one is on trio too.

    Begin with the folders whose tests take long, so no long file is left to one worker at the end.
    """
    names, twins, further = {item.nodeid for item in items}, set(), set()
    for item in items:
        if "trio" in item.nodeid and item.nodeid.replace("trio", "asyncio") in names:
            item.add_marker("slow")
            function = item.nodeid.partition("[")[0]
            if function in twins:
                further.add(item.nodeid)
            twins.add(function)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in further])
    items[:] = [item for item in items if item.nodeid not in further]
    cases = Counter()
    for item in items:
        sample = item.get_closest_marker("sample")
        if sample is not None and item.get_closest_marker("slow") is None:
            function = item.nodeid.partition("[")[0]
            if cases[function] % sample.args[0]:
                item.add_marker("slow")
            cases[function] += 1
        if not is_short(config) and hypothesis.is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("slow")  # which took a quarter of its examples in the short run
    rank = {name: at for at, name in enumerate(LONG_FIRST)}
    items.sort(key=lambda item: min(rank.get(part, len(rank)) for part in item.nodeid.split("/")))


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_session(tmp_path_factory):
    """No test writes into the cache of whoever runs it."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    if request.param == "asyncio":
        return "asyncio"
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture
def virtual_time():
    """An event loop whose clock jumps, for tests about time."""
    return "trio", {"clock": trio.testing.MockClock(autojump_threshold=0)}


@pytest.fixture
def moved_time():
    """An asyncio loop in real time, which a test moves on with `advance`."""
    return advancing("asyncio")
