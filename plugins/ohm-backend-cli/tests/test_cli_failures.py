"""From what a CLI says of trouble to one of our errors."""

from __future__ import annotations

import pytest
from cli_streams import asked, replayed

from ohm_backend_cli.failure import cut_short, failure
from ohm_subagents.plugin import Err, ErrorCode, OhmError
from ohm_subagents.shell import Ended


def said(text: str, status: int | None = None) -> OhmError:
    return failure("claude", text, status=status, env={"MY_TOKEN": "hush-hush", "LANG": "en_GB.UTF-8"})


@pytest.mark.parametrize(
    ("text", "status", "code"),
    [
        ("API Error: 400 fake 400 error", None, ErrorCode.PROVIDER_REQUEST_REJECTED),
        ("[API Error: 401 no]", None, ErrorCode.PROVIDER_AUTHENTICATION),
        ("unexpected status 403 Forbidden: no", None, ErrorCode.PROVIDER_AUTHENTICATION),
        ("unexpected status 404 Not Found: no", None, ErrorCode.MODEL_UNKNOWN),
        ("slow", 429, ErrorCode.PROVIDER_RATE_LIMITED),
        ("down", 503, ErrorCode.PROVIDER_UNAVAILABLE),
        ("down", 529, ErrorCode.PROVIDER_UNAVAILABLE),
        ("late", 504, ErrorCode.PROVIDER_TIMEOUT),
        ("pay", 402, ErrorCode.PROVIDER_QUOTA_EXCEEDED),
        ("You exceeded your current quota", 429, ErrorCode.PROVIDER_QUOTA_EXCEEDED),
        ("Your credit balance is too low", 400, ErrorCode.PROVIDER_QUOTA_EXCEEDED),
        ("prompt is too long: 300000 tokens", 400, ErrorCode.CONTEXT_WINDOW_EXCEEDED),
        ("authentication_failed", None, ErrorCode.PROVIDER_AUTHENTICATION),
        ("Not logged in · Please run /login", None, ErrorCode.MODEL_KEY_MISSING),
        ("No auth type is selected. Please configure one.", None, ErrorCode.MODEL_KEY_MISSING),
        ("Invalid auth method selected.", None, ErrorCode.MODEL_KEY_MISSING),
        ("Missing environment variable: `OPENAI_API_KEY`.", None, ErrorCode.MODEL_KEY_MISSING),
        ("you must specify the GEMINI_API_KEY environment variable", None, ErrorCode.MODEL_KEY_MISSING),
        ("fetch failed: connect ECONNREFUSED 127.0.0.1:1", None, ErrorCode.PROVIDER_CONNECTION_FAILED),
        ("stream disconnected before completion", None, ErrorCode.PROVIDER_CONNECTION_FAILED),
        ("Request timed out.", None, ErrorCode.PROVIDER_TIMEOUT),
        ("The model is overloaded", None, ErrorCode.PROVIDER_UNAVAILABLE),
        ("model gpt-0 not found", None, ErrorCode.MODEL_UNKNOWN),
        ("stopped by content_filter", None, ErrorCode.CONTENT_FILTERED),
        ("Model stream ended with empty response text.", None, ErrorCode.PROVIDER_EMPTY_RESPONSE),
        ("It used 401 tokens and 500 files.", None, ErrorCode.BACKEND_FAILED),
        ("", None, ErrorCode.BACKEND_FAILED),
    ],
)
def test_the_words_or_the_status_say_what_it_is(text: str, status: int | None, code: ErrorCode) -> None:
    error = said(text, status)
    assert error.code is code
    assert error.message.startswith(("claude ", "claude: the model "))
    assert error.message.endswith(".")
    assert error.advice.endswith(".")


def test_an_error_in_json_is_quoted_by_its_message_alone() -> None:
    error = said('[API Error: {"error":{"message":"no such thing","type":"t"}}]')
    assert error.message == "claude failed: no such thing."


@pytest.mark.parametrize("key", ["sk-ant-12345678", "hush-hush", "Bearer abcdefgh"])
def test_a_key_is_never_quoted(key: str) -> None:
    assert key not in said(f"strange: {key} was not liked").message
    assert key not in said(f"the key {key} is wrong", 401).message


def test_a_long_text_is_cut() -> None:
    assert len(said("word " * 500).message) < 400


@pytest.mark.parametrize(
    ("ended", "message"),
    [
        (Ended(code=3), "codex failed: it ended with exit code 3 before it had answered."),
        (Ended(code=-9), "codex failed: it was ended by signal 9 before it had answered."),
        (Ended(code=-15, was_stopped=True), "codex failed: it was stopped before it had answered."),
        (
            Ended(code=1, stderr="WARN a\n\x1b[91mError: \x1b[0mno such flag\n\nStack backtrace:\n   0: <unknown>\n"),
            "codex failed: it ended with exit code 1 before it had answered: Error: no such flag.",
        ),
    ],
)
def test_a_process_that_says_nothing_of_its_end_is_told_by_how_it_ended(ended: Ended, message: str) -> None:
    assert cut_short("codex", ended, "", env={}).message == message


def test_a_folder_that_is_not_trusted_is_one_sentence() -> None:
    end = Ended(code=55, stderr="Gemini CLI is not running in a trusted directory. To proceed, use x.")
    outcome = replayed("gemini", [], end).outcome
    assert isinstance(outcome, Err)
    assert outcome.err_value.message.startswith("gemini does not run in a folder that it has not been told to trust")


def test_the_line_that_is_understood_is_told_among_others() -> None:
    stderr = "Ripgrep is not available.\nWhen using Gemini, you must specify the GEMINI_API_KEY.\nThen try again!\n"
    error = cut_short("gemini", Ended(code=41, stderr=stderr), "", env={})
    assert error.code is ErrorCode.MODEL_KEY_MISSING
    assert "you must specify the GEMINI_API_KEY." in error.message


def test_an_exit_without_a_word_is_no_answer() -> None:
    outcome = replayed("qwen", [], Ended(code=0), asked()).outcome
    assert isinstance(outcome, Err)
    assert outcome.err_value.message == "qwen failed: it ended with exit code 0 before it had answered."
