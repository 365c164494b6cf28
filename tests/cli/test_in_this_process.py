"""A command called in this process is the command in a process of its own, and leaves nothing behind."""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import signal
import sys
import threading
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

STAGED = ("run", "finder", "answer", "--backend", "stage")
TASKS = json.dumps([{"name": "a", "prompt": "b"}]).encode()


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        ((), b""),
        (("--help",), b""),
        (STAGED, b""),
        (("run", "nobody", "Grüße \udcff"), b""),
        *(
            pytest.param(*call, marks=pytest.mark.slow)
            for call in (
                (("run", "finder"), b""),
                (("profile", "new", "p"), b"\xff\xfe"),
                (("run", "finder", "big", "--backend", "stage"), b""),
                (("run", "nobody", "世界"), b""),
                (("doctor",), b""),
                (("config", "show", "--origin"), b""),
                (("delegate", "-"), TASKS),
            )
        ),
    ],
    ids=lambda value: " ".join(value).encode("ascii", "backslashreplace").decode() if isinstance(value, tuple) else "",
)
def test_streams_and_exit_code_are_those_of_a_process(ohm, ohm_process, arguments, stdin: bytes) -> None:
    ours, theirs = (called(*arguments, stdin=stdin) for called in (ohm, ohm_process))
    assert _without_ids(ours) == _without_ids(theirs)


def _without_ids(done):
    """A session has another id each time."""
    return replace(done, stdout=re.sub(r"session: [0-9a-f]{16}", "session: …", done.stdout))


@pytest.mark.slow
def test_what_one_of_them_keeps_the_other_reads(ohm, ohm_process) -> None:
    ohm(*STAGED)
    ohm_process(*STAGED)
    ours, theirs = ohm("tasks", "export"), ohm_process("tasks", "export")
    assert ours == theirs
    assert ours.stdout.count("\n") == 2


def state() -> dict[str, object]:
    gc.collect()
    return {
        "environment": dict(os.environ),
        "directory": Path.cwd(),
        "arguments": list(sys.argv),
        "streams": (sys.stdin, sys.stdout, sys.stderr),
        "main": sys.modules["__main__"],
        "import path": list(sys.path),
        "importers": {place for place in sys.path_importer_cache if "plugin" in place},
        "modules of plugins": {name for name in sys.modules if name.startswith("ohm_cli")},
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "descriptors": descriptors(),
        "garbage": gc.get_threshold(),
        "warnings": list(warnings.filters),
        "logging": (logging.getLogger().level, list(logging.getLogger().handlers)),
    }


def descriptors() -> dict[str, Path]:
    """Those that are open, but for the one that looks."""
    open_ones = {}
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            open_ones[descriptor.name] = descriptor.readlink()
    return open_ones


@pytest.mark.parametrize(
    "arguments",
    [
        STAGED,
        ("run",),
        *(
            pytest.param(call, marks=pytest.mark.slow)
            for call in (
                ("run", "finder", "fail", "--backend", "stage"),
                ("doctor",),
                ("tasks", "export"),
                ("--help",),
            )
        ),
    ],
    ids=" ".join,
)
def test_nothing_is_left_of_a_command(ohm, arguments: tuple[str, ...]) -> None:
    ohm(*arguments)  # whatever is loaded once and for all
    before, threads = state(), set(threading.enumerate())
    ohm(*arguments)
    assert state() == before
    assert set(threading.enumerate()) <= threads  # a thread of another test may have ended meanwhile


def test_nothing_is_left_of_a_command_that_a_defect_ends(ohm, monkeypatch) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ohm_subagents.cli.run.run", broken)
    before = state()
    with pytest.raises(ZeroDivisionError):
        ohm("run", "finder", "x")
    assert state() == before


OTHER = """
from ohm_subagents.plugin import hookimpl

@hookimpl
def ohm_models():
    return []
"""


def test_a_plugin_is_found_on_the_import_path_of_its_command_alone(ohm, tmp_path) -> None:
    assert "stage [loaded · ohm-cli-fixture 1.0]: ohm_backends, ohm_stores\n" in ohm("plugins").stdout
    other = tmp_path / "other"
    (other / "ohm_cli_fixture-2.0.dist-info").mkdir(parents=True)
    metadata = "Metadata-Version: 2.1\nName: ohm-cli-fixture\nVersion: 2.0\n"
    (other / "ohm_cli_fixture-2.0.dist-info" / "METADATA").write_text(metadata)
    (other / "ohm_cli_fixture-2.0.dist-info" / "entry_points.txt").write_text("[ohm_subagents]\nst = ohm_cli_fixture\n")
    (other / "ohm_cli_fixture.py").write_text(OTHER)
    ohm.env["PYTHONPATH"] = str(other)
    assert "st [loaded · ohm-cli-fixture 2.0]: ohm_models\n" in ohm("plugins").stdout
    del ohm.env["PYTHONPATH"]
    assert "ohm-cli-fixture" not in ohm("plugins").stdout
