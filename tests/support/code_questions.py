"""Questions to `code_search`, and how often it is right: by the path and the symbol of the places that it shows."""

import re
from dataclasses import dataclass
from pathlib import Path

import pydantic_ai
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel

from ohm_subagents.backends.in_process.toolset import child_toolset, child_workspace

SHOWN = 3
_PLACE = re.compile(r"^\d+\. (?P<path>.+?):\d+-\d+  (?P<kind>\S+) ?(?P<symbol>\S*)", re.MULTILINE)

pydantic_ai.BANNER_ENABLED = False


@dataclass(frozen=True)
class Asked:
    """A question, the places that answer it and those that were shown."""

    ask: str
    answers: tuple[str, ...]
    places: tuple[str, ...]

    @property
    def rank(self) -> int | None:
        """Return where the first right place is, counted from 1."""
        return next((rank for rank, place in enumerate(self.places, start=1) if place in self.answers), None)


def hits(asked: list[Asked], limit: int) -> int:
    """Return how many questions have a right place among the first `limit`."""
    return sum(1 for each in asked if each.rank is not None and each.rank <= limit)


async def asked(root: Path, question: str, answers: list[str]) -> Asked:
    """Return what the tool tells a model that asks exactly this. An answer is written `path symbol`."""

    def respond(messages, _info):
        if any(isinstance(part, ToolReturnPart) for part in messages[-1].parts):
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[ToolCallPart("code_search", {"query": question, "limit": SHOWN})])

    names = ("code_search",)
    agent = Agent(FunctionModel(respond), toolsets=[child_toolset(names)])
    result = await agent.run("go", workspace=child_workspace(root, names))
    (told,) = (part for each in result.all_messages() for part in each.parts if isinstance(part, ToolReturnPart))
    found = _PLACE.finditer(told.model_response_str(wrap_if_error=False))
    return Asked(question, tuple(answers), tuple(f"{place['path']} {place['symbol']}".strip() for place in found))
