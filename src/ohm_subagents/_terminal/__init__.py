"""Parameters, output, signals and exit codes of every command of `ohm`. Never a command.

`command.finish` ends a command with its exit code, `terminal.print_text` keeps output harmless, `live.watched` shows
running tasks, `signals.aborted_by_signal` cancels at Ctrl-C, `wire.Wire` speaks a protocol over standard input.
"""
