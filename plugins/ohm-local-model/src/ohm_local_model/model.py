"""A GGUF file as a pydantic-ai `Model`: picks the next action, then writes its arguments or the answer."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models import Model, StreamedResponse
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ToolOrOutput
from pydantic_ai.usage import RequestUsage

from ohm_local_model.transcript import asking, compact, transcript

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence
    from types import TracebackType
    from typing import Self

    from pydantic import JsonValue
    from pydantic_ai import RunContext
    from pydantic_ai.messages import FinishReason, ModelMessage, ModelResponseStreamEvent
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition

    from ohm_local_model.engine import Engine, Turn
    from ohm_local_model.generation import Generation
    from ohm_local_model.transcript import ChatMessage

MAX_CALLS: Final = 8
"""Tool calls of a run after which it has to answer: small models like to repeat themselves."""
MAX_TOKENS: Final = 1024
"""Of an answer or of a call's arguments, unless the settings say otherwise."""
_SAMPLING: Final = (
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "max_tokens",
    "stop",
)


@dataclass(init=False, eq=False)
class GgufModel(Model):
    """One GGUF file. Each request is one step: a tool call, whose arguments fit the tool's schema, or the answer.

    Works with any chat template, because tools are offered as text and calls are forced by a grammar. At temperature 0,
    the default, a run that has the engine to itself repeats exactly. Has no thinking levels and reads text only. Enter
    it (`async with model`) to have the file unloaded at the end.
    """

    unsupported_settings: ClassVar = frozenset({"timeout", "extra_headers", "extra_body"})

    def __init__(self, engine: Engine, *, max_calls: int = MAX_CALLS) -> None:
        super().__init__(
            profile=ModelProfile(
                supports_json_schema_output=True,
                supports_json_object_output=True,
                default_structured_output_mode="native",
                native_output_requires_schema_in_instructions=True,
                prompted_output_template="Answer with one JSON object of this schema: {schema}",
                supports_thinking=False,
                supports_image_input=False,
                supports_document_input=False,
                supports_audio_file_input=False,
                supports_video_input=False,
                # llama.cpp would read "<|im_end|>" in a file or a tool result as the end of the message.
                may_tokenize_special_tokens_in_content=True,
                context_window=engine.context_tokens,
            )
        )
        self.engine = engine
        self._max_calls = max_calls

    @property
    def model_name(self) -> str:
        """The path of the file."""
        return str(self.engine.path)

    @property
    def system(self) -> str:
        """The provider."""
        return "gguf"

    async def __aenter__(self) -> Self:
        """Become a user of the engine."""
        await self.engine.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        """Unload the file, if no other model uses it."""
        await self.engine.__aexit__(exc_type, exc_val, exc_tb)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Return the stream, read to its end."""
        async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
            async for _ in stream:
                pass
        return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Pick the action, then stream its arguments or the answer. Ends the generation when the caller leaves."""
        del run_context
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        tools, may_answer = _offered(settings, parameters)
        conversation = transcript(messages, parameters, tools)
        steps = _steps_of_this_run(messages)
        must_answer = may_answer and _goes_in_circles(steps, self._max_calls)
        async with self.engine.turn(afresh=not steps) as turn:
            tool, spent = await _pick(turn, conversation, () if must_answer else tools, may_answer=may_answer)
            schema: dict[str, Any] | None = None
            if tool is not None:
                schema = tool.parameters_json_schema
                arguments = f"Use {tool.name}. Write its arguments as one JSON object of this schema: {compact(schema)}"
                conversation = asking(conversation, arguments)
            elif parameters.output_object is not None:
                schema = parameters.output_object.json_schema
            if tool is None and tools:
                conversation = asking(conversation, "Use no tool now. Answer.")
            yield GgufStreamedResponse(
                model_request_parameters=parameters,
                turn=turn,
                generation=await turn.generate(conversation, _sampling(settings), schema),
                tool=tool,
                spent=spent,
                path=self.model_name,
            )


