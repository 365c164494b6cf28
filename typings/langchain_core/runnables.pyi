from collections.abc import Awaitable, Callable, Mapping

from langchain_core.messages import BaseMessage

class RunnableLambda:
    def __init__(self, func: Callable[[Mapping[str, list[BaseMessage]]], Awaitable[dict[str, object]]]) -> None: ...
