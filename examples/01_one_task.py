"""Run one task and print its answer. The echo backend answers with what a subagent would have been asked."""

from ohm_subagents import Err, Ok, run_sync

match run_sync("finder", "Where is the session closed?", config={"subagentBackend": "none"}, cwd="."):
    case Ok(envelope):
        print(envelope.output)
    case Err(error):
        print(error)

# Prints:
# subagent: finder
# description: Where is the session closed?
# prompt: Where is the session closed?
# backend: scaffold
# cwd: .
# mode: smart
