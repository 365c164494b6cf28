"""The check of an installed pi at its start, with real commands."""

import pytest

from ohm_subagents.backends.pi import startup_check
from ohm_subagents.backends.pi.options import PiOptions
from ohm_subagents.backends.pi.spec import interactive_shell_spec


@pytest.fixture
def lacking(tmp_path):
    pi = tmp_path / "pi"

    def asked(script: str, **options) -> str | None:
        pi.write_text(script)
        pi.chmod(0o755)
        env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "SECRET_KEY": "k"}
        return interactive_shell_spec().lacks(PiOptions(command=(str(pi),), **options), env)

    return asked


def test_a_pi_that_says_its_version_lacks_nothing(lacking):
    assert lacking("#!/bin/sh\necho 0.87.1 >&2\n", mode="rpc") is None


def test_it_is_shown_no_key_and_kept_off_the_network(lacking, tmp_path):
    assert lacking(f"#!/bin/sh\nenv > {tmp_path}/seen\necho 1.5.2\n") is None
    names = {line.partition("=")[0] for line in (tmp_path / "seen").read_text().splitlines()}
    assert {"PATH", "HOME", "PI_OFFLINE"} <= names <= {"PATH", "HOME", "PI_OFFLINE", "PWD", "OLDPWD", "SHLVL", "_"}


def test_it_is_asked_once(lacking, tmp_path):
    script = f"#!/bin/sh\necho asked >> {tmp_path}/asked\necho 0.74.2\n"
    assert lacking(script) is None
    command = (str(tmp_path / "pi"),)
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    assert startup_check.trouble(command, "json", env) is None
    assert "0.74.2" in str(startup_check.trouble(command, "rpc", env))
    assert (tmp_path / "asked").read_text() == "asked\n"


def test_one_that_hangs_is_told_in_a_sentence(lacking, tmp_path, monkeypatch):
    monkeypatch.setattr(startup_check, "PATIENCE_S", 0.2)
    told = lacking("#!/bin/sh\nexec sleep 60\n")
    assert told is not None
    assert told.startswith(f'The command "{tmp_path}/pi" does not say its version within 0.2 s. Install it again (')


def test_one_that_cannot_be_executed_is_told_in_a_sentence(lacking, tmp_path):
    told = lacking("#!/no/such/node\n")
    assert told is not None
    assert told.startswith(f'The command "{tmp_path}/pi" does not start as pi: No such file or directory. Install')
