"""A profile of 000 on a backend that does not know its fields."""

from contextlib import asynccontextmanager

import pytest

from ohm_subagents import Ohm
from ohm_subagents.contract import AgentOptions, ModelPattern, Profile, ToolPolicy
from ohm_subagents.plugin import BackendSpec, Capability, Ok, Options, RunOutput, hookimpl
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

FULL = AgentOptions(
    provider="acme",
    model="m1",
    thinking="high",
    appended_prompt="Be brief.",
    api_key="sk-never-shown",
    no_extensions=True,
    extensions=("a.ts",),
    no_skills=True,
    skill_paths=("s.md",),
    no_context_files=True,
    extra_args=("--x",),
)
BEYOND = "apiKey, noExtensions, extensions, noSkills, suggestedSkills, noContextFiles, extraArgs"


def profile(agent, **changes):
    given = {"id": "writer", "name": "Writer", "summary": "Writes.", "prompt": "You write."}
    return Profile(**{**given, **changes}, agent=agent)


class Hearing:
    """A backend of somebody else that answers with its instructions."""

    async def run(self, request, sink):
        return Ok(RunOutput(text=request.instructions))


class Plugin:
    def __init__(self, *capabilities):
        @asynccontextmanager
        async def opened(_options):
            yield Hearing()

        self._spec = BackendSpec(
            id="hearing", summary="Hears.", options=Options, open=opened, capabilities=frozenset(capabilities)
        )

    @hookimpl
    def ohm_backends(self):
        return (self._spec,)


async def told(who, *capabilities, backend="hearing"):
    """Return what a run of the profile answers, and what is said of it."""
    config = {"subagentBackend": backend}
    async with Ohm.open(env=HERMETIC, config=config, profiles=[who], plugins=[Plugin(*capabilities)]) as ohm:
        envelope = (await ohm.run("writer", "go")).ok_value
    return envelope.output, envelope.diagnostics or []


async def test_what_it_does_not_look_at_is_one_sentence():
    _, said = await told(profile(FULL))
    fields = f"provider, model, thinkingLevel, {BEYOND}"
    assert said == [f'Backend "hearing" does not look at these fields of profile "Writer": {fields}.']


async def test_a_model_that_it_is_given_is_looked_at():
    _, said = await told(profile(FULL, model=ModelPattern(provider="acme", model="m1")))
    assert said == [f'Backend "hearing" does not look at these fields of profile "Writer": {BEYOND}.']


async def test_the_appended_prompt_is_below_its_instructions():
    answer, said = await told(profile(AgentOptions(appended_prompt="Be brief.")))
    assert answer.endswith("\n\nBe brief.")
    assert said == []


@pytest.mark.parametrize("who", [profile(None), profile(AgentOptions())])
async def test_a_profile_that_asks_for_nothing_special_is_not_worth_a_word(who):
    assert (await told(who))[1] == []


async def test_a_backend_that_says_it_itself_is_left_alone():
    answer, said = await told(profile(FULL), Capability.AGENT_OPTIONS)
    assert "Be brief." not in answer
    assert said == []


async def test_the_echo_looks_at_nothing_and_says_so():
    _, said = await told(profile(FULL, tools=ToolPolicy(allowed=("read",))), backend="none")
    fields = f"system prompt, tools, appendSystemPrompt, provider, model, thinkingLevel, {BEYOND}"
    assert said == [f'Backend "none" does not look at these fields of profile "Writer": {fields}.']
    assert (await told(profile(AgentOptions(), prompt=""), backend="none"))[1] == []
