"""`ohm doctor` shows the sandbox of this machine, and proves it by trying."""

from __future__ import annotations

from ohm_subagents.cli.sandbox import sandbox_lines
from ohm_subagents.sandbox import escaped, this_machine


def test_a_program_that_tries_to_get_out_does_not() -> None:
    assert escaped() == ()


def test_the_means_are_shown_and_what_came_of_trying_them() -> None:
    *means, tried, network, limits = sandbox_lines()
    assert len(means) == 2
    proof = "a program cannot write outside of its directory, read a secret, reach the network"
    assert tried.endswith(f"tried with {this_machine().mechanism}: {proof}")
    assert limits.endswith("those of each process: nothing limits all of a command together")
    assert network.endswith("of the network, programs can be kept to servers that `sandboxRules.network` lists")
