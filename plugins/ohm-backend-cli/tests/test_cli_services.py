"""Services of ohm.json on the CLIs that ask them."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING

import pytest
from cli_streams import AGENTS, asked

from ohm_backend_cli import ohm_backends
from ohm_backend_cli.service import advised
from ohm_backend_cli.start import Link
from ohm_subagents import Ohm
from ohm_subagents.plugin import BackendContext, CompatibleProvider, ErrorCode, OhmError, Profile
from ohm_subagents.shell import Dialect, Ended, Invocation

if TYPE_CHECKING:
    from pathlib import Path

ACME = CompatibleProvider(name="acme", base_url="https://acme.example/v1", api_key_env="ACME_KEY")
BY_ID = {agent.id: agent for agent in AGENTS}


def dialect(cli: str, service: CompatibleProvider = ACME) -> Dialect:
    return BY_ID[cli].dialect(Link(service=service))


def invocation(folder: Path, model: str = "acme/m") -> Invocation:
    return Invocation(request=asked(model=model, env={"ACME_KEY": "secret"}), folder=folder)


def test_codex_is_told_of_a_service_without_its_key(tmp_path: Path) -> None:
    called = invocation(tmp_path)
    argv = [*dialect("codex").arguments(called)]
    settings = tomllib.loads("\n".join(word for word in argv if "=" in word))
    assert settings["model_provider"] == "ohm-service"
    assert settings["model_providers"]["ohm-service"] == {
        "name": "acme",
        "base_url": "https://acme.example/v1",
        "wire_api": "responses",
        "env_key": "OHM_SERVICE_KEY",
    }
    assert "secret" not in " ".join(argv)
    assert dict(dialect("codex").settings(called)) == {"OHM_SERVICE_KEY": "secret"}


def test_opencode_is_told_of_a_service_beside_the_users_own(tmp_path: Path) -> None:
    request = asked(
        model="acme/m", env={"ACME_KEY": "secret", "OPENCODE_CONFIG_CONTENT": '{"provider": {"own": {"name": "Own"}}}'}
    )
    settings = dict(dialect("opencode").settings(Invocation(request=request, folder=tmp_path)))
    assert settings["OHM_SERVICE_KEY"] == "secret"
    assert json.loads(settings["OPENCODE_CONFIG_CONTENT"])["provider"] == {
        "own": {"name": "Own"},
        "acme": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "acme",
            "options": {"baseURL": "https://acme.example/v1", "apiKey": "{env:OHM_SERVICE_KEY}"},
            "models": {"m": {"name": "m"}},
        },
    }


@pytest.mark.parametrize("cli", ["codex", "opencode"])
def test_a_service_without_a_key_is_asked_without_one(cli: str, tmp_path: Path) -> None:
    free = CompatibleProvider(name="acme", base_url="http://127.0.0.1:1/v1")
    called = invocation(tmp_path)
    said = " ".join(dialect(cli, free).arguments(called)) + json.dumps(dict(dialect(cli, free).settings(called)))
    assert "OHM_SERVICE_KEY" not in said


def test_only_clis_that_ask_services_get_those_of_ohm_json() -> None:
    other = CompatibleProvider(name="other", base_url="https://other.example", source="models.json")
    context = BackendContext(providers=(ACME, other))
    opened = {spec.id: getattr(spec.open, "services", None) for spec in ohm_backends(context)}
    assert opened == {"claude": (), "codex": (ACME,), "opencode": (ACME,), "gemini": (), "qwen": ()}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("model", "code", "sentence"),
    [
        ("acme/m", ErrorCode.MODEL_KEY_MISSING, "ACME_KEY is not in the environment."),
        ("acme/other", ErrorCode.MODEL_UNKNOWN, '"other"'),
    ],
)
async def test_what_is_wrong_with_a_service_is_one_sentence_before_anything_starts(
    model: str, code: ErrorCode, sentence: str, tmp_path: Path
) -> None:
    service = {"baseUrl": "https://acme.example/v1", "apiKeyEnv": "ACME_KEY", "models": ["m"]}
    command = {"codex": {"command": ["/bin/false"]}}
    config = {
        "subagentBackend": "codex",
        "providers": {"acme": service},
        "subagents": {"model": model, "backends": command},
    }
    worker = Profile(id="worker", name="Worker", summary="Works.", prompt="")
    env = {"PI_CONFIG_DIR": str(tmp_path), "OHM_SUBAGENTS_STORE": "memory", "PATH": "/usr/bin:/bin"}
    async with Ohm.open(cwd=tmp_path, env=env, config=config, profiles=[worker]) as ohm:
        error = (await ohm.run("worker", "Work.")).unwrap_err()

    assert error.code == code
    assert sentence in error.message


def test_an_unknown_model_of_a_service_comes_with_the_api_that_was_asked() -> None:
    unknown = OhmError(code=ErrorCode.MODEL_UNKNOWN, message="codex: the model is not known.")
    told = advised(unknown, "Responses", ACME)
    assert told.advice == (
        "Check the name of the model and providers.acme.baseUrl of ohm.json. "
        "This backend asks services by the Responses API, which not every service has."
    )
    assert "a service is configured under providers of ohm.json" in advised(unknown, "Responses", None).advice
    assert advised(unknown, "", None) == unknown


def test_opencode_names_the_cause_that_only_its_log_has() -> None:
    said = "Unexpected server error. Check server logs for details."
    log = 'level=ERROR message=failed error="ProviderModelNotFoundError: Model not found: a/b." cause="…"'
    cause = BY_ID["opencode"].ending.cause
    assert cause(said, Ended(code=1, stderr=log)) == "ProviderModelNotFoundError: Model not found: a/b."
    assert cause(said, Ended(code=1)) == said
    assert cause("no such route", Ended(code=1, stderr=log)) == "no such route"
