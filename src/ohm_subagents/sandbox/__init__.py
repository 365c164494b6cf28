"""The door for sandboxes: a `Box` makes of a command one that reaches its workspace and little else.

`box_for` decides by the sandbox of a run and by what the machine can do; `RunRequest.box` is what it has decided, and a
backend that declares `Capability.SANDBOX` starts its processes with it (`box` of a `Launch`).
"""

from typing import TYPE_CHECKING

from ohm_subagents._lazy import lazy_names

if TYPE_CHECKING:
    from ohm_subagents.contract.sandbox import Sandbox, SandboxMode, SandboxRules
    from ohm_subagents.sandbox.box import Box, Enclosed
    from ohm_subagents.sandbox.choice import box_for
    from ohm_subagents.sandbox.machine import Machine, this_machine
    from ohm_subagents.sandbox.proof import ATTEMPTS, escaped

__all__ = [
    "ATTEMPTS",
    "Box",
    "Enclosed",
    "Machine",
    "Sandbox",
    "SandboxMode",
    "SandboxRules",
    "box_for",
    "escaped",
    "this_machine",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "contract.sandbox": "Sandbox SandboxMode SandboxRules",
        "sandbox.box": "Box Enclosed",
        "sandbox.choice": "box_for",
        "sandbox.machine": "Machine this_machine",
        "sandbox.proof": "ATTEMPTS escaped",
    },
)
