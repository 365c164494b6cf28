"""The conversation of a session, from a checkpoint or from what was said. Imports pydantic_ai, so import it late."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError
from pydantic_ai.conversation import Conversation, ConversationTypeAdapter
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolReturnPart,
    UserPromptPart,
    repair_messages,
)
from pydantic_ai.usage import RunUsage

from ohm_subagents.plugin import UNREADABLE_SESSION, Checkpointed, DiagnosticRaised, Exchange, RunRequest, Sink

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_ai.run import AgentRun

    from ohm_subagents.backends.in_process.tools.use import ToolUse

_GROWTH: Final = 1.25
_NOT_KEPT: Final = "[Images are not kept: call the tool again to see one.]"

# It builds its schemas at first use, which takes long: better now, in the thread that imports this.
ConversationTypeAdapter.validate_json(ConversationTypeAdapter.dump_json(Conversation(messages=[])))


def conversation_of(request: RunRequest, sink: Sink) -> Conversation:
    """Return the session so far: its checkpoint, repaired; else its history as plain text. Its id is the session's."""
    if request.checkpoint is not None:
        try:
            stored = ConversationTypeAdapter.validate_json(request.checkpoint)
        except ValidationError:
            sink.emit(DiagnosticRaised(diagnostic=UNREADABLE_SESSION))
        else:
            # Usage starts anew: it was reported by the runs that used it, and limits are per run.
            messages = repair_messages(stored.messages)
            return replace(stored, messages=messages, usage=RunUsage(), conversation_id=request.session_id)
    return Conversation(messages=list(_messages(request.history)), conversation_id=request.session_id)


class Checkpoints:
    """Tells the sink the state from which `conversation_of` continues.

    A state holds the whole conversation, so one a turn would cost quadratic time on the event loop. One is emitted
    when the conversation has grown by a quarter, and at the end, however the run ends: together at most about five
    times the last. Only a process that is killed outright loses turns, the last fifth of them. There is none before the
    model has said something: until then, the prompts are all there is to continue from.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._told = 0

    def reach(self, run: AgentRun[ToolUse, str], request: ModelRequest) -> None:
        """The run goes on with `request`, which is not yet one of its messages."""
        messages = [*run.all_messages(), request]
        if len(messages) >= self._told * _GROWTH:
            self._tell(run.conversation_id, messages)

    def last(self, run: AgentRun[ToolUse, str], unfinished: ModelResponse | None) -> None:
        """The run is over; `unfinished` is the answer that broke off, if one did. Emit the newest state."""
        match run.all_messages():
            case [*spoken, ModelResponse(parts=[])]:  # a request that failed before the model said anything
                messages = spoken
            case messages:
                pass
        if unfinished is not None and unfinished.parts:
            messages = [*messages, unfinished]
        self._tell(run.conversation_id, messages)

    def _tell(self, conversation_id: str, messages: list[ModelMessage]) -> None:
        if len(messages) <= self._told or not any(isinstance(message, ModelResponse) for message in messages):
            return
        self._told = len(messages)
        self._sink.emit(Checkpointed(state=written_state(conversation_id, messages)))


def written_state(conversation_id: str, messages: Iterable[ModelMessage]) -> str:
    """Write what `ConversationTypeAdapter` reads; it would write the messages twice, and an account that is ours."""
    written = ModelMessagesTypeAdapter.dump_json([*map(_without_images, messages)]).decode()
    return f'{{"messages":{written},"conversation_id":{json.dumps(conversation_id)}}}'


def _without_images(message: ModelMessage) -> ModelMessage:
    """Return the message as it is kept: of an image that a tool returned, its label alone."""
    if not isinstance(message, ModelRequest):
        return message
    parts = [*map(_kept, message.parts)]
    same = all(new is old for new, old in zip(parts, message.parts, strict=True))
    return message if same else replace(message, parts=parts)


def _kept(part: ModelRequestPart) -> ModelRequestPart:
    if not isinstance(part, ToolReturnPart) or not isinstance(part.content, list):
        return part
    said = f"{part.model_response_str(wrap_if_error=False)}\n{_NOT_KEPT}"
    return ToolReturnPart(
        part.tool_name, said, part.tool_call_id, metadata=part.metadata, timestamp=part.timestamp, outcome=part.outcome
    )


def _messages(history: Iterable[Exchange]) -> Iterable[ModelMessage]:
    for exchange in history:
        yield ModelRequest(parts=[UserPromptPart(exchange.prompt)])
        if exchange.output:
            yield ModelResponse(parts=[TextPart(exchange.output)])
