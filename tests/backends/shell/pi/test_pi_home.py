"""The private configuration directory of a nested `pi`."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pi_streams import pattern, request
from run_requests import changed

from ohm_subagents.backends.pi.config_dir import PiHome
from ohm_subagents.backends.pi.keys import VARIABLES
from ohm_subagents.backends.pi.options import PiOptions
from ohm_subagents.backends.pi.probe import PiVersion
from ohm_subagents.backends.pi.spec import interactive_shell_spec
from ohm_subagents.contract import ErrorCode
from ohm_subagents.contract.services import CompatibleModel, CompatibleProvider
from ohm_subagents.redaction.known_values import secrets_of

OLD = PiVersion(version=(0, 74, 2), text="0.74.2")
NEW = PiVersion(version=(1, 5, 2), text="1.5.2")
ACME = CompatibleProvider(
    name="Acme",
    base_url="http://127.0.0.1:1/v1",
    api_key_env="ACME_KEY",
    models=(CompatibleModel(id="m1", supports_thinking=True, context_window=50_000),),
)


@pytest.fixture
def user(tmp_path) -> Path:
    """The user's home, with a configuration of pi."""
    agent = tmp_path / "user" / ".pi" / "agent"
    agent.mkdir(parents=True)
    (agent / "auth.json").write_text('{"anthropic":{"type":"api_key","key":"sk-secret"}}')
    (agent / "settings.json").write_text('{"defaultProvider":"anthropic"}')
    (agent / "models.json").write_text('{"providers":{"mine":{"baseUrl":"http://x","apiKey":"$MINE_KEY"}}}')
    return tmp_path / "user"


def agent_of(user: Path) -> Path:
    return user / ".pi" / "agent"


def run_of(user: Path, model: str = "", **env: str):
    return request(env={"HOME": str(user), **env}, model=pattern(model) if model else None)


def test_the_directory_and_its_files_are_private_copies(tmp_path, user):
    folder = tmp_path / "private"
    assert list(PiHome(folder).refresh(run_of(user), NEW)) == []

    assert folder.stat().st_mode & 0o777 == 0o700
    for name in ("auth.json", "settings.json", "models.json"):
        assert (folder / name).read_bytes() == (agent_of(user) / name).read_bytes()
        assert (folder / name).stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in folder.iterdir()) == ["auth.json", "models.json", "settings.json"]


def test_the_directory_that_the_environment_names_is_the_user_s(tmp_path, user):
    for named in ("~/.pi/agent", str(agent_of(user))):
        folder = tmp_path / f"private-{len(named)}"
        PiHome(folder).refresh(run_of(user, PI_CODING_AGENT_DIR=named), NEW)
        assert (folder / "auth.json").exists()

    elsewhere = tmp_path / "elsewhere"
    PiHome(elsewhere).refresh(run_of(user, PI_CODING_AGENT_DIR=str(tmp_path / "nothing")), NEW)
    assert list(elsewhere.iterdir()) == []


def test_without_a_home_there_is_nothing_to_copy(tmp_path):
    assert list(PiHome(tmp_path / "private").refresh(request(), NEW)) == []


def test_what_the_child_has_written_stays_until_the_user_s_file_changes(tmp_path, user):
    home = PiHome(tmp_path / "private")
    home.refresh(run_of(user), NEW)
    copy, original = tmp_path / "private" / "auth.json", agent_of(user) / "auth.json"
    copy.write_text('{"renewed":{}}')
    home.refresh(run_of(user), NEW)
    assert copy.read_text() == '{"renewed":{}}'

    original.write_text('{"anthropic":{"type":"api_key","key":"sk-another"}}')
    home.refresh(run_of(user), NEW)
    assert copy.read_bytes() == original.read_bytes()

    original.unlink()
    home.refresh(run_of(user), NEW)
    assert not copy.exists()


def test_nothing_of_the_user_s_is_touched(tmp_path, user):
    before = {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in agent_of(user).iterdir()}
    home = PiHome(tmp_path / "private", [ACME])
    home.refresh(run_of(user, "acme/m2"), NEW)
    (tmp_path / "private" / "settings.json").write_text("{}")

    assert {file.name: (file.read_bytes(), file.stat().st_mtime_ns) for file in agent_of(user).iterdir()} == before


