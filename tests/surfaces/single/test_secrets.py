"""Whatever a subagent meets, no secret is in anything that the suite returns, shows or writes."""

import json
import tempfile

import anyio.lowlevel
import pytest
from acting import ActingBackend
from model_server import Call, ModelServer, Say

from ohm_subagents import Err, Ohm
from ohm_subagents.contract import ErrorCode, OhmError, TextDelta, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.testing import HERMETIC, MemoryHost

pytestmark = pytest.mark.anyio

LONG = "Qw3rTy" * 6
IN_ENVIRONMENT = {
    "OPENAI_API_KEY": "openai-key-of-the-user",
    "ACME_KEY": "acme/key+with=signs",
    "MY_OWN_TOKEN": 'a "quoted" token',
}
FORMS = {
    "named": f"api_key={LONG}1",
    "quoted": f'"access-token": "{LONG}2"',
    "bearer": f"Bearer {LONG}3",
    "header": f"Authorization: {LONG}4",
    "aws": f"AWS_SECRET_ACCESS_KEY={LONG}5",
    "github": f"ghp_{LONG}6",
    "provider": f"STRIPE_KEY={LONG}7",
    "exported": f"x\nexport THING={LONG}8",
    "address": f"https://x.y/?secret={LONG}9",
    "key": "openai-key-of-the-user",
    "own key": "acme/key+with=signs",
    "other key": 'a "quoted" token',
    "home": "/home/somebody/work",
}
PLANTED = (LONG, *IN_ENVIRONMENT.values(), 'quoted\\" token', "somebody")
EVERYTHING = "\n".join(FORMS.values())
ASK = {"agent": "explorer", "task": EVERYTHING}


def leaks(*texts):
    """Which of the planted secrets are in any of the texts."""
    return sorted({secret for text in texts for secret in PLANTED if secret in text})


def seen(result, tool, frames):
    """Everything that a host gets."""
    for one in (*frames, result):
        yield one.text
        yield json.dumps(one.details, ensure_ascii=False)
        yield one.render()
        yield one.render(expanded=True)
        yield tool.render_result(one)
    yield tool.render_call({"agent": EVERYTHING, "task": EVERYTHING})


def written(folder):
    return [file.read_text() for file in folder.rglob("*") if file.is_file()]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    for name in ("work", "tmp", "home"):
        (tmp_path / name).mkdir()
    return tmp_path


def opened(place, *plugins, suites=("single",), subagents=None, **options):
    providers = {"acme": {"baseUrl": "http://127.0.0.1:9", "apiKeyEnv": "ACME_KEY", "models": ["small"]}}
    return Ohm.open(
        **{
            "cwd": place / "work",
            "env": HERMETIC | {"HOME": str(place / "home")} | IN_ENVIRONMENT,
            "config": {
                "subagentBackend": "acting",
                "providers": providers,
                "onupdateThrottleMs": 1,
                "subagents": subagents or {},
            },
            "suites": suites,
            "plugins": plugins,
            **options,
        }
    )


async def leaky(_request, sink):
    sink.emit(TextDelta(text=EVERYTHING[:100]))
    await anyio.lowlevel.checkpoint()
    sink.emit(TextDelta(text=EVERYTHING[100:]))
    sink.emit(UsageAdded(usage=Usage(requests=1)))
    sink.emit(
        ToolStarted(call_id="1", tool="grep", args=json.dumps({"pattern": EVERYTHING, FORMS["named"]: [EVERYTHING]}))
    )
    sink.emit(ToolEnded(call_id="1", tool="grep", status="success", text=EVERYTHING))
    await anyio.lowlevel.checkpoint()
    return EVERYTHING


async def failing(request, sink):
    await leaky(request, sink)
    return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message=f"ECONNRESET {EVERYTHING}", exit_code=3))


@pytest.mark.parametrize("act", [leaky, failing])
async def test_nothing_of_it_gets_out_of_single(place, act):
    frames = []
    async with opened(place, ActingBackend(act)) as ohm:
        done = await ohm.call("subagent", ASK, on_update=frames.append)
        assert len(frames) > 1
        assert leaks(*seen(done, ohm.tools["subagent"], frames)) == []
    records = written(place / "tmp")
    assert records
    assert leaks(*records) == []
    assert "[REDACTED]" in done.text
    assert leaks(EVERYTHING) == sorted(set(PLANTED) - {'quoted\\" token'}), "the net has a hole"


