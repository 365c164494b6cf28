"""The approvals of one run: its tool calls are judged by rules, and those that rules ask about wait for an answer."""

from __future__ import annotations

import json
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from ohm_subagents._config.approved_calls import digest_of
from ohm_subagents._config.tool_rules import has_tool
from ohm_subagents._orchestrator.run.stream_redactor import redacted_json
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised
from ohm_subagents.contract.profile import ASK_PARENT
from ohm_subagents.contract.requests import Approve, Deny, Request, Text
from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager

    from pydantic import JsonValue

    from ohm_subagents._orchestrator.run.answers import Answered
    from ohm_subagents._orchestrator.run.requests import Requests
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents._plugins.backends.request import RunSpec
    from ohm_subagents._policy.tools import LaterTools
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.profile import Decision
    from ohm_subagents.contract.requests import RequestKind
    from ohm_subagents.contract.workspace import WorkspaceKept

UNANSWERED: Final = (
    "Nobody has answered. Go on with what you take to be right and say so, or say what you could not do."
)
_ANY_LANDING: Final = "any landing"
"""The name to which an approval of a landing is bound, with the directory; no tool has such a one."""
SHOWN: Final = 4000
"""Characters of arguments, and of a question, that a request shows."""


class Approvals:
    """Judges the tool calls of one run, and asks where its rules demand it."""

    __slots__ = ("_has_told", "_later", "_park", "_path", "_record", "_requests", "_spec")

    def __init__(
        self,
        record: TaskRecord,
        spec: RunSpec,
        requests: Requests,
        *,
        path: Callable[[], tuple[TaskId, ...]],
        park: Callable[[], AbstractAsyncContextManager[None]],
        later: LaterTools | None = None,
    ) -> None:
        """`path` gives the tasks from the root to this one. `park` is open while the run waits for an answer.

        `later` are the tools of sources that the run may have besides those of `spec`.
        """
        self._record = record
        self._path = path
        self._spec = spec
        self._requests = requests
        self._park = park
        self._later = later
        self._has_told = False

    async def tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        call_id: str,
        on_wait: Callable[[], None] | None,
        judged: Decision | None = None,
    ) -> str | None:
        """Return None for a call that may be made, now or once it was approved; else the sentence for the model.

        `on_wait` is called before anybody is asked. `judged` is the verdict of the rules, where files of another
        machine had to be looked at for it.
        """
        from ohm_subagents._policy.calls import judge_call, refusal_sentence  # noqa: PLC0415  an echo calls no tool

        if not self._is_given(name):
            await checkpoint()
            return self._ungiven(name)
        decision = judged or judge_call(self._spec.call_rules, name, arguments, cwd=self._spec.cwd)
        if decision.verdict == "allow":
            await checkpoint()
            return None
        if decision.verdict == "deny":
            await checkpoint()
            return refusal_sentence(decision, name)
        requests = self._requests
        digest = digest_of(name, arguments, self._spec.cwd)
        if (kept := requests.kept_answer(self._record.task.id, digest)) is not None:
            await checkpoint()
            return _refusal(name, kept)
        path = self._path()
        if requests.is_approved(path, digest):
            await checkpoint()
            return None
        if not await requests.answerers.attending(path):
            unattended = requests.unattended or ("allow" if decision.is_default else "wait")
            if unattended == "allow":
                await checkpoint()
                self._tell_unasked(name, decision)
                return None
            if unattended == "deny":
                await checkpoint()
                return refusal_sentence(decision, name)
        text = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        shown = shortened(redacted_json(text, requests.redactor()), SHOWN)
        reason = self._redacted(f"{decision.source or 'a rule'}: {decision.reason}".removesuffix(": "))
        request = self._request("tool", name, call_id, arguments=shown, reason=reason, digest=digest)
        if on_wait is not None:
            on_wait()
        return _refusal(name, await self._ask(request))

    def _is_given(self, name: str) -> bool:
        """Return True for a tool that the run has: an agent may know more than it was given."""
        spec = self._spec
        if not spec.tools_are_bounded or has_tool(spec.tools, name):
            return True
        return self._later is not None and self._later.gives(name)

    def _ungiven(self, name: str) -> str:
        given = ", ".join(self._spec.tools if self._later is None else (*self._spec.tools, *self._later.asked))
        return (
            f"The call of '{name}' was not made, because this subagent does not have the tool. Its tools are: "
            f"{given or 'none'}. Do it with these, or say what you could not do."
        )

    async def ask_parent(self, question: str, options: Sequence[str]) -> str:
        """Ask a question of the subagent, and return what its model reads as the answer."""
        requests = self._requests
        if requests.unattended in {"allow", "deny"} and not await requests.answerers.attending(self._path()):
            return UNANSWERED
        digest = digest_of(ASK_PARENT, {"question": question}, self._spec.cwd)
        if (kept := requests.kept_answer(self._record.task.id, digest)) is not None:
            await checkpoint()
            return reply_text(kept)
        shown = tuple(shortened(self._redacted(one), SHOWN) for one in options)
        request = self._request(
            "question",
            ASK_PARENT,
            "",
            question=shortened(self._redacted(question), SHOWN),
            options=shown,
            digest=digest,
        )
        return reply_text(await self._ask(request))

    async def landing(self, work: WorkspaceKept) -> str | None:
        """Return None once somebody has agreed that the work of the task lands; else why it has not landed.

        Who agreed for the task, or for always, has agreed to what the task, or any one, lands in this directory later.
        Where nobody is there, nobody has agreed: only `unattended: wait` waits for one who comes.
        """
        requests, task_id = self._requests, self._record.task.id
        digest = digest_of(_ANY_LANDING, {}, self._spec.cwd)
        if requests.is_approved(self._path(), digest):
            return None
        if requests.unattended != "wait" and not await requests.answerers.attending(self._path()):
            return f"The work has not landed: nobody was there to agree. `ohm land {task_id}` lands it."
        facts: dict[str, JsonValue] = {"ref": work.ref, "files": work.files}
        facts |= {"insertions": work.insertions, "deletions": work.deletions}
        request = self._request(
            "tool",
            "land",
            "",
            arguments=json.dumps(facts, separators=(",", ":")),
            reason=f"land 'ask'; `ohm diff {task_id}` shows the changes",
            digest=digest,
        )
        match (await self._ask(request)).answer:
            case Approve():
                return None
            case Deny(reason=reason) | Text(text=reason):
                why = f": {reason.rstrip('.')}" if reason.strip() else ""
                return f"The work has not landed, because that was denied{why}. `ohm land {task_id}` lands it."

    async def _ask(self, request: Request) -> Answered:
        async with self._park():
            return await self._requests.ask(self._record, request)

    def _request(
        self,
        kind: RequestKind,
        tool: str,
        call_id: str,
        *,
        arguments: str = "",
        question: str = "",
        options: tuple[str, ...] = (),
        reason: str = "",
        digest: str = "",
    ) -> Request:
        task, now, expiry_ms = self._record.task, self._requests.clock(), self._requests.expiry_ms
        return Request(
            id=f"req_{token_hex(4)}_{task.id}",
            task_id=task.id,
            session_id=task.session_id,
            path=self._path(),
            profile=task.assignment.profile,
            kind=kind,
            tool=tool,
            arguments=arguments,
            question=question,
            options=options,
            reason=reason,
            digest=digest,
            call_id=call_id,
            asked_ms=now,
            expires_ms=None if expiry_ms is None else now + expiry_ms,
        )

    def _redacted(self, text: str) -> str:
        return self._requests.redactor().text(text)

    def _tell_unasked(self, tool: str, decision: Decision) -> None:
        """Tell once a run that calls were made about which somebody would have been asked."""
        if self._has_told:
            return
        self._has_told = True
        message = (
            f"A call of '{tool}' would have been asked about ({decision.reason}), and was made: nobody was there to "
            "answer."
        )
        advice = 'Set subagents.requests.unattended to "wait" or "deny", or answer requests.'
        self._record.add(
            DiagnosticRaised(diagnostic=Diagnostic(subject="requests", message=message, advice=advice, severity="info"))
        )


def reply_text(answered: Answered) -> str:
    """Return what the model reads as the answer to its question."""
    match answered.answer:
        case Text(text=text):
            return text
        case Approve():
            return "Yes."
        case Deny() if answered.by in {"expiry", "fault", "cancel"}:
            return UNANSWERED
        case Deny(reason=reason):
            return f"No: {reason}" if reason.strip() else UNANSWERED


def _refusal(tool: str, answered: Answered) -> str | None:
    """Return the sentence by which the model reads that a call was not approved; None if it was."""
    match answered.answer:
        case Approve():
            return None
        case Deny(reason=reason) | Text(text=reason):
            why = f": {reason.rstrip('.')}" if reason.strip() else ""
            said = f"The call of '{tool}' was not made, because it was denied{why}."
            return f"{said} Do it in another way that is allowed, or say what you could not do."
