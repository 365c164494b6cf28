from __future__ import annotations

import json

import pytest

START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "answer"}


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("run", "finder", "Where?"), 0, ""),
        (("run", "finder", "fail", "--backend", "stage"), 1, "It broke. Repair it."),
        (("run", "nobody", "x"), 2, "No subagent profile found for 'nobody'."),
        (("run", "finder", "x", "--backend", "nowhere"), 2, "nowhere"),
        (("run", "finder", "x", "--model", "nonsense"), 2, "nonsense"),
        (("run", "finder", "x", "--model", "nobody/x", "--backend", "interactive-sdk"), 2, "nobody"),
        (("run", "oracle", "x", "--backend", "interactive-sdk"), 1, "OHM_MODEL"),
        (
            ("run", "finder", "x", "--deny", "bsh"),
            2,
            "The call denies 'bsh', which is no tool of a subagent. Did you mean 'bash'?",
        ),
        (
            ("run", "finder", "x", "--allow", "bash: *"),
            2,
            "'bash: *' names no command; a rule is like 'bash: git push *'",
        ),
        (("run", "finder", "x", "--config", "absent.json"), 2, "absent.json"),
        (("run", "finder"), 2, "Missing argument 'prompt'"),
        (("run", "finder", "x", "--colour"), 2, "--colour"),
        (("call", "task", json.dumps(START)), 0, ""),
        (("call", "task", json.dumps(START | {"prompt": ""})), 2, ""),
        (("call", "task", json.dumps(START | {"subagent_type": "nobody"})), 2, ""),
        (("call", "task", "{"), 2, "The arguments are not JSON: the text ends too early, at line 1 column 1."),
        (("call", "task", " "), 2, "The arguments are not JSON: the text is empty."),
        (("call", "hammer", "{}"), 2, ""),
        (("subagents",), 0, ""),
        (("subagent", "finder"), 0, ""),
        (("subagent", "nobody"), 2, "Valid ids: "),
        (("subagent", "findr"), 2, "No subagent is called 'findr'. Did you mean 'finder'?"),
        (("policy", "explain", "findr"), 2, "No subagent is called 'findr'. Did you mean 'finder'? Available: "),
        (("delegate", '[{"name": "a"}]'), 2, "That is JSON itself: put it into a file, or give it on standard input"),
        (("plugins",), 0, ""),
        (("config", "show"), 0, ""),
        (("config", "schema"), 0, ""),
        (("policy", "explain", "finder"), 0, ""),
        (("policy", "explain", "nobody"), 2, "Available: "),
        (("doctor",), 0, ""),
        (("tasks",), 0, ""),
        (("tasks", "--status", "done"), 2, "No task is ever 'done'. Allowed: asking, cancelled, failed"),
        (("tasks", "--limit", "0"), 2, "'0' is not a whole number of at least 1."),
        (("tasks", "--limit", "x"), 2, "'x' is not a whole number of at least 1."),
        (("run", "finder", "x", "--config", "."), 2, ".: is a directory. Put a file there that this process may read;"),
        (("trust", ""), 2, "The path is empty."),
        (("trust", "--list", "--forget"), 2, "leave out the path and every other option"),
        (("run", "finder", "x", "--cwd", ""), 2, "The path is empty."),
        (("run", "finder", "x", "--config", ""), 2, "The path is empty."),
        (("tasks", "export", "--output", ""), 2, "The path is empty."),
        (("run", "finder", "x", "--backend", ""), 2, "backend"),
        (("run", "finder", "x", "--detach", "--server", "none"), 2, "--detach and --server none exclude each other"),
        (("delegate", "-", "--backend", ""), 2, "--backend is empty."),
        (("tasks", "forget"), 2, "forget"),
        (("tasks", "export"), 0, ""),
        (("tasks", "--session", "s", "export"), 2, "Put the options behind the word: ohm tasks export <options>."),
        (("task",), 2, "Missing argument 'id'"),
        (("task", "task_1"), 1, "Unknown task id 'task_1'"),
        (("task", "task_1", "--output", "--json"), 2, "--output and --json exclude each other"),
        (("--version",), 0, ""),
    ],
)
def test_the_exit_code_tells_how_it_went(ohm, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = ohm(*arguments)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert (code == 0) <= (done.stderr == "")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "finder", "x"),
        ("subagents",),
        ("subagent", "finder"),
        ("plugins",),
        ("config", "show"),
        ("config", "show", "--origin"),
        ("policy", "explain", "finder"),
        ("doctor",),
        ("tasks",),
        ("tasks", "export"),
        ("task", "task_1"),
    ],
)
def test_a_broken_configuration_is_bad_usage_with_its_place(ohm, arguments: tuple[str, ...]) -> None:
    path = ohm.configure('{\n  "subagentBackend": none\n}')
    done = ohm(*arguments)
    assert done.returncode == 2
    told = done.stdout if arguments == ("doctor",) else done.stderr
    assert str(path) in told
    assert "line 2" in told
    assert "Traceback" not in done.stderr


def test_a_denied_subagent_is_a_failure_and_not_bad_usage(ohm) -> None:
    ohm.configure({"suites": ["task"], "subagents": {"permissions": {"subagents": {"finder": "deny"}}}})
    done = ohm("run", "finder", "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert "finder" in done.stderr
