"""`ohm ui`, as it is typed."""

import os
import re
import stat
import subprocess
from contextlib import contextmanager

import httpx
import pytest
from command_line import EXECUTABLE, PATIENCE_S, in_this_process
from mcp_process import place_of
from ui_client import free_port

from ohm_subagents.ui.token import FILE, kept_token

ADDRESS = re.compile(r"(http://127\.0\.0\.1:(\d+)/)\?token=([\w-]{43})\n")


@pytest.fixture
def place(tmp_path):
    return place_of(tmp_path, '{"subagentBackend": "none"}')


@pytest.fixture
def ohm(tmp_path, place):
    return lambda *words: in_this_process(*words, cwd=tmp_path, env=place)


def kept(ohm, prompt="Where is **it**?"):
    assert ohm("run", "finder", prompt).returncode == 0
    return ohm("tasks").stdout.split()[1]


@contextmanager
def serving(tmp_path, place, port):
    """`ohm ui` in a process of its own, and its address: the first line."""
    command = [str(EXECUTABLE), "ui", "--no-browser", "--port", port]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=place, **pipes) as process:
        try:
            yield process, ADDRESS.fullmatch(process.stdout.readline())
        finally:
            process.terminate()


@pytest.mark.slow
def test_a_page_that_is_left_open_goes_on_over_a_restart(tmp_path, place, ohm):
    task_id = kept(ohm)
    with httpx.Client(timeout=PATIENCE_S, trust_env=False) as browser:
        port = f"{free_port()}"
        with serving(tmp_path, place, port) as (process, first):
            page = browser.get(first[0].strip(), follow_redirects=True)
            assert (page.status_code, f"{page.url}") == (200, first[1])
            with browser.stream("GET", f"{first[1]}api/stream") as stream:
                next(stream.iter_lines())
                process.terminate()
                assert process.wait(PATIENCE_S) == 143
            assert (process.stdout.read(), process.stderr.read()) == ("", "")
        with serving(tmp_path, place, port) as (_, second):
            assert second[0] == first[0]
            rows = browser.get(f"{first[1]}api/tasks").json()["tasks"]
    assert [row["id"] for row in rows] == [task_id]


@pytest.mark.slow
def test_on_a_terminal_the_page_opens_by_a_file_of_the_user_alone(tmp_path, place):
    opened = tmp_path / "opened"
    os.mkfifo(opened)
    browser = tmp_path / "xdg-open"
    browser.write_text(f'#!/bin/sh\n(echo "$1"; cat "${{1#file://}}") > "{opened}"\n')
    browser.chmod(0o755)
    ours, theirs = os.openpty()
    command = [str(EXECUTABLE), "ui", "--port", "0"]
    env = place | {"PATH": f"{tmp_path}:{place['PATH']}"}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=theirs, stderr=subprocess.DEVNULL) as process:
        os.close(theirs)
        try:
            argument, page = opened.read_text().split("\n", 1)
            address = ADDRESS.search(os.read(ours, 4096).decode().replace("\r\n", "\n"))[0].strip()
        finally:
            process.terminate()
    os.close(ours)
    assert address in page
    assert "token" not in argument


def test_an_export_is_one_file_that_asks_for_nothing(tmp_path, ohm):
    task_id = kept(ohm)
    done = ohm("ui", "--export", task_id[:-1])
    assert (done.returncode, done.stdout) == (0, f"Wrote '{task_id}.html'.\n")
    page = (tmp_path / f"{task_id}.html").read_text()
    assert (tmp_path / f"{task_id}.html").stat().st_mode & 0o077 == 0
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:|/page/)", page)
    assert "default-src 'none'; style-src 'sha256-" in page
    assert "\nimport " not in page
    again = ohm("ui", "--export", task_id)
    assert again.returncode == 2
    assert again.stderr == f"The file '{task_id}.html' exists. Type another name, or --force to replace it.\n"
    assert ohm("ui", "--export", task_id, "--force").returncode == 0
    printed = ohm("ui", "--export", task_id, "--output", "-")
    assert printed.stdout.count("ohm-data") == page.count("ohm-data")


WRONG = {
    ("--export", "task_9"): (1, "Unknown task id 'task_9'"),
    ("--output", "x.html"): (2, "--output is the file of an exported page: add --export <id>.\n"),
    ("--force",): (2, "--force replaces the file of an exported page: add --export <id>.\n"),
    ("--port", "70000"): (2, "'--port'"),
}


def test_what_is_typed_wrong_is_told(tmp_path, ohm):
    kept(ohm, "one")
    kept(ohm, "two")
    for words, (code, sentence) in WRONG.items():
        done = ohm("ui", *words)
        assert (done.returncode, sentence in done.stderr) == (code, True), done.stderr
    several = ohm("ui", "--export", "task_")
    assert several.returncode == 2
    assert several.stderr.startswith("2 ids begin or end with 'task_': 'task_")
    nowhere = ohm("ui", "--export", kept(ohm, "three"), "--output", "no/such/folder.html")
    assert (nowhere.returncode, "cannot be written: No such file or directory." in nowhere.stderr) == (1, True)


def test_an_export_tells_what_is_wrong_with_the_store(tmp_path, ohm):
    (tmp_path / "ohm.subagents.tasks.sqlite3").write_bytes(b"no database at all" * 400)
    done = ohm("ui", "--export", "task_1")
    assert done.returncode == 1
    (told,) = done.stderr.splitlines()
    assert "cannot be used, it is damaged (file is not a database)" in told


def test_without_its_packages_the_command_says_how_to_get_them(ohm, monkeypatch):
    monkeypatch.setattr("ohm_subagents.ui.commands.find_spec", lambda _name: None)
    done = ohm("ui")
    assert done.returncode == 2
    assert done.stderr.startswith("`ohm ui` needs starlette and uvicorn, which are not installed. Install them: ")
    assert "[ui]" in done.stderr


def test_the_token_is_kept_for_its_owner_alone(tmp_path):
    folder = tmp_path / "new"
    token = kept_token(folder)
    assert kept_token(folder) == token
    assert stat.S_IMODE((folder / FILE).stat().st_mode) == 0o600
    (folder / FILE).chmod(0o644)
    another = kept_token(folder)
    assert another != token
    (folder / FILE).write_text("short")
    assert len(kept_token(folder)) == len(token)


def test_a_token_that_cannot_be_kept_holds_for_a_run(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert kept_token(file / "below") != kept_token(file / "below")


def test_a_link_in_place_of_the_token_is_not_followed(tmp_path):
    known = tmp_path / "known"
    known.write_text("k" * 43)
    known.chmod(0o600)
    (tmp_path / FILE).symlink_to(known)
    assert kept_token(tmp_path) != "k" * 43
    assert known.read_text() == "k" * 43
