"""Redaction: every form of the table of 001, known values, homes; nothing twice, and never slow."""

import json
import time

import pytest

from ohm_subagents._views.redaction import Redaction

KEY = "abcdefghijklmnopqrstuvwxyz123456"
SECRET = 'hunter2/"quoted"\\value'
AT_HOME = Redaction(secrets=(SECRET, "short"), homes=("/srv/people/ann",))

TABLE = [
    (f"api_key={KEY}", "api_key=[REDACTED]"),
    (f"API-TOKEN: {KEY}", "API-TOKEN=[REDACTED]"),
    (f'authtoken = "{KEY}"', "authtoken=[REDACTED]"),
    (f"access-token: '{KEY}'", "access-token=[REDACTED]"),
    (f'{{"secret_key": "{KEY}"}}', '{"secret_key=[REDACTED]}'),
    ("Bearer abc.def-ghi", "Bearer [REDACTED]"),
    ("bearer a/b+c==", "Bearer [REDACTED]"),
    ("Authorization: Bearer abc.def", "Authorization: [REDACTED] [REDACTED]"),
    ("authorization: token-value", "Authorization: [REDACTED]"),
    ("Authorization: Basic dXNlcjpwYXNz", "Authorization: [REDACTED]"),
    (f"AWS_ACCESS_KEY_ID={KEY}", "AWS_ACCESS_KEY_ID=[REDACTED]"),
    ("aws_secret_access_key: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEX", "aws_secret_access_key=[REDACTED]"),
    *((f"gh{kind}_{'A1' * 18}", "[GITHUB_TOKEN_REDACTED]") for kind in "pousr"),
    (f"STRIPE_KEY={KEY}", "STRIPE_KEY=[REDACTED]"),
    (f"OPENAI_API_KEY={KEY}", "OPENAI_API_KEY=[REDACTED]"),
    (f"anthropic_api_key='{KEY}'", "anthropic_api_key=[REDACTED]"),
    (f"a\nexport FOO={KEY}\nb", "a[ENV_VAR_REDACTED]\nb"),
    (f'export FOO="{KEY} and more"', "[ENV_VAR_REDACTED]"),
    ("Error: x\n    at foo (src/a.js:1:2)\nend", "Error: x at [REDACTED_PATH]\nend"),
    ("x\n at async Object.go (file:///a b.js:1)", "x at [REDACTED_PATH]"),
    ("https://x.y?a=1&token=abcdefghij&b=2", "https://x.y?a=1&token=[REDACTED]&b=2"),
    ("https://x.y?api-key=abcdefghij", "https://x.y?api-key=[REDACTED]"),
    ("cd /srv/people/ann/work", "cd ~/work"),
    ("/home/bob/x /Users/Bob/y", "~/x ~/y"),
    ("C:\\Users\\Bob\\x", "~\\x"),
    ("D:\\\\Users\\\\Bob\\\\x", "~\\\\x"),
    ("G:\\work\\x", "~\\x"),
]


@pytest.mark.parametrize(("text", "redacted"), TABLE)
def test_each_form_of_the_table_is_cut_out_and_stays_so(text, redacted):
    assert AT_HOME.text(text) == redacted
    assert AT_HOME.text(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "api_key=short",
        "GHP_" + "A" * 36,
        "ghp_short",
        "export FOO=short",
        "?author=abcdefghijkl",
        "/srv/people/anna/x",
        "We met at noon (or later).",
        "the short way",
    ],
)
def test_what_is_none_of_them_stays(text):
    assert AT_HOME.text(text) == text


def test_a_known_value_goes_in_every_spelling():
    spelt = [SECRET, json.dumps(SECRET), json.dumps({"a": json.dumps(SECRET)}), "hunter2%2F%22quoted%22%5Cvalue"]
    for text in spelt[:2] + spelt[3:]:
        assert "hunter2" not in AT_HOME.text(f"it is {text}!")
        assert "[REDACTED]" in AT_HOME.text(f"it is {text}!")


def test_of_two_values_the_longer_one_goes_whole():
    both = Redaction(secrets=("12345678", "12345678-long"))
    assert both.text("12345678-long 12345678") == "[REDACTED] [REDACTED]"


def test_lines_of_a_stack_are_folded_after_the_fifth():
    lines = [f"    at /srv/{number}.js:1" for number in range(8)]
    long = "    at " + "x" * 200
    assert AT_HOME.text("\n".join([*lines[:5], long, *lines[5:], "tail"])) == "\n".join(
        [*lines[:5], f"    ... [{long[:100]}...]", "    [Additional stack frames truncated]", "tail"]
    )


def test_json_is_redacted_at_any_depth_keys_included():
    value = {
        "args": [{"url": "https://x?token=abcdefghij", SECRET: 1}, None, True, 2.5],
        "apiKey": KEY,
        "headers": {"Authorization": "x"},
        "token_count": 7,
    }
    assert AT_HOME.json(value) == {
        "args": [{"url": "https://x?token=[REDACTED]", "[REDACTED]": 1}, None, True, 2.5],
        "apiKey": "[REDACTED]",
        "headers": {"Authorization": "[REDACTED]"},
        "token_count": 7,
    }


HOSTILE = [
    " ",
    "\n",
    " at f (",
    " at async new f [as x",
    "api_key ",
    "api_key=",
    "Bearer ",
    "Authorization : ",
    "Authorization: Basic ",
    "\nexport A=",
    'export A="',
    "&token=",
    "?" + "a_" * 40,
    "/home/",
    "C:\\Users\\",
    "ghp_",
    "Error:\n",
    "OPENAI_API_KEY ",
    "AWS_ACCESS_KEY_ID:'",
]


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_hostile_text_takes_time_in_proportion(piece):
    text = piece * (400_000 // len(piece))
    began = time.perf_counter()
    AT_HOME.text(text)
    assert time.perf_counter() - began < 5, "a quadratic rule takes minutes for this"
