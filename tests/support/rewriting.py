"""A pytest plugin: the workers of a parallel run share the work of a fresh clone.

pytest rewrites the assertions of each file of tests and keeps that as bytecode. All workers collect the same files in
the same order at the same time, so each would rewrite all of them; here each begins with a share of its own.
"""

import os
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

TESTS = "test_*.py"


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    config = session.config
    worker, workers = (os.environ.get(name, "") for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"))
    if worker and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        files = sorted(file for place in config.args for file in Path(place).rglob(TESTS))
        for file in files[int(worker.removeprefix("gw")) :: int(workers)]:
            keep(file, config)


def keep(file, config):
    place = rewrite.get_cache_dir(file)
    kept = place / f"{file.stem}{rewrite.PYC_TAIL}"
    if not kept.exists() and rewrite.try_makedirs(place):
        read, code = rewrite._rewrite_test(file, config)
        rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, read, kept)
