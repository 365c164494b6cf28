"""Whatever models do and however they fail: nothing with an effect is done twice, and nothing is lost."""

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.contract import Checkpointed, OhmError, Profile, TextDelta, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

FINDER = Profile(id="finder", name="Finder", summary="Finds.", prompt="Find.")
ROUTE = ["acme/a", "acme/b", "acme/c", "acme/d"]
FAILING = [
    ErrorCode.PROVIDER_QUOTA_EXCEEDED,
    ErrorCode.PROVIDER_RATE_LIMITED,
    ErrorCode.PROVIDER_UNAVAILABLE,
    ErrorCode.PROVIDER_AUTHENTICATION,
]
DONE = "done"

deeds = st.lists(st.sampled_from(["say", "read", "write", "save", "use"]), max_size=5)
ends = st.sampled_from([*FAILING, ErrorCode.CONTENT_FILTERED, DONE])
runs = st.lists(st.tuples(deeds, ends), min_size=len(ROUTE), max_size=len(ROUTE))


def events(deed, number):
    """The part of a model: `number` is one of its own."""
    tools = {"read": "read", "write": "write"}
    if deed in tools:
        call = {"call_id": f"{number}", "tool": tools[deed]}
        return ToolStarted(**call), ToolEnded(**call, status="success")
    plain = {
        "say": TextDelta(text=f"<{number}>"),
        "save": Checkpointed(state=f"state {number}"),
        "use": UsageAdded(usage=Usage(requests=1)),
    }
    return (plain[deed],)


def step(deeds_of_one, end, first):
    done = [each for number, deed in enumerate(deeds_of_one, first) for each in events(deed, number)]
    error = None if end == DONE else OhmError(code=end, message=f"failed as {end}")
    return Step(text="answer" if error is None else "", events=tuple(done), error=error)


async def played(script):
    backend = ScriptedBackend(*(step(deeds_of_one, end, 10 * n) for n, (deeds_of_one, end) in enumerate(script)))
    fast = {"model": ROUTE[0], "fallback": ROUTE[1:]}
    config = {"subagentBackend": "scripted", "subagents": {"models": {"fast": fast}, "loop": {"identicalCalls": 0}}}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend], profiles=[FINDER]) as ohm:
        handle = await ohm.start("finder", "x", model="fast")
        await handle.wait()
        return backend.calls, ohm.task(handle.id)


def last(deeds_of_one, deed):
    """Return the place of the last such deed; -1 for none."""
    return max((n for n, one in enumerate(deeds_of_one) if one == deed), default=-1)


def is_resumable(deeds_of_one):
    """Return True if tools have run, and the conversation was saved after the last that has written."""
    saved = last(deeds_of_one, "save")
    return bool({"read", "write"} & {*deeds_of_one}) and saved > last(deeds_of_one, "write")


@settings(max_examples=15, deadline=None)
@given(runs)
def test_nothing_with_an_effect_is_done_twice_and_nothing_is_lost(script):
    calls, task = anyio.run(played, script)
    ran = script[: len(calls)]

    assert [f"{call.model}" for call in calls] == ROUTE[: len(calls)]
    assert [one.model for one in task.route.models_used] == ROUTE[: len(calls)]
    assert all(end in FAILING for _, end in ran[:-1])
    assert (task.status == "succeeded") == (ran[-1][1] == DONE)

    written, saved = False, None
    for (deeds_of_one, _), call in zip(ran, calls, strict=True):
        is_anew = call.prompt == "x"
        assert is_anew == (call.checkpoint is None)
        assert not (written and is_anew), "a tool with an effect would run again"
        assert call.checkpoint == saved
        base = 10 * calls.index(call)
        if is_resumable(deeds_of_one):
            saved = f"state {base + last(deeds_of_one, 'save')}"
        written = written or "write" in deeds_of_one

    numbered = [(deed, 10 * n + m) for n, (done, _) in enumerate(ran) for m, deed in enumerate(done)]
    said = [f"<{number}>" for deed, number in numbered if deed == "say"]
    assert [piece for piece in said if piece in task.text] == said
    used = sum(deed == "use" for deed, _ in numbered)
    assert task.activity.usage.requests == used
    if len(calls) < len(ROUTE) and ran[-1][1] in FAILING:
        assert "write" in ran[-1][0]
        assert not is_resumable(ran[-1][0])
