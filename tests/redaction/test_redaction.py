"""Redaction: every form of the table of 001, known values, homes; nothing twice, and never slow."""

import html
import json
import re
import shlex
import time
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest

from ohm_subagents.redaction.known_values import secrets_of
from ohm_subagents.redaction.redactor import Redaction

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
    ("x at f (path)", "x at [REDACTED_PATH]"),
    ("x at f (C:\\Program Files (x86)\\acme\\a.js:1) y", "x at [REDACTED_PATH] y"),
    (" at page (app/(group)/secret/page.tsx) y", " at [REDACTED_PATH] y"),
    (" at f (a(b)/c.js) y", " at [REDACTED_PATH] y"),
    (" at f (a/(b.js) y", " at [REDACTED_PATH] y"),
    ("https://x.y/#access_token=abcdefghij&b=2", "https://x.y/#access_token=[REDACTED]&b=2"),
    ("https://x.y?a=1&amp;token=abcdefghij", "https://x.y?a=1&amp;token=[REDACTED]"),
    ("cc -I/home/joe/include -L/Users/ann", "cc -I~/include -L~"),
    ('{"a":"x\\n/home/joe/y\\n/home/ann"}', '{"a":"x\\n~/y\\n~"}'),
    ('{"a":"x\\nC:\\\\Users\\\\joe\\\\y"}', '{"a":"x\\n~\\\\y"}'),
    ("\x1b[01;35m/home/joe\x1b[m:1", "\x1b[01;35m~\x1b[m:1"),
    ("/mnt/c/Users/joe/x /c/Users/joe/x C:/Users/joe/x", "~/x ~/x ~/x"),
    ("/var/home/joe/x", "~/x"),
]


@pytest.mark.parametrize(("text", "redacted"), TABLE)
def test_each_form_of_the_table_is_cut_out_and_stays_so(text, redacted):
    assert AT_HOME.text(text) == redacted
    assert AT_HOME.text(redacted) == redacted


SCHEMES = [
    "token {}",
    "Basic {}",
    "ApiKey id:{}",
    "Negotiate {}",
    "SharedKey account:{}",
    'Digest username="ann", realm="r", response="{}"',
    'OAuth oauth_consumer_key="k", oauth_signature="{}"',
    "AWS4-HMAC-SHA256 Credential=AK/2020/us, SignedHeaders=host;x, Signature={}",
    'Hawk id="a", ts="1", mac="{}"',
    "X-Own.Scheme {}",
    "{}",
]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", ["Authorization", "authorization", "Proxy-Authorization"])
def test_the_credentials_of_every_scheme_are_cut_out_of_an_authorization(name, scheme):
    value = scheme.format("q7K9zzT")
    texts = [
        f"{name}: {value}",
        f"{name}:{value}\nHost: x",
        f"curl -H '{name}: {value}' https://x.y/z",
        f'curl -H "{name}: {value}" https://x.y/z',
        json.dumps({"headers": f"{name}: {value}"}),
        json.dumps({name: value}),
        json.dumps(json.dumps({name: value})),
        f"('{name}', '{value}')",
    ]
    for text in texts:
        for told in (AT_HOME.text(text), AT_HOME.cut_off(text)):
            assert "q7K9zzT" not in told, text
            assert "[REDACTED]" in told
            assert AT_HOME.text(told) == told
    assert "https://x.y/z" in AT_HOME.text(texts[2])
    assert "Host: x" in AT_HOME.text(texts[1])
    assert "q7K9zzT" not in json.dumps(AT_HOME.json({name: value, "a": [{"name": name, "value": value}]}))


SHAPES = {
    "private key": "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA7\n"
    "abcDEF12345678901234\nQ7==\n-----END RSA PRIVATE KEY-----",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlMTI",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "anthropic": "sk-ant-api03-AbCdEfGhIjKlMnOpQrSt",
    "openai": "sk-proj-abcdefghij1234567890",
    "stripe": "sk_live_abcdefghij1234567890",
    "github": "github_pat_11ABCDEFG0abcdefghijkl_x",
    "gitlab": "glpat-abcdefghij1234567890",
    "slack": "xoxb-123456789012-abcdefg",
    "npm": "npm_abcdefghijklmnopqrstuvwxyz0123456789",
}


