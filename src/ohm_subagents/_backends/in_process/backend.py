"""`interactive-sdk`: a subagent as a pydantic-ai agent in this process. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Final

import pydantic_ai
from anyio.lowlevel import checkpoint as yield_to_others
from anyio.lowlevel import checkpoint_if_cancelled
from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits

from ohm_subagents._backends.in_process.bridge import Bridge
from ohm_subagents._backends.in_process.child_tools import offered
from ohm_subagents._backends.in_process.conversation import Checkpoints, conversation_of
from ohm_subagents._backends.in_process.failures import empty_answer, failure
from ohm_subagents._backends.in_process.honesty import model_diagnostics, pattern_diagnostics
from ohm_subagents._backends.in_process.patience import PatientModel
from ohm_subagents._backends.in_process.spec import BACKEND_ID, InProcessOptions
from ohm_subagents._plugins.interfaces import RunOutput
from ohm_subagents.contract.events import AgentEnded, DiagnosticRaised, RouteResolved
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.run import AgentRun

    from ohm_subagents._backends.in_process.equipment import Equip
    from ohm_subagents._backends.in_process.models import ModelBook
    from ohm_subagents._plugins.interfaces import RunRequest, Sink
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.model_pattern import ModelPattern

RUNTIME: Final = "pi-sdk"
TOOL_RETRIES: Final = 3
"""How often the model may correct the arguments of one tool before the run fails."""

pydantic_ai.BANNER_ENABLED = False


def _enqueued(run: AgentRun[None, str], prompt: str) -> bool:
    """Whether the run takes a follow-up: with its next request, or instead of ending."""
    try:
        run.enqueue(prompt)
    except UserError:  # it has ended
        return False
    return True


class InProcessBackend:
    """Runs each prompt with an agent of its own on a shared, open model.

    One attempt a request: the SDK's own retries are off, so a failing provider is reported at once; only a short
    `Retry-After` of a rate limit is waited for (`PatientModel`). asyncio only, because pydantic-ai is.
    """

    def __init__(self, models: ModelBook, options: InProcessOptions, equip: Equip) -> None:
        self._models = models
        self._options = options
        self._equip = equip

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        await yield_to_others()
        chosen = self._models.choose(request.model, request.profile)
        if isinstance(chosen, Err):
            return chosen
        pattern = chosen.ok_value
        sink.emit(RouteResolved(provider=pattern.provider, model=pattern.model, runtime=RUNTIME, route=BACKEND_ID))
        for diagnostic in pattern_diagnostics(pattern):
            sink.emit(DiagnosticRaised(diagnostic=diagnostic))
        opened = await self._models.open(pattern)
        if isinstance(opened, Err):
            return opened
        bridge = Bridge(sink)
        try:
            answer = await self._converse(request, opened.ok_value, pattern, bridge)
        except Exception as error:  # noqa: BLE001  whatever a model or an SDK raises may quote a key, so none gets out
            await checkpoint_if_cancelled()  # what breaks while a run is being cancelled does not stop that
            return Err(failure(error, pattern, response=bridge.response, secrets=self._models.secrets()))
        return Ok(RunOutput(text=answer)) if answer.strip() else Err(empty_answer(pattern))

    async def _converse(self, request: RunRequest, model: Model, pattern: ModelPattern, bridge: Bridge) -> str:
        equipment = self._equip(request)
        for diagnostic in (*model_diagnostics(model, pattern), *equipment.diagnostics):
            bridge.sink.emit(DiagnosticRaised(diagnostic=diagnostic))
        agent = Agent(
            PatientModel(model),
            name=request.profile.id,
            instructions=request.instructions or None,
            tools=[offered(tool, bridge.sink) for tool in request.child_tools],
            toolsets=equipment.toolsets,
            capabilities=[*equipment.capabilities, bridge],
            retries={"tools": TOOL_RETRIES, "output": 1},
        )
        async with agent.iter(
            request.prompt,
            conversation=conversation_of(request, bridge.sink),
            model_settings=self._settings(model, pattern),
            usage_limits=UsageLimits(request_limit=self._options.request_limit),
        ) as run:
            checkpoints = Checkpoints(bridge.sink, run.conversation_id)
            steered = request.inbox.steered_by(partial(_enqueued, run)) if request.inbox else nullcontext()
            try:
                with steered:
                    async for node in run:
                        # A turn is over when its tools have run: the next request, not yet in the messages, has them.
                        if Agent.is_model_request_node(node) and bridge.response is not None:
                            checkpoints.reach([*run.all_messages(), node.request])
                checkpoints.reach(run.all_messages())
            finally:
                checkpoints.flush()
            bridge.sink.emit(AgentEnded())
        return "" if run.result is None else run.result.output

    def _settings(self, model: Model, pattern: ModelPattern) -> ModelSettings:
        settings = ModelSettings()
        # A model that ignores one of these two would warn at each request.
        if "timeout" not in model.unsupported_settings:
            settings["timeout"] = self._options.read_timeout_ms / 1000
        if "max_retries" not in model.unsupported_settings:
            settings["max_retries"] = 0
        if pattern.thinking is not None:
            settings["thinking"] = False if pattern.thinking == "off" else pattern.thinking
        return settings
