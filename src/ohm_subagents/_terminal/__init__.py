"""Parameters, output, signals and exit codes of every command of `ohm`. Never a command."""
