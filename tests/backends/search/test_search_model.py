"""`local/search` end to end: a real agent, the real tools, exact answers over a pinned tree."""

import subprocess
import sys
from dataclasses import dataclass, field

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.run import AgentRunResultEvent

from ohm_subagents.backends.in_process.search.model import search_model_spec
from ohm_subagents.backends.in_process.search.plan import Failure, PlannedCall, next_step
from ohm_subagents.backends.in_process.search.stream import NoSearchError
from ohm_subagents.backends.in_process.toolset import child_toolset, child_workspace
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.result import Err, Ok

pytestmark = pytest.mark.anyio

FINDER = ("read", "grep", "find", "ls", "code_search")
HONEST = (
    "This is keyword search (local/search), not a language model: it ranks code by the words of the question.\n"
    "For a model that reasons, set OHM_MODEL, or subagents.model in ohm.json, for example to "
    "anthropic/claude-sonnet-5-5, with ANTHROPIC_API_KEY in the environment."
)
CANNOT = "It only finds places, for questions of where, which or how; it cannot explain, plan or edit."


@pytest.fixture
def model():
    match search_model_spec().open(ModelPattern(provider="local", model="search")):
        case Ok(model):
            return model
        case Err(error):
            pytest.fail(str(error))


@pytest.fixture
def project(tmp_path):
    (tmp_path / "money.py").write_text(
        '"""Amounts of money."""\n\n\n'
        "def convert_currency(amount, rate):\n"
        '    """Convert an amount at an exchange rate."""\n'
        "    return amount * rate\n\n\n"
        "def round_amount(amount):\n"
        "    return round(amount, 2)\n"
    )
    (tmp_path / "rates.py").write_text("class ExchangeRates:\n    def fetch(self, currency):\n        return 1.0\n")
    (tmp_path / "notes.md").write_text("# Notes\n\nThe exchange opens at nine.\n")
    return tmp_path


@dataclass
class Trace:
    """The frames that a run showed on its way."""

    calls: list[tuple[str, object]] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    deltas: list[str] = field(default_factory=list)
    result: object = None

    @property
    def answer(self) -> str:
        return self.result.output


async def run(model, cwd, question, names=FINDER, **options) -> Trace:
    trace = Trace()
    agent = Agent(model, toolsets=[child_toolset(names)])
    async with agent.run_stream_events(question, workspace=child_workspace(cwd, names), **options) as events:
        async for event in events:
            match event:
                case (
                    PartStartEvent(part=TextPart(content=text))
                    | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
                ):
                    trace.deltas.append(text)
                case FunctionToolCallEvent(part=part):
                    trace.calls.append((part.tool_name, part.args_as_dict()))
                case FunctionToolResultEvent(part=part):
                    trace.outcomes.append(part.outcome)
                case AgentRunResultEvent(result=result):
                    trace.result = result
                case _:
                    pass
    return trace


async def test_it_searches_reads_and_lists_three_places(model, project):
    question = "Where is a currency converted at the exchange rate?"
    trace = await run(model, project, question)
    assert trace.calls == [
        ("code_search", {"query": question, "limit": 3}),
        ("read", {"path": "money.py", "offset": 4, "limit": 3}),
    ]
    assert trace.outcomes == ["success", "success"]
    assert trace.answer == (
        "The 3 best matches, best first:\n"
        "\n"
        "1. money.py:4-6  function convert_currency — Convert an amount at an exchange rate.\n"
        "       4 | def convert_currency(amount, rate):\n"
        '       5 |     """Convert an amount at an exchange rate."""\n'
        "       6 |     return amount * rate\n"
        "\n"
        "2. rates.py:2-3  method ExchangeRates.fetch\n"
        "       2 |     def fetch(self, currency):\n"
        "\n"
        "3. rates.py:1-3  class ExchangeRates\n"
        "       1 | class ExchangeRates:\n"
        "       2 |     def fetch(self, currency):\n"
        f"\n{HONEST}\n"
    )


async def test_the_first_place_shows_the_lines_that_match_however_long_it_is(model, tmp_path):
    body = [f"    step_{number}()" for number in range(2, 60)]
    body[20] = "    charge_customer(invoice)  # at line 23"
    body[50] = "    notify_customer(invoice)  # at line 53"
    (tmp_path / "billing.py").write_text("\n".join(["def settle(invoice):", *body, "    return invoice", ""]))
    trace = await run(model, tmp_path, "Where is the customer of an invoice charged and notified?")
    assert trace.calls[1] == ("read", {"path": "billing.py", "offset": 1, "limit": 12})
    shown = [line.partition(" | ")[2] for line in trace.answer.splitlines() if " | " in line]
    assert shown[0] == "def settle(invoice):"
    assert shown[12:] == ["    charge_customer(invoice)  # at line 23", "    notify_customer(invoice)  # at line 53"]


async def test_the_answer_is_streamed_in_parts(model, project):
    trace = await run(model, project, "Where is money rounded?")
    assert len(trace.deltas) > 5
    assert "".join(trace.deltas) == trace.answer


