"""`write`: a whole file."""

from anyio import to_thread
from pydantic import Field
from pydantic_ai import RunContext, Tool

from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.tools.child_tool import child_tool
from ohm_subagents.backends.in_process.tools.place import locate
from ohm_subagents.backends.in_process.tools.text_file import write_file
from ohm_subagents.backends.in_process.tools.use import tell_changed

_DESCRIPTION = "Create or overwrite a file with the given text. Missing directories are made."


class WriteArguments(Arguments):
    path: str = Field(description="File, relative to the working directory.", min_length=1)
    content: str = Field(description="The whole new text of the file.")


def tool() -> Tool[object]:
    """Build the tool. It runs alone, so that calls of one turn take effect in order."""
    return child_tool(write, description=_DESCRIPTION, sequential=True)


async def write(ctx: RunContext[object], arguments: WriteArguments) -> str:
    place = await locate(ctx.workspace, arguments.path)
    data = arguments.content.encode("utf-8", errors="replace")
    await to_thread.run_sync(write_file, place, data)
    tell_changed(ctx, place)
    return f"Wrote {len(data)} bytes to {place.shown}."
