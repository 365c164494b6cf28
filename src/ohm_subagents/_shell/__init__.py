"""Processes that leave nothing behind, and command-line agents as data; public as `ohm_subagents.shell`."""
