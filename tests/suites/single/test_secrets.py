"""Whatever a subagent meets, no secret of a known form is in anything that the suite returns, shows or writes."""

import gc
import json
import logging
import tempfile
import weakref

import anyio
import anyio.lowlevel
import pytest
from acting import ActingBackend
from model_server import Call, ModelServer, Say

from ohm_subagents import Err, Ohm
from ohm_subagents._tools.redacting import RedactingHost
from ohm_subagents.contract import (
    AgentEnded,
    Diagnostic,
    DiagnosticRaised,
    ErrorCode,
    OhmError,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    Usage,
    UsageAdded,
)
from ohm_subagents.plugin import Host, Tool, ToolCall, ToolResult, ToolSuiteSpec, hookimpl
from ohm_subagents.redaction import redactor
from ohm_subagents.redaction.secret_forms import without_secrets
from ohm_subagents.suites.single.session_file import SessionFiles
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
ASK_PLAIN = {"agent": "explorer", "task": "Find auth code"}


def leaks(*texts):
    """Return which of the planted secrets are in any of the texts."""
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
async def test_nothing_of_it_gets_out_of_single(place, act, caplog):
    frames, host = [], MemoryHost()
    home = str(place / "home")
    env = HERMETIC | {
        "HOME": home,
        "PI_CONFIG_DIR": home,
        "OHM_SUBAGENTS_STORE": "sqlite",
        "OHM_SUBAGENTS_UI_MODE": "verbose",
    }
    with caplog.at_level(logging.DEBUG):
        async with opened(place, ActingBackend(act), env=env | IN_ENVIRONMENT, host=host) as ohm:
            done = await ohm.call("subagent", ASK, on_update=frames.append)
            assert len(frames) > 1
            assert leaks(*seen(done, ohm.tools["subagent"], frames)) == []
            assert leaks(*map(repr, ohm.store.tasks())) == []
    assert any(call[0] == "set_widget" for call in host.calls)
    assert leaks(*map(repr, host.calls), caplog.text) == []
    kept = [file.read_bytes().decode("utf-8", "replace") for file in (place / "home").rglob("*") if file.is_file()]
    assert any("[REDACTED]" in one for one in kept), "the task is kept, and without secrets"
    assert leaks(*kept) == []
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


# Half a secret

KEY = "qzxv-9911-abcd-7788"
SHORT = "api_key=ABCDEFGHIJKLMNOPQR"


def halves(*texts):
    """Return which pieces of the key are in any of the texts."""
    return sorted({half for half in (KEY[:7], KEY[-7:], "ABCDEF") for text in texts if half in text})


def opened_with_key(place, act, **options):
    env = HERMETIC | {"HOME": str(place / "home"), "QUX_TOKEN": KEY}
    return opened(place, ActingBackend(act), env=env, **options)


def broken_off(said, *, how):
    async def act(_request, sink):
        sink.emit(TextDelta(text=said))
        await anyio.lowlevel.checkpoint()
        match how:
            case "drop":
                return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="connection lost"))
            case "raise":
                raise RuntimeError("connection lost")
            case "provider error":
                sink.emit(UsageAdded(usage=Usage(requests=1)))
                sink.emit(TextDelta(text="\n\nError Code 500: x"))
                return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="gone"))
            case _:
                return await anyio.sleep_forever()

    return act


class TestATextThatBreaksOff:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    @pytest.mark.parametrize("how", ["drop", "raise", "provider error", "timeout", "abort"])
    @pytest.mark.parametrize(("said", "shown"), [(f"the key is {KEY[:7]}", "the key is"), (f"so: {SHORT}", "so:")])
    async def test_in_the_middle_of_a_secret_shows_nothing_of_it(self, place, said, shown, how):
        frames, abort = [], anyio.Event()
        async with opened_with_key(place, broken_off(said, how=how)) as ohm, anyio.create_task_group() as group:
            if how == "abort":
                group.start_soon(self.set_later, abort)
            done = await ohm.call("subagent", ASK_PLAIN, on_update=frames.append, abort=abort)
            told = [*seen(done, ohm.tools["subagent"], frames)]
        assert done.details["error"]
        assert shown in done.text, "the rest of it is kept"
        assert "[REDACTED]" in done.text
        assert halves(*told, *written(place / "tmp")) == []

    async def set_later(self, event):
        await anyio.sleep(1)
        event.set()

    async def test_elsewhere_is_shown_as_it_is(self, place):
        async with opened_with_key(place, broken_off("The keyhole is", how="drop")) as ohm:
            done = await ohm.call("subagent", ASK_PLAIN)
        assert "Partial output:\nThe keyhole is\n" in done.text