def test_the_programs_that_pi_has_fetched_are_found(tmp_path, user):
    (agent_of(user) / "bin").mkdir()
    (agent_of(user) / "bin" / "rg").write_text("")
    home = PiHome(tmp_path / "private")
    home.refresh(run_of(user), NEW)
    home.refresh(run_of(user), NEW)

    assert (tmp_path / "private" / "bin" / "rg").exists()


def listed(folder: Path) -> dict:
    return json.loads((folder / "models.json").read_text())["providers"]


@pytest.mark.parametrize(("pi", "key"), [(OLD, "ACME_KEY"), (NEW, "$ACME_KEY")])
def test_the_services_of_ohm_json_are_added_as_the_release_understands_them(tmp_path, user, pi, key):
    home = PiHome(tmp_path / "private", [ACME])
    home.refresh(run_of(user, "acme/m2"), pi)
    providers = listed(tmp_path / "private")

    assert providers["mine"] == {"baseUrl": "http://x", "apiKey": "$MINE_KEY"}
    assert providers["acme"] == {
        "baseUrl": "http://127.0.0.1:1/v1",
        "api": "openai-completions",
        "apiKey": key,
        "models": [{"id": "m2"}, {"id": "m1", "reasoning": True, "contextWindow": 50_000}],
    }


def test_every_model_that_was_asked_for_stays_listed(tmp_path, user):
    home = PiHome(tmp_path / "private", [ACME])
    for model in ("acme/m2", "acme/m3", "acme/m2", "acme/m1"):
        home.refresh(run_of(user, model), NEW)

    assert [model["id"] for model in listed(tmp_path / "private")["acme"]["models"]] == ["m2", "m3", "m1"]


def test_a_provider_that_the_user_has_configured_for_pi_stays_as_it_is(tmp_path, user):
    (agent_of(user) / "models.json").write_text('{"providers":{"acme":{"baseUrl":"http://theirs"}}}')
    PiHome(tmp_path / "private", [ACME]).refresh(run_of(user), NEW)

    assert listed(tmp_path / "private") == {"acme": {"baseUrl": "http://theirs"}}


def test_a_service_without_a_key_gets_a_word_in_its_place(tmp_path):
    free = CompatibleProvider(name="free", base_url="http://127.0.0.1:1/v1")
    PiHome(tmp_path / "private", [free]).refresh(request(model=pattern("free/m")), NEW)

    assert listed(tmp_path / "private")["free"]["apiKey"] == "no-key"


@pytest.mark.parametrize("text", ['{"providers":{} /* mine */}', "{", "[]", '{"providers":[1]}'])
def test_a_models_file_that_is_not_plain_is_copied_as_it_is(tmp_path, user, text):
    (agent_of(user) / "models.json").write_text(text)
    home = PiHome(tmp_path / "private", [ACME])
    [told] = home.refresh(run_of(user), NEW)

    assert (tmp_path / "private" / "models.json").read_text() == text
    assert "acme" in told.diagnostic.message
    assert list(home.refresh(run_of(user), NEW)) == []  # once is enough
    assert list(PiHome(tmp_path / "other").refresh(run_of(user), NEW)) == []  # nothing was to be added


KEYS = {
    "ANTHROPIC_API_KEY": "a",
    "OPENAI_API_KEY": "o",
    "AZURE_OPENAI_API_KEY": "z",
    "AZURE_OPENAI_BASE_URL": "https://z",
    "AWS_PROFILE": "p",
    "ACME_KEY": "k",
    "MINE_KEY": "m",
    "GITHUB_TOKEN": "g",
}


