"""`ls`: the entries of a directory."""

from pydantic import Field
from pydantic_ai import RunContext, Tool

from ohm_subagents._backends.in_process.tools.arguments import Arguments
from ohm_subagents._backends.in_process.tools.excerpt import head
from ohm_subagents._backends.in_process.tools.place import locate, printable

_LIMIT = 500
_DESCRIPTION = "List a directory in order of name, hidden entries included. A directory ends with a slash."


class LsArguments(Arguments):
    path: str | None = Field(default=None, description="Directory, relative to the working directory (default: it).")
    limit: int | None = Field(default=None, ge=1, description=f"How many entries to show (default {_LIMIT}).")


def tool() -> Tool[object]:
    """Build the tool."""
    return Tool(ls, name="ls", description=_DESCRIPTION)


async def ls(ctx: RunContext[object], arguments: LsArguments) -> str:
    place = await locate(ctx.workspace, arguments.path or ".")
    entries = sorted(await ctx.workspace.list_dir(str(place.path)), key=lambda entry: entry.name)
    names = [printable(entry.name) + ("/" if entry.is_dir else "") for entry in entries]
    if not names:
        return f"[{place.shown} is an empty directory]"
    excerpt = head(names, max_lines=arguments.limit or _LIMIT)
    text = "\n".join(excerpt.lines)
    if not excerpt.cut:
        return text
    shown = len(excerpt.lines)
    return f"{text}\n\n[Showing {shown} of {len(names)} entries; raise limit or use find to see the others]"
