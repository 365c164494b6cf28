"""A request as a backend reads it."""

from dataclasses import fields

from ohm_subagents.plugin import Profile, RunRequest, RunSpec


def test_every_field_of_a_spec_can_be_read_at_the_request(tmp_path):
    finder = Profile(id="finder", name="Finder", summary="", prompt="")
    spec = RunSpec(profile=finder, description="d", instructions="i", cwd=tmp_path, tools=("read",), env={"A": "b"})
    request = RunRequest(task_id="t", session_id="s", prompt="p", spec=spec)

    for field in fields(RunSpec):
        assert getattr(request, field.name) is getattr(spec, field.name)
