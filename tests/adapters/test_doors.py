"""The same calls through every framework come to the same: what its model reads, and what is kept.

Those that share our environment are played here; each of the others has one of its own, because their pins contradict
each other and ours.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import door_contract
import pytest
from anyio.from_thread import start_blocking_portal
from command_line import in_this_process
from door_contract import CASES, DOORS
from environments import made_for
from shared_tasks import doors_of

from ohm_subagents.testing import HERMETIC

ROOT = Path(__file__).parents[2]
PLAYED = "door_contract.py"
PROGRAMS = {
    "openai_agents": [PLAYED, "arrivals.py", "page.py openai_agent"],
    "langchain": [PLAYED, "arrivals.py", "deep_agent.py", "page.py langchain_agent", "page.py deep_agent"],
    "strands": [PLAYED, "page.py strands_agent"],
    "claude_sdk": [PLAYED, "page.py claude_agent"],
}
"""The programs for the environment of each door; they get the name of the door as their first argument."""
OTHERS = tuple(PROGRAMS)
EVERY = ["pydantic_ai", "mcp_server", *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
WAITING = "use op wait only if you cannot go on without it."
ARRIVALS = {
    "pydantic_ai": f"What ends in the background comes as a message at your next turn: {WAITING}",
    "mcp_server": f"What ends in the background comes with the next result of any of these tools: {WAITING}",
}
"""The arrival of results at the doors that bring them without a mailbox of the program."""
pytestmark = pytest.mark.timeout(600)  # the first test of a framework downloads it
CI = os.environ.get("CI", "").strip().lower() not in {"", "0", "false"}


@pytest.fixture(scope="session")
def pythons(tmp_path_factory):
    """Give the Python of an environment with the framework of a door and ours, or say why there is none."""
    folder, made = tmp_path_factory.mktemp("frameworks"), {}

    def python(door):
        if door not in made:
            also = ("--no-compile-bytecode", "--editable", str(ROOT))  # a tenth of what is installed is imported
            made[door] = made_for({door: DOORS / f"{door}.py"}, folder, *also)
        found, problems = made[door]
        if problems:
            why = f"the environment of {door} cannot be made: {problems[door]}"
            if CI:
                pytest.fail(why)
            pytest.skip(reason=why)
        return found[door]

    return python


@pytest.fixture(scope="module")
def direct():
    """Return what comes back without a framework."""
    return anyio.run(door_contract.played, door_contract.loaded("direct"))


@pytest.fixture(scope="module", params=EVERY)
def played(request, printed):
    """Return what comes back through a door."""
    if request.param not in OTHERS:
        return {**anyio.run(door_contract.played, door_contract.loaded(request.param)), "door": request.param}
    return json.loads(printed(request.param, PLAYED))


@pytest.fixture(scope="session")
def printed(pythons, tmp_path_factory):
    """Return what a program of a door prints; all of a door are run at the first question."""
    place, runs = tmp_path_factory.mktemp("place"), {}
    (place / "ohm.json").write_text('{"subagentBackend": "none"}')
    env = HERMETIC | {"PI_CONFIG_DIR": str(place), "PATH": os.environ["PATH"]}

    def said(door, program):
        if door not in runs:
            here = Path(__file__).parent
            asked = [
                {"words": [f"{here / file}", door, *words], "env": env if file == "page.py" else {**os.environ}}
                for file, *words in map(str.split, PROGRAMS[door])
            ]
            command = [pythons(door), here / "programs.py", door]
            done = subprocess.run(
                command, input=json.dumps(asked), capture_output=True, text=True, check=False, timeout=500
            )
            assert done.returncode == 0, done.stderr
            runs[door] = dict(zip(PROGRAMS[door], json.loads(done.stdout), strict=True)), done.stderr
        of_each, errors = runs[door]
        assert of_each[program]["code"] == 0, errors
        return of_each[program]["printed"]

    return said


@pytest.mark.sample(3)
@pytest.mark.parametrize("case", CASES)
def test_a_call_comes_to_the_same_as_without_a_framework(case, played, direct):
    ours, theirs = direct["cases"][case], played["cases"][case]
    arrival = ARRIVALS.get(played.get("door")) if case == "a start in the background" else None
    told = ours["text"] if arrival is None else f"{ours['text']}\n{arrival}"
    assert theirs["text"].strip() == told.strip(), "the model reads the same; Claude Code trims errors"
    assert theirs["kept"] == ours["kept"], "the same envelopes are kept"
    for kind in ("is_error", "details", "usage"):
        assert theirs[kind] in (ours[kind], None)
    if theirs["frames"] is not None:
        assert bool(theirs["frames"]) == bool(ours["frames"])
        assert set(theirs["frames"]) <= set(ours["frames"])


def test_what_a_framework_has_a_place_for_is_there(played):
    answer = played["cases"]["an answer"]
    given = {kind for kind in ("is_error", "details", "frames", "usage") if answer[kind] is not None}
    assert given in PLACES, "a door that gives less has lost something"


PLACES = [
    {"is_error", "details", "frames", "usage"},  # pydantic-ai
    {"is_error", "details", "frames"},  # LangChain counts the usage of its own models only
    {"is_error", "frames", "usage"},  # strands
    {"details", "usage"},  # openai-agents shows no progress, and every answer of a tool is just that
    {"is_error", "details"},  # an MCP client reads one line of each frame
    {"is_error"},  # the Claude Agent SDK passes no notifications of a server on
]


def test_a_parent_that_is_cancelled_cancels_its_subagents_and_their_work_is_kept(played):
    assert played["cancelled"] == {"status": "cancelled", "said": "So far."}


def test_a_task_of_the_program_is_awaited_continued_and_cancelled_through_the_door(played, direct):
    assert played["across"] == direct["across"]
    assert sorted(direct["across"]["statuses"]) == ["cancelled", "succeeded", "succeeded"]


def test_options_hold_for_every_call_of_a_door(played):
    assert played["placed"] == [str(DOORS)]


def test_arguments_that_do_not_fit_and_an_ohm_that_is_closed_are_a_text_for_the_model(played, direct):
    assert played["refused"].strip() == direct["refused"].strip()
    assert played["closed"]["text"] == direct["closed"]["text"]


@pytest.mark.slow
def test_a_deep_agent_runs_our_profiles_by_its_own_task_tool(printed):
    assert json.loads(printed("langchain", "deep_agent.py")) == {
        "read": ["It is here.", "The provider refused. Wait."],
        "asked": ["Where is it?"] * 3,
        "usage": {"input_tokens": 30, "output_tokens": 4, "total_tokens": 34},
        "names": ["finder", "librarian", "oracle", "painter", "task"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("door", ["langchain", "openai_agents"])
def test_what_ends_in_the_background_is_heard_once_in_a_conversation(door, printed):
    *earlier, last_but_one, last = json.loads(printed(door, "arrivals.py"))
    assert earlier[0] == 0
    assert (last_but_one, last) == (1, 1)


EXAMPLES = [(door, each) for door, programs in PROGRAMS.items() for each in programs if each.startswith("page.py ")]


@pytest.mark.slow
@pytest.mark.parametrize(("door", "example"), EXAMPLES)
def test_the_example_runs_to_its_end(door, example, printed):
    assert printed(door, example).strip() == "done"


NEEDED = {
    ("openai_agents", "tools"): "openai-agents",
    ("langchain", "tools"): "langchain-core",
    ("langchain", "subagents"): "deepagents",
    ("claude_sdk", "server"): "claude-agent-sdk",
    ("strands", "tools"): "strands-agents",
}
ASKING = """
import json, sys
from importlib import import_module

