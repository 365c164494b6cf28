from __future__ import annotations

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
