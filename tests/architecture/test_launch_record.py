"""A field of the launch record is compared where a task goes on, and shown, or is named here with the reason."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from ohm_subagents.contract import LaunchRecord

READ = re.compile(r"\b_?launch\.(\w+)")
COMPARED = "src/ohm_subagents/_orchestrator/admission/relaunch.py"
SHOWN = "src/ohm_subagents/_views/launch.py"
NOT = {
    COMPARED: {
        "permission": "decided anew for each run",
        "ceiling": "the newest one of the session bounds the tools before they are compared (`inheritance`)",
        "clone_of": "who calls decides it",
    },
    SHOWN: {
        "tools_are_bounded": "what it means shows in the tools",
        "loop": "it bounds no call, and what it stops is told by the run",
    },
}


@pytest.mark.parametrize("module", [COMPARED, SHOWN])
def test_every_field_of_the_launch_record_is_read_or_named(root: Path, module: str) -> None:
    read = set(READ.findall((root / module).read_text(encoding="utf-8")))
    known = {one.name for one in fields(LaunchRecord)}

    assert known - read == set(NOT[module])
