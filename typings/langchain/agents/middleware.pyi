from typing import Any, Generic, TypeVar

StateT = TypeVar("StateT")
ContextT = TypeVar("ContextT")

class AgentMiddleware(Generic[StateT, ContextT]):
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, object] | None: ...
