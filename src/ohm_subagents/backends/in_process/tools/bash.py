"""`bash`: a shell command in the working directory."""

import shutil

from pydantic import Field
from pydantic_ai import RunContext, Tool
from pydantic_ai.workspaces import WorkspaceOutputLimitError, WorkspaceTimeoutError

from ohm_subagents.backends.in_process.tools.arguments import Arguments
from ohm_subagents.backends.in_process.tools.child_tool import child_tool
from ohm_subagents.backends.in_process.tools.excerpt import tail
from ohm_subagents.backends.in_process.tools.failure import fail

_TIMEOUT_S = 120
_MAX_TIMEOUT_S = 600
_CLEANUP_S = 30
_DESCRIPTION = (
    "Run a shell command in the working directory and get its output, stdout and stderr together. Long output keeps "
    f"its end. The command may take timeout seconds (default {_TIMEOUT_S}, at most {_MAX_TIMEOUT_S}). Background jobs "
    "end with the command. No input can be typed."
)
# The outer shell leads the process group: it puts both streams into one, in order. When the command is over, what it
# left running is asked to end, has about a second for that, and is killed, and the outer shell with it; so the exit
# code goes out on stderr, which is free. Daemons are its children by then where it adopts them, as every command
# that is supervised does on Linux; other ones are left to the supervisor of the commands. Without /proc nothing
# can be seen to remain, and the killing comes at once.
_WRAPPER = """
exec 3>&2 2>/dev/null
"$0" -c "$1" 2>&1 3>&-
code=$?
trap "" TERM
remains() {
  signal=$1 found=1
  for status in /proc/[0-9]*/stat; do
    read -r line < "$status" || continue
    set -- "${line%% *}" ${line##*") "}
    [ "$1" != $$ ] && [ "$2" != Z ] || continue
    [ "$3" = $$ ] || [ "$4" = $$ ] || continue
    found=0
    [ $signal = KILL ] || [ "$4" != $$ ] && kill -$signal "$1"
  done
  return $found
}
kill -TERM 0
remains TERM
turns=20
while [ $turns -gt 0 ] && remains 0; do turns=$((turns - 1)); sleep 0.05; done
turns=100
while [ $turns -gt 0 ] && remains KILL; do turns=$((turns - 1)); done
echo $code >&3
kill -KILL 0
"""


class BashArguments(Arguments):
    command: str = Field(description="The command.", min_length=1)
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False, description="Seconds it may take.")


def tool() -> Tool[object]:
    """Build the tool. It runs alone, and its own timeout, which keeps the output, comes before the toolset's."""
    return child_tool(bash, description=_DESCRIPTION, sequential=True, timeout=_MAX_TIMEOUT_S + _CLEANUP_S)


async def bash(ctx: RunContext[object], arguments: BashArguments) -> str:
    if "\0" in arguments.command:
        fail("The command holds a NUL character, which no shell accepts.")
    timeout = min(arguments.timeout or _TIMEOUT_S, _MAX_TIMEOUT_S)
    shell = "bash" if shutil.which("bash") else "sh"
    command = (shell, "-c", _WRAPPER, shell, arguments.command)
    try:
        result = await ctx.workspace.run(command, timeout=timeout)
    except WorkspaceTimeoutError as error:
        fact = f"The command was stopped after {timeout:g} seconds; at most {_MAX_TIMEOUT_S} can be asked for."
        fail(_report(error.stdout, fact), error)
    except WorkspaceOutputLimitError as error:
        fact = f"The command was stopped: it wrote more than {error.limit} bytes; send its output to a file instead."
        fail(_report(error.stdout, fact), error)
    code = int(result.stderr) if result.stderr.strip().isdecimal() else result.exit_code
    if code:
        fail(_report(result.stdout, f"Exit code {code}."))
    return _report(result.stdout, "")


def _report(output: str, fact: str) -> str:
    """Return the end of the output, what was cut from it, and the fact."""
    lines = output.splitlines()
    excerpt = tail(lines)
    parts = ["\n".join(excerpt.lines) or ("" if fact else "[no output]")]
    if excerpt.cut:
        first = len(lines) - len(excerpt.lines) + 1
        parts.append(
            f"[Showing lines {first}-{len(lines)} of {len(lines)}; send the output to a file to read the rest]"
        )
    parts.append(f"[{fact}]" if fact else "")
    return "\n\n".join(part for part in parts if part)
