"""JSON with comments and trailing commas; every fault and every key knows its line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents._config.jsonc import parse_jsonc
from ohm_subagents.contract.result import Err

NESTED = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def value_of(text: str):
    parsed = parse_jsonc(text)
    assert not isinstance(parsed, Err), parsed
    return parsed.ok_value.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('// first\n{"a": 1} // last', {"a": 1}),
        ('{/* "b": 2, */ "a": 1}', {"a": 1}),
        ("/* a\n b */[1]", [1]),
        ('{"a": [1, 2,], "b": {"c": 3,},}', {"a": [1, 2], "b": {"c": 3}}),
        ("[1, /* one more, */ ]", [1]),
        (
            '{"url": "http://x//y", "c": "/* no comment */", "t": ",]"}',
            {"url": "http://x//y", "c": "/* no comment */", "t": ",]"},
        ),
        (r'["a\"//b", "\\", 1,]', ['a"//b', "\\", 1]),
        ("[1,//]\n]", [1]),
        ("{}", {}),
        ("[]", []),
        ("\r\n{\r\n}\r\n", {}),
        ("-1.5e3", -1500.0),
    ],
)
def test_comments_trailing_commas_and_a_byte_order_mark_are_read(text, value):
    assert value_of(text) == value


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("", 0, 0, "the file is empty"),
        ("\ufeff \n", 0, 0, "the file is empty"),
        ("{ nope", 1, 3, "expecting property name enclosed in double quotes"),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3, "expecting ',' delimiter"),
        ('{\n  // a comment, "with": text\n  "a": tru,\n}', 3, 8, "expecting value"),
        ("[1,,]", 1, 4, "expecting value"),
        ("[,]", 1, 2, "expecting value"),
        ('{"a":,}', 1, 6, "expecting value"),
        ('{"a": 1}}', 1, 9, "extra data"),
        ('["a\nb"]', 1, 4, "invalid control character at"),
        ('["never closed', 1, 2, "unterminated string starting at"),
        ('{"a": 1}\n  /* never closed', 2, 3, "unterminated comment"),
        ("{'a': 1}", 1, 2, "expecting property name enclosed in double quotes"),
        ("[1] / 2", 1, 5, "extra data"),
    ],
)
def test_a_fault_is_told_with_its_line_and_column(text, line, column, problem):
    parsed = parse_jsonc(text)
    assert isinstance(parsed, Err)
    assert (parsed.err_value.line, parsed.err_value.column, parsed.err_value.problem) == (line, column, problem)


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", "[" * 100_000, "1" * 5000], ids=["nan", "infinity", "deep", "long"]
)
def test_what_json_cannot_hold_is_a_fault_and_no_exception(text):
    assert isinstance(parse_jsonc(text), Err)


def test_every_key_and_item_knows_its_line_and_column():
    parsed = parse_jsonc('{\n"a": {"b":\n1, "c": [\n10, {\n"d": "x:y"}, [], [5]\n]}, // "no": 1\n"e": ":"}')
    assert not isinstance(parsed, Err)
    assert parsed.ok_value.spots == {
        ("a",): ((2, 1),),
        ("a", "b"): ((2, 7),),
        ("a", "c"): ((3, 4),),
        ("a", "c", "0"): ((4, 1),),
        ("a", "c", "1"): ((4, 5),),
        ("a", "c", "1", "d"): ((5, 1),),
        ("a", "c", "2"): ((5, 14),),
        ("a", "c", "3"): ((5, 18),),
        ("a", "c", "3", "0"): ((5, 19),),
        ("e",): ((7, 1),),
    }


@pytest.mark.parametrize(
    ("text", "value", "repeated"),
    [
        ('{"a": 1, "a": 2}', {"a": 2}, [("a",)]),
        ('{"a": {"b": 1}, "a": {"c": 2}}', {"a": {"b": 1, "c": 2}}, [("a",)]),
        ('{"a": {"b": 1}, "a": {"b": 2}}', {"a": {"b": 2}}, [("a",), ("a", "b")]),
        ('{"a": {"b": 1}, "a": 3}', {"a": {"b": 1}}, [("a",)]),
        ('{"a": 3, "a": {"b": 1}}', {"a": {"b": 1}}, [("a",)]),
        ('{"a": [1, 1], "b": [1]}', {"a": [1, 1], "b": [1]}, []),
        (r'{"a": 1, "\u0061": 2}', {"a": 2}, [("a",)]),
    ],
)
def test_a_key_given_twice_is_told_and_an_object_never_vanishes_behind_it(text, value, repeated):
    parsed = parse_jsonc(text)
    assert not isinstance(parsed, Err)
    assert parsed.ok_value.value == value
    assert list(parsed.ok_value.repeated) == repeated


@given(NESTED)
def test_plain_json_is_read_as_json_reads_it(value):
    assert value_of(json.dumps(value, indent=1)) == value


@given(NESTED, st.sampled_from(["// x, ]\n", "/* , } */", "\n\t ", "/**/"]))
def test_comments_and_trailing_commas_change_no_value(value, noise):
    text = json.dumps(value)
    pieces = parse_pieces(text)
    noisy = noise + noise.join(pieces) + noise
    assert value_of(noisy) == value


def parse_pieces(text: str) -> list[str]:
    """The tokens of valid JSON, with a comma before every bracket that closes something."""
    pieces: list[str] = []
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        if text[at] in "[]{},: ":
            if text[at] in "]}" and pieces[-1] not in {"[", "{"}:
                pieces.append(",")
            if text[at] != " ":
                pieces.append(text[at])
            at += 1
        else:
            _, end = decoder.raw_decode(text, at)
            pieces.append(text[at:end])
            at = end
    return pieces


@given(st.text(alphabet='{}[],:"/*\\ \n1at'))
def test_no_text_makes_the_parser_raise(text):
    parsed = parse_jsonc(text)
    try:
        expected = json.loads(text)
    except ValueError:
        return
    assert not isinstance(parsed, Err)
    assert isinstance(expected, dict) or parsed.ok_value.value == expected
