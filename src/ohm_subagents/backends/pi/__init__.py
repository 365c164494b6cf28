"""`pi` as a command-line agent: its flags, its streams, its files."""