async def test_a_refusal_repeats_no_secret_either(place):
    async with opened(place, ActingBackend(leaky)) as ohm:
        unknown = await ohm.call("subagent", {"agent": EVERYTHING, "task": "x"})
        strange = await ohm.call("subagent", {"agent": "explorer", "task": "x", EVERYTHING: 1})
    assert leaks(*(one.text + json.dumps(one.details) for one in (unknown, strange))) == []


async def test_a_cut_never_leaves_half_of_a_secret(place):
    async def long(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return "x" * (204_800 - 40) + f" api_key={LONG}{LONG}"

    async with opened(place, ActingBackend(long)) as ohm:
        done = await ohm.call("subagent", ASK)
    assert "Qw3rTy" not in done.text


class TestWithAModel:
    @pytest.fixture
    def anyio_backend(self):
        """pydantic-ai runs on asyncio only."""
        return "asyncio"

    async def test_a_secret_in_a_file_that_the_subagent_reads_and_repeats_stays_inside(self, place):
        (place / "work" / "settings.txt").write_text(EVERYTHING)
        frames = []
        script = (Say("I read.", Call("read", {"path": "settings.txt"}, id="c1")), Say(EVERYTHING))
        async with ModelServer(*script) as server:
            config = {
                "providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}},
                "subagents": {"model": "acme/small"},
            }
            async with opened(place, config=config) as ohm:
                task = {"agent": "explorer", "task": "Read settings.txt"}
                done = await ohm.call("subagent", task, on_update=frames.append)
                told = [*seen(done, ohm.tools["subagent"], frames)]
            assert LONG in server.requests[1].tool_results[0]
        assert done.details["results"][0]["exitCode"] == 0
        assert leaks(*told, *written(place / "tmp")) == []


# Any suite


DELEGATE = {"tasks": [{"name": "t", "prompt": EVERYTHING}]}


@pytest.mark.parametrize("redact", [True, ["delegate"], "delegate"])
async def test_another_suite_is_as_tight_if_the_user_says_so(place, redact):
    host, frames = MemoryHost(), []
    async with opened(place, ActingBackend(leaky), suites=["delegate"], subagents={"redact": redact}, host=host) as ohm:
        done = await ohm.call("delegate_to_subagents", DELEGATE, on_update=frames.append)
        session = done.details["sessionIds"][0]
        again = await ohm.call("get_subagent_session", {"sessionId": session})
        tool = ohm.tools["delegate_to_subagents"]
        assert leaks(*seen(done, tool, frames), again.text) == []
    assert leaks(*(json.dumps(call[1:], ensure_ascii=False) for call in host.calls)) == []
    assert [call[0] for call in host.calls] == ["append_entry"]


async def test_without_that_other_suites_tell_what_they_were_told(place):
    for redact in (False, ["task"]):
        async with opened(place, ActingBackend(leaky), suites=["delegate"], subagents={"redact": redact}) as ohm:
            done = await ohm.call("delegate_to_subagents", DELEGATE)
        assert LONG in json.dumps(done.details)


async def test_a_projects_file_cannot_switch_it_off(place):
    (place / "work" / ".pi").mkdir()
    (place / "work" / ".pi" / "ohm.json").write_text(json.dumps({"subagents": {"redact": False}}))
    config_dir = place / "home" / ".pi" / "agent"
    config_dir.mkdir(parents=True)
    (config_dir / "ohm.json").write_text(json.dumps({"subagentBackend": "acting", "subagents": {"redact": True}}))
    env = HERMETIC | {"HOME": str(place / "home"), "PI_CONFIG_DIR": str(config_dir)} | IN_ENVIRONMENT
    async with opened(place, ActingBackend(leaky), suites=["delegate"], config=None, env=env) as ohm:
        assert ohm.config.subagents.redact is True
        done = await ohm.call("delegate_to_subagents", DELEGATE)
    assert leaks(json.dumps(done.details)) == []
