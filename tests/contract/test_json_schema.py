"""JSON schemas of users: what is accepted, what a value is held to, and that nothing is fetched for either."""

import socket

import pytest

from ohm_subagents._interpreters.fit import misfit
from ohm_subagents.contract.json_schema import placed, schema_fault

NODE = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}
CHAIN = {"$defs": {"node": NODE}, "$ref": "#/$defs/node"}


def nested(levels):
    value = {}
    for _ in range(levels):
        value = {"next": value}
    return value


@pytest.mark.parametrize(
    "schema",
    [
        CHAIN,
        {"definitions": {"name": {"type": "string"}}, "items": {"$ref": "#/definitions/name"}},
        {"properties": {"next": {"$ref": "#"}}},
        {"$id": "https://acme.test/s", "properties": {"next": {"$ref": "#"}}},
        {"$anchor": "top", "items": {"$ref": "#top"}},
        {"allOf": [True], "items": {"$ref": "#/allOf/0"}},
        {"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}},
        {"const": {"$ref": "http://acme.test/"}},
        {},
    ],
)
def test_a_schema_whose_references_lead_to_its_own_parts_is_accepted(schema):
    assert schema_fault(schema) is None


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "nothing"}, "'nothing' is not valid"),
        ({"pattern": "("}, "is not a 'regex'"),
        ({"$ref": "https://acme.test/s.json"}, "'https://acme.test/s.json' leads out of the schema"),
        ({"$id": "https://acme.test/s", "items": {"$ref": "t.json"}}, "'t.json' leads out"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "'file:///etc/passwd' leads out"),
        ({"items": {"$dynamicRef": "https://acme.test/"}}, "leads out"),
        ({"$ref": "#/$defs/nope"}, "'#/$defs/nope' leads nowhere"),
        ({"$ref": "#nope"}, "'#nope' leads nowhere"),
        ({"allOf": [True], "items": {"$ref": "#/allOf/x"}}, "'#/allOf/x' leads nowhere"),
        ({"const": {"a": {}}, "items": {"$ref": "#/const/a"}}, "'#/const/a' leads to no schema"),
        ({"items": {"$id": "https://acme.test/", "type": "string"}}, "only the whole schema may have an '$id'"),
        ({"$ref": "#"}, "in a circle"),
        ({"items": {"not": {"$ref": "#/items"}}}, "in a circle"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"$ref": "#/$defs/a"}]}}}, "in a circle"),
        ({"const": float("nan")}, "cannot be written as JSON"),
        ({"const": {1, 2}}, "cannot be written as JSON"),
        ("object", "a str"),
    ],
)
def test_a_schema_that_no_value_can_be_held_to_is_a_fault(schema, said):
    assert said in schema_fault(schema)


def test_a_schema_that_is_nested_too_deep_is_a_fault():
    schema = {}
    for _ in range(5_000):
        schema = {"not": schema}

    assert schema_fault(schema) == "it is nested too deep"


def test_nothing_is_fetched_even_for_a_schema_that_nobody_has_judged(tmp_path):
    (tmp_path / "s.json").write_text("true")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        for reference in (f"http://127.0.0.1:{server.getsockname()[1]}/s.json", (tmp_path / "s.json").as_uri()):
            assert "cannot be followed" in misfit(1, {"$ref": reference})
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_value_that_is_nested_deeper_than_can_be_looked_into_does_not_fit():
    assert misfit(nested(5), CHAIN) is None
    assert misfit(nested(2_000), CHAIN) == "'result' is nested too deep."


def test_what_does_not_fit_is_named():
    assert misfit({"next": {"next": 1}}, CHAIN) == "'result.next.next' does not fit: 1 is not of type 'object'."


def test_a_schema_can_stand_within_another():
    schema = {
        "$id": "https://acme.test/s",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"a": {"items": {"$ref": "#"}}},
        "definitions": {"b": {"$ref": "#/%24defs/a"}},
        "properties": {"x": {"$ref": "#/$defs/a"}, "y": {"$ref": "#/properties/x"}, "$ref": {"const": {"$ref": "#"}}},
    }
    body, definitions = placed(schema, "/properties/result")

    assert body == {
        "properties": {
            "x": {"$ref": "#/$defs/a"},
            "y": {"$ref": "#/properties/result/properties/x"},
            "$ref": {"const": {"$ref": "#"}},
        }
    }
    assert definitions == {
        "$defs": {"a": {"items": {"$ref": "#/properties/result"}}},
        "definitions": {"b": {"$ref": "#/%24defs/a"}},
    }
    assert schema["$defs"] == {"a": {"items": {"$ref": "#"}}}, "the schema itself is left as it is"
