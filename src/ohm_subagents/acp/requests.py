"""Requests of subagents as an editor asks about them: permission requests and forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from acp import RequestError
from acp.helpers import text_block, tool_content
from acp.schema import (
    AcceptElicitationResponse,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    PermissionOption,
    SelectedPermissionOutcome,
    ToolCallUpdate,
)

from ohm_subagents.acp.tool_calls import ToolCall
from ohm_subagents.commands import with_config
from ohm_subagents.contract import Approve, Deny, Text, ToolStarted
from ohm_subagents.views import landing_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from acp.schema import CreateElicitationResponse, ElicitationMode, RequestPermissionResponse

    from ohm_subagents.contract import Answer, Request

_ANSWER: Final = "answer"
_DISMISSED: Final = Deny("The request was dismissed in the editor.")
_OPTIONS: Final = (
    PermissionOption(option_id="call", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="task", name="Allow for this task", kind="allow_always"),
    PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="deny", name="Deny", kind="reject_once"),
)
_LANDING: Final = (
    PermissionOption(option_id="call", name="Land it", kind="allow_once"),
    PermissionOption(option_id="deny", name="Keep it apart", kind="reject_once"),
)
_APPROVALS: Final[Mapping[str, Approve]] = {
    "call": Approve(),
    "task": Approve("task"),
    "always": Approve("always"),
}


def answering_command(request: Request, config: Path | None) -> str:
    """Return the command that answers a request, with the ohm.json that was typed: it needs that too."""
    answer = "text '…'" if request.kind == "question" else "approve"
    return f"{with_config('ohm answer', config)} {request.id} {answer}"


class Asking(Protocol):
    """The client of a connection, as far as it asks the person in front of it."""

    async def request_permission(
        self, *, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption]
    ) -> RequestPermissionResponse:
        """Let the person choose an option."""
        ...

    async def create_elicitation(self, *, message: str, mode: ElicitationMode) -> CreateElicitationResponse:
        """Let the person fill in a form."""
        ...


class Requests:
    """The requests of one session, put to its editor."""

    def __init__(self, session_id: str, editor: Asking, cwd: Path, *, takes_forms: bool) -> None:
        """`takes_forms`: the editor has said that it can show forms."""
        self._session_id = session_id
        self._editor = editor
        self._cwd = cwd
        self._takes_forms = takes_forms

    async def answer(self, request: Request, known: ToolCall | None = None) -> Answer | None:
        """Return the person's answer; None for a request that this editor cannot ask about.

        `known` is the call that it is about, if the editor was told of that.
        """
        try:
            if request.kind == "tool":
                return await self._approval(request, known)
            if self._takes_forms:
                return await self._filled_in(request)
            return await self._chosen(request) if request.options else None
        except (RequestError, ConnectionError):  # it has no such request, or has gone
            return None

    async def _approval(self, request: Request, known: ToolCall | None) -> Answer:
        call, landing = known or _call_of(request, self._cwd), landing_text(request)
        asked = ToolCallUpdate(
            tool_call_id=call.id,
            title=call.title if known else f"{request.profile}: {f'land {landing}' if landing else call.title}",
            kind=call.kind,
            status="pending",
            raw_input=call.arguments,
            content=call.change,
            locations=None if call.locations is None else [*call.locations],
        )
        chosen = await self._choice(asked, list(_LANDING if landing else _OPTIONS))
        return _APPROVALS.get(chosen, Deny()) if chosen else _DISMISSED

    async def _chosen(self, request: Request) -> Answer:
        """Offer the options of a question, where there is no form for other answers."""
        numbered = {f"{number}": option for number, option in enumerate(request.options, 1)}
        options = [PermissionOption(option_id=key, name=name, kind="allow_once") for key, name in numbered.items()]
        options.append(PermissionOption(option_id="deny", name="No answer", kind="reject_once"))
        asked = ToolCallUpdate(
            tool_call_id=request.id,
            title=f"{request.profile} asks",
            kind="think",
            status="pending",
            content=[tool_content(text_block(request.question))],
        )
        chosen = await self._choice(asked, options)
        return Text(numbered[chosen]) if chosen in numbered else _DISMISSED

    async def _choice(self, asked: ToolCallUpdate, options: list[PermissionOption]) -> str:
        """Return the id of the option that was chosen; empty if the question was dismissed."""
        answered = await self._editor.request_permission(session_id=self._session_id, tool_call=asked, options=options)
        return answered.outcome.option_id if isinstance(answered.outcome, SelectedPermissionOutcome) else ""

    async def _filled_in(self, request: Request) -> Answer:
        hint = f"Such as: {', '.join(request.options)}" if request.options else None
        field = ElicitationStringPropertySchema(type="string", title="Answer", description=hint)
        schema = ElicitationSchema(type="object", properties={_ANSWER: field}, required=[_ANSWER])
        mode = ElicitationFormSessionMode(session_id=self._session_id, requested_schema=schema)
        message = f"{request.profile} asks: {request.question}"
        answered = await self._editor.create_elicitation(message=message, mode=mode)
        match answered:
            case AcceptElicitationResponse(content={"answer": str(text)}) if text.strip():
                return Text(text)
            case _:
                return _DISMISSED


def _call_of(request: Request, cwd: Path) -> ToolCall:
    return ToolCall(request.id, ToolStarted(call_id=request.id, tool=request.tool, args=request.arguments), cwd)
