"""Bad input: one clear sentence, a code, a category, and nothing raised."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import anyio
import pytest
from loops import one_loop
from pydantic import Field

from ohm_subagents import Err, ErrorCode, Ohm
from ohm_subagents.plugin import Decision, Options, PluginInvalidError, hookimpl, install_command
from ohm_subagents.testing import HERMETIC, ScriptedBackend, quick_ohm

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("payload", "path", "complaint"),
    [
        (None, "", "The payload must be a JSON object, not null."),
        ("start", "", 'The payload must be a JSON object, not "start".'),
        ({}, "op", "'op' is missing; allowed:"),
        ({"op": "  "}, "op", "'op' is \"  \"; allowed:"),
        ({"op": 3}, "op", "'op' is 3; allowed:"),
        (
            {"op": "start", "subagent_type": "finder", "description": "d"},
            "prompt",
            "'prompt' is missing; it is required.",
        ),
        (
            {"op": "start", "subagent_type": "finder", "description": "d", "prompt": 7},
            "prompt",
            "'prompt' is 7; allowed: a non-blank text.",
        ),
        (
            {"op": "start", "subagent_type": "finder", "description": " ", "prompt": "p"},
            "description",
            "'description' is \" \"; allowed: a non-blank text.",
        ),
        (
            {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p", "async": "true"},
            "async",
            "'async' is \"true\"; allowed: true or false.",
        ),
        ({"op": "start", "tasks": []}, "tasks", "'tasks' is []; allowed: a list with at least one entry."),
        (
            {"op": "start", "tasks": [{"subagent_type": "finder", "description": "d", "prompt": "p"}, 3]},
            "tasks.1",
            "'tasks.1' is 3; allowed: an object with subagent_type, description and prompt.",
        ),
        (
            {"op": "start", "tasks": [{"subagent_type": "finder", "description": "d", "prompt": None}]},
            "tasks.0.prompt",
            "'tasks.0.prompt' is null; allowed: a non-blank text.",
        ),
    ],
)
@one_loop
async def test_a_wrong_payload_names_the_field_the_value_and_what_is_allowed(payload, path, complaint):
    async with quick_ohm() as ohm:
        result = await ohm.call("task", payload)

    assert result.is_error
    assert result.details["error_code"] == "invalid_task_tool_payload"
    assert result.details["error_category"] == "validation"
    assert result.details["summary"] == "Task tool payload failed validation" + (f" at {path}" if path else "")
    assert complaint in result.details["error_message"]
    assert complaint in result.text


CYCLE: list[object] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize("arguments", [{"op": b"\xff"}, CYCLE, {"op": object()}, {"op": {1, 2}}])
async def test_arguments_that_are_no_json_are_a_wrong_payload(arguments):
    async with quick_ohm() as ohm:
        result = await ohm.call("task", arguments)

    assert (result.is_error, result.details["error_code"]) == (True, "invalid_task_tool_payload")


@pytest.mark.parametrize("prompt", ["", "  ", "bad \udcff", "a\0b", None, 3])
@one_loop
async def test_a_prompt_that_is_no_text_is_refused(prompt):
    async with quick_ohm() as ohm:
        error = (await ohm.run("finder", prompt)).err_value

    assert error.code == ErrorCode.INVALID_TASK_PAYLOAD


@pytest.mark.parametrize(
    ("bad", "said"),
    [("half \ud83d", "holds bytes that are not Unicode text"), ("a\0b", "holds a NUL character"), (" ", "is blank")],
)
@one_loop
async def test_a_follow_up_is_refused_for_the_same_texts_as_a_prompt(bad, said):
    async with quick_ohm() as ohm:
        first = (await ohm.run("finder", bad)).unwrap_err()
        second = (await (await ohm.start("finder", "look")).send(bad)).unwrap_err()

    assert first.message == second.message == f"The prompt {said}."
    assert first.code == second.code == ErrorCode.INVALID_TASK_PAYLOAD


async def test_an_unknown_tool_lists_the_mounted_ones():
    async with quick_ohm() as ohm:
        result = await ohm.call("tusk", {})

    assert (result.is_error, result.details["error_code"], result.details["error_category"]) == (
        True,
        "unknown_tool",
        "not_found",
    )
    assert result.text.startswith("No tool is called 'tusk'. Did you mean 'task'? Mounted tools: ")


async def test_an_unknown_profile_lists_the_available_ones():
    async with quick_ohm() as ohm:
        error = (await ohm.run("code-reviewer", "x")).err_value

    assert (error.code, error.resolved_category) == (ErrorCode.UNKNOWN_SUBAGENT_TYPE, "not_found")
    assert str(error) == (
        "No subagent profile found for 'code-reviewer'. Available profiles: finder, librarian, oracle, painter, task."
    )


async def test_a_model_that_is_no_pattern_is_refused_before_anything_starts():
    async with quick_ohm() as ohm:
        error = (await ohm.run("finder", "x", model="gpt-4o")).err_value

    assert (error.code, error.resolved_category, error.task_id) == (ErrorCode.INVALID_MODEL, "validation", None)
    assert error.message == "Invalid subagent model 'gpt-4o'."


async def test_a_broken_ohm_json_stops_every_start_and_says_where(tmp_path):
    (tmp_path / "ohm.json").write_text('{\n  "subagents": {"permissions": {"default": "deny"},}\n  "features": {}\n}\n')
    async with Ohm.open(env=HERMETIC | {"PI_CONFIG_DIR": str(tmp_path)}, cwd=tmp_path) as ohm:
        result = await ohm.call("task", {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"})
        error = (await ohm.run("finder", "x")).err_value

    assert result.details["error_code"] == "task_config_load_failed"
    assert result.details["error_message"] == "Failed to load runtime config for task tool"
    assert f"{tmp_path / 'ohm.json'}:3:3" in str(error) or "line 3, column 3" in str(error)


async def test_a_backend_that_nobody_offers_lists_the_registered_ones():
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "custom-plugin"}) as ohm:
        error = (await ohm.run("finder", "x")).err_value

    assert error.code == ErrorCode.UNSUPPORTED_BACKEND
    assert str(error) == (
        "No plugin offers the subagent backend 'custom-plugin'. Set it where it is named, by the call (--backend), the "
        "subagent's 'backend' or subagentBackend, to one of: interactive-sdk, interactive-shell, none."
    )


@pytest.mark.parametrize(("backend", "extra"), [("ray", "ray"), ("claude", "cli"), ("codex", "cli")])
async def test_a_backend_of_a_distribution_of_ours_that_is_not_installed_is_told_how_it_is(backend, extra):
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": backend}) as ohm:
        error = (await ohm.run("finder", "x")).err_value

    assert error.code == ErrorCode.UNSUPPORTED_BACKEND
    assert error.advice.startswith(f"Install it: {install_command(extra)}. Set it where it is named, ")


async def test_a_misspelt_backend_of_a_call_is_told_where_a_call_names_it_and_no_task_is_kept():
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "none"}) as ohm:
        error = (await ohm.run("finder", "x", backend="nonne")).err_value
        assert not ohm.store.recent()
    assert error.task_id is None

    assert error.code == ErrorCode.UNSUPPORTED_BACKEND
    assert error.advice.startswith("Did you mean 'none'? Set it where it is named, by the call (--backend), ")


async def test_a_value_that_is_no_tool_is_refused_in_a_sentence():
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "none"}) as ohm:
        with pytest.raises(TypeError) as refused:
            await ohm.run("finder", "x", tools=[3])

    assert str(refused.value) == "3 is no tool; allowed: a Tool, a function, or the name of a tool."


class PacedOptions(Options):
    """Options of each kind of number, and a switch."""

    delay: Annotated[float, Field(gt=0, le=60)] = 1
    rate: Annotated[float, Field(ge=0, lt=1)] = 0
    loud: bool = False


class Paced(ScriptedBackend):
    """A backend with such options."""

    @hookimpl
    def ohm_backends(self):
        (spec,) = super().ohm_backends()
        return (replace(spec, options=PacedOptions),)


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"delay": "x"}, "delay' must be a number."),
        ({"delay": 0}, "delay' must be more than 0.0."),
        ({"delay": 61}, "delay' must be at most 60.0."),
        ({"rate": 1}, "rate' must be less than 1.0."),
        ({"loud": "very"}, "loud' must be true or false."),
    ],
)
async def test_a_wrong_number_or_switch_of_a_backend_is_told_in_plain_words(options, fact):
    config = {"subagentBackend": "paced", "subagents": {"backends": {"paced": options}}}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[Paced(id="paced")]) as ohm:
        error = (await ohm.run("finder", "x")).err_value
    assert error.message == f"'subagents.backends.paced.{fact}"


async def test_wrong_backend_options_name_the_key_and_the_value():
    config = {"subagentBackend": "none", "subagents": {"backends": {"none": {"speed": 3}}}}
    async with Ohm.open(env=HERMETIC, config=config) as ohm:
        error = (await ohm.run("finder", "x")).err_value

    assert (error.code, error.resolved_category) == (ErrorCode.BACKEND_OPTIONS_INVALID, "validation")
    assert error.message == "'subagents.backends.none.speed' is not an option of backend 'none'."


async def test_a_working_directory_that_is_none_is_told_as_soon_as_the_ohm_is_open(tmp_path):
    for cwd in (tmp_path / "missing", Path(__file__)):
        async with Ohm.open(env=HERMETIC, config={"subagentBackend": "none"}, cwd=cwd) as ohm:
            [told] = ohm.diagnostics
        assert (told.subject, told.severity) == ("cwd", "error")
        assert told.message == f"The working directory '{cwd}' is not a readable directory."


@one_loop
@pytest.mark.parametrize("cwd", ["/tmp/a\0b", "/tmp/\ud800"])
async def test_a_directory_that_no_path_can_name_is_refused_whatever_the_backend(cwd):
    async with quick_ohm() as ohm:
        error = (await ohm.run("finder", "x", cwd=cwd)).unwrap_err()
    assert str(error) == (f"cwd is {cwd!r}, which holds a character that no path can have. Give an existing directory.")
    assert error.code == ErrorCode.CWD_INVALID


@one_loop
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"cwd": "/tmp/a\0b"}, r"cwd is '/tmp/a\x00b', which holds a NUL, as no path can. Give another one."),
        ({"config": Path("/a\0")}, r"config is '/a\x00', which holds a NUL, as no path can."),
        ({"server": "\0"}, r"server is '\x00', which holds a NUL, as no path can."),
        ({"env": {"A": "key\0"}}, "env has 'A' with a NUL in its name or value, as no environment can. Leave it out."),
    ],
)
async def test_what_no_system_can_take_is_refused_at_open(option, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        async with Ohm.open(**option):
            pass


@one_loop
async def test_a_directory_of_a_call_that_is_not_there_is_refused_whatever_the_backend(tmp_path):
    missing = tmp_path / "missing"
    async with quick_ohm() as ohm:
        error = (await ohm.run("finder", "x", cwd=missing)).unwrap_err()
    assert error.message == f"The working directory '{missing}' is not a readable directory."
    assert (error.code, error.task_id) == (ErrorCode.CWD_UNREADABLE, None)


class TestOnAsyncio:
    """pydantic-ai runs on asyncio only."""

    @pytest.fixture
    def anyio_backend(self):
        return "asyncio"

    async def test_an_unreadable_cwd_is_refused_by_a_backend_that_works_on_files(self, tmp_path):
        async with Ohm.open(env=HERMETIC, cwd=tmp_path / "missing") as ohm:
            error = (await ohm.run("finder", "x")).err_value

        assert (error.code, error.resolved_category) == (ErrorCode.CWD_UNREADABLE, "validation")
        assert error.message == f"The working directory '{tmp_path / 'missing'}' is not a readable directory."

    async def test_a_profile_without_a_model_names_the_setting_and_the_keys(self, tmp_path):
        async with Ohm.open(env=HERMETIC, cwd=tmp_path) as ohm:
            error = (await ohm.run("task", "x")).err_value

        assert (error.code, error.resolved_category) == (ErrorCode.MODEL_MISSING, "runtime")
        for word in ("OHM_MODEL", "subagents.model", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
            assert word in error.message

    @pytest.mark.parametrize(
        ("model", "code", "words"),
        [
            ("opneai/gpt-4o", ErrorCode.MODEL_UNKNOWN, ("opneai", "openai")),
            ("anthropic/claude-sonnet-5-5", ErrorCode.MODEL_KEY_MISSING, ("ANTHROPIC_API_KEY",)),
            ("local/guess", ErrorCode.MODEL_UNKNOWN, ("local/search",)),
        ],
    )
    async def test_a_model_that_cannot_be_had_says_why(self, tmp_path, model, code, words):
        async with Ohm.open(env=HERMETIC, cwd=tmp_path) as ohm:
            error = (await ohm.run("finder", "x", model=model)).err_value

        assert error.code == code
        assert all(word in str(error) for word in words)


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"features": {"subagents": False}}, ErrorCode.SUBAGENTS_DISABLED),
        ({"subagents": {"permissions": {"subagents": {"finder": "deny"}}}}, ErrorCode.PERMISSION_DENIED),
        ({"subagents": {"permissions": {"subagents": {"finder": "denied"}}}}, ErrorCode.PERMISSION_DENIED),
        ({"subagents": {"permissions": {"default": "deny"}}}, ErrorCode.PERMISSION_DENIED),
    ],
)
async def test_policy_refuses_before_anything_starts(config, code):
    async with quick_ohm(config=config) as ohm:
        refused = await ohm.run("finder", "x")

    assert isinstance(refused, Err)
    assert (refused.err_value.code, refused.err_value.task_id) == (code, None)


async def test_a_feature_that_is_off_takes_its_profile_away():
    async with quick_ohm(config={"features": {"painterImagegen": False}}) as ohm:
        error = (await ohm.run("painter", "x")).err_value

    assert error.message == "Subagent 'painter' is disabled by feature flag 'painterImagegen'"


async def test_a_plugin_can_deny_and_its_allow_opens_nothing():
    class Rule:
        def __init__(self, verdict):
            self.__name__, self.verdict = verdict, verdict

        @hookimpl
        def ohm_permission(self, request):
            return Decision(verdict=self.verdict, source=self.__name__)

    deny_finder = {"subagents": {"permissions": {"subagents": {"finder": "deny"}}}}
    async with quick_ohm(plugins=[Rule("deny"), Rule("allow")]) as ohm:
        assert (await ohm.run("finder", "x")).err_value.code == ErrorCode.PERMISSION_DENIED
    async with quick_ohm(plugins=[Rule("allow")], config=deny_finder) as ohm:
        assert (await ohm.run("finder", "x")).err_value.code == ErrorCode.PERMISSION_DENIED


async def test_a_background_start_is_refused_with_the_documents_words():
    payload = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p", "async": True}
    async with quick_ohm() as ohm:
        details = (await ohm.call("task", payload)).details

    assert (details["error_code"], details["summary"]) == (
        "task_async_disabled",
        "Async/background subagent execution is disabled",
    )


async def test_a_misdeclared_plugin_that_is_passed_in_is_a_bug_of_the_program():
    class Typo:
        @hookimpl
        def ohm_backend(self):
            return []

    with pytest.raises(PluginInvalidError, match="ohm_backend"):
        async with Ohm.open(env=HERMETIC, plugins=[Typo()]):
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ("finder", {"subagent_type": "finder", "description": "d", "output_available": False}),
        ("nobody", {"subagent_type": "nobody", "description": "d", "invocation": "task-routed"}),
    ],
)
async def test_a_refused_start_says_what_was_asked_for(profile, told):
    async with quick_ohm(config={"subagents": {"permissions": {"subagents": {"finder": "deny"}}}}) as ohm:
        start = {"op": "start", "subagent_type": profile, "description": "d", "prompt": "p"}
        details = (await ohm.call("task", start)).details

    assert {name: details.get(name) for name in told} == told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"store": "sqlite"}, "store is the text 'sqlite'; allowed: a Store. `config` has the name of one: "),
        ({"profiles": ["finder"]}, "profiles has 'finder'; allowed: Profile objects, in place of all others."),
    ],
)
async def test_a_name_in_place_of_an_object_is_refused_in_a_sentence(options, told):
    with pytest.raises(TypeError, match=f"^{re.escape(told)}"):
        async with Ohm.open(env=HERMETIC, **options):
            pass


async def test_a_misspelt_option_is_answered_with_what_was_perhaps_meant():
    async with quick_ohm() as ohm:
        assert (await ohm.call("tsk", {})).text.startswith(
            "No tool is called 'tsk'. Did you mean 'task'? Mounted tools: "
        )
        with pytest.raises(TypeError, match=r"'modle'\. Did you mean 'model'\?$"):
            await ohm.run("finder", "x", modle="a/b")


async def test_the_path_of_no_configuration_is_a_diagnostic_and_the_answer_of_every_run(tmp_path):
    async with Ohm.open(env=HERMETIC, config=tmp_path / "missing.json") as ohm:
        (told,) = (one for one in ohm.diagnostics if one.severity == "error")
        assert f"{tmp_path}/missing.json" in told.message
        assert told.message in str((await ohm.run("finder", "x")).err_value)


async def test_a_configuration_that_cannot_be_read_is_a_diagnostic_before_anything_runs(tmp_path):
    (tmp_path / "ohm.json").write_text("{")
    async with Ohm.open(env=HERMETIC, config=tmp_path / "ohm.json") as ohm:
        (told,) = (one for one in ohm.diagnostics if one.severity == "error")
        assert told.message.startswith(f"Cannot read the configuration {tmp_path}/ohm.json: ")
        assert told.message in str((await ohm.run("finder", "x")).err_value)


@pytest.mark.parametrize("config", [5, [1], b"x", object()])
async def test_a_config_that_is_no_configuration_is_refused_in_a_sentence(config):
    with pytest.raises(TypeError, match=r"^config is .+; allowed: a mapping, the path of a file, or None\.$"):
        async with Ohm.open(config=config):
            pass


@pytest.mark.parametrize("profile", [5, None, b"x"])
async def test_a_value_in_place_of_a_profile_is_refused_in_a_sentence(profile):
    async with quick_ohm() as ohm:
        error = (await ohm.run(profile, "x")).unwrap_err()
    assert error.message == f"The profile is {profile!r}, but has to be the id of one or a `Profile`."


async def test_a_value_in_place_of_a_prompt_is_refused_in_a_sentence():
    async with quick_ohm() as ohm:
        assert (await ohm.run("finder", 5)).unwrap_err().message == "The prompt is 5, and no text."


@pytest.mark.parametrize("name", ["cwd", "env", "plugins", "suites", "profiles", "trust"])
async def test_an_option_of_a_wrong_type_is_refused_in_a_sentence(name):
    with pytest.raises(TypeError, match=rf"^{name} is 5; allowed: .+, or None\.$"):
        async with Ohm.open(**{name: 5}):
            pass
