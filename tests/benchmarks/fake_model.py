"""Models for pydantic-ai that answer at once, or after a wait, in this process."""

import asyncio
import json

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

PIECES = ("all ", "is ", "well")


def answering(*, pieces=PIECES, delay_s=0.0):
    """Says `pieces`, after `delay_s` seconds."""

    async def whole(_messages, _info):
        if delay_s:
            await asyncio.sleep(delay_s)
        return ModelResponse(parts=[TextPart("".join(pieces))])

    async def streamed(_messages, _info):
        if delay_s:
            await asyncio.sleep(delay_s)
        for piece in pieces:
            yield piece

    return FunctionModel(whole, stream_function=streamed)


def delegating(tool, arguments, *, count=1):
    """Calls `tool` `count` times in one response, then answers."""
    args = json.dumps(arguments)

    def is_answered(messages):
        return any(isinstance(part, ToolReturnPart) for part in messages[-1].parts)

    async def whole(messages, _info):
        if is_answered(messages):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart(tool, args, tool_call_id=f"c{n}") for n in range(count)])

    async def streamed(messages, _info):
        if is_answered(messages):
            yield "done"
            return
        yield {n: DeltaToolCall(name=tool, json_args=args, tool_call_id=f"c{n}") for n in range(count)}

    return FunctionModel(whole, stream_function=streamed)


class Held:
    """A model that says nothing until it is given up; `asked` and `gone` say how often it was, of `count` times."""

    def __init__(self, count):
        self._count = count
        self.begin()

    def begin(self):
        """Count from nothing."""
        self._asked = self._gone = 0
        self.all_asked, self.all_gone = asyncio.Event(), asyncio.Event()

    def model(self):
        async def streamed(_messages, _info):
            self._asked += 1
            if self._asked == self._count:
                self.all_asked.set()
            try:
                await asyncio.Event().wait()
                yield ""
            finally:
                self._gone += 1
                if self._gone == self._count:
                    self.all_gone.set()

        return FunctionModel(stream_function=streamed)
