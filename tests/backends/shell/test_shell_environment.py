"""The environment of a command-line agent (house 9.17)."""

import sys
from dataclasses import replace

from opentelemetry import trace
from recorded_spans import RecordedSpans
from run_requests import changed

from ohm_subagents.shell.environment import child_environment
from ohm_subagents.testing.scenarios import Scenarios, request_for

OURS = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_TIME": "C",
    "HTTPS_PROXY": "http://proxy",
    "OPENAI_API_KEY": "k1",
    "ANTHROPIC_API_KEY": "k2",
    "AWS_SECRET_ACCESS_KEY": "k3",
    "SSH_AUTH_SOCK": "/agent",
    "PI_CONFIG_DIR": "/rules",
    "OHM_SUBAGENTS_BLOCK_PLUGINS": "risky",
    "OHM_SUBAGENT_RUN_ID": "outer.1",
}


def seen(env_of_profile=(), **given):
    request = changed(request_for("hi", Scenarios()), env=OURS, depth=3)
    request = changed(request, profile=replace(request.profile, env=tuple(env_of_profile)))
    return child_environment(request, **given)


def test_a_child_sees_the_allowlist_and_where_it_stands_and_no_key():
    assert seen() == {
        "PATH": "/bin",
        "HOME": "/home/me",
        "LC_TIME": "C",
        "HTTPS_PROXY": "http://proxy",
        "PI_CONFIG_DIR": "/rules",
        "OHM_SUBAGENTS_BLOCK_PLUGINS": "risky",
        "OHM_SUBAGENT_RUN_ID": "outer.1",
        "PI_SUBAGENT_CHILD": "1",
        "PI_SUBAGENT_DEPTH": "3",
        "OHM_SUBAGENT_TASK": "task_1",
    }


def test_it_sees_the_keys_of_its_model_and_what_its_profile_names():
    more = seen(["SSH_AUTH_SOCK", "NOT_SET"], keys=["OPENAI_API_KEY"])
    assert {name: more[name] for name in more.keys() - seen().keys()} == {
        "SSH_AUTH_SOCK": "/agent",
        "OPENAI_API_KEY": "k1",
    }


def test_the_options_have_the_last_word_and_null_passes_ours_on():
    more = seen(extra={"PATH": "/usr/bin", "AWS_SECRET_ACCESS_KEY": None, "PI_SUBAGENT_DEPTH": "9", "NEW": "1"})
    assert (more["PATH"], more["AWS_SECRET_ACCESS_KEY"], more["NEW"]) == ("/usr/bin", "k3", "1")
    assert more["PI_SUBAGENT_DEPTH"] == "9"


def test_a_child_is_in_the_span_that_we_are_in_and_without_one_in_that_of_our_environment(monkeypatch):
    given = {
        "TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "TRACESTATE": "a=1",
        "BAGGAGE": "b=2",
    }
    monkeypatch.setattr(sys.modules[__name__], "OURS", OURS | given)
    assert {name: seen()[name] for name in given} == given

    RecordedSpans(monkeypatch)
    assert {name: seen()[name] for name in given} == given
    with trace.get_tracer("host").start_as_current_span("host") as span:
        ours = span.get_span_context()
        assert seen()["TRACEPARENT"].startswith(f"00-{ours.trace_id:032x}-{ours.span_id:016x}-")
        assert "TRACESTATE" not in seen(), "that belongs to the other trace"