BETWEEN = {
    "a note": DiagnosticRaised(diagnostic=Diagnostic(subject="x", message="note")),
    "thinking": ThinkingDelta(text="hm"),
    "usage": UsageAdded(usage=Usage(requests=1)),
    "what a tool says": ToolUpdated(call_id="1", tool="t", text="x"),
    "the end of the agent": AgentEnded(),
}


class TestATextWithSomethingInItsMiddle:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    @pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
    async def test_a_text_is_one_text_whatever_happens_in_its_middle(self, place, between):
        async def act(_request, sink):
            sink.emit(TextDelta(text=f"the key is {KEY[:7]}"))
            sink.emit(between)
            await anyio.sleep(0.01)
            sink.emit(TextDelta(text=f"{KEY[7:]}, as I said"))
            sink.emit(between)
            await anyio.sleep(0.01)
            return f"the key is {KEY}, as I said"

        frames = []
        async with opened_with_key(place, act) as ohm:
            done = await ohm.call("subagent", ASK_PLAIN, on_update=frames.append)
            told = [*seen(done, ohm.tools["subagent"], frames)]
        assert done.text == "the key is [REDACTED], as I said"
        assert done.details["results"][0]["displayItems"] == [{"type": "text", "text": done.text}]
        assert halves(*told, *written(place / "tmp")) == []


async def test_texts_of_two_turns_are_two_all_the_same(place):
    async def act(_request, sink):
        sink.emit(TextDelta(text="I look."))
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        sink.emit(TextDelta(text="Found it."))
        await anyio.lowlevel.checkpoint()
        return "Found it."

    async with opened_with_key(place, act) as ohm:
        done = await ohm.call("subagent", ASK_PLAIN)
    assert [item["text"] for item in done.details["results"][0]["displayItems"]] == ["I look.", "Found it."]


# Once


@pytest.fixture
def looked_at(monkeypatch):
    """Every text that the rules are tried on."""
    texts = []

    def counting(text, **options):
        texts.append(text)
        return without_secrets(text, **options)

    monkeypatch.setattr(redactor, "without_secrets", counting)
    return texts


