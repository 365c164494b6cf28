"""The conversation of a session, from a checkpoint or from what was said. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_ai.conversation import Conversation, ConversationTypeAdapter
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart, repair_messages
from pydantic_ai.usage import RunUsage

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._plugins.interfaces import Exchange, RunRequest, Sink


def conversation_of(request: RunRequest, sink: Sink) -> Conversation:
    """Where the session stands: its checkpoint, repaired; else its history as plain text."""
    if request.checkpoint is not None:
        try:
            stored = ConversationTypeAdapter.validate_json(request.checkpoint)
        except ValidationError:
            unreadable = Diagnostic(
                subject="session",
                message="The stored conversation of this session cannot be read; "
                "the run continues from its prompts and answers alone.",
            )
            sink.emit(DiagnosticRaised(diagnostic=unreadable))
        else:
            # Usage starts anew: it was reported by the runs that used it, and limits are per run.
            return replace(stored, messages=repair_messages(stored.messages), usage=RunUsage())
    return Conversation(messages=list(_messages(request.history)))


def checkpoint(messages: list[ModelMessage], conversation_id: str) -> str:
    """The state from which `conversation_of` continues."""
    state = Conversation(messages=messages, conversation_id=conversation_id)
    return ConversationTypeAdapter.dump_json(state).decode()


def _messages(history: Iterable[Exchange]) -> Iterable[ModelMessage]:
    for exchange in history:
        yield ModelRequest(parts=[UserPromptPart(exchange.prompt)])
        if exchange.output:
            yield ModelResponse(parts=[TextPart(exchange.output)])
