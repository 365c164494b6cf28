"""A tool suite without tools, for tests of what every suite gets of the engine."""

from contextlib import asynccontextmanager
from dataclasses import fields as dataclass_fields
from itertools import count

from ohm_subagents import Ohm
from ohm_subagents.contract import Overrides, Session, StartItem
from ohm_subagents.plugin import ToolSuiteSpec, hookimpl
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

_OF_OVERRIDES = frozenset(field.name for field in dataclass_fields(Overrides))


class Surface:
    """`context` is what it was mounted with last; `build` may do something with it first."""

    def __init__(self, build=lambda _context: None):
        self.context = None
        self._build = build

    @property
    def engine(self):
        return self.context.executor

    @hookimpl
    def ohm_tool_suites(self):
        return [ToolSuiteSpec(name="surface", summary="", build=self._built)]

    def _built(self, context):
        self.context = context
        self._build(context)
        return ()


@asynccontextmanager
async def mounted(*steps, backend=None, plugins=(), config=None, surface=None, **options):
    """The surface of an `Ohm` on a scripted backend; task ids are `task_1`, `task_2`, ..."""
    surface = surface or Surface()
    backend = backend or ScriptedBackend(*steps, default=None if steps else Step(text="done"))
    ids = count(1)
    async with Ohm.open(
        **{
            "config": {"subagentBackend": backend.id, **(config or {})},
            "env": HERMETIC,
            "plugins": [backend, surface, *plugins],
            "suites": ["surface"],
            "new_task_id": lambda: f"task_{next(ids)}",
            **options,
        }
    ) as ohm:
        surface.ohm, surface.backend = ohm, backend
        yield surface


def item(prompt="p", **fields):
    """Return what a suite asks for; `overrides` and the `session` by the names of their fields."""
    own = {name: fields.pop(name) for name in _OF_OVERRIDES if name in fields}
    if "session_id" in fields:
        named = {name: fields.pop(name) for name in ("resumes", "checkpoint") if name in fields}
        fields["session"] = Session(id=fields.pop("session_id"), **named)
    given = {"profile": "finder", "description": "d", "prompt": prompt, "overrides": Overrides(**own)}
    return StartItem(**{**given, **fields})
