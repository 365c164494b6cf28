"""The degraded mode of `pi`: the command line and the prompts that are documented, and what its text means."""

import json
from dataclasses import asdict

import pytest
from pi_streams import ENDED, TRANSCRIPTS, pattern, request, told

from ohm_subagents._plugins.backends.request import Exchange
from ohm_subagents.backends.pi.flags import TOOLS
from ohm_subagents.backends.pi.text import TextReader, composed, text_arguments, text_prompt
from ohm_subagents.contract import Err, ErrorCode, RouteResolved
from ohm_subagents.shell.dialect import Ended

START = (
    "You are the Finder subagent in Pi OHM.\n\nSubagent summary: FIN-SUMMARY\nWhen to use:\n- FIN-WHEN-1\n\n"
    "Profile scaffold guidance:\nFIN-SCAFFOLD\n\nTask description: Auth scan\n\nUser task:\nTrace auth\n\n"
    "Return concrete findings/results. Avoid repeating this prompt verbatim."
)
FIXED = ("--print", "--no-session", "--no-extensions", "--tools", "read,bash,edit,write,grep,find,ls")


def test_the_command_line_is_the_documented_one():
    named = request(model=pattern("openai/gpt-6"), tools=TOOLS)
    assert text_arguments(request(tools=TOOLS)) == (*FIXED, START)
    assert text_arguments(named) == (*FIXED, "--model", "openai/gpt-6", START)
    assert text_prompt(request()) == ""


def test_a_profile_gets_no_tool_that_it_may_not_use():
    """004 gives all seven to everybody; a denied tool is denied here too."""
    assert text_arguments(request(tools=("ls", "read", "code_search")))[3:5] == ("--tools", "read,ls")
    assert text_arguments(request())[3:4] == ("--no-tools",)


def test_a_prompt_that_no_argument_can_hold_goes_to_standard_input():
    long = request("ü" * 60_000, tools=TOOLS)

    assert text_arguments(long) == FIXED
    assert text_prompt(long) == composed(long)


def test_a_follow_up_lists_what_was_asked_before_and_what_is_asked_now_once():
    """The recorded words, without their repetition of the newest prompt (Q16)."""
    history = (Exchange(prompt="Trace auth", output="start answer"), Exchange(prompt="one", output="f1"))

    assert composed(request("two", history=history)) == (
        "You are continuing the Finder subagent task.\nTask description: Auth scan\n\n"
        "Task history:\n1. Trace auth\n2. one\n\nLatest follow-up request:\ntwo\n\n"
        "Return only the updated findings/result."
    )


def said(stdout: str, ended: Ended = ENDED) -> tuple[str, RouteResolved | None]:
    reader = TextReader(request(), secrets=())
    assert told(reader, stdout.encode().split(b"\n")) == []
    assert not reader.is_over
    routes = [event for event in reader.last(ended) if isinstance(event, RouteResolved)]
    result = reader.outcome(ended)
    if isinstance(result, Err):
        assert routes == []
        return result.err_value.message, None
    return result.ok_value.text, routes[0]


@pytest.mark.parametrize(
    ("stdout", "answer", "route"),
    [
        ("Found it\n", "Found it", ("", "", "pi-cli")),
        (
            "backend: pi-cli-x\nprovider: OpenAI\nmodel: gpt-5\nReal answer\n  Route : somewhere\nmodel: gpt-6\n",
            "Real answer\n  Route : somewhere\nmodel: gpt-6",
            ("OpenAI", "gpt-5", "pi-cli-x"),
        ),
        ("\n\n  MODEL : a\r\nroute: x\r\nb\r\nmodel: c\r\n", "b\nmodel: c", ("", "a", "pi-cli")),
        ("model: a\nprovider: b", "(no output)", ("b", "a", "pi-cli")),
        ("model:   \nanswer", "answer", ("", "", "pi-cli")),
        ("runtime: r\nbackend: b\n\nmodel: x\n", "model: x", ("", "", "b")),
        ("models: many\n", "models: many", ("", "", "pi-cli")),
        ("", "(no output)", ("", "", "pi-cli")),
        ("  indented\n\n  text  \n", "indented\n\n  text", ("", "", "pi-cli")),
    ],
)
def test_only_a_leading_block_of_metadata_is_taken_out_of_an_answer(stdout, answer, route):
    text, resolved = said(stdout)

    assert text == answer
    assert (resolved.provider, resolved.model, resolved.runtime) == route
    assert resolved.route == "interactive-shell"


