"""Repeated words of a real `pi` are those that it says itself."""

import subprocess

import pytest
from real_pi import NEW, NEWEST, OLD, PROBES

pytestmark = [pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]


@pytest.mark.parametrize("pi", [OLD, NEW, NEWEST], indirect=True)
def test_a_pi_of_the_tests_answers_as_its_program_does(pi, tmp_path):
    def answers(command):
        env = {"HOME": f"{tmp_path}"}
        done = [subprocess.run([*command, flag], capture_output=True, env=env, check=True) for flag in PROBES]
        return [(one.stdout, one.stderr) for one in done]

    said = answers(pi.program)
    assert answers(pi.command) == said
    assert pi.version.encode() in b"".join(said[0])
