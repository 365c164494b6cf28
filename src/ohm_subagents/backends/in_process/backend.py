"""`interactive-sdk`: a subagent as a pydantic-ai agent in this process. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final

import pydantic_ai
from anyio.lowlevel import checkpoint as yield_to_others
from anyio.lowlevel import checkpoint_if_cancelled
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.exceptions import UserError
from pydantic_ai.usage import UsageLimits

from ohm_subagents.backends.in_process.agents import instructions_of, unsupported, with_level
from ohm_subagents.backends.in_process.bridge import Bridge
from ohm_subagents.backends.in_process.child_tools import offered
from ohm_subagents.backends.in_process.context_files import context_of
from ohm_subagents.backends.in_process.conversation import Checkpoints, conversation_of
from ohm_subagents.backends.in_process.failures import empty_answer, failure, telling
from ohm_subagents.backends.in_process.gated_model import GatedModel, RefusedError
from ohm_subagents.backends.in_process.model_facts import ModelFacts, facts_of
from ohm_subagents.backends.in_process.options import BACKEND_ID, InProcessOptions
from ohm_subagents.backends.in_process.parked_calls import ParkedCalls
from ohm_subagents.backends.in_process.ruled_toolset import RuledToolset
from ohm_subagents.backends.in_process.tools.use import ToolUse
from ohm_subagents.backends.in_process.tracing import traced
from ohm_subagents.contract.events import (
    AgentEnded,
    DiagnosticRaised,
    FileChanged,
)
from ohm_subagents.contract.model_pattern import misspelt_level
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.plugin import ASK_PARENT, RunOutput, as_exception, full_instructions, profile_key, unused_key
from ohm_subagents.suite import tool_guidance

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.run import AgentRun

    from ohm_subagents.backends.in_process.models import ModelBook
    from ohm_subagents.backends.in_process.toolset import Equip
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.files import Covers
    from ohm_subagents.plugin import RunRequest, Sink

RUNTIME: Final = "pi-sdk"
TOOL_RETRIES: Final = 3
"""The most corrections of the arguments of one tool before the run fails."""

pydantic_ai.BANNER_ENABLED = False


class InProcessBackend:
    """Runs each prompt as a run of its own on a shared, open model.

    One attempt a request: the SDK's own retries are off, so a failing provider is reported at once, unless it is
    overloaded and the engine's gate says to ask again. asyncio only, because pydantic-ai is.
    """

    def __init__(self, models: ModelBook, options: InProcessOptions, equip: Equip, trusts: Covers) -> None:
        self._models = models
        self._equip = equip
        self._trusts = trusts
        self._context_files = options.context_files
        self._read_timeout_s = options.read_timeout_ms / 1000
        self._limits = UsageLimits(request_limit=options.request_limit)
        # Both cost more to make than a whole turn of a quick model.
        self._agents: dict[str, Agent[ToolUse, str]] = {}
        self._facts: dict[ModelPattern, ModelFacts] = {}
        self._made: set[tuple[str, str | None]] = set()

    async def prepare(self, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        """Open the model, which imports its SDK."""
        chosen = self._models.choose(model, profile)
        if isinstance(chosen, Err):
            return chosen
        pattern = chosen.ok_value
        key = profile_key(profile, pattern.provider) if self._models.takes_key(pattern) else None
        made = pattern.provider, pattern.model if key is None else None  # with a key, only the imports stay
        if made in self._made:
            return Ok(None)
        try:
            async with self._models.opened(pattern, key) as opened:
                if isinstance(opened, Err):
                    return opened
                self._made.add(made)
                return Ok(None)
        except BaseException as error:  # noqa: BLE001  as below
            raised = as_exception(error)
            await checkpoint_if_cancelled()
            return Err(failure(raised, pattern, response=None, secrets=self._secrets(key)))

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        await yield_to_others()
        chosen = self._models.choose(request.model, request.profile)
        if isinstance(chosen, Err):
            return chosen
        pattern = with_level(chosen.ok_value, request)
        sink.emit(RouteResolved(provider=pattern.provider, model=pattern.model, runtime=RUNTIME, route=BACKEND_ID))
        key = self._key(request, pattern, sink)
        for diagnostic in (*filter(None, [misspelt_level(pattern)]), *unsupported(request, pattern)):
            sink.emit(DiagnosticRaised(diagnostic=diagnostic))
        bridge = Bridge(sink)
        try:
            async with self._models.opened(pattern, key) as opened:
                if isinstance(opened, Err):
                    return opened
                text = full_instructions(instructions_of(request), self._context(request, sink))
                text = full_instructions(text, tool_guidance(request.child_tools))
                answer = await self._converse(request, text, opened.ok_value, pattern, bridge)
        except BaseException as error:  # noqa: BLE001  whatever a model or an SDK raises may quote a key, so none gets out
            raised = as_exception(error)
            await checkpoint_if_cancelled()  # what breaks while a run is being cancelled does not stop that
            if isinstance(refused := telling(raised), RefusedError):
                return Err(refused.error)
            return Err(failure(raised, pattern, response=bridge.response, secrets=self._secrets(key)))
        return Ok(RunOutput(text=answer)) if answer.strip() else Err(empty_answer(pattern))

    def _context(self, request: RunRequest, sink: Sink) -> str:
        """Return the text of the project's context file; one that is left out is a diagnostic."""
        found = context_of(request, self._context_files, self._trusts)
        if isinstance(found, Err):
            sink.emit(DiagnosticRaised(diagnostic=found.err_value))
        return found.unwrap_or("")

    def _key(self, request: RunRequest, pattern: ModelPattern, sink: Sink) -> str | None:
        """Return the key of the profile, if it is for this provider and that takes one; if not, that is said."""
        agent = request.profile.agent
        if agent is None or not agent.api_key:
            return None
        key = profile_key(request.profile, pattern.provider)
        if key is not None and self._models.takes_key(pattern):
            return key
        sink.emit(
            unused_key(
                request.profile,
                f'provider "{pattern.provider}" {"runs" if key is None else "cannot be given one"}',
            )
        )
        return None

    def _secrets(self, key: str | None) -> tuple[str, ...]:
        return (key, *self._models.secrets()) if key else self._models.secrets()

    async def _converse(
        self, request: RunRequest, instructions: str, model: Model, pattern: ModelPattern, bridge: Bridge
    ) -> str:
        sink, facts = bridge.sink, self._facts_of(model, pattern)
        equipment = self._equip(request)
        for diagnostic in (*facts.diagnostics, *equipment.diagnostics):
            sink.emit(DiagnosticRaised(diagnostic=diagnostic))
        tools = ToolUse(
            file_changed=lambda path: sink.emit(FileChanged(path=path)),
            hands_in=request.profile.finalize is not None,
        )
        toolsets = list(equipment.toolsets)
        if request.child_tools:
            toolsets.append(FunctionToolset([offered(tool, sink) for tool in request.child_tools]))
        may_ask = request.call_rules or any(tool.name == ASK_PARENT for tool in request.child_tools)
        if may_ask and request.gate is not None:
            parked = ParkedCalls(request, sink)
            toolsets = [RuledToolset(one, gate=request.gate, parked=parked) for one in toolsets]
        asked = GatedModel(model, pattern=pattern, price=facts.price, gate=request.gate, bridge=bridge, tools=tools)
        conversation = self._agent(request.profile.id).iter(
            request.prompt,
            model=asked,
            instructions=instructions or None,
            deps=tools,
            toolsets=toolsets,
            workspace=equipment.workspace,
            capabilities=traced(),
            conversation=conversation_of(request, sink),
            model_settings=facts.settings,
            usage_limits=self._limits,
        )
        return await _driven(conversation, request, bridge, tools)

    def _agent(self, name: str) -> Agent[ToolUse, str]:
        if name not in self._agents:
            self._agents[name] = Agent(None, deps_type=ToolUse, name=name, retries={"tools": TOOL_RETRIES, "output": 1})
        return self._agents[name]

    def _facts_of(self, model: Model, pattern: ModelPattern) -> ModelFacts:
        if pattern not in self._facts:
            self._facts[pattern] = facts_of(
                model, pattern, read_timeout_s=self._read_timeout_s, is_free=self._models.is_free(pattern)
            )
        return self._facts[pattern]