class TestWatched:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_a_frame_costs_what_is_new(self, place, looked_at):
        calls, size, costs = 40, 5_000, []

        async def busy(_request, sink):
            for number in range(calls):
                args = json.dumps({"content": f"{number} " + "word " * (size // 5)})
                sink.emit(ToolStarted(call_id=str(number), tool=f"write-{number}", args=args))
                sink.emit(ToolEnded(call_id=str(number), tool=f"write-{number}", status="success", text="ok"))
                await anyio.sleep(0.002)
            return "done"

        def watch(_frame):
            costs.append(sum(map(len, looked_at)) - sum(costs))

        async with opened(place, ActingBackend(busy)) as ohm:
            await ohm.call("subagent", ASK_PLAIN, on_update=watch)
        assert len(costs) > calls / 2, "it was watched"
        assert sum(map(len, looked_at)) < 1.2 * calls * size, "each text once"
        assert costs[-1] < size


@pytest.mark.parametrize("act", [None, "drop"])
async def test_a_long_answer_is_looked_at_once(place, looked_at, act):
    long = "word " * 100_000

    async def answered(_request, sink):
        sink.emit(TextDelta(text=long))
        await anyio.lowlevel.checkpoint()
        return long

    async with opened(place, ActingBackend(broken_off(long, how=act) if act else answered)) as ohm:
        done = await ohm.call("subagent", ASK_PLAIN)
    assert done.details["results"][0]["output"] == long
    assert written(place / "tmp")
    assert sum(map(len, looked_at)) < 1.1 * len(long)


async def test_a_result_that_is_kept_keeps_no_text_of_the_call_but_its_own(place, monkeypatch):
    memories, remembering = [], redactor.Redaction.remembering

    def noted(self):
        once = remembering(self)
        memories.append(weakref.ref(once))
        return once

    async def called():
        frames = []
        async with opened(place, ActingBackend(leaky)) as ohm:
            done = await ohm.call("subagent", ASK, on_update=frames.append)
        return [*frames, done]

    monkeypatch.setattr(redactor.Redaction, "remembering", noted)
    results = await called()
    gc.collect()
    assert len(results) > 1
    assert [memory() for memory in memories] == [None]
    assert leaks(*(one.render() for one in results)) == []


async def test_lines_of_a_stack_are_counted_in_what_went_wrong_not_in_the_words_around_it(place):
    error = "\n".join(f"Error: e{number}" for number in range(5))

    async def failed(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message=error))

    async with opened(place, ActingBackend(failed)) as ohm:
        done = await ohm.call("subagent", ASK_PLAIN)
    assert f"Error:\n{error}" in done.text


async def test_a_long_task_and_a_long_result_of_a_tool_are_looked_at_once(place, looked_at):
    long = "word " * 100_000 + "end"

    async def echoing(request, sink):
        sink.emit(ToolStarted(call_id="1", tool="grep", args="{}"))
        sink.emit(ToolEnded(call_id="1", tool="grep", status="success", text=request.prompt.upper()))
        await anyio.lowlevel.checkpoint()
        return "done"

    async with opened(place, ActingBackend(echoing)) as ohm:
        done = await ohm.call("subagent", {"agent": "explorer", "task": long})
    assert done.details["results"][0]["task"] == long
    assert sum(map(len, looked_at)) < 2.1 * len(long), "each of the two once"
    assert any(long.upper() in one for one in written(place / "tmp"))


# Where it is made


async def test_paths_of_a_session_file_begin_at_home_and_can_be_opened(place, monkeypatch):
    class AtHome(MemoryHost):
        def session_file(self):
            return place / "home" / "sessions" / "parent.jsonl"

    (place / "home" / "work").mkdir()
    async with opened(place, ActingBackend(failing), host=AtHome(), cwd=place / "home" / "work") as ohm:
        done = await ohm.call("subagent", ASK)
    shown = f"~/sessions/parent/{done.details['runId']}/session-attempt-2.jsonl"
    assert done.details["results"][0]["sessionFile"] == shown
    monkeypatch.setenv("HOME", str(place / "home"))
    written = await (await anyio.Path(shown).expanduser()).read_text()
    assert json.loads(written.partition("\n")[0])["type"] == "session"
    assert done.text.endswith(f"Session file:\n{shown}")
    header, *messages = (json.loads(line) for line in (place / "home" / shown[2:]).read_text().splitlines())
    assert header["cwd"] == "~/work"
    assert len(messages) == 3


async def test_a_record_that_cannot_be_written_costs_the_record_only(place, caplog):
    async def without_a_folder(_request, _sink):
        await anyio.lowlevel.checkpoint()
        for folder in (place / "tmp").glob("*/*"):
            folder.rmdir()
        return "done"

    async with opened(place, ActingBackend(without_a_folder)) as ohm:
        done = await ohm.call("subagent", ASK_PLAIN)
    assert done.text == "done"
    assert "sessionFile" not in done.details["results"][0]
    assert "The record of a subagent could not be written: No such file or directory." in caplog.text
    assert str(place) not in caplog.text


async def test_a_title_is_cut_when_the_secrets_are_gone(place):
    task = f"Look for the place where the service is called with {FORMS['named']} in it\nand more"
    async with opened(place, ActingBackend(leaky)) as ohm:
        await ohm.call("subagent", {"agent": "explorer", "task": task})
        (kept,) = ohm.store.tasks()
    assert kept.assignment.description == "Look for the place where the service is called with api_key…"


# What is raised


async def test_a_session_file_that_cannot_be_one_is_a_failure_of_the_suite(place):
    class Odd(MemoryHost):
        def session_file(self):
            return place / f"{FORMS['github']}\0" / "parent.jsonl"

    async with opened(place, ActingBackend(leaky), host=Odd()) as ohm:
        done = await ohm.call("subagent", ASK_PLAIN)
    assert done.text == "Failed to create session directory: embedded null byte"
    assert done.details["error"] == {"code": "SUBAGENT_FAILED", "message": done.text}


async def test_an_exception_has_the_shape_of_the_suite_and_no_secret(place, caplog, monkeypatch):
    def broken(*_arguments):
        raise RuntimeError(EVERYTHING)

    monkeypatch.setattr(SessionFiles, "create", broken)
    async with opened(place, ActingBackend(leaky)) as ohm:
        done = await ohm.call("subagent", ASK_PLAIN)
        assert leaks(*seen(done, ohm.tools["subagent"], ())) == []
    assert done.details["mode"] == "single"
    assert done.details["error"] == {"code": "SUBAGENT_FAILED", "message": done.text}
    assert done.text.startswith("Tool 'subagent' failed: ")
    assert "Tool subagent raised." in caplog.text
    assert "RuntimeError: " in caplog.text
    assert leaks(caplog.text) == []
    assert done.render().startswith("✗ Tool 'subagent' failed: ")


def test_the_host_is_told_nothing_past_the_redaction():
    methods = {name for name in vars(Host) if not name.startswith("_")}
    assert methods <= set(vars(RedactingHost)), "a method of Host that RedactingHost does not have"


async def test_whatever_a_suite_tells_the_host_is_redacted(place):
    """Each method, by what it is given: a text wherever it takes one."""
    host = MemoryHost()

    async def tell(_call):
        await anyio.lowlevel.checkpoint()
        told.append_entry("odd", {"said": EVERYTHING, "nested": [{"said": EVERYTHING}]})
        told.send_message("odd", EVERYTHING)
        told.send_user_message(EVERYTHING)
        told.set_status("odd", EVERYTHING)
        told.set_widget("odd", [EVERYTHING])
        return ToolResult(text="told", details={})

    def build(context):
        nonlocal told
        told = context.host.program
        return (Tool(name="odd", label="Odd", description="x", input_schema={}, execute=tell, call_view=lambda *_: ""),)

    class Odd:
        @hookimpl
        def ohm_tool_suites(self):
            return [ToolSuiteSpec(name="odd", summary="x", build=build, redacts=True)]

    told = None
    async with opened(place, ActingBackend(leaky), Odd(), suites=["odd"], host=host) as ohm:
        assert (await ohm.call("odd", {})).text == "told"
    assert {call[0] for call in host.calls} == WRITES
    assert leaks(*(json.dumps(call[1:], ensure_ascii=False) for call in host.calls)) == []
    told_of_records = {"notify"}  # of a task, which is redacted before it is recorded
    assert {name for name in vars(Host) if not name.startswith("_")} - WRITES - told_of_records == READS


WRITES = {"append_entry", "send_message", "send_user_message", "set_status", "set_widget"}
READS = {"branch", "active_tools", "has_ui", "session_file"}


# Any suite


async def test_what_a_suite_answers_an_event_with_is_redacted(place):
    async def heard(_event):
        await anyio.lowlevel.checkpoint()
        return {"message": {"content": EVERYTHING}}

    def build(context):
        context.host.on("before_agent_start", heard)
        return ()

    class Odd:
        @hookimpl
        def ohm_tool_suites(self):
            return [ToolSuiteSpec(name="odd", summary="x", build=build, redacts=True)]

    async with opened(place, ActingBackend(leaky), Odd(), suites=["odd"]) as ohm:
        [answer] = await ohm.emit("before_agent_start")
    assert "[REDACTED]" in answer["message"]["content"]
    assert leaks(json.dumps(answer)) == []


@pytest.mark.parametrize("redact", [True, ["odd"]])
async def test_what_a_tool_of_subagents_answers_is_redacted_if_the_user_says_so(place, redact):
    async def odd(_call):
        await anyio.lowlevel.checkpoint()
        return ToolResult(text=EVERYTHING, details={"said": EVERYTHING})

    tool = Tool(name="odd", label="Odd", description="x", input_schema={}, execute=odd, call_view=lambda *_: "")

    class Odd:
        @hookimpl
        def ohm_tool_suites(self):
            return [ToolSuiteSpec(name="odd", summary="x", build=lambda _context: (tool,), audience="child")]

    for chosen, found in ((redact, False), (False, True)):
        async with opened(place, ActingBackend(leaky), Odd(), suites=[], subagents={"redact": chosen}) as ohm:
            done = await ohm.child_tools["odd"].execute(ToolCall(arguments={}))
        assert (LONG in done.text, LONG in json.dumps(done.details)) == (found, found)


async def test_a_key_in_the_file_of_an_agent_is_a_secret(place):
    key = "a key of nobody's shape"
    folder = place / "agents" / "agent-profiles"
    folder.mkdir(parents=True)
    (folder / "keyed.md").write_text(f"---\nname: keyed\napiKey: {key}\n---\nYou help.\n")

    async def says(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return f"It is {key}, I think."

    env = HERMETIC | {"HOME": str(place / "home"), "PI_CODING_AGENT_DIR": str(place / "agents")}
    redacted = {"redact": True}
    async with opened(place, ActingBackend(says), suites=["delegate"], subagents=redacted, env=env) as ohm:
        done = await ohm.call("delegate_to_subagents", {"tasks": [{"name": "t", "prompt": key}]})
    assert "It is [REDACTED], I think." in json.dumps(done.details)
    assert key not in json.dumps(done.details) + done.text


async def test_a_home_that_is_a_link_is_hidden_by_either_name(place):
    (place / "link").symlink_to(place / "home")

    async def says(_request, _sink):
        await anyio.lowlevel.checkpoint()
        return f"Look at {place}/home/a.py and {place}/link/b.py."

    env = HERMETIC | {"HOME": str(place / "link")}
    redacted = {"redact": True}
    async with opened(place, ActingBackend(says), suites=["delegate"], subagents=redacted, env=env) as ohm:
        done = await ohm.call("delegate_to_subagents", {"tasks": [{"name": "t", "prompt": "p"}]})
    assert "Look at ~/a.py and ~/b.py." in json.dumps(done.details)


async def test_what_another_tool_raises_holds_no_secret_either(place):
    async def odd(_call):
        await anyio.lowlevel.checkpoint()
        raise RuntimeError(EVERYTHING)

    tool = Tool(name="odd", label="Odd", description="x", input_schema={}, execute=odd, call_view=lambda *_: "")

    class Odd:
        @hookimpl
        def ohm_tool_suites(self):
            return [ToolSuiteSpec(name="odd", summary="x", build=lambda _context: (tool,), redacts=True)]

    async with opened(place, ActingBackend(leaky), Odd(), suites=["odd"]) as ohm:
        done = await ohm.call("odd", {})
    assert done.details["error_code"] == "tool_failed"
    assert leaks(done.text, json.dumps(done.details)) == []


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


async def test_what_the_host_is_told_follows_the_configuration_in_force(place):
    host, told = MemoryHost(), []
    async with opened(place, ActingBackend(leaky), suites=["delegate"], host=host) as ohm:
        for redact in (False, True, False):
            config = {"subagentBackend": "acting", "suites": ["delegate"], "subagents": {"redact": redact}}
            await ohm.reconfigure(config=config)
            await ohm.call("delegate_to_subagents", DELEGATE)
            told.append(json.dumps(host.calls.pop()[1:], ensure_ascii=False))
    assert [leaks(one) == [] for one in told] == [False, True, False]
    assert all(DELEGATE["tasks"][0]["name"] in one for one in told)


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