@pytest.mark.parametrize(
    ("stdout", "taken"),
    [
        ("backend: pi\nprovider: OpenAI\nmodel: gpt-5\nanswer\nmodel: x", None),
        ("backend: pi\r\nprovider: OpenAI\r\nmodel: gpt-5\r\nanswer", None),
        ("answer\nmodel: x", None),
        ("Model: gpt-5\nanswer", "Model: gpt-5"),
        ("provider: OpenAI\nmodel: gpt-5\nanswer", "provider: OpenAI; model: gpt-5"),
        ("model: a\nprovider: b\nbackend: c", "model: a; provider: b; backend: c"),
        ("backend: pi\nprovider: p\nmodel: m\nmodel: sk-secret", "backend: pi; provider: p; model: m; model: ***"),
        ("Route:\nanswer", "Route:"),
    ],
)
def test_lines_that_may_be_the_answers_own_are_told_when_they_are_taken_out(stdout, taken):
    reader = TextReader(request(), secrets=())
    told(reader, stdout.encode().split(b"\n"))
    assert [event.diagnostic.message for event in reader.last(ENDED) if not isinstance(event, RouteResolved)] == (
        [] if taken is None else [f"Read as the provider and model, not as part of the answer: {taken}."]
    )


def test_standard_error_stands_in_for_an_answer_that_is_blank():
    assert said(" \n", Ended(code=0, stderr="only this\n"))[0] == "only this"


@pytest.mark.parametrize("code", [0, 1])
def test_no_secret_is_shown_of_what_pi_wrote_on_standard_error(code):
    ended = Ended(code=code, stderr="Warning: hunter2hunter2 is old\n  hunter2hunter2\nsk-looks-like-one\n")
    reader = TextReader(request(), secrets=("hunter2hunter2",))
    last, outcome = [*reader.last(ended)], reader.outcome(ended)
    shown = f"{last} {asdict(outcome.err_value) if code else outcome}"

    assert shown.count("***") == (7 if code else 4)
    assert "hunter2" not in shown
    assert "looks-like-one" not in shown


@pytest.mark.parametrize(
    ("ended", "message"),
    [
        (Ended(code=9, stderr=" nope \n"), "Task task_1 backend failed: nope"),
        (Ended(code=9), "Task task_1 backend failed: subagent backend exited non-zero"),
        (Ended(code=-15), "Task task_1 backend failed: subagent backend exited non-zero"),
        (Ended(code=130, stderr="x"), "pi was interrupted."),
    ],
)
def test_any_other_exit_code_is_a_failure_that_tells_no_route(ended, message):
    assert said("half an answer", ended) == (message, None)


def test_an_interruption_is_a_cancellation():
    assert TextReader(request(), secrets=()).outcome(Ended(code=130)).err_value.code == ErrorCode.TASK_ABORTED


@pytest.mark.parametrize("file", sorted(TRANSCRIPTS.glob("pi-*-text-*.json")), ids=lambda file: file.stem)
def test_a_recorded_run_has_its_outcome(file):
    run = json.loads(file.read_text())
    text, _ = said(run["stdout"], Ended(code=run["exit_code"], stderr=run["stderr"]))

    if "tool" in file.stem:
        assert text == "I found the files. Done."
    else:
        assert text.startswith("Task task_1 backend failed: 400")


@pytest.mark.parametrize("sizes", [[1_000_000] * 9, [9_000_000], [14, 9_000_000, 14], [7_999_990, 14, 14]])
def test_an_answer_without_end_is_cut_within_a_line_and_says_so(sizes):
    reader = TextReader(request(), secrets=())
    for size in sizes:
        reader.read(b"x" * size)

    assert [event.diagnostic.message for event in reader.last(ENDED) if not isinstance(event, RouteResolved)] == [
        "The answer was cut off at 8 MB of text."
    ]
    assert 7_999_900 < len(reader.outcome(ENDED).ok_value.text) <= 8_000_000


def test_what_a_run_wrote_before_it_failed_is_kept():
    reader = TextReader(request(), secrets=("sekret-key",))
    for line in (b"first findings", b"with sekret-key"):
        reader.read(line)
    failed = Ended(code=3, stderr="it broke")

    assert [event.text for event in reader.last(failed)] == ["first findings\nwith ***"]
    assert reader.outcome(failed).err_value.message == "Task task_1 backend failed: it broke"
