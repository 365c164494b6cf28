"""What every command of `ohm` needs at a terminal: parameters, output, signals, exit codes. Never a command."""