@pytest.mark.parametrize("secret", SHAPES.values(), ids=SHAPES)
def test_what_looks_like_the_key_of_a_service_goes_wherever_it_stands(secret):
    for text in (secret, f"it is {secret}.", f'{{"a": "{secret}"}}', json.dumps({"a": secret}), f"x={secret};"):
        told = AT_HOME.text(text)
        assert not any(line in told for line in secret.split("\n") if len(line) > 15 and not line.startswith("-----"))
        assert AT_HOME.text(told) == told
    begun = secret[: secret.rindex("-----END")] if secret.startswith("-----") else secret[:14]
    told = AT_HOME.cut_off(f"it is {begun}")
    assert told == "it is [REDACTED]"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("password=hunter2", "password=[REDACTED]"),
        ("DB_PASSWORD: s3same!x", "DB_PASSWORD=[REDACTED]"),
        ("PGPASSWORD=abc12345 psql", "PGPASSWORD=[REDACTED] psql"),
        ("passphrase = 'open sesame'", "passphrase = 'open sesame'"),
        ('{"password": "letmein"}', '{"password=[REDACTED]}'),
        ("client_secret=abcdef0123456789ab", "client_secret=[REDACTED]"),
        ("token: abcdef0123456789ab", "token=[REDACTED]"),
        ('refresh_token="abcdefghijklmnopqrs"', "refresh_token=[REDACTED]"),
        ("postgres://u:p4ss@h/db", "postgres://u:[REDACTED]@h/db"),
        ("https://x.y/?sig=abcdefghijklmnop&x=1", "https://x.y/?sig=[REDACTED]&x=1"),
        ("https://x?X-Amz-Signature=abcdefghijklmn", "https://x?X-Amz-Signature=[REDACTED]"),
    ],
)
def test_what_is_named_a_password_or_a_token_goes(text, redacted):
    assert AT_HOME.text(text) == redacted
    assert AT_HOME.text(redacted) == redacted


def test_texts_under_the_name_of_a_password_or_a_token_go():
    value = {"password": "letmein", "dbPassphrase": "correct horse", "clientSecret": KEY, "token": KEY, "tokens": KEY}
    assert AT_HOME.json(value) == {**dict.fromkeys(value, "[REDACTED]"), "tokens": KEY}


