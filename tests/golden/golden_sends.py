"""Plays the cases in which a follow-up is answered beside the pending start: ours runs it after that (Q64).

What follows from the other order alone is put right before it is compared; `quirks.md` lists it.
"""

import re
from typing import Any

import anyio
from golden_frames import AT_WORK, documented
from golden_player import Call, Player, without_stamps
from golden_quirks import TOO_LATE, masked, tags_of_result
from golden_recording import Json
from golden_texts import as_trees

HARM = {"Q12", "Q15"}
"""There the follow-up harms its task: what is recorded of that afterwards is not compared, ours has come to no harm."""
ROUTE = ("provider", "model", "runtime", "route")
IN_FILE = {"summary", "output", "followUpPrompts", "events", "totalToolCalls", "activeToolCalls"}


def is_send(step: Json) -> bool:
    """Return True if a step sends a follow-up."""
    payload = step.get("payload")
    return isinstance(payload, dict) and payload.get("op") == "send"


class SendPlayer(Player):
    """A follow-up is let go on, and checked once it is answered."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._sent: list[tuple[str, Call, Json]] = []
        self._is_harmed = bool(HARM & set(self._case.get("quirks", [])))

    async def _call(self, step: Json) -> None:
        if not is_send(step):
            await super()._call(step)
            return
        call = self._prepared(step)
        self._sent.append((self.where, call, step["expect"]))
        self._group.start_soon(self._run, call)
        await anyio.wait_all_tasks_blocked()

    async def _join(self, step: Json) -> None:
        call = self._spawned[step["as"]]
        if is_send(call.step):
            self._sent.append((self.where, call, step["expect"]))
        else:
            await super()._join(step)

    async def _check_result(self, call: Call, expect: Json) -> None:
        """Check the answer to a start or to a look at a task, but for what the follow-up has left there."""
        assert call.result is not None
        if self._is_harmed:
            parts = call.result.details.get("items", [call.result.details])
            told = {part["status"] for part in parts} - AT_WORK - {"succeeded"}
            self._same("no harm comes to a task", set(), told)
            return
        details = _without_order(expect["details"], call.result.details)
        await super()._check_result(call, expect | {"details": details})

    async def _release(self, step: Json) -> None:
        if step["call"] < len(self._backend.pending):  # else it is that of a follow-up that never had its turn
            await super()._release(step)

    async def _states(self, step: Json) -> None:
        if not self._is_harmed:
            pairs = [[(one["id"], one["state"]) for one in each] for each in (step["expect"]["states"], self._listed())]
            self._same("states", *pairs)

    async def _snapshot(self, step: Json) -> None:
        files = [step["expect"]["file"], without_stamps(await self._read_file())]
        self._same("the file", *([_entry(one) for one in file["entries"]] for file in files))

    async def finish(self) -> None:
        """Let every follow-up have its turn, then check what it was told."""
        for _ in range(len(self._sent) + 1):
            for pending in self._backend.pending:
                if not pending.released.is_set():
                    pending.release({"ok": {"summary": "released", "output": "released"}})
            await anyio.wait_all_tasks_blocked()
        for number, (where, call, expect) in enumerate(self._sent, start=1):
            self.where = where
            await call.done.wait()
            self._check_sent(call, expect, is_last=number == len(self._sent))

    def check_calls(self) -> None:
        """Follow-ups are asked in their order, after what was started; one of a cancelled task never is."""
        if "backend_calls" not in self._case:
            calls = [_told_once(call) for call in self._case["runner_calls"]]
            self._case = self._case | {"runner_calls": calls}
            super().check_calls()
            return
        asked = {kind: [call for call in self._backend.calls if call["kind"] == kind] for kind in ("start", "send")}
        for kind, ours in asked.items():
            recorded = [call for call in self._case["backend_calls"] if call["kind"] == kind]
            wanted = [{key: call[key] for key in ours[0]} for call in recorded] if ours else []
            self._same(f"backend calls ({kind})", wanted, ours[: len(wanted)])
            is_whole = len(wanted) == len(recorded) or self._is_cancelled
            self._same(
                f"all backend calls ({kind})", True, is_whole and (self._is_harmed or len(ours) <= len(recorded))
            )

    @property
    def _is_cancelled(self) -> bool:
        return any(step.get("payload", {}).get("op") == "cancel" for step in self._case["steps"])

    def _check_sent(self, call: Call, expect: Json, *, is_last: bool) -> None:
        assert call.result is not None
        told, ours = expect["details"], documented(call.result.details)
        if ours["status"] == "cancelled" or told.get("error_code") in TOO_LATE:
            state = "cancelled" if self._is_cancelled else "succeeded"
            self._same("a follow-up that the reference lost", (state, None), (ours["status"], ours.get("error_code")))
            return
        wanted = self._wanted(told) | self._own(told)
        if told["status"] == "failed":  # what the start has told of by then
            wanted |= {key: ours[key] for key in ROUTE}
        if told["status"] == "running":
            wanted["status"] = "succeeded" if is_last else "running"
        self._same("details of a follow-up", wanted, masked(ours, wanted))
        tags = self._tags | tags_of_result(told)
        self._check_text("text of a follow-up", self._tree(expect["text"], wanted), call.result.render(), tags)
        if "updates" in expect:
            frames = call.frames[call.first_frame :]
            self._same("the last frame of a follow-up", call.result.details, frames[-1].details)
            self._same("frames of a follow-up", {"send"}, {frame.details["op"] for frame in frames})

    def _own(self, told: Json) -> Json:
        """Rows and events of its own run: what the start had streamed is not its."""
        streamed = [event for entry in self._case["backend"].get("start", [])[:1] for event in entry.get("stream", [])]
        rows = sum(event["type"].startswith("tool_") for event in streamed)
        return {"tool_rows": told["tool_rows"][rows:], "event_count": told["event_count"] - len(streamed)}

    def _tree(self, recorded: str, wanted: Json) -> str:
        tree = as_trees(recorded, {**wanted, "output": (wanted.get("output") or "").split("\n")[-1].strip()})
        if wanted["status"] == "succeeded":
            return tree.replace("⠋", "✓", 1).removesuffix(f"\ntask_id: {wanted['task_id']}")
        return tree


def _without_order(recorded: Json, ours: Json) -> Json:
    """A start without the route that the follow-up took, and a look at the task without the summary of that."""
    if recorded["op"] == "start" and "items" not in recorded:
        return recorded | {key: ours[key] for key in ROUTE}
    if "items" not in recorded:
        return recorded
    shown = zip(recorded["items"], ours["items"], strict=True)
    return recorded | {"items": [one | {"summary": mine["summary"]} for one, mine in shown]}


def _told_once(call: Json) -> Json:
    """The prompt of a runner without the latest follow-up at the end of the history (Q16)."""
    if "prompt" not in call:
        return call
    return call | {"prompt": re.sub(r"\n\d+\. (.*)(\n\nLatest follow-up request:\n\1)", r"\2", call["prompt"])}


def _entry(entry: Json) -> Json:
    record = {key: value for key, value in entry["record"].items() if key not in IN_FILE}
    return {key: value for key, value in entry.items() if key not in IN_FILE} | {"record": record}