async def _driven(
    conversation: AbstractAsyncContextManager[AgentRun[ToolUse, str]],
    request: RunRequest,
    bridge: Bridge,
    tools: ToolUse,
) -> str:
    """Drive a run to its end; however it ends, the last word is where it may be continued."""
    checkpoints = Checkpoints(bridge.sink)
    with ExitStack() as afterwards:
        async with conversation as run:
            # Once the run is left: only then has a request that was cut off said its last word.
            afterwards.callback(lambda: checkpoints.last(run, bridge.unfinished))
            with _steered(run, request, tools):
                await _watched(run, bridge, checkpoints)
    bridge.sink.emit(AgentEnded())
    return "" if run.result is None else run.result.output


async def _watched(run: AgentRun[ToolUse, str], bridge: Bridge, checkpoints: Checkpoints) -> None:
    """Drive the run to its end, reporting what its tools do; the gated model reports the answers."""
    async for node in run:
        if Agent.is_model_request_node(node):
            # A turn is over when its tools have run: the next request, not yet in the messages, has them.
            if bridge.response is not None:
                checkpoints.reach(run, node.request)
        elif Agent.is_call_tools_node(node):
            bridge.answered(node.model_response)
            if node.model_response.tool_calls:
                async with node.stream(run.ctx) as done:
                    async for event in done:
                        bridge.tell(event)


def _steered(run: AgentRun[ToolUse, str], request: RunRequest, tools: ToolUse) -> AbstractContextManager[None]:
    if request.inbox is None:
        return nullcontext()
    return request.inbox.steered_by(partial(_enqueued, run, tools), partial(_closed, run, tools))


def _enqueued(run: AgentRun[ToolUse, str], tools: ToolUse, prompt: str) -> bool:
    """Hand the run a follow-up: with its next request, or instead of ending. False if it has ended."""
    if tools.closing:  # it deserves a run with tools
        return False
    try:
        run.enqueue(prompt)
    except UserError:  # it has ended
        return False
    return True


def _closed(run: AgentRun[ToolUse, str], tools: ToolUse, text: str) -> bool:
    """Have the run answer now: its next request says so, unless it ends before. False if it has ended."""
    if run.result is not None:
        return False
    tools.close(text)
    return True