async def test_requests_are_counted_and_no_tokens_are_made_up(model, project):
    usage = (await run(model, project, "Where is money rounded?")).result.usage
    assert (usage.requests, usage.tool_calls) == (3, 2)
    assert (usage.input_tokens, usage.output_tokens) == (0, 0)


async def test_the_same_question_gives_the_same_answer_streamed_or_not(project):
    model, streamed = (search_model_spec().open(ModelPattern(provider="local", model="search")).ok_value for _ in "ab")
    agent = Agent(model, toolsets=[child_toolset(FINDER)])
    whole = await agent.run("Where is money rounded?", workspace=child_workspace(project, FINDER))
    assert whole.output == (await run(streamed, project, "Where is money rounded?")).answer
    assert whole.response.model_name == "search"
    assert whole.response.provider_name == "local"


@pytest.mark.slow
async def test_how_to_get_a_model_is_told_once_and_what_this_is_each_time(model, project):
    answers = [(await run(model, project, "Where is money rounded?")).answer for _ in range(3)]
    what_it_is, advice = HONEST.split("\n")
    assert [what_it_is in answer for answer in answers] == [True, True, True]
    assert [advice in answer for answer in answers] == [True, False, False]


async def test_what_was_not_searched_is_told(model, project):
    (project / "large.py").write_text("money = 1\n" * 60_000)
    (project / ".ignore").symlink_to("/dev/zero")
    for question in ("Where is money rounded?", "Where is the zebra?"):
        answer = (await run(model, project, question)).answer
        assert "\n\n[Not searched: files over 512000 bytes (1); use grep for them]\n\n[Ignore files without" in answer


async def test_nothing_found_is_said(model, project):
    trace = await run(model, project, "Where is the zebra?")
    assert trace.answer == f"I found no place whose words match the question.\n\n{HONEST}\n"
    assert [name for name, _ in trace.calls] == ["code_search"]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("question", "adds"),
    [
        ("Where is money rounded?", False),
        ("Which function rounds money?", False),
        ("how is money rounded", False),
        ("Explain rounding of money", True),
        ("Refactor money", True),
    ],
)
async def test_a_question_of_another_kind_is_told_what_search_cannot_do(model, project, question, adds):
    assert ((await run(model, project, question)).answer.endswith(f"{CANNOT}\n")) is adds


async def test_without_the_search_tool_the_run_fails(model, project):
    with pytest.raises(NoSearchError, match=r"^The tool code_search was not given to this subagent\.$"):
        await run(model, project, "Where is money rounded?", names=("read", "grep"))


async def test_without_the_read_tool_it_answers_from_the_search(model, project):
    trace = await run(model, project, "Where is a currency converted?", names=("code_search",))
    assert [name for name, _ in trace.calls] == ["code_search"]
    assert "1. money.py:4-6  function convert_currency" in trace.answer
    assert "       4 | def convert_currency(amount, rate):" in trace.answer


async def test_a_follow_up_is_searched_anew(model, project):
    first = await run(model, project, "Where is money rounded?")
    history = first.result.all_messages()
    second = await run(model, project, "Where is the exchange?", message_history=history)
    assert second.calls[0] == ("code_search", {"query": "Where is the exchange?", "limit": 3})
    assert "class ExchangeRates" in second.answer
    alone = await run(model, project, "Where is the exchange?")
    assert second.answer == alone.answer


async def test_a_search_that_failed_fails_the_run(model, project):
    project.joinpath("gone").mkdir()
    cwd = project / "gone"
    agent = Agent(model, toolsets=[child_toolset(FINDER)])
    cwd.rmdir()
    with pytest.raises(NoSearchError, match=r"^The working directory is gone"):
        await agent.run("Where is money rounded?", workspace=child_workspace(cwd, FINDER))


def question_and_call(tool: str) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart(["Where is", " it?"])]),
        ModelResponse(parts=[ToolCallPart(tool, {}, tool_call_id="1")]),
        ModelRequest(parts=[]),
    ]


def test_a_call_without_a_result_is_a_failed_call():
    step = next_step(question_and_call("code_search"), {"code_search"})
    assert step == Failure("The tool code_search gave no answer.")


def test_the_step_depends_on_the_messages_alone():
    messages = question_and_call("another_tool")
    assert next_step(messages, {"code_search"}) == next_step(messages, {"code_search"})
    assert next_step(messages, {"code_search"}) == PlannedCall(
        id="code_search-3", tool="code_search", arguments={"query": "Where is\n it?", "limit": 3}
    )


def test_only_search_is_known_under_local():
    match search_model_spec().open(ModelPattern(provider="local", model="llama")):
        case Err(error):
            assert error.code == ErrorCode.MODEL_UNKNOWN
            assert str(error) == 'Unknown model "local/llama". Provider local has one model: local/search.'
        case Ok(_):
            pytest.fail("opened")


@pytest.mark.slow
def test_the_spec_alone_loads_no_pydantic_ai():
    code = (
        "import sys; from ohm_subagents.backends.in_process.search.model import search_model_spec; "
        "search_model_spec(); print('pydantic_ai' in sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == "False\n"