@pytest.mark.parametrize(
    ("model", "keys"),
    [
        ("openai/gpt-6", {"OPENAI_API_KEY"}),
        ("azure/gpt-6", {"AZURE_OPENAI_API_KEY", "AZURE_OPENAI_BASE_URL"}),
        ("amazon-bedrock/x", {"AWS_PROFILE"}),
        ("acme/m1", {"ACME_KEY"}),
        ("mine/x", {"MINE_KEY"}),
        ("nobody/x", set()),
        ("", {"ANTHROPIC_API_KEY"}),  # the provider of settings.json
    ],
)
def test_the_child_gets_the_keys_of_its_provider_and_no_others(tmp_path, user, model, keys):
    home = PiHome(tmp_path / "private", [ACME])
    run = run_of(user, model, **KEYS)
    home.refresh(run, NEW)

    assert home.keys_for(run) == keys


def test_with_no_provider_named_anywhere_the_keys_of_all_providers_are_passed_on(tmp_path, user):
    (agent_of(user) / "settings.json").unlink()
    home = PiHome(tmp_path / "private", [ACME])
    run = run_of(user, **KEYS)
    home.refresh(run, NEW)

    assert home.keys_for(run) == KEYS.keys() - {"GITHUB_TOKEN"}


def test_variables_are_found_in_a_models_file_with_comments_too(tmp_path, user):
    (agent_of(user) / "models.json").write_text('{"providers":{"mine":{"apiKey":"MINE_KEY"}}} // old')
    home = PiHome(tmp_path / "private")
    run = run_of(user, "mine/x", **KEYS)
    home.refresh(run, NEW)

    assert home.keys_for(run) == {"MINE_KEY"}


def test_pi_is_kept_from_doing_anything_but_its_work(tmp_path, user):
    home = PiHome(tmp_path / "private")

    assert home.environment(run_of(user)) == {
        "PI_CODING_AGENT_DIR": str(tmp_path / "private"),
        "PI_CONFIG_DIR": "~/.pi/agent",
        "PI_OFFLINE": "1",
        "PI_SKIP_VERSION_CHECK": "1",
        "PI_TELEMETRY": "0",
    }


def test_our_second_name_of_google_s_key_works_for_pi(tmp_path, user):
    home = PiHome(tmp_path / "private")

    assert home.environment(run_of(user, "google/g", GOOGLE_API_KEY="k"))["GEMINI_API_KEY"] == "k"
    both = run_of(user, "google/g", GOOGLE_API_KEY="k", GEMINI_API_KEY="j")
    assert "GEMINI_API_KEY" not in home.environment(both)
    assert home.keys_for(both) == {"GEMINI_API_KEY"}
    assert "GEMINI_API_KEY" not in home.environment(run_of(user, "openai/g", GOOGLE_API_KEY="k"))


def test_the_keys_of_our_own_providers_are_known_for_pi_too():
    from ohm_subagents.backends.in_process.providers import builtin_model_specs

    unknown = {spec.provider for spec in builtin_model_specs({}) if spec.keys} - VARIABLES.keys()

    assert unknown == set()


def test_a_secret_is_known_by_the_name_of_its_variable():
    env = {"ACME_KEY": "long-enough", "X_TOKEN": "even-longer-one", "HOME": "/home/someone", "SHORT_KEY": "abc"}

    assert secrets_of(env) == ("even-longer-one", "long-enough")


def test_the_secrets_of_a_run_are_those_of_its_environment_of_the_options_and_of_the_copied_files(tmp_path, user):
    (agent_of(user) / "auth.json").write_text(
        '{"anthropic":{"type":"oauth","access":"access-of-login","refresh":"refresh-of-login","expires":1793000000}}'
    )
    (agent_of(user) / "models.json").write_text(
        """{ // with a comment
        "providers": {
            "mine": {"baseUrl": "http://written-out", "apiKey": "literal-of-mine", "models": [{"id": "model-of-mine"}]},
            "old": {"apiKey": "MINE_KEY", "headers": {"Authorization": "Bearer header-of-old"}},
            "new": {"apiKey": "$MINE_KEY"}, "told": {"apiKey": "!pass show told"}
        }}"""
    )
    home = PiHome(tmp_path / "private", env={"MY_API_KEY": "key-of-the-options", "OTHER_KEY": None})
    run = run_of(user, MINE_KEY="key-of-mine", OTHER_KEY="key-passed-on", FOREIGN_KEY="key-pi-never-gets")
    list(home.refresh(run, NEW))

    assert set(home.secrets(run)) == {
        *("access-of-login", "refresh-of-login", "literal-of-mine", "header-of-old"),
        *("key-of-mine", "key-of-the-options", "key-passed-on"),
    }


