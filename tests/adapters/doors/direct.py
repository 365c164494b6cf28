"""No framework: the tools of `Ohm` as they are. Every other door is compared with this one."""

from anyio import CancelScope
from door_contract import Delegated

from ohm_subagents import ClosedError


async def delegate(ohm, tool, arguments, **options):
    frames = []
    try:
        call = await ohm.begin(tool, arguments, on_update=lambda frame: frames.append(frame.text), **options)
    except ClosedError as exc:
        return Delegated(f"{exc}", is_error=True)
    try:
        result = await call.wait()
    except BaseException:
        with CancelScope(shield=True):
            await call.cancel()
        raise
    used = [ohm.task(task_id).activity.usage for task_id in call.task_ids]
    usage = [sum(one.input_tokens for one in used), sum(one.output_tokens for one in used)]
    return Delegated(result.text, result.is_error, result.details, frames, usage)
