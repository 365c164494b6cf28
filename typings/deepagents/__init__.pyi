"""As much of deepagents as its adapter uses: the package is not installed where types are checked."""

from typing import TypedDict

from langchain_core.runnables import RunnableLambda

class CompiledSubAgent(TypedDict):
    name: str
    description: str
    runnable: RunnableLambda