@pytest.mark.parametrize(
    "text",
    [
        "api_key=short",
        "password = get_password()",
        "password: string",
        "def f(password: str, token: str | None = None)",
        "token = self.tokens[0]",
        "next_token=None",
        "tokenizer: abcdef0123456789ab",
        "pwd=/srv/x/1",
        "task-abcdefghij1234567890 risk-1",
        "sk-learn-is-a-nice-library-of-python",
        "look for -----BEGIN PRIVATE KEY----- in files, please",
        "http://localhost:8080/x@y",
        "authorization is needed",
        "The password is asked for.",
        "GHP_" + "A" * 36,
        "ghp_short",
        "export FOO=short",
        "?author=abcdefghijkl",
        "/srv/people/anna/x",
        "We met at noon (or later).",
        "We met at noon (or (much) later).",
        "It is at f ().",
        "src/home/page.tsx and x-I/home/page",
        "https://x.y/home/joe",
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


VALUES = ["K3y/with+all=of&<>'\"it", "pl41nvalue-of_letters.and~more", "p\u00e4ss w\u00f6rd!*()12"]
WAYS = {
    "as it is": lambda value: value,
    "quote": quote,
    "quote all": lambda value: quote(value, safe=""),
    "urlencode": quote_plus,
    "encodeURIComponent": lambda value: quote(value, safe="!'()*"),
    "encodeURI": lambda value: quote(value, safe="!*'();/?:@&=+$,#"),
    "lower case": lambda value: re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), quote(value, safe="")),
    "quoted twice": lambda value: quote(quote(value, safe=""), safe=""),
    "HTML": html.escape,
    "HTML but quotes": lambda value: html.escape(value, quote=False),
    "HTML by numbers": lambda value: html.escape(value).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
    "JSON": json.dumps,
    "JSON in JSON": lambda value: json.dumps(json.dumps(value)),
    "JSON in Unicode": lambda value: json.dumps(value, ensure_ascii=False),
    "JSON of PHP": lambda value: json.dumps(value).replace("/", "\\/"),
    "JSON of Go": lambda value: re.sub("[&<>]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value)),
    "shell": shlex.quote,
    "base64": lambda value: b64encode(value.encode()).decode(),
    "base64 of addresses": lambda value: urlsafe_b64encode(value.encode()).decode().rstrip("="),
    "user and password in base64": lambda value: b64encode(f"ann:{value}".encode()).decode(),
    "base64 in something": lambda value: b64encode(f"ab{value}yz".encode()).decode(),
    "hexadecimal": lambda value: value.encode().hex(),
    "HEXADECIMAL": lambda value: value.encode().hex().upper(),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("value", VALUES)
def test_a_known_value_goes_however_it_is_written(value, way):
    redaction, written = Redaction(secrets=(value,)), way(value)
    told = redaction.text(f"it is {written} there")
    assert "[REDACTED]" in told
    assert written[3:-6] not in told
    assert redaction.text(told) == told
    assert "[REDACTED]" in redaction.cut_off(f"it is {written[:-8]}")


@pytest.mark.parametrize(
    "name", ["DB_PASS", "MYSQL_PWD", "SSH_PASSPHRASE", "DATABASE_URL", "ACME_KEY", "SOME_PASSWORD"]
)
def test_a_variable_is_known_to_be_secret_by_its_name(name):
    assert secrets_of({name: "a-secret-value", "PWD": "/srv/a/place", "OLDPWD": "/srv/a/place"}) == ("a-secret-value",)


def test_the_password_in_an_address_of_the_environment_is_secret():
    assert secrets_of({"SOME_PROXY": "http://ann:s3cret%2Fword@proxy:8080"}) == ("s3cret%2Fword", "s3cret/word")


def test_a_value_is_a_secret_from_eight_characters_on():
    assert secrets_of({"API_KEY": "12345678", "OTHER_KEY": "1234567"}) == ("12345678",)
    assert Redaction(secrets=("12345678", "1234567")).text("12345678, 1234567") == "[REDACTED], 1234567"


def test_of_a_text_that_broke_off_the_beginning_of_a_secret_goes_though_another_stands_before_it():
    redaction = Redaction(secrets=("token-abc-0123456789-0123456789",))
    assert redaction.cut_off("it is token-abc or token-abc-01") == "it is token-abc or [REDACTED]"


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


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("Authorization", ["Basic dXNlcjpwYXNz"]),
        ("api_key", [KEY]),
        ("apiKey", {"value": KEY}),
        ("api_key", {"password": "dXNlcjpw"}),
        ("password", {"api_key": "dXNlcjpw"}),
        ("headers", {"authorization": {"values": [{"text": "x"}]}}),
        ("headers", [{"name": "Authorization", "value": "Basic dXNlcjpwYXNz"}]),
    ],
)
def test_the_name_of_a_secret_covers_what_is_nested_under_it(key, value):
    told = json.dumps(AT_HOME.object({key: value}))
    assert "[REDACTED]" in told
    assert not any(secret in told for secret in (KEY, "dXNl", '"x"'))


def test_under_the_name_of_a_secret_short_texts_and_other_values_stay():
    value = {"api_key": {"name": "main", "uses": [7, None, True]}}
    assert AT_HOME.object(value) == value


def test_keys_that_are_alike_without_their_secrets_keep_their_values():
    value = {"/home/ann": 1, "/home/bob": 2, "~ (2)": 3, "/home/eve": 4}
    told = AT_HOME.object(value)
    assert sorted(told.values()) == [1, 2, 3, 4]
    assert told["~"] == 1
    assert all(key.startswith("~") for key in told)


