from __future__ import annotations

import re
import socket
import threading

import pytest


@pytest.mark.parametrize("typed", ["--status", "--stop"])
def test_a_server_that_does_not_tell_its_state_is_not_said_to_be_gone(ohm, typed) -> None:
    def accept() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1000)

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{ohm.root}/ohm.sock")
        server.listen()
        thread = threading.Thread(target=accept)
        thread.start()
        done = ohm("serve", typed, "--socket", f"{ohm.root}/ohm.sock")
        thread.join()
    assert done.returncode == 1
    assert "does not tell its state: it ended the connection." in done.stderr


def test_without_a_server_there_is_nothing_to_stop(ohm) -> None:
    assert (ohm("serve", "--status").returncode, ohm("serve", "--stop").returncode) == (1, 0)


def named(ohm, *typed: str) -> str:
    """The server that a run was given to, of which there is none; empty for the process of the command."""
    done = ohm("run", "finder", "p", *typed)
    found = re.search(r"No server listens at '(.*?)'", done.stderr)
    assert done.returncode == (0 if found is None else 1), done.stderr
    return "" if found is None else found[1]


def test_the_server_of_a_command_is_typed_or_in_the_environment_or_in_the_file_of_the_user(ohm) -> None:
    ohm.configure({"subagentBackend": "none", "subagents": {"server": "/user.sock"}})
    assert named(ohm) == "/user.sock"
    ohm.env["OHM_SERVER"] = "/environment.sock"
    assert named(ohm) == "/environment.sock"
    assert named(ohm, "--server", "/typed.sock") == "/typed.sock"
    assert named(ohm, "--server", "none") == ""
    ohm.env["OHM_SERVER"] = "none"
    assert named(ohm) == ""


def test_a_command_of_a_subagent_works_in_its_own_process_unless_a_server_is_typed(ohm) -> None:
    ohm.configure({"subagentBackend": "none", "subagents": {"server": "/user.sock"}})
    ohm.env["OHM_SUBAGENT_TASK"] = "task_1"
    assert (named(ohm), named(ohm, "--server", "/typed.sock")) == ("", "/typed.sock")


def test_a_project_names_no_server(ohm) -> None:
    (ohm.project / ".pi").mkdir()
    (ohm.project / ".pi" / "ohm.json").write_text('{"subagents": {"server": "/project.sock"}}')
    assert named(ohm) == ""
    assert "cannot be set by a project, and is ignored; set it in the user's file." in ohm("run", "finder", "p").stderr


def test_a_server_that_is_none_is_told_with_the_value_and_what_is_allowed(ohm) -> None:
    path = ohm.configure({"subagentBackend": "none", "subagents": {"server": "atuo"}})
    done = ohm("run", "finder", "p")
    assert f"{path}" in done.stderr
    assert "'auto', 'none', or the absolute path of a socket" in done.stderr
