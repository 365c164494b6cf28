"""The answers to an agent that asks whether it may use a tool: by the policy of the run, and then by its gate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from acp import RequestError
from acp.schema import RequestPermissionRequest
from pydantic import ValidationError

from ohm_acp.calls import compact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from acp.schema import ToolCallUpdate
    from pydantic import JsonValue

    from ohm_acp.agents import Agent
    from ohm_acp.calls import Call
    from ohm_acp.report import Report
    from ohm_subagents.plugin import JsonObject, RunRequest

_BY_KIND: Final = {
    "read": ("read",),
    "edit": ("edit", "write"),
    "delete": ("bash",),
    "move": ("bash",),
    "search": ("grep", "find"),
    "execute": ("bash",),
}
"""Our tools that a kind of tool may stand for: all of them have to be allowed."""
_HARMLESS: Final = "think"
_SHELL: Final = "bash"
_PROSE: Final = "description"
"""The words of a model about a command: not run, new each time, and told by some agents only after they ask."""
_ALLOWING: Final = ("allow_once", "allow_always")
_REJECTING: Final = ("reject_once", "reject_always")
_MAX_ARGS: Final = 200


class Permissions:
    """The policy of a run, as answers: once, and never for later runs where the agent leaves a choice."""

    def __init__(self, agent: Agent, request: RunRequest, report: Report) -> None:
        self._request = request
        self._report = report
        self._ours: dict[str, set[str]] = {}
        for tool, name in agent.tools.items():
            self._ours.setdefault(name.lower(), set()).add(tool)
        self._told: set[str] = set()

    async def answer(self, params: object) -> JsonObject:
        """Return the answer to a request; where a rule asks, once somebody has decided.

        Raises `RequestError` for a request that cannot be read.
        """
        try:
            asked = RequestPermissionRequest.model_validate(params)
        except ValidationError:
            raise RequestError.invalid_params({"details": "This request for permission cannot be read."}) from None
        call = self._report.calls.asked(asked.tool_call)
        is_allowed = self._allows(call)
        if not is_allowed:
            self._tell(call)
        elif call.ours is None:  # a tool of ours is judged where it is called
            is_allowed = await self._passes(call, asked.tool_call)
        allowing = _ALLOWING[:1] if self._request.call_rules else _ALLOWING  # allowed for good, it would not ask again
        kinds = allowing if is_allowed else _REJECTING
        options = {option.kind: option.option_id for option in reversed(asked.options)}
        chosen = next((options[kind] for kind in kinds if kind in options), None)
        if chosen is None:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    async def _passes(self, call: Call, told: ToolCallUpdate) -> bool:
        """Return True if the gate lets a call through, under each name of ours that it may have."""
        gate = self._request.gate
        if gate is None or not self._request.call_rules:
            return True
        arguments = {**_object(call.args), **_object(told.raw_input)}
        if arguments.get("cwd") == str(self._request.cwd):  # added by the agent: its model does not say it
            del arguments["cwd"]
        names = sorted(self._ours.get(call.name.lower()) or _BY_KIND.get(call.kind) or (call.tool,))
        for name in [one for one in names if self._has(one)] or names:
            judged = {key: value for key, value in arguments.items() if name != _SHELL or key != _PROSE}
            refusal = await gate.tool(name, judged, call_id=call.id)
            if refusal is not None:
                self._report.warn(refusal)
                return False
        return True

    def _allows(self, call: Call) -> bool:
        if call.ours is not None or call.kind == _HARMLESS:
            return True
        ours = self._ours.get(call.name.lower()) if call.name else None
        if ours is not None:
            return any(self._has(tool) for tool in ours)
        needed = _BY_KIND.get(call.kind)
        if needed is None:
            return not self._request.tools_are_bounded and not self._is_denied(call.name)
        return all(self._has(tool) for tool in needed)

    def _has(self, tool: str) -> bool:
        """Return True if the run may use one of our tools."""
        if self._request.tools_are_bounded:
            return tool in self._request.tools
        return not self._is_denied(tool)

    def _is_denied(self, tool: str) -> bool:
        return tool in self._request.profile.tools.denied

    def _tell(self, call: Call) -> None:
        """Warn once of each tool."""
        if call.tool in self._told:
            return
        self._told.add(call.tool)
        args = "" if call.args is None else f" with {compact(call.args)[:_MAX_ARGS]}"
        asked = f'The agent asked to use "{call.tool}"{args}'
        self._report.warn(f"{asked}; the profile does not allow it, so it was refused.")


def _object(value: object) -> Mapping[str, JsonValue]:
    return cast("Mapping[str, JsonValue]", value) if isinstance(value, dict) else {}
