"""Deny subagents by a rule and by a plugin. A deny wins, and the error names its source."""

import anyio

from ohm_subagents import Err, Ohm, Ok
from ohm_subagents.plugin import Decision, PermissionRequest, hookimpl

RULES = {"subagents": {"permissions": {"subagents": {"task": "deny"}}}, "subagentBackend": "none"}


class OnlySmallPrompts:
    @hookimpl
    def ohm_permission(self, request: PermissionRequest) -> Decision | None:
        if len(request.prompt) <= 20:
            return None
        return Decision(verdict="deny", source="OnlySmallPrompts", reason="the prompt is longer than 20 characters")


async def main() -> None:
    async with Ohm.open(config=RULES, plugins=[OnlySmallPrompts()]) as ohm:
        for profile, prompt in (("task", "Tidy up."), ("finder", "Look at every single file."), ("finder", "Look.")):
            match await ohm.run(profile, prompt):
                case Ok(envelope):
                    print(envelope.status)
                case Err(error):
                    print(error)


anyio.run(main)

# Prints:
# Subagent 'task' is denied by task permission policy. The deny comes from config (subagents.permissions.subagents.task is 'deny'); only a change there lifts it.
# Subagent 'finder' is denied by task permission policy. The deny comes from OnlySmallPrompts (the prompt is longer than 20 characters); only a change there lifts it.
# succeeded