def told(adapter, make):
    try:
        getattr(import_module(f"ohm_subagents.adapters.{adapter}"), make)(None)
    except ImportError as error:
        return str(error)

print(json.dumps([told(*each) for each in json.loads(sys.argv[1])]))
"""


@pytest.mark.slow
def test_a_framework_that_is_not_installed_is_named_with_what_to_do():
    command = [sys.executable, "-c", ASKING, json.dumps([*NEEDED])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for told, package in zip(json.loads(done.stdout), NEEDED.values(), strict=True):
        assert told.startswith("No module named ")
        assert told.endswith(f"This adapter needs {package}: pip install {package}")


@pytest.mark.slow
def test_no_framework_is_imported_before_an_adapter_is():
    script = """
import sys
import ohm_subagents
from ohm_subagents import Ohm
from ohm_subagents.adapters import langchain, openai_agents, claude_sdk, strands
frameworks = {"agents", "langchain_core", "langgraph", "deepagents", "claude_agent_sdk", "strands", "pydantic_ai"}
sys.exit(f"{frameworks & sys.modules.keys()}" if frameworks & sys.modules.keys() else 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # as the library of the editor needs it
async def test_a_task_begun_through_one_door_is_seen_awaited_continued_and_cancelled_through_every_other(tmp_path):
    async with doors_of(tmp_path) as (ohm, doors, release):
        for begins, first in doors.items():
            for takes, other in ((name, door) for name, door in doors.items() if door is not first):
                task_id, answers = await first.begin("wait"), []
                assert await other.status(task_id) == "running", (begins, takes)

                async def answer(door=other, task_id=task_id, answers=answers):
                    answers.append(await door.answer(task_id))

                async with anyio.create_task_group() as group:
                    group.start_soon(answer)
                    await release()
                assert (answers, await other.go_on(task_id, "more")) == (["WAIT"], "MORE"), (begins, takes)

                task_id = await first.begin("hang")
                await other.cancel(task_id)
                await ohm.handle(task_id).wait()
                assert ohm.task(task_id).status == "cancelled", (begins, takes)


@pytest.mark.slow
def test_the_command_line_shares_the_tasks_of_a_living_program(tmp_path):
    env = {**os.environ, **HERMETIC, "PI_CONFIG_DIR": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
    (tmp_path / "ohm.json").write_text('{"subagentBackend": "none", "subagents": {"sendToFinished": "resume"}}')

    def ohm_command(*arguments):
        return in_this_process(*arguments, cwd=tmp_path, env=env)

    def called(**arguments):
        return json.loads(ohm_command("call", "task", json.dumps(arguments), "--json").stdout)

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(doors_of(tmp_path)) as (ohm, doors, release),
    ):
        running, stopped = (portal.call(doors["program"].begin, "wait") for _ in range(2))
        portal.call(anyio.wait_all_tasks_blocked)
        portal.call(ohm.store.flush)
        seen = json.loads(ohm_command("task", running, "--json").stdout)["status"]
        cancelled = called(op="cancel", id=stopped)
        portal.call(release)
        answer = called(op="wait", ids=[running])["items"][0]["output"]

        done = json.loads(ohm_command("run", "finder", "of a command", "--json").stdout)["task_id"]
        for door in doors.values():
            assert portal.call(door.status, done) == "succeeded"
            assert "of a command" in portal.call(door.answer, done)
        for door in doors.values():
            assert "more" in portal.call(door.go_on, done, "more").lower()
        assert "and more" in called(op="send", id=done, prompt="and more")["output"]

    assert (seen, answer) == ("running", "WAIT")
    assert (cancelled["status"], cancelled["cancel_applied"]) == ("cancelled", True)
