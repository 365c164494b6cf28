from dataclasses import dataclass
from typing import Any, Generic, TypeVar

ContextT = TypeVar("ContextT")

@dataclass
class ModelInputData:
    input: list[Any]
    instructions: str | None

@dataclass
class CallModelData(Generic[ContextT]):
    model_data: ModelInputData
