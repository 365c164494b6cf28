from langchain_core.messages.ai import UsageMetadata

class BaseMessage:
    @property
    def text(self) -> str: ...

class AIMessage(BaseMessage):
    def __init__(self, content: str, *, usage_metadata: UsageMetadata | None = ...) -> None: ...

class HumanMessage(BaseMessage):
    def __init__(self, content: str) -> None: ...