def test_a_service_whose_key_is_not_set_is_refused_by_the_name_of_the_variable(tmp_path, user):
    home = PiHome(tmp_path / "private", [ACME])
    refused = home.refusal(run_of(user, "acme/m1", ACME_KEY=" "))

    assert refused.code == ErrorCode.MODEL_KEY_MISSING
    assert (
        str(refused) == 'No key for provider "acme" of model "acme/m1": ACME_KEY is not in the environment. '
        "Set ACME_KEY, or choose a model of another provider."
    )
    assert home.refusal(run_of(user, "acme/m1", ACME_KEY="k")) is None
    assert home.refusal(run_of(user, "openai/m1")) is None
    assert home.refusal(run_of(user)) is None
    assert PiHome(tmp_path / "other", [ACME], env={"ACME_KEY": "k"}).refusal(run_of(user, "acme/m1")) is None
    assert PiHome(tmp_path / "third", [replace(ACME, api_key_env=None)]).refusal(run_of(user, "acme/m1")) is None


def test_a_service_that_the_user_s_own_files_have_is_left_to_pi(tmp_path, user):
    home = PiHome(tmp_path / "private", [ACME])
    (agent_of(user) / "auth.json").write_text('{"acme":{"type":"api_key","key":"sk-secret"}}')
    assert home.refusal(run_of(user, "acme/m1")) is None
    assert home.refusal(run_of(user, "acme/m2")).code == ErrorCode.MODEL_UNKNOWN

    (agent_of(user) / "models.json").write_text('{"providers":{"acme":{"baseUrl":"http://x","apiKey":"literal"}}}')
    assert home.refusal(run_of(user, "acme/m2")) is None


def test_a_model_that_a_service_does_not_list_is_refused_with_what_was_meant(tmp_path, user):
    listed = replace(ACME, models=(CompatibleModel(id="quick-1"), CompatibleModel(id="big")))
    refused = PiHome(tmp_path / "private", [listed]).refusal(run_of(user, "acme/quick-2", ACME_KEY="k"))

    assert refused.code == ErrorCode.MODEL_UNKNOWN
    assert (
        str(refused) == 'Unknown model "quick-2" of provider "acme". Did you mean "acme/quick-1"? '
        "Available models: big, quick-1. They are listed under providers.Acme.models in ohm.json."
    )
    anything = replace(ACME, models=())
    assert PiHome(tmp_path / "other", [anything]).refusal(run_of(user, "acme/quick-2", ACME_KEY="k")) is None


@pytest.mark.parametrize(
    ("model", "level", "said"),
    [
        ("plain", "high", ['Model "acme/plain" takes no thinking setting, so "high" has no effect.']),
        ("plain", "off", []),
        ("plain", None, []),
        ("m1", "high", []),
    ],
)
def test_a_thinking_level_without_effect_is_said_each_time(tmp_path, user, model, level, said):
    home = PiHome(tmp_path / "private", [replace(ACME, models=(*ACME.models, CompatibleModel(id="plain")))])
    run = run_of(user, ACME_KEY="k")
    run = changed(run, model=replace(pattern(f"acme/{model}"), thinking=level))

    for _ in range(2):
        assert [event.diagnostic.message for event in home.refresh(run, NEW)] == said


@pytest.mark.anyio
async def test_nothing_is_started_for_a_service_without_its_key(tmp_path, user):
    begun = tmp_path / "begun"
    options = PiOptions(command=("touch", str(begun)))
    async with interactive_shell_spec([ACME]).open(options) as backend:
        result = await backend.run(changed(run_of(user, "acme/m1"), cwd=tmp_path), None)

    assert result.err_value.code == ErrorCode.MODEL_KEY_MISSING
    assert not begun.exists()
