"""The tools `task` and `primary`, and what every suite of tools shares. Never the engine or the store."""
