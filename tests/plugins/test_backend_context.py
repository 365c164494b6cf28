"""The services for a backend or a model provider of a plugin of the `Ohm` that it is for."""

import pytest

from ohm_subagents import Ohm
from ohm_subagents._plugins.backends.fallback import with_fallback
from ohm_subagents.backends.in_process.spec import interactive_sdk_spec
from ohm_subagents.backends.pi.spec import interactive_shell_spec
from ohm_subagents.plugin import BackendContext, CompatibleModel, CompatibleProvider, ModelSpec, hookimpl
from ohm_subagents.testing import HERMETIC

ACME = CompatibleProvider(
    name="acme",
    base_url="https://llm.example/v1",
    api_key_env="ACME_KEY",
    models=(CompatibleModel(id="large", supports_thinking=True, context_window=8000),),
)
CONFIG = {
    "subagentBackend": "none",
    "providers": {
        "acme": {
            "baseUrl": "https://llm.example/v1",
            "apiKeyEnv": "ACME_KEY",
            "models": [{"id": "large", "supportsThinking": True, "contextWindow": 8000}],
        }
    },
}


class Curious:
    """Keeps what its hooks are given."""

    def __init__(self):
        self.given = []

    @hookimpl
    def ohm_backends(self, context):
        self.given.append(context)
        return ()

    @hookimpl
    def ohm_models(self, context):
        self.given.append(context)
        return (ModelSpec(provider="mine", summary="", open=lambda _pattern: None),)


@pytest.mark.anyio
async def test_a_plugin_is_given_the_environment_the_services_the_cache_and_the_models_of_all(tmp_path):
    curious = Curious()
    env = {**HERMETIC, "ACME_KEY": "k", "XDG_CACHE_HOME": f"{tmp_path}"}
    async with Ohm.open(env=env, config=CONFIG, plugins=[curious]) as ohm:
        await ohm.run("finder", "p")
        for_backends, *_ = curious.given
        assert {"acme", "openai", "local", "mine"} <= for_backends.models().keys()
    assert for_backends == curious.given[-1]
    assert for_backends.env == env
    assert for_backends.providers == (ACME,)
    assert for_backends.cache_directory == tmp_path / "ohm-subagents"


def test_a_context_shows_no_key():
    context = BackendContext(
        env={"ACME_KEY": "sk-1"}, providers=(CompatibleProvider(name="a", base_url="", api_key="sk-2"),)
    )
    assert "sk-" not in repr(context)


def specs(context):
    offered = {spec.id: spec for spec in (interactive_sdk_spec(context), interactive_shell_spec(context.providers))}
    return with_fallback(offered, {}, context.log)


def test_our_backends_are_equal_for_equal_contexts_so_that_a_reconfiguration_leaves_them_open():
    context, other = (
        BackendContext(env={"A": "1"}, providers=(ACME,)),
        BackendContext(env={"A": "2"}, providers=(ACME,)),
    )
    assert specs(context) == specs(BackendContext(env={"A": "1"}, providers=(ACME,), models=dict))
    assert specs(context)["interactive-sdk"] != specs(other)["interactive-sdk"]
    assert specs(context)["interactive-shell"] == specs(other)["interactive-shell"]