@dataclass(kw_only=True)
class GgufStreamedResponse(StreamedResponse):
    """One step as it is generated. Uses the protected members that `StreamedResponse` documents for subclasses."""

    turn: Turn
    generation: Generation
    tool: ToolDefinition | None
    spent: RequestUsage
    path: str

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        parts = self._parts_manager
        if self.tool is not None:
            for event in parts.handle_tool_call_delta_events(vendor_part_id="call", tool_name=self.tool.name, args=""):
                yield event
        async for delta in self.generation:
            if delta.reasoning_content:
                for event in parts.handle_thinking_delta(vendor_part_id="thinking", content=delta.reasoning_content):
                    yield event
            if delta.content and self.tool is None:
                for event in parts.handle_text_delta(vendor_part_id="answer", content=delta.content):
                    yield event
            elif delta.content:
                for event in parts.handle_tool_call_delta_events(vendor_part_id="call", args=delta.content):
                    yield event
        self.finish_reason = self._reason()

    def _reason(self) -> FinishReason | None:
        match self.generation.finish_reason:
            case "length":
                return "length"
            case None:
                return None
            case _:
                return "stop" if self.tool is None else "tool_call"

    @property
    def usage(self) -> RequestUsage:
        """The usage of choosing the step and of generating it so far, as llama.cpp counts."""
        return self.spent + self.generation.usage

    async def close_stream(self) -> None:
        """Stop generating."""
        await self.turn.stop()

    @property
    def model_name(self) -> str:
        """The path of the file."""
        return self.path

    @property
    def provider_name(self) -> str:
        """The provider."""
        return "gguf"

    @property
    def provider_url(self) -> None:
        """None: there is no service."""
        return

    @property
    def timestamp(self) -> datetime:
        """The time at which the server started to answer."""
        return datetime.fromtimestamp(self.generation.created, UTC)


def _offered(
    settings: ModelSettings | None, parameters: ModelRequestParameters
) -> tuple[Sequence[ToolDefinition], bool]:
    """Return the tools to choose from, and whether an answer is a choice, after the setting `tool_choice`."""
    functions: Sequence[ToolDefinition] = parameters.declared_function_tools
    outputs = parameters.output_tools
    match (settings or {}).get("tool_choice"):
        case "none" | []:
            functions = ()
        case "required" if functions:
            return functions, False
        case list() as names if named := [tool for tool in (*functions, *outputs) if tool.name in names]:
            return named, False
        case ToolOrOutput(function_tools=names):
            functions = [tool for tool in functions if tool.name in names]
        case _:
            pass
    return (*functions, *outputs), parameters.allow_text_output


def _steps_of_this_run(messages: Sequence[ModelMessage]) -> list[ModelResponse]:
    run_id = messages[-1].run_id if messages else None
    return [message for message in messages if isinstance(message, ModelResponse) and message.run_id == run_id]


def _goes_in_circles(steps: Sequence[ModelResponse], max_calls: int) -> bool:
    """Return True if the run has made all its calls, or the same call twice in a row."""
    calls = [(call.tool_name, call.args_as_json_str()) for step in steps for call in step.tool_calls]
    return len(calls) >= max_calls or calls[-1:] == calls[-2:-1] != []


async def _pick(
    turn: Turn, conversation: Sequence[ChatMessage], tools: Sequence[ToolDefinition], *, may_answer: bool
) -> tuple[ToolDefinition | None, RequestUsage]:
    """Return the next action: a tool, or None for the answer; and what it cost to find out."""
    by_name: dict[str, ToolDefinition | None] = {tool.name: tool for tool in tools}
    answer = "answer" if "answer" not in by_name else "final answer"  # no tool's name has a space
    if may_answer or not by_name:
        by_name[answer] = None
    if len(by_name) == 1:
        return next(iter(by_name.values())), RequestUsage()
    question = f"What is the next step? Say one of: {', '.join(by_name)}."
    names: list[JsonValue] = [*by_name]
    generation = await turn.generate(asking(conversation, question), {"temperature": 0}, {"enum": names})
    text = "".join([delta.content or "" async for delta in generation])
    try:
        return by_name[json.loads(text)], generation.usage
    except (ValueError, KeyError) as exc:  # the grammar allows nothing else, but the context may end in the middle
        message = f"The model named no next step: {text!r}."
        raise UnexpectedModelBehavior(message) from exc


def _sampling(settings: ModelSettings | None) -> dict[str, JsonValue]:
    given: dict[str, Any] = {**(settings or {})}
    if "stop_sequences" in given:
        given["stop"] = given["stop_sequences"]
    passed = {name: given[name] for name in _SAMPLING if given.get(name) is not None}
    return {"temperature": 0, "max_tokens": MAX_TOKENS, **passed}
