"""Command-line agents as backends: supervised processes, dialects that say how each is called and read, and `pi`."""
