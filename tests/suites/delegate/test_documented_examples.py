"""The example payloads of 000, live: in process and on real nested `pi`s, against a scripted model."""

import pytest
from model_script import text_of
from model_server import ModelServer, Say
from pi_desk import Desk
from real_pi import NEWEST, OLD, installed

from ohm_subagents import Ohm
from ohm_subagents.testing import MemoryHost

pytestmark = pytest.mark.anyio

RESUMED = "a3f7b9c2d1e8f4a1"
BASIC = {
    "tasks": [
        {
            "name": "review-pr",
            "prompt": "Review the latest pull request and provide constructive feedback.",
        },
        {
            "name": "update-docs",
            "prompt": "Update the API documentation to reflect the new /v2 endpoints.",
        },
    ]
}
PROFILES = {
    "profile": "researcher",
    "tasks": [
        {
            "name": "market-analysis",
            "prompt": "Research competitor pricing for SaaS analytics platforms.",
            "profile": "analyst",
        },
        {"name": "tech-survey", "prompt": "Survey the latest developments in RAG architectures."},
    ],
}
RESUME = {
    "tasks": [
        {
            "name": "refactor-core",
            "prompt": "Continue refactoring the core module. Focus on the event dispatcher.",
            "resume": RESUMED,
            "timeout": 900,
        }
    ]
}
FILES = {
    "tasks": [
        {
            "name": "review-api",
            "prompt": "Review the API routes for security issues.",
            "files": ["src/routes.ts", {"path": "src/middleware.ts", "head": 50}],
        },
        {
            "name": "review-tests",
            "prompt": "Check test coverage for the auth module.",
            "files": [{"path": "src/auth.ts", "tail": 30}, "tests/auth.test.ts"],
        },
    ]
}
EARLIER = {
    "sessionId": RESUMED,
    "taskName": "refactor-core",
    "prompt": "Refactor the core module.",
    "status": "error",
    "errorMessage": "Timed out after 300s. Consider resuming with a longer timeout.",
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Refactor the core module."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "The module has three parts."}]},
    ],
    "exitCode": 1,
    "startedAt": 1,
}


@pytest.fixture
def anyio_backend():
    """Models are asked through asyncio."""
    return "asyncio"


def lines(count):
    return "".join(f"line {n}\n" for n in range(1, count + 1))


def furnish(desk):
    """Make the files that the examples expect."""
    profiles = desk.agent / "agent-profiles"
    profiles.mkdir()
    (profiles / "researcher.md").write_text("---\nname: researcher\ntools: read,grep\n---\nYou are a researcher.\n")
    (profiles / "analyst.md").write_text(
        "---\nname: analyst\nprovider: acme\nmodel: m2\nnoTools: true\nappendSystemPrompt: Be brief.\n---\n"
        "You are an analyst.\n"
    )
    for name, count in {"src/routes.ts": 3, "src/middleware.ts": 60, "src/auth.ts": 40}.items():
        file = desk.work / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(lines(count))


@pytest.fixture(
    params=[
        "in process",
        *(pytest.param(version, marks=[pytest.mark.real_pi, pytest.mark.slow]) for version in (OLD, NEWEST)),
    ]
)
def desk(request, tmp_path):
    """A home with profiles, a folder with files, and how sub-agents run there."""
    desk = Desk(tmp_path, None if request.param == "in process" else installed(request.param))
    furnish(desk)
    return desk


def config(desk, server):
    models = [{"id": model, "contextWindow": 100_000} for model in ("m1", "m2")]
    said = {
        "subagents": {"model": "acme/m1"},
        "providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": models}},
    }
    if desk.pi is not None:
        said["subagentBackend"] = "interactive-shell"
        said["subagents"]["backends"] = {"interactive-shell": {"command": [*desk.pi.command]}}
    return said


def system_of(request):
    return "\n".join(text_of(one) for one in request.messages if one["role"] in {"system", "developer"})


async def delegated(desk, payload):
    """The result of the call, and what the model was asked, by the first words of the prompt."""
    host = MemoryHost(branch=[{"type": "custom", "customType": "pi-subagents", "data": EARLIER}])
    async with ModelServer(lambda request: Say(f"Answer to: {request.prompt[-40:]}")) as server:
        async with Ohm.open(
            cwd=desk.work,
            env=desk.env | {"PI_CODING_AGENT_DIR": str(desk.agent)},
            config=config(desk, server),
            suites=["delegate"],
            host=host,
        ) as ohm:
            await ohm.emit("session_start", {"reason": "resume"})
            result = await ohm.call("delegate_to_subagents", payload)
            output = [
                (await ohm.call("get_subagent_output", {"sessionId": session_id})).text
                for session_id in result.details["sessionIds"]
            ]
        return result, output, server.requests


async def test_two_tasks_without_profiles(desk):
    result, output, requests = await delegated(desk, BASIC)
    assert [line.partition(" (")[0] for line in result.text.splitlines()] == [
        "✓ review-pr: completed",
        "✓ update-docs: completed",
    ]
    assert output == [f"Answer to: {task['prompt'][-40:]}" for task in BASIC["tasks"]]
    assert {request.prompt for request in requests} == {task["prompt"] for task in BASIC["tasks"]}
    assert [window["model"] for window in result.details["windows"]] == ["m1", "m1"]


async def test_a_default_profile_and_one_of_a_task(desk):
    result, _output, requests = await delegated(desk, PROFILES)
    asked = {request.body["model"]: request for request in requests}
    assert result.text.splitlines()[0].endswith(
        "(profile: analyst, model=m2, custom-system-prompt, appended-system-prompt, no-tools)"
    )
    assert result.text.splitlines()[1].endswith("(profile: researcher, custom-system-prompt, tools=[read,grep])")
    assert "You are an analyst." in system_of(asked["m2"])
    assert "Be brief." in system_of(asked["m2"])
    assert asked["m2"].tool_names == []
    assert "You are a researcher." in system_of(asked["m1"])
    assert {*asked["m1"].tool_names} == {"read", "grep"}


async def test_a_session_that_goes_on(desk):
    result, _output, requests = await delegated(desk, RESUME)
    assert result.text == f"✓ refactor-core: completed (session: {RESUMED})"
    assert result.details["windows"][0]["timeout"] == 900
    assert requests[0].prompt == (
        "Previously:\n\n--- Run 1 (error, 2 messages) ---\nUser: Refactor the core module.\n"
        "Assistant: The module has three parts.\n"
        "[Error: Timed out after 300s. Consider resuming with a longer timeout.]\n\n"
        "Instructions:\n\nContinue refactoring the core module. Focus on the event dispatcher."
    )


async def test_files_before_the_prompt(desk):
    _result, _output, requests = await delegated(desk, FILES)
    asked = {request.prompt.splitlines()[0]: request.prompt for request in requests}
    middleware = lines(50)
    assert asked["=== src/routes.ts ==="] == (
        f"=== src/routes.ts ===\n{lines(3)}\n=== src/middleware.ts ===\n{middleware}\n"
        "Review the API routes for security issues."
    )
    tail = "".join(f"line {n}\n" for n in range(11, 41))
    assert asked["=== src/auth.ts ==="] == (
        f"=== src/auth.ts ===\n{tail}\n[file not found: tests/auth.test.ts]\n\nCheck test coverage for the auth module."
    )