BROKEN_OFF = [
    ("the key is hunter2/", "the key is [REDACTED]"),
    ("the key is hunt", "the key is [REDACTED]"),
    ("it is hunter2%2F%22qu", "it is [REDACTED]"),
    ('{"a": "hunter2/\\"quo', '{"a": "[REDACTED]'),
    ("api_key=ABCDEFGHIJKLMNOPQR", "api_key=[REDACTED]"),
    ("api_key=ABChunt", "api_key=[REDACTED]"),
    ("AWS_SECRET_ACCESS_KEY: 'wJal/", "AWS_SECRET_ACCESS_KEY=[REDACTED]"),
    ('OPENAI_API_KEY="sk-', "OPENAI_API_KEY=[REDACTED]"),
    ("ghp_abc", "[GITHUB_TOKEN_REDACTED]"),
    ("a\nexport FOO=abc", "a[ENV_VAR_REDACTED]"),
    ('a\nexport FOO="some words', "a[ENV_VAR_REDACTED]"),
    ("https://x.y?token=abc", "https://x.y?token=[REDACTED]"),
    ("Authorization: Ba", "Authorization: [REDACTED]"),
    ("Error: x\n    at foo (src/", "Error: x at [REDACTED_PATH]"),
]


@pytest.mark.parametrize(("text", "redacted"), BROKEN_OFF)
def test_a_text_that_broke_off_loses_what_a_secret_may_begin_with(text, redacted):
    assert AT_HOME.cut_off(text) == redacted
    assert AT_HOME.cut_off(redacted) == redacted


@pytest.mark.parametrize("text", ["", "All done.", "the key is hun", "api_key=short, and so on", "(at home"])
def test_a_text_that_broke_off_elsewhere_stays(text):
    assert AT_HOME.cut_off(text) == text


def test_the_longest_beginning_goes_even_if_a_shorter_value_is_whole():
    assert Redaction(secrets=("12345678", "12345678-long")).cut_off("x 12345678-lo") == "x [REDACTED]"


def test_a_redaction_that_remembers_looks_at_each_text_once(monkeypatch):
    looked, plain = [], Redaction.text
    monkeypatch.setattr(Redaction, "text", lambda self, text: looked.append(text) or plain(self, text))
    once = AT_HOME.remembering()
    secret = f"it is {SECRET}!"
    assert once.text(secret) == once.text(secret) == once.text("it is [REDACTED]!") == "it is [REDACTED]!"
    assert once.object({"a": [secret]}) == {"a": ["it is [REDACTED]!"]}
    assert looked == [secret, "a"]
    put_together = once.composed(f"{once.cut_off('it is hunt')}\n\n{secret}")
    assert once.text(put_together) == put_together
    assert once.text("it is [REDACTED]") == "it is [REDACTED]"
    assert looked == [secret, "a"]


def test_a_redaction_shows_no_secret_when_it_is_printed():
    assert "hunter2" not in repr(AT_HOME)
    assert "hunter2" not in repr(AT_HOME.remembering())


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
    " at f ((a)",
    " at f ((a(",
    "-I/",
    "\x1b[m/home/",
    "/mnt/c",
    "?token=",
    "#token=a",
    "\\nexport A=x",
    "hunter2",
    "Authorization: a ",
    "Authorization: a b=c,",
    'Authorization: a b="',
    "Authorization',",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\nA: b\n",
    "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA\n",
    "eyJabcdefgh.",
    "sk-a",
    "AKIA",
    "a://b:",
    "a://b:c",
    "password=",
    "password='a",
    "token: a",
    "?a-a-a-a-",
]


@pytest.mark.sample(4)
@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_hostile_text_is_redacted_before_the_time_of_a_test_is_over(piece):
    """A quadratic rule takes minutes of work for this, as ours take a tenth of a second."""
    text = piece * (50_000 // len(piece))
    begun = time.process_time()
    redacted = AT_HOME.text(text)
    assert AT_HOME.text(redacted) == redacted
    assert AT_HOME.cut_off(text) is not None
    assert time.process_time() - begun < 5


PEM = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQC7\nshort==\n-----END KEY-----\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("k.txt:2:MIIEvQIBADANBgkqhkiG9w0BAQ", "k.txt:2:[REDACTED]"),
        ("    EFAASCBKcwggSjAgEAAoIBAQC7\n", "    [REDACTED]\n"),
        ("-----BEGIN KEY-----", "-----BEGIN KEY-----"),
        (f"x {PEM}", "x [REDACTED]"),
        ("short==", "short=="),
    ],
)
def test_a_key_of_several_lines_is_known_by_each(text, shown):
    assert Redaction(secrets=(PEM,)).text(text) == shown
