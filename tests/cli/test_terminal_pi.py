"""A nested pi on a terminal: what it does is there while it does it."""

from __future__ import annotations

import json
import os

import pytest
from model_server import Call, ModelServer, Say
from real_pi import NEWEST, OLD, installed
from screen import PATIENCE_S, on_terminal

pytestmark = [pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]


@pytest.mark.parametrize("version", [OLD, NEWEST])
def test_the_rows_of_a_nested_pi_are_there_while_it_works(ohm, ohm_process, version: str) -> None:
    command = f"echo one; cat {ohm.released}"
    with ModelServer(Say("Let me look. ", Call("bash", {"command": command})), Say("It is ", "there.")) as server:
        ohm.configure(
            {
                "subagents": {
                    "finder": {"model": "acme/m1", "tools": ["bash"]},
                    "backends": {"interactive-shell": {"command": list(installed(version).command)}},
                },
                "providers": {"acme": {"baseUrl": server.url, "models": ["m1"]}},
            }
        )
        asked = ("run", "finder", "Where?", "--backend", "interactive-shell")
        with on_terminal(ohm_process, *asked, columns=200) as (screen, process):
            screen.wait_for("Finder · Where?", f"bash {command} · ", "s · one\n", "╰── Let me look.")
            assert "It is there." not in screen.text
            ohm.released.write_text("two\n")
            screen.wait_for_end()
            assert process.wait(PATIENCE_S) == 0
    final = screen.text.rpartition("✓ Finder · Where?\n")[2]
    assert f"├── ✓ bash {command} · " in final
    assert " · 2 lines\n" in final
    assert "acme/m1" in final
    assert final.endswith("\n\nIt is there.\n")


def test_the_children_of_a_batch_of_nested_pis_are_drawn_with_their_rows(ohm, ohm_process) -> None:
    command = f"echo one; read line < {ohm.released}"

    def answered(request) -> Say:
        is_new = not request.tool_results
        return Say("Let me look. ", Call("bash", {"command": command})) if is_new else Say("It is there.")

    with ModelServer(answered) as server:
        ohm.configure(
            {
                "subagentBackend": "interactive-shell",
                "suites": ["task"],
                "subagents": {
                    "finder": {"model": "acme/m1", "tools": ["bash"]},
                    "backends": {"interactive-shell": {"command": list(installed(NEWEST).command)}},
                },
                "providers": {"acme": {"baseUrl": server.url, "models": ["m1"]}},
            }
        )
        tasks = [{"subagent_type": "finder", "description": part, "prompt": part} for part in ("Docs", "Tests")]
        start = json.dumps({"op": "start", "parallel": True, "tasks": tasks})
        with on_terminal(ohm_process, "call", "task", start, columns=200) as (screen, process):
            screen.wait_for("2 running · ", "Finder · Docs · ", "Finder · Tests · ", "s · one\n", " · 2 tool calls")
            gate = os.open(ohm.released, os.O_RDWR)
            os.write(gate, b"go\ngo\n")
            screen.wait_for_end()
            os.close(gate)
            assert process.wait(PATIENCE_S) == 0
    final = screen.text.rpartition(" · s send\n")[2]
    assert "\n2 succeeded · " in final
    for part in ("Docs", "Tests"):
        assert f"  ✓ Finder · {part}\n    ├── ✓ bash {command} · " in final
        assert f"  ✓ Finder · {part}\nIt is there.\n" in final
