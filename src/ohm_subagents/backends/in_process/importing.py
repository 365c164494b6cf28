"""Our imports in threads, one after the other."""

from threading import RLock
from typing import Final

ONE_AT_A_TIME: Final = RLock()
"""Held by a thread of ours that imports pydantic_ai or an SDK.

Python locks single modules: of two threads that import modules which import each other, one is given a half-made module
so that they do not wait for each other for ever. Not held for the `ModelSpec.open` of a plugin: one that hangs would
hold up every other model. pydantic_ai has been imported by then; what a plugin imports besides is for it to order.
"""
